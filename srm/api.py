"""The front door: one function for each stage. Each takes values or their names, and returns a value.

    load -> check        demonstrations -> propose, infer        learn, train -> resume -> evaluate, compare

A machine is a `Machine`, the path of an `.srm` file, or a name of the library. A task is a `Task` or its name. Demonstrations are
`Demonstrations` or the path of a file. Everything that a command of `srm` has a flag for has a keyword here.

Nothing here changes a setting of PyTorch or of the process for good, and no second process is started unless `cores` asks for one, so
that a script needs no `if __name__ == "__main__"`. Ctrl-C stops a run after its round, with a checkpoint, and raises `KeyboardInterrupt`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from srm.domains.base import Expert, Task
from srm.domains.tasks import ENVIRONMENTS, FAMILIES, find_task, short_name
from srm.errors import DemonstrationError, MachineError, SettingError, TaskError
from srm.machine.dense import dense_rules
from srm.machine.language.parse import find_machine
from srm.machine.model import Machine
from srm.machine.vocabulary import Vocabulary

if TYPE_CHECKING:
    from gymnasium.vector import VectorEnv

    from srm.domains.play import ActOnAll, OpenEnvs
    from srm.evaluate.audit import Audit
    from srm.infer.propose.propose import Proposal
    from srm.machine.checks.core.report import Report
    from srm.report.compare.measure import Comparison
    from srm.results import PosteriorResult, RunResult
    from srm.rl.foreign import MakeLearner
    from srm.runs.evaluation import ActionChoice, Evaluation
    from srm.runs.policy import Trained
    from srm.runs.run import Run
    from srm.trajectory import Demonstrations, Rollout

Named = str | Path
PROPOSED = "proposed"  # in place of a machine: one that is read from the demonstrations


# Machines and demonstrations


def load(machine: Named, vocabulary: Vocabulary | Task | None = None) -> Machine:
    """Reads a machine: an `.srm` file, or one of the library by its name. Nothing in the file is executed.

    Args:
        machine: The path of a file, or a name such as `"doorkey"`.
        vocabulary: The vocabulary it is written in, or a task that has one. A machine that names a vocabulary which ships, such as
            `words minigrid`, or which an installed package adds, is checked against that.
    """
    return _with_words(machine, vocabulary)[0]


def check(
    machine: Machine | Named,
    vocabulary: Vocabulary | Task | None = None,
    *,
    constraint: str | None = None,
    against: Machine | Named | None = None,
    horizon: int | None = None,
) -> Report:
    """Proves what can be proved about a machine, for every assignment that its constraint allows. Nothing is trained.

    Args:
        machine: A machine, its file, or its name in the library.
        vocabulary: The vocabulary, or a task that has one; the one the machine names, where that ships or is installed, unless given.
        constraint: The name of the constraint to assume, or `"none"`; the first unless given.
        against: Another machine. The report then says whether both always pay the same, and nothing else.
        horizon: How many steps an episode may last, for the question what it can earn; that of the task's environment, where Gymnasium
            knows it, unless given.
    """
    from srm.machine.checks.check import compare as compare_machines

    checked, known = _with_words(machine, vocabulary)
    if against is None:
        return checked.check(known, constraint, horizon or _horizon(checked, vocabulary))
    return compare_machines(checked, _with_words(against, vocabulary)[0], known, constraint)


def demonstrations(source: Task | Named, *, count: int | None = None, task: Task | str | None = None) -> Demonstrations:
    """Reads demonstrations: those that ship with a task, those of a file, or a dataset of Minari. `record` makes new ones.

    Args:
        source: A task or its name, for those that ship with it; the path of a file that `srm demo` or the studio wrote; or, which needs
            `task`, a `.json` or `.csv` file of seeds and actions, or a Minari dataset, as `"namespace/name-v0"`.
        count: Only the first so many.
        task: The task that they must show.
    """
    from srm.domains import demonstrations as demos

    known = None if task is None else _task(task)
    if isinstance(source, Task):
        return _first(demos.load(demos.shipped(source), source), count)
    path = Path(source)
    if path.suffix in (".json", ".csv"):
        from srm.domains.scripts import import_script

        if known is None:
            raise TaskError(f"{source} holds seeds and actions; name the task they are of: task=...")
        return _first(import_script(path, known), count)
    if path.exists() or path.suffix == ".npz":
        return _first(demos.load(path, known), count)
    if re.fullmatch(r".+/.+-v\d+", str(source)):
        from srm.domains.minari import import_minari

        if known is None:
            raise TaskError(f"{source} is a Minari dataset; name the task it shows: task=...")
        return _first(import_minari(str(source), known), count)
    return demonstrations(_task(str(source)), count=count)


def record(
    task: Task | str,
    count: int = 10,
    *,
    expert: Expert | None = None,
    seed: int = 0,
    noise: float = 0.0,
) -> Demonstrations:
    """Records demonstrations: whole episodes in which an expert succeeds.

    Args:
        task: Where it shows how it is done.
        count: How many episodes.
        expert: A function `plan(env)`, `act(observation)` or `act(env, observation)`, or a class that is made anew for every episode; the task's own
            unless given.
        seed: Decides the environments.
        noise: Share of the actions that are random, of an expert that acts step by step. Episodes that fail are left out.
    """
    from srm.domains.record import record as record_episodes
    from srm.evaluate.success import solved

    chosen = _task(task)
    with_expert = chosen if expert is None else replace(chosen, expert=expert)
    return record_episodes(with_expert, count, seed, lambda trajectory: solved(chosen, trajectory), noise=noise)


# Play


def envs(task: Task | str | VectorEnv, count: int = 16, *, seed: int = 0) -> OpenEnvs:
    """Environments to play in, side by side, for a learner of your own. `srm.rollout` plays them.

    Args:
        task: A task or its name, for the environments that `srm.learn` plays too; or a vector of Gymnasium.
        count: How many; a vector has its own number.
        seed: Of their episodes.
    """
    from gymnasium.vector import VectorEnv

    from srm.domains.envs import GymnasiumEnvs
    from srm.domains.play import OpenEnvs

    return OpenEnvs(GymnasiumEnvs(task, seed) if isinstance(task, VectorEnv) else _task(task).make_envs(count, seed))


def rollout(envs: OpenEnvs, act: ActOnAll, steps: int = 128) -> Rollout:
    """Plays the next steps of every environment, which continue those of the rollout before.

    Args:
        envs: Of `srm.envs`.
        act: A function from what B environments observe, [B, ...], to an action for each, [B].
        steps: How many of each.
    """
    from srm.domains.play import OpenEnvs

    if not isinstance(envs, OpenEnvs):
        raise TaskError(f"{type(envs).__name__} are no environments of srm.envs; write srm.rollout(srm.envs(...), act)")
    return envs.rollout(act, steps)


# Inference


def infer(
    task: Task | str,
    machine: Machine | Named | None = None,
    demonstrations: Demonstrations | Named | None = None,
    *,
    play: Sequence[RunResult | Named] = (),
    out: Named | None = None,
    **settings: Any,
) -> PosteriorResult:
    """Infers what each hole of a machine is worth, with intervals, in seconds. Nothing is trained.

    Args:
        task: Where the demonstrations were recorded.
        machine: The machine with holes, or `"proposed"`; the task's first unless given. Values that its holes have are not looked at.
        demonstrations: Those that ship with the task unless given.
        play: Runs whose policies play too: what they do and demonstrators do not is evidence.
        out: A folder to write machine, posterior, draws and page into; nothing is written unless given.
        **settings: Any flag of `srm infer`, such as `seed`, `count`, `constraint`, `frames` (of random play), `allow_farming`, or
            `posterior={"sweeps": 2000}`.
    """
    from srm.domains.preferences import read_preferences
    from srm.infer.posterior.store import stored_draws, summary_of
    from srm.machine.checks.check import refuse_unfit
    from srm.machine.model import held_to
    from srm.results import PosteriorResult
    from srm.runs.folder import refuse_taken
    from srm.runs.keywords import configured
    from srm.runs.posterior import Inference, Inputs, infer_holes, write_inference

    resolved = _task(task)
    if machine == PROPOSED:
        machine = propose(task, demonstrations, seed=settings.get("seed", 0), count=settings.get("count")).machine
    given_machine, named = _machine(resolved, machine)
    settings |= {"subject": _config_name(resolved, task), "machine": named, "play": [_folder(run) for run in play]}
    config = configured(Inference, settings, "srm.infer")
    opened = given_machine.opened()
    if not opened.holes:
        raise MachineError(f"machine {opened.name} has no holes to infer; train on it with srm.train(task, machine)")
    refuse_unfit(opened, resolved.vocabulary, config.constraint)
    constraint = None if config.constraint == "none" else opened.constraint(config.constraint)
    demos = _demos(resolved, demonstrations, config.count)
    folder = None if out is None else Path(out)
    if folder is not None:
        refuse_taken(folder, resumable=False)
    answers = None if config.preferences is None else read_preferences(config.preferences, resolved)
    inputs = Inputs(resolved, opened, constraint, demos, answers)
    posterior = infer_holes(config, inputs)
    if folder is not None:
        from srm.report.run.inference import write_posterior_report

        write_inference(folder, config, inputs, posterior)
        write_posterior_report(folder)
    summary = summary_of(posterior, resolved.event_reader(), demos.trajectories)
    learnt = held_to(posterior.concrete, posterior.constraint)
    return PosteriorResult(learnt, summary, stored_draws(posterior), demos.env_id)


def propose(
    task: Task | str,
    demonstrations: Demonstrations | Named | None = None,
    *,
    play: Sequence[RunResult | Named] = (),
    seed: int = 0,
    count: int | None = None,
    **settings: Any,
) -> Proposal:
    """Proposes a machine from demonstrations, proved and with comments, in seconds. Nothing is trained.

    Args:
        task: What the demonstrations show.
        demonstrations: Those that ship with the task unless given.
        play: Runs whose policies play too: where one stands after a milestone and never gets to the next, there is a way back.
        seed: Of random play.
        count: Only the first so many demonstrations.
        **settings: Any other flag of `srm propose`, such as `frames` (of random play).
    """
    from srm.runs.keywords import configured
    from srm.runs.proposal import Proposing, propose_for

    resolved = _task(task)
    settings |= {"task": _config_name(resolved, task), "seed": seed, "play": [_folder(run) for run in play]}
    config = configured(Proposing, settings, "srm.propose")
    return propose_for(resolved, _demos(resolved, demonstrations, count), config.play, seed, config.frames)


# Rewards that are sums of terms


def from_terms(
    env: Task | str,
    terms: Sequence[str] = (),
    *,
    name: str | None = None,
    out: Named | None = None,
    frames: int = 10_240,
    seed: int = 0,
) -> Machine:
    """Makes a machine whose pay is a sum of terms, each times a hole, from what the terms read in random play.

    Args:
        env: An environment that Gymnasium knows, whose terms are numbers of `info`; or a task, whose terms are signals of its words.
        terms: Keys of `info`, or signals. Unless given, the keys whose names contain reward, cost, penalty or bonus (or all), and all
            signals.
        name: Of the machine; that of the environment or of the task unless given.
        out: A file to write, with what the terms read as comments; nothing is written unless given.
        frames: Steps of random play.
        seed: Of environments and actions.
    """
    from srm.domains.terms import commented
    from srm.domains.terms import from_terms as machine_from_terms

    if not isinstance(env, Task) and ":" in env:
        env = find_task(env)
    machine, play = machine_from_terms(env, tuple(terms), name=name, frames=frames, seed=seed)
    if out is not None:
        Path(out).write_text(commented(machine, play), encoding="utf-8")
    return machine


def audit(
    subject: Demonstrations | RunResult | Task | Named,
    machine: Machine | Named | None = None,
    *,
    task: Task | str | None = None,
    info: Sequence[str] = (),
    frames: int = 10_240,
    seed: int = 0,
) -> Audit:
    """Counts which term of a reward dominates on given play, what is paid while the task's return stands still, and loops that pay.

    Args:
        subject: An environment or a task (random play), a run or its folder (its policy plays), or demonstrations or their file.
        machine: The reward, a machine with values; that of the run, or the environment's own terms in `info`, unless given.
        task: The task of the run, the demonstrations or the machine, if it is one of your own.
        info: Without a machine: the keys of `info` that are terms.
        frames: Steps of random play, or of the policy.
        seed: Of environments and actions.
    """
    from srm.results import RunResult
    from srm.runs.audit import AuditSettings
    from srm.runs.audit import audit as audit_play

    known = task
    if isinstance(subject, RunResult):
        known, subject = task or subject.task, subject.folder
    named = str(subject) if isinstance(subject, Path) else subject
    reward = str(machine) if isinstance(machine, Path) else machine
    return audit_play(AuditSettings(named, reward, known, tuple(info), frames, seed))


# Runs


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

    resolved = _task(task)
    if machine == PROPOSED:
        machine = propose(task, demonstrations, seed=seed, count=settings.get("count")).machine
    given_machine, named = _machine(resolved, machine)
    own = policy if callable(policy) else None
    settings |= {"task": _config_name(resolved, task), "machine": named, "frames": frames, "seed": seed, "cores": cores}
    config = configured(Learning, settings | {"policy": OWN if own else policy}, "srm.learn")
    given = Given(resolved, given_machine, _demos(resolved, demonstrations, config.count), own)
    parts = (config.task, named or "learn", *config.learner_names)
    return _complete(lambda: Run.begin(config, _free_folder(out, parts, seed), given), resolved, progress)


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

    resolved = _task(task)
    given_machine = None if reward in (TASK, *IMITATING) else _machine(resolved, reward)[0]
    named = str(reward) if not isinstance(reward, Machine) else _machine_name(reward, (TASK, *IMITATING))
    if "from_run" in settings and settings["from_run"] is not None:
        settings["from_run"] = _folder(settings["from_run"])
    settings |= {"task": _config_name(resolved, task), "reward": named, "frames": frames, "seed": seed}
    config = configured(Training, settings, "srm.train")
    if demonstrations is not None and not config.from_demonstrations:
        raise SettingError("demonstrations would change nothing: they need reward gail or gan_gcl, or learner bc")
    demos = _demos(resolved, demonstrations, config.count) if config.from_demonstrations else None
    parts = (config.task, Path(named).stem, *config.learning.names)
    given = Given(resolved, given_machine, demos)
    return _complete(lambda: Run.begin(config, _free_folder(out, parts, seed), given), resolved, progress)


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
    known = result.task if task is None else _task(task)
    return _complete(lambda: Run.resume(result.folder, frames, known), known, progress)


def evaluate(
    policy: Trained | RunResult | Named,
    env: Task | str | None = None,
    *,
    episodes: int = 1000,
    play: ActionChoice = "sampled",
    seed: int = 0,
    task: Task | str | None = None,
) -> Evaluation:
    """Plays episodes with a trained policy, in environments that nobody trained in.

    Args:
        policy: `run.policy`, the run, or its folder.
        env: Another environment of the same task, such as a larger one; where it was trained unless given.
        episodes: How many to play.
        play: Draw actions from the policy, as in training, or always take the likeliest (`"greedy"`).
        seed: Of envs and actions; never those of training.
        task: What the policy was trained on, if it is a task of your own and `policy` a folder. Naming it runs its code.
    """
    from srm.results import RunResult
    from srm.runs.evaluation import evaluate_policy
    from srm.runs.policy import Trained

    if episodes < 1:
        raise SettingError(f"episodes {episodes}: give a number that is 1 or more")
    trained = policy
    if not isinstance(trained, Trained):
        known = None if task is None else _task(task)
        trained = (trained if isinstance(trained, RunResult) else RunResult.read(trained, known)).policy
    if isinstance(env, Task):
        trained = replace(trained, given=trained.given or env)
        trained.refuse_other(env, env.name)
        return evaluate_policy(trained, env, episodes, play=play, seed=seed)
    return evaluate_policy(trained, trained.environment(env), episodes, play=play, seed=seed)


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
    return compare_runs(find_runs([Path(_folder(run)) for run in runs]), reach)


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


# What was named


def _task(task: Task | str) -> Task:
    return task if isinstance(task, Task) else find_task(task)


def _config_name(task: Task, given: Task | str) -> str:
    """By which a folder names its task: one of your own, handed over as a `Task`, cannot be found by that again."""
    if isinstance(given, str):
        return given
    family = FAMILIES.get(task.name)
    if family is None or task.env_id == family.env_id or task.env_id not in ENVIRONMENTS[task.name]:
        return task.name
    return short_name(task.env_id)


def _with_words(machine: Machine | Named, vocabulary: Vocabulary | Task | None) -> tuple[Machine, Vocabulary | None]:
    """A machine, checked against its vocabulary where that is known."""
    given = getattr(vocabulary, "vocabulary", vocabulary)  # of a task, or of words written as functions
    if not isinstance(given, Vocabulary | None):
        raise SettingError(f"vocabulary: {given!r}, expected a Vocabulary, or a Task that has one")
    if isinstance(machine, Machine):
        return machine, given or machine.own_vocabulary
    read = find_machine(machine)
    known = given or read.own_vocabulary
    return (read if known is None else find_machine(machine, {known.name: known})), known


def _horizon(machine: Machine, given: Vocabulary | Task | None) -> int | None:
    """After how many steps Gymnasium ends an episode, where that matters and an environment is known."""
    env_id = given.env_id if isinstance(given, Task) else machine.info.env_id if machine.info else None
    if env_id is None or not any(dense_rules(machine)):
        return None
    from srm.domains.terms import longest_episode

    return longest_episode(env_id)


def _machine(task: Task, machine: Machine | Named | None) -> tuple[Machine, str | None]:
    """The machine for a task, and its name for the config: None if it is the task's first."""
    known = {task.vocabulary.name: task.vocabulary}
    if isinstance(machine, Machine):
        return machine, machine.name
    if machine is not None:
        return find_machine(machine, known), str(machine)
    return find_machine(task.first_machine, known), None


def _machine_name(machine: Machine, words: Sequence[str]) -> str:
    """As the config's reward, which has words of its own for what is no machine."""
    return f"{machine.name}.srm" if machine.name in words else machine.name


def _demos(task: Task, given: Demonstrations | Named | None, count: int | None) -> Demonstrations:
    from srm.domains import demonstrations as demos
    from srm.trajectory import Demonstrations

    if not isinstance(given, Demonstrations):
        return _first(demos.load(demos.shipped(task) if given is None else demos.find_file(Path(given)), task), count)
    if not demos.shows(given, task):
        raise DemonstrationError(f"the demonstrations show the task {given.task}, not {task.name}")
    return _first(given, count)


def _first(demos: Demonstrations, count: int | None) -> Demonstrations:
    if count is None:
        return demos
    if not 1 <= count <= len(demos):
        raise DemonstrationError(f"there are {len(demos)} demonstrations, so count must lie in 1..{len(demos)}")
    return replace(demos, seeds=demos.seeds[:count], trajectories=demos.trajectories[:count])


def _folder(run: RunResult | Named) -> str:
    from srm.results import RunResult

    if not isinstance(run, str | Path | RunResult):
        raise SettingError(f"a run is a RunResult or its folder, not a {type(run).__name__}; give several one by one")
    return str(run if isinstance(run, str | Path) else run.folder)


def _free_folder(out: Named | None, parts: Sequence[str], seed: int) -> Path:
    """The one that is asked for, or runs/TASK-...-SEED with a number if that is taken."""
    if out is not None:
        return Path(out)
    folder = Path("runs") / "-".join([*(Path(part).stem.replace(":", ".") for part in parts), f"seed{seed}"])
    others: Iterator[Path] = (folder.with_name(f"{folder.name}-{number}") for number in count(2))
    return next(path for path in chain([folder], others) if not path.exists())
