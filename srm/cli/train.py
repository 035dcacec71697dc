"""`srm train` and `srm eval`: learn a policy, and tell how good one is."""

from __future__ import annotations

import cProfile
import io
import json
import os
import pstats
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from srm.cli.boards import Boards
from srm.cli.resume import again, refuse_idle_task, refuse_lost_flags
from srm.domains.base import Stepping, Task
from srm.errors import RunError
from srm.files import refuse_written_over
from srm.interrupt import stop_on_interrupt
from srm.report.progress import shown_progress
from srm.rl.episodes import of_few
from srm.rl.threads import one_thread
from srm.runs.folder import write_bytes
from srm.runs.origin import envs_line, versions
from srm.runs.run import Run
from srm.runs.training import Training, training_of
from srm.seeding import stream
from srm.settings import ONE_OR_MORE, ZERO_OR_MORE
from srm.trajectory import Demonstrations

if TYPE_CHECKING:
    from srm.runs.evaluation import ActionChoice
    from srm.runs.policy import Trained

PACKAGE = Path(__file__).parents[1]


@dataclass(frozen=True)
class Train:
    """learn a policy on a task's reward or on a machine's"""

    training: Annotated[Training, tyro.conf.arg(name="")] = field(default_factory=Training)
    out: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None
    """folder of the run; runs/TASK-REWARD-LEARNER-NET-SEED unless given, with the net only if it was chosen"""
    resume: Path | None = None
    """go on with this run from its last checkpoint; --frames may ask for more than it was begun with"""
    task: Annotated[str | None, tyro.conf.arg(metavar="MODULE:NAME")] = None
    """with --resume: the run's task, if it is one of your own; naming it runs its code"""
    boards: Annotated[Boards, tyro.conf.arg(name="")] = field(default_factory=Boards)
    profile: bool = False
    """print how the time was spent, and write profile.txt into the run"""

    @one_thread()
    def run(self) -> int:
        self.boards.refuse_missing()
        run = self._begin()
        folder = run.folder
        print(envs_line(run.task.env_id, run.stepped_by), file=sys.stderr)
        with ExitStack() as stack:
            is_stopped = stack.enter_context(stop_on_interrupt())
            show = stack.enter_context(shown_progress())
            log = stack.enter_context(self.boards.open(folder))
            if self.profile:
                stack.enter_context(profiled(folder / "profile.txt"))
            run.play(is_stopped, show, log)
        if is_stopped():
            print(
                f"stopped at {run.learner.frames} frames; go on with: {again('train', folder, run.settings.task)}",
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
            return Run.resume(self.resume, training.frames, self.task)
        refuse_idle_task(self.task)
        if not training.task:
            raise RunError(
                "name the task to train (`srm tasks` lists them; your own is PACKAGE.MODULE:NAME), or --resume RUN"
            )
        return Run.begin(training, self.out or _folder(training))


@dataclass(frozen=True)
class Eval:
    """tell how well a trained policy does"""

    run_folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(name="run")]
    """folder of a run; its policy, or its last checkpoint if it is not finished"""
    env: str | None = None
    """another environment of the task, such as a larger one: as `srm tasks` lists it, PACKAGE.MODULE:NAME, or an id of Gymnasium"""
    task: Annotated[str | None, tyro.conf.arg(metavar="MODULE:NAME")] = None
    """the run's task, if it is one of your own; naming it runs its code"""
    episodes: int = 1000
    """how many to play"""
    play: Literal["sampled", "greedy"] = "sampled"
    """draw actions from the policy as in training, or always take the likeliest"""
    seed: int = 0
    """of the environments and actions; never those of training"""
    demos: Path | None = None
    """also compare the policy with these demonstrations, word by word: a file, or the name of some that ship"""
    envs: Stepping = "auto"
    """who steps the environments, as with `srm train`, whatever the run was trained in"""
    json: bool = False
    """print JSON"""
    replays: Path | None = None
    """also play ten episodes in the environment's own package and write them to this file, for `srm demo show`"""

    def __post_init__(self) -> None:
        ONE_OR_MORE.refuse_outside(self, "--", "episodes")
        ZERO_OR_MORE.refuse_outside(self, "--", "seed")

    def run(self) -> int:
        from srm.domains.demonstrations import choose
        from srm.runs.evaluation import evaluate_policy
        from srm.runs.policy import read_policy

        if self.replays is not None:
            refuse_written_over(self.replays, "--replays")
        trained = read_policy(self.run_folder, self.task)
        task = trained.environment(self.env).using(self.envs)
        if self.replays is not None:
            self.replays.parent.mkdir(parents=True, exist_ok=True)
        demos = None if self.demos is None else choose(task, self.demos, None)
        evaluation = evaluate_policy(trained, task, self.episodes, play=self.play, seed=self.seed, demonstrations=demos)
        if self.replays is not None:
            save_replays(trained, task, self.play, self.seed, self.replays)
        if self.json:
            print(json.dumps(evaluation.to_json(), indent=2))
        else:
            print(f"{envs_line(task.env_id, evaluation.envs)}\n{evaluation}")
            if self.replays is not None:
                print(f"replays  {self.replays}")
        return 0


def save_replays(trained: Trained, task: Task, how: ActionChoice, seed: int, path: Path, count: int = 10) -> None:
    """Episodes of a policy, solved or not, as a file that everything that reads demonstrations can read."""
    from srm.domains.demonstrations import save
    from srm.domains.record import play

    actor = trained.actor(task, seed, greedy=how == "greedy")
    env = task.environment(task.env_id)
    seeds = stream(seed, "worlds of replays").integers(2**31, size=count).tolist()
    with one_thread():
        played = tuple(play(env, actor, env_seed) for env_seed in seeds)
    env.close()
    save(Demonstrations(task.name, task.env_id, task.vocabulary.name, versions(), tuple(seeds), played), path)


def _folder(training: Training) -> Path:
    parts = (training.task.replace(":", "."), Path(training.reward).stem, *training.learning.names)
    return Path("runs") / "-".join([*parts, f"seed{training.seed}"])


def _number(value: float | None) -> str:
    return "unknown (no episode ended)" if value is None or value != value else f"{value:.3f}"


@contextmanager
def profiled(path: Path) -> Iterator[None]:
    profile = cProfile.Profile()
    profile.enable()
    try:
        yield
    finally:
        profile.disable()
        text = io.StringIO()
        stats = pstats.Stats(profile, stream=text).sort_stats("cumulative")
        stats.print_stats(
            re.escape(f"{PACKAGE}{os.sep}"), 60
        )  # a first run spends more on compiling than on anything of ours
        stats.print_stats(80)
        write_bytes(path, text.getvalue().encode())
        pstats.Stats(profile, stream=sys.stderr).sort_stats("tottime").print_stats(20)
