"""Comparisons of our own: what decides whether inference pays, and machines that are proposed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from srm.suites.figures import MAZE, MAZE_MACHINE
from srm.suites.suite import suite

FRESH = 120  # the first seed that nobody had looked at while the posterior and the proposals were made
WAYS = ("posterior", "regression", "signs", "algorithm1")  # in which holes are inferred


LEARNERS = {"ppo": "", "agac": "--learner agac", "agac0": "--learner agac --agac.count-weight 0"}


@dataclass(frozen=True)
class Family:
    """Environments of one kind: machines are inferred in the smallest, and pay in the larger ones too."""

    task: str
    small: str  # as curves call it
    frames: int  # five times what its best curve needs
    larger: Mapping[str, tuple[str, int]]  # how curves call each, its name, and its frames
    flags: str
    rivals: Mapping[str, str]  # rewards that nothing is inferred for
    machine: str = ""  # unless the task's own
    begun: bool = False  # whether larger environments are also begun with the small one's policy


FAMILIES = (
    Family(
        "doorkey",
        "8x8",
        1_000_000,
        {"16x16": ("DoorKey-16x16", 3_000_000)},
        "--stop-at 0.92",
        {"handset": "--reward doorkey_handset", "task": "--reward task"},
    ),
    Family(
        "keycorridor",
        "S3R3",
        1_800_000,
        {
            f"S{size}R3": (f"KeyCorridorS{size}R3", frames)
            for size, frames in ((4, 5_000_000), (5, 8_000_000), (6, 12_000_000))
        },
        "--stop-at 0.82",
        {"rm": "--reward keycorridor_rm", "task": "--reward task"},
    ),
    Family(
        "obstructedmaze",
        "2Dlhb",
        15_000_000,
        {"1Q": ("ObstructedMaze-1Q", 25_000_000), "Full": ("ObstructedMaze-Full", 60_000_000)},
        f"{MAZE} --stop-at 0.85",
        {"handset": f"--reward {MAZE_MACHINE}_handset", "task": "--reward task"},
        machine=f"--machine {MAZE_MACHINE}",
        begun=True,
    ),
)


def _deciding() -> dict[str, str]:
    """Whether inference pays: what pays x the learner, in environments of growing size, until a return or five times what the best curve needs.

    Machines for the larger environments are inferred in the smallest one of their kind, with the same seed and learner. `proposed` is a machine that is
    read from the demonstrations, with values of the posterior.
    """
    curves: dict[str, str] = {}
    for learner, own in LEARNERS.items():
        for family in FAMILIES:
            flags = f"{own} {family.flags}"
            learn = f"learn {family.task} {flags} --frames {family.frames}"
            train = f"train {family.task} {flags} --frames {family.frames}"
            ways = {way: f"{family.machine} --infer {way}" for way in WAYS} | {"proposed": "--machine proposed"}
            curves |= {f"{family.small}-{learner}-{way}": f"{learn} {words}" for way, words in ways.items()}
            curves |= {f"{family.small}-{learner}-{pay}": f"{train} {words}" for pay, words in family.rivals.items()}
            for size, (env, frames) in family.larger.items():
                carried = {way: f"--reward learnt:{family.small}-{learner}-{way}" for way in ways}
                pays = {**carried, **family.rivals}
                if family.begun:
                    begun = f"--from-run learnt:{family.small}-{learner}"
                    pays |= {f"{way}-policy": f"{reward} {begun}-{way}" for way, reward in carried.items()}
                train = f"train {env} {flags} --frames {frames}"
                curves |= {f"{size}-{learner}-{pay}": f"{train} {words}" for pay, words in pays.items()}
    return curves


def _propose() -> dict[str, str]:
    """A machine that is proposed from the demonstrations beside the one that ships, or the task's reward where none does."""
    tasks = {
        "doorkey": ("doorkey", "--frames 1000000 --stop-at 0.92"),
        "keycorridor": ("keycorridor", "--frames 3000000 --stop-at 0.82"),
        "obstructedmaze": (MAZE_MACHINE, f"{MAZE} --frames 12000000 --stop-at 0.85"),
    }
    others = {
        # with 0.01 policies may put the key down as soon as they see the box, and never go to it
        "unlockpickup": f"{MAZE} --frames 2000000 --stop-at 0.9",
        "blockedunlockpickup": "--frames 2000000 --stop-at 0.9",
        # the mission names the room of the key, and no policy reads it: it has to search
        "lockedroom": f"{MAZE} --frames 4000000 --stop-at 0.6",
    }
    larger = {
        "DoorKey-16x16": ("doorkey", "--frames 3000000 --stop-at 0.9"),
        "KeyCorridorS6R3": ("keycorridor", "--frames 10000000 --stop-at 0.82"),
        "ObstructedMaze-Full": ("obstructedmaze", f"{MAZE} --frames 60000000 --stop-at 0.7"),
    }
    curves = {}
    for task, (machine, flags) in tasks.items():
        curves[f"{task}-proposed"] = f"learn {task} --machine proposed {flags}"
        curves[f"{task}-shipped"] = f"learn {task} --machine {machine} {flags}"
    for task, flags in others.items():
        curves[f"{task}-proposed"] = f"learn {task} --machine proposed {flags}"
        curves[f"{task}-task"] = f"train {task} {flags}"
    for env, (task, flags) in larger.items():
        for machine in ("proposed", "shipped"):
            learnt = f"--reward learnt:{task}-{machine}"
            curves[f"{env}-{machine}"] = f"train {env} {learnt} {flags}"
            if task == "obstructedmaze":  # from scratch it takes four times the frames
                curves[f"{env}-{machine}-policy"] = f"train {env} {learnt} --from-run learnt:{task}-{machine} {flags}"
    return curves


COMPARISONS = (
    suite(
        "deciding",
        "Does inference pay? What pays x the learner, in DoorKey, KeyCorridor and ObstructedMaze, from the smallest to the largest",
        _deciding(),
        seeds=5,
        first_seed=FRESH,
    ),
    suite(
        "propose",
        "Does a machine that is proposed from ten demonstrations teach as well as one that was written by hand?",
        _propose(),
        seeds=5,
        first_seed=FRESH,
    ),
)
