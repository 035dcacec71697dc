"""The paper's figures and our own comparisons, one suite each. Data only: a curve is one line, and `srm suite NAME` runs it."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from srm.errors import RunError, near
from srm.suites.control import lunarlander_styles, lunarlander_truth
from srm.suites.suite import Suite, curve, read_suite

MAZE = (
    "--ppo.entropy-weight 0.02"  # for every curve of the maze: with 0.01 policies settle before they have dropped a key
)
MAZE_MACHINE = "obstructedmaze_4"
PAPER = "--infer algorithm1"  # the figures are the paper's, and so is the way its holes are inferred
KEYCORRIDOR = "--constraint sharp"  # what a larger environment needs: under `relational`, doors opened and closed may outpay the lock
FRESH = 120  # the first seed that nobody had looked at while the posterior and the proposals were made
ENTROPY_OF_GAIL = (
    "--ppo.entropy-weight 0.05"  # with 0.01 its policy settles on one act before the discriminator has learnt
)


def _suite(name: str, title: str, curves: dict[str, str], seeds: int = 3, first_seed: int = 0) -> Suite:
    commands = {key: curve(key, command) for key, command in curves.items()}
    return Suite(name, title, commands, seeds, first_seed=first_seed)


def _performance(task: str, handset: str, frames: int, learn: str = "", every: str = "") -> dict[str, str]:
    """Algorithm 1 with each learner and network in its line 4, against the same learners on the task's reward, and imitation."""
    nets = [(learner, net) for learner in ("ppo", "agac") for net in ("cnn", "lstm")]
    curves = {
        **{
            f"learn-{learner}-{net}": f"learn {task} {PAPER} --learner {learner} --net {net} {learn}"
            for learner, net in nets
        },
        **{f"task-{learner}-{net}": f"train {task} --learner {learner} --net {net}" for learner, net in nets},
        "task-ride": f"train {task} --learner ride",
        "gail": f"train {task} --reward gail {ENTROPY_OF_GAIL}",
        "gan_gcl": f"train {task} --reward gan_gcl",
        "bc": f"train {task} --learner bc",
        "handset": f"train {task} --reward {handset}",
    }
    return {name: f"{command} {every} --frames {frames}" for name, command in curves.items()}


def _transfer(
    small: str, large: str, machine: str, handset: str, frames: int, every: str = "", constraint: str = ""
) -> dict[str, str]:
    """A machine learnt in a small environment pays in a large one. `small` is a `learn` command."""
    curves = {
        **{f"learnt-{learner}": f"--reward learnt:learn --learner {learner}" for learner in ("ppo", "agac")},
        "learnt-policy": "--reward learnt:learn --from-run learnt:learn",
        **{f"task-{learner}": f"--learner {learner}" for learner in ("ppo", "agac", "ride")},
        "task-policy": "--from-run learnt:learn",
        "handset": f"--reward {handset}",
        "random": f"--reward {machine} --holes uniform --draw 0 {constraint}",
    }
    return {
        "learn": f"{small} {every} {constraint}",
        **{name: f"train {large} {flags} {every} --frames {frames}" for name, flags in curves.items()},
    }


def _random(
    key: str, small: str, large: str, machine: str, flags: str, frames: int, constraint: str = ""
) -> dict[str, str]:
    """Random values that keep the constraint, drawn evenly or by the paper's penalty, against learnt ones."""
    drawn = {
        f"{key}-{way}-{draw}": f"--reward {machine} --holes {way} --draw {draw} {constraint}"
        for way in ("penalty", "uniform")
        for draw in (0, 1, 2)
    }
    rewards = {f"{key}-learnt": f"--reward learnt:{key}-learn", f"{key}-task": "--reward task", **drawn}
    return {
        f"{key}-learn": f"{small} {constraint}",
        **{name: f"train {large} {reward} {flags} --frames {frames}" for name, reward in rewards.items()},
    }


def _demonstrations() -> dict[str, str]:
    ways = {
        **{
            f"doorkey-{learner}": f"learn doorkey {PAPER} --learner {learner} --stop-at 0.8"
            for learner in ("ppo", "agac")
        },
        "doorkey-none": f"learn doorkey {PAPER} --constraint none --stop-at 0.8",
        **{
            f"keycorridor-{learner}": f"learn keycorridor {PAPER} --learner {learner} --stop-at 0.8"
            for learner in ("ppo", "agac")
        },
        "keycorridor-signs": f"learn keycorridor {PAPER} --constraint signs --stop-at 0.8",
        **{
            f"obstructedmaze-{learner}": f"learn obstructedmaze {PAPER} --machine {MAZE_MACHINE} --learner {learner} {MAZE} --stop-at 0.7"
            for learner in ("ppo", "agac")
        },
    }
    return {f"{name}-{count}": f"{command} -n {count}" for name, command in ways.items() for count in (1, 2, 5, 10)}


def _constraints() -> dict[str, str]:
    tasks = {
        "doorkey": (f"learn doorkey {PAPER} --frames 1000000", ("relational", "none")),
        "keycorridor": (f"learn keycorridor {PAPER} --frames 4000000", ("relational", "sharp", "signs", "none")),
        # machine 4 has a constraint of its own; the paper's belong to the other three
        "obstructedmaze": (
            f"learn obstructedmaze {PAPER} --machine obstructedmaze_3 {MAZE}",
            ("relational", "sharp", "signs", "none"),
        ),
    }
    return {
        f"{task}-{name}": f"{command} --constraint {name}" for task, (command, names) in tasks.items() for name in names
    }


def _maze_machines() -> dict[str, str]:
    curves: dict[str, str] = {}
    for number in (1, 2, 3, 4):
        constraint = "" if number == 4 else "--constraint sharp"
        learn = f"learn obstructedmaze {PAPER} --machine obstructedmaze_{number} {constraint} --learner agac --net lstm {MAZE}"
        curves[f"learn-{number}"] = learn
        curves[f"full-ppo-{number}"] = (
            f"train ObstructedMaze-Full --reward learnt:learn-{number} {MAZE} --frames 30000000"
        )
        curves[f"full-agac-{number}"] = (
            f"train ObstructedMaze-Full --reward learnt:learn-{number} --learner agac --net lstm {MAZE} --frames 30000000"
        )
    return curves


def _inference() -> dict[str, str]:
    tasks = {
        "doorkey": "learn doorkey --frames 1000000 --stop-at 0.92",
        "keycorridor": "learn keycorridor --frames 3000000 --stop-at 0.82",
        "obstructedmaze": f"learn obstructedmaze --machine {MAZE_MACHINE} {MAZE} --frames 12000000 --stop-at 0.85",
    }
    ways = ("posterior", "algorithm1", "signs", "regression")
    return {f"{task}-{way}": f"{command} --infer {way}" for task, command in tasks.items() for way in ways}


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


WAYS = ("posterior", "regression", "signs", "algorithm1")  # in which holes are inferred


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


SUITES = {
    suite.name: suite
    for suite in (
        _suite(
            "motivating",
            "Figure 1(c): what do counters, better values and learnt values add to a plain reward machine on KeyCorridorS3R3?",
            {
                "rm": "train keycorridor --reward keycorridor_rm --frames 5000000",
                "handset": "train keycorridor --reward keycorridor_handset --frames 5000000",
                "revised": "train keycorridor --reward keycorridor_revised --frames 5000000",
                "sound": "train keycorridor --reward keycorridor_sound --frames 5000000",
                "learn": f"learn keycorridor {PAPER} --frames 2500000",
                "learnt": "train keycorridor --reward learnt:learn --frames 5000000",
            },
        ),
        _suite(
            "doorkey",
            "Figure 3(d), question A: does Algorithm 1 train a good policy in fewer frames on DoorKey-8x8?",
            _performance("doorkey", "doorkey_handset", 500_000),
        ),
        _suite(
            "keycorridor",
            "Figure 3(e), question A: does Algorithm 1 train a good policy in fewer frames on KeyCorridorS3R3?",
            _performance("keycorridor", "keycorridor_sound", 4_000_000),
        ),
        _suite(
            "obstructedmaze",
            "Figure 3(f), question A: does Algorithm 1 train a good policy in fewer frames on ObstructedMaze-2Dlhb?",
            _performance("obstructedmaze", f"{MAZE_MACHINE}_handset", 15_000_000, f"--machine {MAZE_MACHINE}", MAZE),
        ),
        _suite(
            "transfer-doorkey",
            "Figure 3(g), question B: does a machine learnt in DoorKey-8x8 teach DoorKey-16x16?",
            _transfer(
                f"learn doorkey {PAPER} --frames 700000", "DoorKey-16x16", "doorkey", "doorkey_handset", 3_000_000
            ),
        ),
        _suite(
            "transfer-keycorridor",
            "Figure 3(h), question B: does a machine learnt in KeyCorridorS3R3 teach KeyCorridorS4R3 and S6R3?",
            {
                name if size == "S4R3" or name == "learn" else f"{name}-S6R3": command
                for size in ("S4R3", "S6R3")
                for name, command in _transfer(
                    f"learn keycorridor {PAPER} --frames 2500000",
                    f"KeyCorridor{size}",
                    "keycorridor",
                    "keycorridor_sound",
                    10_000_000,
                    constraint=KEYCORRIDOR,
                ).items()
            },
        ),
        _suite(
            "transfer-obstructedmaze",
            "Figure 3(i), question B: does a machine learnt in ObstructedMaze-2Dlhb teach ObstructedMaze-Full?",
            _transfer(
                f"learn obstructedmaze {PAPER} --machine {MAZE_MACHINE}",
                "ObstructedMaze-Full",
                MAZE_MACHINE,
                f"{MAZE_MACHINE}_handset",
                60_000_000,  # of which PPO needs 46 M with the learnt machine alone
                MAZE,
            ),
        ),
        _suite(
            "demonstrations",
            "Figures 4(a)-(c) and 7: how many frames does Algorithm 1 need with 1, 2, 5 and 10 demonstrations?",
            _demonstrations(),
        ),
        _suite(
            "constraints",
            "Figures 4(d)-(f): what does Algorithm 1 reach with a weaker constraint, and with none?",
            _constraints(),
        ),
        _suite(
            "random-holes",
            "Figure 5, question E: do random values that keep the constraint teach as well as learnt ones?",
            {
                **_random(
                    "doorkey",
                    f"learn doorkey {PAPER} --frames 700000",
                    "DoorKey-16x16",
                    "doorkey",
                    "--net lstm",
                    3_000_000,
                ),
                **_random(
                    "keycorridor",
                    f"learn keycorridor {PAPER} --frames 2500000",
                    "KeyCorridorS4R3",
                    "keycorridor",
                    "--learner agac",
                    10_000_000,
                    KEYCORRIDOR,
                ),
            },
        ),
        _suite(
            "maze-machines",
            "Figure 6, question F: how much depends on which of the four machines of ObstructedMaze is used?",
            _maze_machines(),
        ),
        _suite(
            "inference",
            "What does inference add? The posterior, Algorithm 1 and two baselines from the same ten demonstrations",
            _inference(),
        ),
        _suite(
            "deciding",
            "Does inference pay? What pays x the learner, from KeyCorridorS3R3 to S6R3 and from ObstructedMaze-2Dlhb to Full",
            _deciding(),
            seeds=5,
            first_seed=FRESH,
        ),
        _suite(
            "propose",
            "Does a machine that is proposed from ten demonstrations teach as well as one that was written by hand?",
            _propose(),
            seeds=5,
            first_seed=FRESH,
        ),
        _suite(
            "control-lunarlander",
            "Does a policy land in the style of whoever demonstrated, gentle or frugal?",
            lunarlander_styles(),
            seeds=5,
            first_seed=100,
        ),
        _suite(
            "control-truth",
            "Are the values that a policy was trained on found again in ten of its landings?",
            lunarlander_truth(),
            seeds=1,
            first_seed=100,
        ),
    )
}


def find_suite(name: str, own_tasks: Collection[str] = ()) -> Suite:
    """One that ships, or a TOML file, which may ask for those tasks of one's own that the user has named."""
    if name in SUITES:
        return SUITES[name]
    path = Path(name)
    if path.suffix == ".toml" or path.is_file():
        return read_suite(path, own_tasks)
    raise RunError(f"there is no suite {name} (`srm suite` lists them), and no file of that name{near(name, SUITES)}")
