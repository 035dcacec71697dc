"""Runs: learn or train, go on, evaluate, compare."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from srm.api.inference import PROPOSED, propose
from srm.api.named import (
    Named,
    config_name,
    demonstrations_named,
    folder_of,
    free_folder,
    machine_named,
    reward_name,
    task_named,
)
from srm.domains.base import Task
from srm.errors import SettingError
from srm.machine.model import Machine

if TYPE_CHECKING:
    from srm.report.compare.measure import Comparison
    from srm.results import RunResult
    from srm.rl.foreign import MakeLearner
    from srm.runs.evaluation import ActionChoice, Evaluation
    from srm.runs.policy import Trained
    from srm.runs.run import Run
    from srm.trajectory import Demonstrations


def learn(
    task: Task | str,
    machine: Machine | Named | None = None,
    demonstrations: Demonstrations | Named | None = None,
    *,
    frames: int = 0,
    seed: int = 0,
    out: Named | None = None,
    progress: bool = True,
    cores: Literal[0, 1, 2] = 1,
    policy: str | MakeLearner | None = None,
    **settings: Any,
) -> RunResult:
    """Infers the holes of a machine while a policy is trained on it, in a run folder.

    Args:
        task: What is learnt.
        machine: The machine with holes, or `"proposed"`; the task's first unless given. Values that its holes have are not looked at.
        demonstrations: Those that ship with the task unless given.
        frames: Steps to play; 0: what the task's table says.
        seed: Of envs, weights, actions and draws.
        out: The folder of the run; `runs/TASK-MACHINE-LEARNER-NET-SEED` unless given, with a number if that is taken.
        progress: Whether to show how the run is getting on.
        cores: Of Algorithm 1 (`infer="algorithm1"`). 2 infers the holes in a process beside this one.
        policy: Another learner in the policy's place: `"sb3:SAC"`, or a function from environments (of `srm.envs`) and a seed to a
            learner of your own, with `frames`, `collect`, `update` and `log_probs`.
        **settings: Any flag of `srm learn`, such as `stop_at`, `constraint`, `count`, `infer`, `learner`, `net`,
            `ppo={"discount": 0.98}` or `posterior={"sweeps": 200}`.
    """
    from srm.runs.foreign_policy import OWN
    from srm.runs.given import Given
    from srm.runs.keywords import configured
    from srm.runs.learning_settings import Learning
    from srm.runs.run import Run

    resolved = task_named(task)
    if machine == PROPOSED:
        machine = propose(task, demonstrations, seed=seed, count=settings.get("count")).machine
    given_machine, named = machine_named(resolved, machine)
    own = policy if callable(policy) else None
    settings |= {"task": config_name(resolved, task), "machine": named, "frames": frames, "seed": seed, "cores": cores}
    config = configured(Learning, settings | {"policy": OWN if own else policy}, "srm.learn")
    given = Given(resolved, given_machine, demonstrations_named(resolved, demonstrations, config.count), own)
    parts = (config.task, named or "learn", *config.learner_names)
    return _complete(lambda: Run.begin(config, free_folder(out, parts, seed), given), resolved, progress)


def train(
    task: Task | str,
    reward: Machine | Named = "task",
    demonstrations: Demonstrations | Named | None = None,
    *,
    frames: int = 0,
    seed: int = 0,
    out: Named | None = None,
    progress: bool = True,
    **settings: Any,
) -> RunResult:
    """Trains a policy, in a run folder.

    Args:
        task: What is learnt.
        reward: What pays: `"task"` for the task's own reward, a machine with values, or `"gail"` or `"gan_gcl"`.
        demonstrations: For those that imitate; the ones that ship with the task unless given.
        frames: Steps to play; 0: what the task's table says.
        seed: Of envs, weights and actions.
        out: The folder of the run; `runs/TASK-REWARD-LEARNER-NET-SEED` unless given, with a number if that is taken.
        progress: Whether to show how the run is getting on.
        **settings: Any flag of `srm train`, such as `stop_at`, `holes`, `from_run`, `learner`, `net` or `ppo={"discount": 0.98}`.
    """
    from srm.runs.given import Given
    from srm.runs.keywords import configured
    from srm.runs.run import Run
    from srm.runs.training import IMITATING, TASK, Training

    resolved = task_named(task)
    given_machine = None if reward in (TASK, *IMITATING) else machine_named(resolved, reward)[0]
    named = str(reward) if not isinstance(reward, Machine) else reward_name(reward, (TASK, *IMITATING))
    if "from_run" in settings and settings["from_run"] is not None:
        settings["from_run"] = folder_of(settings["from_run"])
    settings |= {"task": config_name(resolved, task), "reward": named, "frames": frames, "seed": seed}
    config = configured(Training, settings, "srm.train")
    if demonstrations is not None and not config.from_demonstrations:
        raise SettingError("demonstrations would change nothing: they need reward gail or gan_gcl, or learner bc")
    demos = demonstrations_named(resolved, demonstrations, config.count) if config.from_demonstrations else None
    parts = (config.task, Path(named).stem, *config.learning.names)
    given = Given(resolved, given_machine, demos)
    return _complete(lambda: Run.begin(config, free_folder(out, parts, seed), given), resolved, progress)


def resume(
    run: RunResult | Named, *, frames: int = 0, task: Task | str | None = None, progress: bool = True
) -> RunResult:
    """Goes on with a run of `learn` or `train` from its last checkpoint.

    Args:
        run: The run, or its folder.
        frames: Steps to play in all; what was last asked for unless given.
        task: The run's task, if it is one of your own. A folder may ask for it and never imports it: naming a task runs its code.
        progress: Whether to show how the run is getting on.
    """
    from srm.results import RunResult
    from srm.runs.run import Run

    result = run if isinstance(run, RunResult) else RunResult.read(run)
    known = result.task if task is None else task_named(task)
    return _complete(lambda: Run.resume(result.folder, frames, known), known, progress)


def evaluate(
    policy: Trained | RunResult | Named,
    env: Task | str | None = None,
    *,
    episodes: int = 1000,
    play: ActionChoice = "sampled",
    seed: int = 0,
    task: Task | str | None = None,
    demonstrations: Demonstrations | Named | None = None,
) -> Evaluation:
    """Plays episodes with a trained policy, in environments that nobody trained in.

    Args:
        policy: `run.policy`, the run, or its folder.
        env: Another environment of the same task, such as a larger one; where it was trained unless given.
        episodes: How many to play.
        play: Draw actions from the policy, as in training, or always take the likeliest (`"greedy"`).
        seed: Of envs and actions; never those of training.
        task: What the policy was trained on, if it is a task of your own and `policy` a folder. Naming it runs its code.
        demonstrations: Also compare the policy with these, word by word: events, and sums and means of signals.
    """
    from srm.results import RunResult
    from srm.runs.evaluation import evaluate_policy
    from srm.runs.policy import Trained

    if episodes < 1:
        raise SettingError(f"episodes {episodes}: give a number that is 1 or more")
    trained = policy
    if not isinstance(trained, Trained):
        known = None if task is None else task_named(task)
        trained = (trained if isinstance(trained, RunResult) else RunResult.read(trained, known)).policy
    if isinstance(env, Task):
        trained = replace(trained, given=trained.given or env)
        trained.refuse_other(env, env.name)
        at = env
    else:
        at = trained.environment(env)
    demos = None if demonstrations is None else demonstrations_named(at, demonstrations, None)
    return evaluate_policy(trained, at, episodes, play=play, seed=seed, demonstrations=demos)


def compare(*runs: RunResult | Named, reach: float = 0.8) -> Comparison:
    """Puts runs beside each other: curves over seeds, with intervals.

    Args:
        *runs: Runs, their folders, or folders that hold them.
        reach: The return whose frames to reach are counted.
    """
    from srm.report.compare.collect import find_runs
    from srm.report.compare.measure import compare as compare_runs

    if not runs:
        raise SettingError("give the runs to compare, or a folder that holds them")
    return compare_runs(find_runs([Path(folder_of(run)) for run in runs]), reach)


def _complete(begin: Callable[[], Run], task: Task | None, progress: bool) -> RunResult:
    """A run from its beginning to its page. Ctrl-C, or a fault, leaves it as far as it got."""
    from srm.interrupt import stop_on_interrupt
    from srm.report.progress import shown_progress
    from srm.report.run.learning import write_report
    from srm.results import RunResult
    from srm.rl.threads import one_thread
    from srm.runs.given import resume_call
    from srm.runs.learning_settings import Learning

    with ExitStack() as stack:
        stack.enter_context(one_thread())
        stopped = stack.enter_context(stop_on_interrupt())
        run = begin()
        stack.callback(run.close)
        folder = run.folder
        run.play(stopped, stack.enter_context(shown_progress(visible=progress)))
        if stopped():
            raise KeyboardInterrupt(
                f"stopped at {run.learner.frames} frames; go on with {resume_call(folder, run.settings.task)}"
            )
        run.finish()
        if isinstance(run.settings, Learning):
            write_report(folder)
    return RunResult(folder, task)
