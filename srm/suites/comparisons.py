"""Comparisons of our own: ways to infer holes, what decides whether inference pays, and machines that are proposed."""

from __future__ import annotations

from srm.suites.figures import MAZE, MAZE_MACHINE
from srm.suites.suite import suite

FRESH = 120  # the first seed that nobody had looked at while the posterior and the proposals were made
WAYS = ("posterior", "regression", "signs", "algorithm1")  # in which holes are inferred


def _inference() -> dict[str, str]:
    tasks = {
        "doorkey": "learn doorkey --frames 1000000 --stop-at 0.92",
        "keycorridor": "learn keycorridor --frames 3000000 --stop-at 0.82",
        "obstructedmaze": f"learn obstructedmaze --machine {MAZE_MACHINE} {MAZE} --frames 12000000 --stop-at 0.85",
    }
    return {f"{task}-{way}": f"{command} --infer {way}" for task, command in tasks.items() for way in WAYS}


def _deciding() -> dict[str, str]:
    """Whether inference pays: what pays x the learner, in environments of growing size, until a return or five times what the best curve needs.

    Machines for the larger environments are inferred in the smallest one of their kind, with the same seed and learner. `proposed` is a machine that is
    read from the demonstrations, with values of the posterior.
    """
    learners = {"ppo": "", "agac": "--learner agac", "agac0": "--learner agac --agac.count-weight 0"}
    corridors = {"S4R3": 5_000_000, "S5R3": 8_000_000, "S6R3": 12_000_000}
    mazes = {"1Q": 25_000_000, "Full": 60_000_000}
    curves: dict[str, str] = {}
    for learner, flags in learners.items():
        corridor = f"{flags} --stop-at 0.82"
        rivals = {"rm": "--reward keycorridor_rm", "task": "--reward task"}
        curves |= _ways("S3R3", learner, f"learn keycorridor {corridor} --frames 1800000", "")
        curves |= _paid("S3R3", learner, f"train keycorridor {corridor} --frames 1800000", rivals)
        for size, frames in corridors.items():
            larger = f"train KeyCorridor{size} {corridor} --frames {frames}"
            curves |= _paid(size, learner, larger, {**_carried("S3R3", learner), **rivals})
        maze = f"{flags} {MAZE} --stop-at 0.85"
        rivals = {"handset": f"--reward {MAZE_MACHINE}_handset", "task": "--reward task"}
        curves |= _ways("2Dlhb", learner, f"learn obstructedmaze {maze} --frames 15000000", f"--machine {MAZE_MACHINE}")
        curves |= _paid("2Dlhb", learner, f"train obstructedmaze {maze} --frames 15000000", rivals)
        for size, frames in mazes.items():
            larger = f"train ObstructedMaze-{size} {maze} --frames {frames}"
            carried = _carried("2Dlhb", learner)
            curves |= _paid(size, learner, larger, {**carried, **rivals})
            begun = {
                f"{way}-policy": f"{flag} --from-run learnt:2Dlhb-{learner}-{way}" for way, flag in carried.items()
            }
            curves |= _paid(size, learner, larger, begun)
    return curves


def _ways(size: str, learner: str, command: str, machine: str) -> dict[str, str]:
    """Every way to infer the holes of one machine, and the posterior of one that is proposed."""
    curves = {f"{size}-{learner}-{way}": f"{command} {machine} --infer {way}" for way in WAYS}
    return {**curves, f"{size}-{learner}-proposed": f"{command} --machine proposed"}


def _paid(size: str, learner: str, command: str, rewards: dict[str, str]) -> dict[str, str]:
    return {f"{size}-{learner}-{pay}": f"{command} {reward}" for pay, reward in rewards.items()}


def _carried(size: str, learner: str) -> dict[str, str]:
    return {way: f"--reward learnt:{size}-{learner}-{way}" for way in (*WAYS, "proposed")}


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
        "inference",
        "What does inference add? The posterior, Algorithm 1 and two baselines from the same ten demonstrations",
        _inference(),
    ),
    suite(
        "deciding",
        "Does inference pay? What pays x the learner, from KeyCorridorS3R3 to S6R3 and from ObstructedMaze-2Dlhb to Full",
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
