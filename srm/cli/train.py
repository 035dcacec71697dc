"""`srm train` and `srm eval`: learn a policy, and tell how good one is."""

from __future__ import annotations

import cProfile
import json
import pstats
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Literal

import torch
import tyro
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as ProgressBars

from srm.chance import stream
from srm.cli.boards import Boards
from srm.cli.interrupt import stop_on_interrupt
from srm.cli.resume import refuse_lost_flags
from srm.errors import RunError
from srm.experiment.origin import envs_line, versions
from srm.experiment.rule_rates import rates_text
from srm.experiment.runner import Progress, Run
from srm.experiment.training import Training, training_of
from srm.settings import ONE_OR_MORE, ZERO_OR_MORE
from srm.task.table import Stepping, Task
from srm.train.episodes import of_few
from srm.train.evaluation import evaluate
from srm.trajectory import Demonstrations

if TYPE_CHECKING:
    from srm.train.actor import Actor


@dataclass(frozen=True)
class Train:
    """learn a policy on a task's reward or on a machine's"""

    training: Annotated[Training, tyro.conf.arg(name="")] = field(default_factory=Training)
    out: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None
    """folder of the run; runs/TASK-REWARD-LEARNER-NET-SEED unless told"""
    resume: Path | None = None
    """go on with this run from its last checkpoint; --frames may ask for more than it was begun with"""
    boards: Annotated[Boards, tyro.conf.arg(name="")] = field(default_factory=Boards)
    profile: bool = False
    """tell where the time went, and write profile.txt into the run"""

    def run(self) -> int:
        torch.set_num_threads(
            1
        )  # two threads wait for each other at every small product, 3 to 10 times slower if shared
        self.boards.refuse_missing()
        run = self._begin()
        folder = run.folder
        print(envs_line(run.task.env_id, run.stepped_by), file=sys.stderr)
        with ExitStack() as stack:
            is_stopped = stack.enter_context(stop_on_interrupt())
            show = stack.enter_context(progress_shown(run.frames, sys.stderr.isatty()))
            log = stack.enter_context(self.boards.open(folder))
            if self.profile:
                stack.enter_context(profiled(folder / "profile.txt"))
            rounds = run.rounds()
            stack.callback(rounds.close)  # leaves a checkpoint
            for progress in rounds:
                show(progress)
                log(progress)
                if is_stopped():
                    break
        if is_stopped():
            print(
                f"stopped at {run.learner.frames} frames; go on with: srm train --resume {quote(str(folder))}",
                file=sys.stderr,
            )
            return 130
        summary = run.finish()
        print(
            f"{folder}: {summary['frames']} frames in {summary['seconds']:.0f} s, return {_number(summary['return'])}"
            f"{of_few(summary['episodes'])}"
        )
        return 0

    def _begin(self) -> Run:
        training = self.training
        if self.resume is not None:
            refuse_lost_flags(self.resume, training, Training(), self.out)
            training_of(self.resume)  # refused if another verb began it
            return Run.resume(self.resume, training.frames)
        if not training.task:
            raise RunError("name the task to train (`srm tasks` lists them), or --resume RUN")
        return Run.begin(training, self.out or _folder(training))


@dataclass(frozen=True)
class Eval:
    """tell how well a trained policy does"""

    run_folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(name="run")]
    """folder of a run; its policy, or its last checkpoint if it is not finished"""
    env: str | None = None
    """another environment of the task, such as a larger one"""
    episodes: int = 1000
    """how many to play"""
    play: Literal["sampled", "greedy"] = "sampled"
    """draw actions from the policy as in training, or always take the likeliest"""
    seed: int = 0
    """of the worlds and actions; never those of training"""
    envs: Stepping = "auto"
    """who steps the envs, as with `srm train`, whatever the run was trained in"""
    json: bool = False
    """print JSON"""
    replays: Path | None = None
    """also play ten episodes in the environment's own package and write them to this file, for `srm demo show`"""

    def __post_init__(self) -> None:
        ONE_OR_MORE.refuse_outside(self, "--", "episodes")
        ZERO_OR_MORE.refuse_outside(self, "--", "seed")

    def run(self) -> int:
        from srm.experiment.policy import read_policy
        from srm.train.actor import Actor
        from srm.train.evaluation import mean_estimate, share_estimate

        torch.set_num_threads(1)
        if self.replays is not None and self.replays.exists():
            raise RunError(f"{self.replays}: exists, and is not written over; choose another name with --replays")
        trained = read_policy(self.run_folder)
        task = trained.environment(self.env).using(self.envs)
        if self.replays is not None:
            self.replays.parent.mkdir(parents=True, exist_ok=True)
        worlds = task.make_worlds(min(64, self.episodes), EVAL_SEEDS + self.seed)
        net = trained.net(worlds)
        played = evaluate(net, worlds, self.episodes, greedy=self.play == "greedy", seed=EVAL_SEEDS + self.seed)
        worlds.close()
        if self.replays is not None:
            save_replays(task, Actor(net, self.seed, greedy=self.play == "greedy"), self.seed, self.replays)
        estimates = {
            "return": mean_estimate(played.total),
            "success": share_estimate(played.solved),
            "length": mean_estimate(played.length),
        }
        if self.json:
            about = {"env_id": task.env_id, "envs": worlds.stepped_by, "episodes": len(played), "play": self.play}
            print(json.dumps(about | {name: asdict(estimate) for name, estimate in estimates.items()}, indent=2))
        else:
            print(envs_line(task.env_id, worlds.stepped_by))
            print(f"{task.env_id}, {len(played)} episodes, {self.play} actions; mean [95 % interval]")
            for name, estimate in estimates.items():
                print(f"  {name:<8} {estimate:{'.1f' if name == 'length' else '.3f'}}")
        return 0


EVAL_SEEDS = 1_000_000_007  # far from the seeds anybody trains with


def save_replays(task: Task, actor: Actor, seed: int, path: Path, count: int = 10) -> None:
    """Episodes of a policy, solved or not, as a file that everything that reads demonstrations can read."""
    from srm.task.demos import save
    from srm.task.record import play

    env = task.environment(task.env_id)
    seeds = stream(seed, "worlds of replays").integers(2**31, size=count).tolist()
    played = tuple(play(env, actor, world_seed) for world_seed in seeds)
    env.close()
    save(Demonstrations(task.name, task.env_id, task.words.name, versions(), tuple(seeds), played), path)


def _folder(training: Training) -> Path:
    parts = (training.task, Path(training.reward).stem, training.learning.learner, training.learning.net)
    return Path("runs") / "-".join([*(part.replace(":", ".") for part in parts), f"seed{training.seed}"])


def _number(value: float | None) -> str:
    return "unknown (no episode ended)" if value is None or value != value else f"{value:.3f}"


@contextmanager
def progress_shown(frames: int, live: bool) -> Iterator[Callable[[Progress], None]]:
    """A bar on a terminal; elsewhere a line every ten seconds."""
    if not live:
        yield _lines(frames)
        return
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[speed]:,.0f} frames/s  return {task.fields[reached]}  success {task.fields[success]}"),
        TextColumn("{task.fields[note]}"),
        TimeRemainingColumn(),
    )
    with ProgressBars(*columns, console=Console(stderr=True)) as bars:
        task = bars.add_task("", total=frames, speed=0.0, reached="-", success="-", note="")

        def show(progress: Progress) -> None:
            reached, success = (_number(progress.row[name]) for name in ("return", "success"))
            completed = int(progress.row["frames"])
            note = f"{of_few(progress.counted)}{rates_text(progress.milestones)}".strip()
            bars.update(task, completed=completed, speed=progress.speed, reached=reached, success=success, note=note)

        yield show


def _lines(frames: int) -> Callable[[Progress], None]:
    last = float("-inf")

    def show(progress: Progress) -> None:
        nonlocal last
        if time.monotonic() - last < 10:
            return
        last = time.monotonic()
        row = progress.row
        seconds = max(0.0, frames - row["frames"]) / max(progress.speed, 1e-9)
        print(
            f"{int(row['frames'])}/{frames} frames  {progress.speed:.0f}/s  return {_number(row['return'])}  "
            f"success {_number(row['success'])}{of_few(progress.counted)}{rates_text(progress.milestones)}  "
            f"{seconds:.0f} s left",
            file=sys.stderr,
            flush=True,
        )

    return show


@contextmanager
def profiled(path: Path) -> Iterator[None]:
    profile = cProfile.Profile()
    profile.enable()
    try:
        yield
    finally:
        profile.disable()
        with path.open("w") as file:
            stats = pstats.Stats(profile, stream=file).sort_stats("cumulative")
            stats.print_stats("/srm/", 60)  # a first run spends more on compiling than on anything of ours
            stats.print_stats(80)
        pstats.Stats(profile, stream=sys.stderr).sort_stats("tottime").print_stats(20)
