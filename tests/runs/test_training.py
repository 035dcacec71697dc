from __future__ import annotations

import csv
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from srm.domains import demonstrations as demos
from srm.domains.tasks import find_task
from srm.errors import AssignmentError, RunError, SettingError, SrmError
from srm.extras import DISTRIBUTION
from srm.infer.baselines.imitation import ImitationConfig
from srm.machine.language.parse import find_machine, load
from srm.rl.make import LearnerConfig
from srm.rl.nn.nets import NetConfig
from srm.rl.ppo import PpoConfig
from srm.runs.folder import checkpoints, read_weights, write_weights
from srm.runs.given import Given
from srm.runs.origin import command
from srm.runs.policy import read_policy
from srm.runs.run import Run
from srm.runs.training import Training
from tests.infer.play import demonstrations
from tests.rl.clockwork import Clockwork

SMALL = LearnerConfig(
    network=NetConfig(width=16, memory=8), ppo=PpoConfig(num_envs=4, num_steps=16, epochs=1, minibatches=2)
)


def training(**changes: object) -> Training:
    return Training(**{"task": "DoorKey-5x5", "frames": 300, "learning": SMALL, **changes})  # type: ignore[arg-type]


def curve(folder: Path) -> list[dict[str, str]]:
    with (folder / "log.csv").open() as file:
        return [{name: cell for name, cell in row.items() if name != "seconds"} for row in csv.DictReader(file)]


def trained(folder: Path, **changes: object) -> list[dict[str, str]]:
    run = Run.begin(training(**changes), folder)
    for _ in run.rounds():
        pass
    run.finish()
    return curve(folder)


@pytest.mark.parametrize("reward", ["task", "doorkey_handset"])
def test_a_run_leaves_its_config_curve_policy_and_summary(tmp_path: Path, reward: str) -> None:
    rows = trained(tmp_path / "run", reward=reward)
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert config["training"]["reward"] == reward
    assert config["env_id"] == "MiniGrid-DoorKey-5x5-v0"
    assert set(config["versions"]) >= {DISTRIBUTION, "torch", "envpool"}
    assert [int(row["round"]) for row in rows] == list(range(1, 6))
    assert summary["frames"] == int(rows[-1]["frames"]) >= 300
    assert {"loss_policy", "loss_value", "entropy", "approx_kl", "clip_fraction", "explained_variance"} <= set(rows[0])
    assert (tmp_path / "run" / "machine.srm").exists() == (reward != "task")
    assert (tmp_path / "run" / "policy.safetensors").exists()


def test_the_same_seed_gives_the_same_curve(tmp_path: Path) -> None:
    first = trained(tmp_path / "a")
    assert trained(tmp_path / "b") == first
    assert trained(tmp_path / "c", seed=1) != first


@pytest.mark.parametrize("learner", ["ppo", "agac", "ride"])
def test_a_run_stopped_early_goes_on_where_it_was(tmp_path: Path, learner: str) -> None:
    folder = tmp_path / "run"
    run = Run.begin(training(learning=LearnerConfig(learner, "lstm", SMALL.network, SMALL.ppo)), folder)  # type: ignore[arg-type]
    rounds = run.rounds()
    for _ in range(2):
        next(rounds)
    rounds.close()
    before = curve(folder)
    again = Run.resume(folder)
    assert again.learner.frames == run.learner.frames
    for name, tensor in run.learner.tensors().items():
        assert torch.equal(again.learner.tensors()[name], tensor), name
    for _ in again.rounds():
        pass
    assert [int(row["round"]) for row in curve(folder)] == [1, 2, 3, 4, 5]
    assert curve(folder)[:2] == before


def test_a_finished_run_can_be_asked_for_more(tmp_path: Path) -> None:
    trained(tmp_path / "run")
    run = Run.resume(tmp_path / "run", frames=500)
    assert len(list(run.rounds())) == 3


def test_frames_that_were_asked_for_later_are_still_asked_for_after_a_stop(tmp_path: Path) -> None:
    before = trained(tmp_path / "run")
    Run.resume(tmp_path / "run", frames=500).writer.close()  # as if it had been killed at once
    rounds = Run.resume(tmp_path / "run").rounds()
    next(rounds)
    rounds.close()
    assert len(list(Run.resume(tmp_path / "run").rounds())) == 2
    assert len(curve(tmp_path / "run")) == len(before) + 3


def test_a_run_that_somebody_has_gone_on_with_is_not_ended_by_who_began_it(tmp_path: Path) -> None:
    run = Run.begin(training(), tmp_path / "run")
    assert list(run.rounds())
    other = Run.resume(tmp_path / "run", frames=500)
    with pytest.raises(RunError, match="is being written by another process"):
        run.finish()
    other.writer.close()
    run.finish()
    assert (tmp_path / "run" / "summary.json").exists()


def test_what_cannot_be_trained_makes_no_folder(tmp_path: Path) -> None:
    for changes, problem in (
        ({"reward": "doorkey"}, AssignmentError),  # its holes have no values
        ({"reward": "nowhere.srm"}, SrmError),
        ({"task": "DoorKey-7x7"}, SrmError),
    ):
        settings = {"task": "DoorKey-5x5", "learning": SMALL, **changes}
        with pytest.raises(problem):
            Run.begin(Training(**settings), tmp_path / "run")  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"holes": "uniform"}, "--holes would change nothing: it needs a machine as --reward"),
        ({"reward": "gail", "holes": "penalty"}, "--holes would change nothing: it needs a machine as --reward"),
        ({"reward": "doorkey_handset", "constraint": "nope"}, "--constraint would change nothing: it needs --holes"),
        ({"reward": "doorkey_handset", "draw": 1}, "--draw would change nothing: it needs --holes"),
        ({"demos": Path("x.npz")}, "--demos would change nothing: it needs --reward gail or gan_gcl, or --learner bc"),
        ({"imitation": ImitationConfig(bound=3)}, "--imitation would change nothing: it needs --reward gail"),
        ({"reward": "doorkey_handset", "learning": replace(SMALL, learner="bc")}, "--reward would change nothing"),
        ({"count": 3}, "-n would change nothing: it needs --reward gail or gan_gcl, or --learner bc"),
    ],
)
def test_a_flag_that_would_change_nothing_is_refused(changes: dict[str, object], problem: str, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=problem):
        Run.begin(training(**changes), tmp_path / "run")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("finished", [True, False])
def test_a_run_begins_with_the_policy_of_another_and_then_does_without_it(tmp_path: Path, finished: bool) -> None:
    small, large = tmp_path / "small", tmp_path / "large"
    trained(small)
    if not finished:
        (small / "policy.safetensors").unlink()  # leaves its checkpoint
    wanted = read_policy(small).tensors
    run = Run.begin(training(task="DoorKey-6x6", from_run=small), large)
    assert (run.learner.frames, run.learner.rounds) == (0, 0)
    shutil.rmtree(small)
    run.writer.close()
    again = Run.resume(large)  # as if it had been killed in its first round
    for begun in (run, again):
        for name, tensor in begun.learner.net.state_dict().items():
            assert torch.equal(wanted[f"net.{name}"], tensor), name
    assert len(list(again.rounds())) == 5


def test_a_policy_that_a_run_cannot_begin_with_is_refused_and_makes_no_folder(tmp_path: Path) -> None:
    small = tmp_path / "small"
    trained(small)
    with pytest.raises(RunError, match=r"small/policy\.safetensors: .* of another network"):
        Run.begin(training(from_run=small, learning=replace(SMALL, net="lstm")), tmp_path / "large")
    with pytest.raises(RunError, match="nowhere is not a run"):
        Run.begin(training(from_run=tmp_path / "nowhere"), tmp_path / "large")
    assert [path.name for path in tmp_path.iterdir()] == ["small"]


def test_losses_that_are_not_finite_stop_the_run_at_the_last_good_checkpoint(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    run = Run.begin(training(checkpoint_seconds=0.0), folder)
    rounds = run.rounds()
    for _ in range(2):
        next(rounds)
    with torch.no_grad():
        next(run.learner.net.parameters()).fill_(float("nan"))
    with pytest.raises(RunError, match=r"round 3: loss is nan; the last good checkpoint is .*round-00000002"):
        next(rounds)
    assert all(np.isfinite(value).all() for value in read_weights(checkpoints(folder)[-1])[0].values())
    assert Run.resume(folder).learner.rounds == 2


def test_pay_that_is_not_finite_is_not_learnt_from(tmp_path: Path) -> None:
    run = Run.begin(training(), tmp_path / "run")
    run.source.pay = lambda batch: np.full(batch.rollout.actions.shape, np.inf)  # type: ignore[attr-defined]
    with pytest.raises(RunError, match="round 1: the pay is not finite"):
        next(run.rounds())


def test_weights_of_another_network_are_refused_with_their_name(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    trained(folder)
    path = folder / "policy.safetensors"
    tensors, about = read_weights(path)
    name = "net.towers.both.head.weight"
    for changed, problem in (
        (
            {**tensors, name: tensors[name][:, :3]},
            r"policy\.safetensors: .*head\.weight is \[8, 3\], expected \[8, 16\]",
        ),
        (
            {key: value for key, value in tensors.items() if key != name},
            r"policy\.safetensors: .* have no .*head\.weight",
        ),
    ):
        write_weights(path, changed, about)
        found = read_policy(folder)
        assert found.task == training().task
        assert (found.learning.net, found.learning.network.width) == ("cnn", 16), "as it was settled and given"
        with pytest.raises(RunError, match=problem):
            found.net(Clockwork(actions=7))


@pytest.mark.parametrize(
    "changes", [{"reward": "gail"}, {"reward": "gan_gcl"}, {"learning": replace(SMALL, learner="bc")}]
)
def test_what_imitates_keeps_its_demonstrations_and_goes_on(tmp_path: Path, changes: dict[str, object]) -> None:
    trained(tmp_path / "run", demos=shown_in(tmp_path), count=3, **changes)
    assert len(demos.load(tmp_path / "run" / "demonstrations.npz")) == 3
    run = Run.resume(tmp_path / "run", frames=600)
    for _ in run.rounds():
        pass
    run.finish()
    rows = curve(tmp_path / "run")
    assert int(rows[-1]["frames"]) >= 600
    assert ("loss_discriminator" in rows[-1]) == ("reward" in changes)


def shown_in(folder: Path) -> Path:
    demos.save(demonstrations("DoorKey-5x5"), folder / "shown.npz")
    return folder / "shown.npz"


def test_demonstrations_that_the_worlds_cannot_have_given_are_refused() -> None:
    shown = demos.load(demos.shipped(find_task("doorkey")))
    envs, first = find_task("DoorKey-5x5").make_envs(1, seed=0), shown.trajectories[0]
    demos.refuse_misfit(shown, envs)
    for wrong, problem in (
        (replace(first, actions=first.actions + 7), r"has an action \d+, those of MiniGrid-DoorKey-5x5-v0 are 0\.\.6"),
        (
            replace(first, observations=first.observations[:, :6]),
            r"has observations uint8 \[6, 7, 3\], those of .* are uint8 \[7, 7, 3\]",
        ),
    ):
        with pytest.raises(SrmError, match=problem):
            demos.refuse_misfit(replace(shown, seeds=shown.seeds[:1], trajectories=(wrong,)), envs)
    envs.close()


def test_a_run_takes_objects_in_place_of_names_and_does_not_claim_to_have_been_typed(tmp_path: Path) -> None:
    task = replace(find_task("DoorKey-5x5"), name="mine")
    given = Given(task, find_machine("doorkey_handset"))
    settings = training(task="mine", reward="mine.srm")
    run = Run.begin(settings, tmp_path / "run", given)
    assert list(run.rounds())
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert "command" not in config
    again = Run.resume(tmp_path / "run", frames=500, task=task)
    assert list(again.rounds())[-1].row["frames"] >= 500


def test_random_holes_are_written_into_the_machine_of_the_run(tmp_path: Path) -> None:
    for draw in (0, 1):
        trained(tmp_path / f"{draw}", reward="doorkey", holes="uniform", draw=draw)
    values = [load(tmp_path / f"{draw}" / "machine.srm").values() for draw in (0, 1)]
    assert values[0] != values[1]
    closed = tmp_path / "closed.srm"
    closed.write_text("machine closed\nwords minigrid\nstart s\n    reach_goal // 1\n")
    with pytest.raises(SrmError, match="has no holes"):
        Run.begin(training(reward=str(closed), holes="uniform"), tmp_path / "none")
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("constraint", ["signs", "none"])
def test_random_holes_are_held_to_the_constraint_that_was_asked_for(tmp_path: Path, constraint: str) -> None:
    random = {"task": "KeyCorridorS3R1", "reward": "keycorridor", "holes": "uniform", "frames": 1}
    trained(tmp_path / "run", **random, constraint=constraint)
    kept = load(tmp_path / "run" / "machine.srm").constraints
    assert [one.name for one in kept][:1] == ([] if constraint == "none" else ["signs"])
    Run.resume(tmp_path / "run", frames=100)  # the values are read again, and judged by what they keep


def test_a_run_that_has_reached_its_return_is_not_trained_on_when_it_is_resumed(tmp_path: Path) -> None:
    before = trained(tmp_path / "run", frames=1_000_000, stop_at=0.0)
    with pytest.raises(RunError, match=r"has come to its end, after \d+ frames; ask for more"):
        Run.resume(tmp_path / "run")
    assert curve(tmp_path / "run") == before
    rounds = Run.resume(tmp_path / "run", frames=1_000_000).rounds()
    for further in (1, 2, 3):
        assert next(rounds).row["round"] == len(before) + further  # unless more is asked for
    rounds.close()


def test_a_run_stops_at_the_return_that_was_asked_for(tmp_path: Path) -> None:
    rows = trained(tmp_path / "run", frames=1_000_000, stop_at=0.0)
    assert int(rows[-1]["frames"]) < 100_000  # as soon as a hundred episodes have ended


def test_the_command_of_a_run_does_not_say_where_it_lies() -> None:
    said = command(["train", "doorkey", "-o", "runs/a b", "--seed", "3", "--reward", "my machine.srm"])
    assert said == "srm train doorkey --seed 3 --reward 'my machine.srm'"
    assert command(["learn", "doorkey", "--out=x", "-n", "1"]) == "srm learn doorkey -n 1"
