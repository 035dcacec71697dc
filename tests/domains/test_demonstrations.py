"""A file of demonstrations gives back what was recorded, or says in one line what is wrong with it."""

from __future__ import annotations

import io
import pickle
import tracemalloc
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from srm.domains import demonstrations as demos
from srm.domains.demonstrations import load, save, shipped
from srm.domains.record import UNKNOWN_SEED, record, replay
from srm.domains.tasks import FAMILIES, find_task
from srm.errors import DemonstrationError, TaskError
from srm.trajectory import Demonstrations


@pytest.fixture(scope="module")
def recorded() -> Demonstrations:
    return record(find_task("DoorKey-5x5"), 3, seed=0)


@pytest.fixture
def file(recorded: Demonstrations, tmp_path: Path) -> Path:
    save(recorded, tmp_path / "demos.npz")
    return tmp_path / "demos.npz"


def test_a_file_gives_back_what_was_recorded(recorded: Demonstrations, file: Path) -> None:
    read = load(file, find_task("doorkey"))
    for name in ("task", "env_id", "vocabulary", "versions", "seeds"):
        assert getattr(read, name) == getattr(recorded, name)
    for one, other in zip(read.trajectories, recorded.trajectories, strict=True):
        for name in ("observations", "actions", "poses", "task_reward", "terminated"):
            assert np.array_equal(getattr(one, name), getattr(other, name))


def test_the_same_seed_writes_the_same_bytes(file: Path, tmp_path: Path) -> None:
    save(record(find_task("DoorKey-5x5"), 3, seed=0), tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == file.read_bytes()
    other = record(find_task("DoorKey-5x5"), 3, seed=1)
    assert not set(other.seeds) & set(load(file).seeds)


def test_replaying_the_actions_reproduces_the_views(recorded: Demonstrations) -> None:
    for index, trajectory in enumerate(recorded.trajectories):
        assert sum(1 for _ in replay(recorded, index)) == trajectory.steps + 1


def test_a_replay_that_looks_otherwise_says_when(recorded: Demonstrations) -> None:
    first = recorded.trajectories[0]
    observations = first.observations.copy()
    observations[2] = 0
    changed = replace(recorded, trajectories=(replace(first, observations=observations), *recorded.trajectories[1:]))
    with pytest.raises(DemonstrationError, match=r"episode 0: after 2 actions .* looks otherwise than recorded"):
        list(replay(changed, 0))
    with pytest.raises(DemonstrationError, match="the seed of its environment is not known"):
        list(replay(replace(recorded, seeds=(UNKNOWN_SEED,) * 3), 0))


@pytest.mark.parametrize("name", FAMILIES)
def test_ten_demonstrations_of_every_task_are_shipped_and_can_be_replayed(name: str) -> None:
    task = find_task(name)
    ready = load(shipped(task), task)
    assert len(ready) == 10
    assert ready.env_id == task.env_id
    assert all(task.solved(trajectory) and trajectory.total_reward > 0.7 for trajectory in ready.trajectories)
    assert shipped(task).stat().st_size < 80 * sum(trajectory.steps for trajectory in ready.trajectories)
    for index in range(10):
        list(replay(ready, index))


def test_layouts_without_a_solution_are_skipped() -> None:
    task = find_task("ObstructedMaze-2Dlhb-v0")
    found = record(task, 20, seed=0)  # 6.7 % of its layouts have none, the first at the eleventh seed drawn
    assert len(found) == 20


# ---- what can be wrong with a file


def broken(file: Path, change: Callable[[dict[str, np.ndarray]], object], *, mend_digest: bool) -> Path:
    """The file after a change of its arrays; with its digest made to fit again, as a forger would."""
    with np.load(file) as opened:
        arrays = dict(opened)
    change(arrays)
    if mend_digest:
        del arrays["digest"]
        arrays["digest"] = np.array(demos._digest(arrays))
    np.savez(file, allow_pickle=True, **arrays)
    return file


def refusal(file: Path, task: str | None = None) -> str:
    with pytest.raises(DemonstrationError) as caught:
        load(file, find_task(task) if task else None)
    told = str(caught.value)
    assert "\n" not in told
    assert told.startswith(str(file))
    assert "srm demo" in told or "update srm" in told, "it says what to do"
    return told


def test_a_missing_file(tmp_path: Path) -> None:
    assert "there is no such file" in refusal(tmp_path / "nothing.npz")
    assert "is a folder" in refusal(tmp_path)


def test_a_file_that_cannot_be_written_is_told_by_its_own_name(recorded: Demonstrations, tmp_path: Path) -> None:
    with pytest.raises(DemonstrationError) as refused:
        save(recorded, tmp_path / "nowhere" / "x.npz")
    assert (
        str(refused.value)
        == f"{tmp_path}/nowhere/x.npz: cannot be written: No such file or directory; choose another place"
    )


def test_a_file_of_another_task(file: Path) -> None:
    assert "shows the task doorkey, not keycorridor" in refusal(file, "keycorridor")


def test_a_file_cut_short_anywhere(file: Path) -> None:
    whole = file.read_bytes()
    for length in range(0, len(whole) - 1, 97):
        file.write_bytes(whole[:length])
        assert "cut short or of another kind" in refusal(file)


def test_a_file_with_any_byte_changed_is_refused_or_unharmed(file: Path, recorded: Demonstrations) -> None:
    """Bytes of a zip's padding and dates may change without harm; no other may go unnoticed."""
    whole = file.read_bytes()
    for place in range(0, len(whole), 41):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 0x5A]) + whole[place + 1 :])
        try:
            read = load(file)
        except DemonstrationError:
            continue
        assert np.array_equal(read.trajectories[1].observations, recorded.trajectories[1].observations)
        assert read.seeds == recorded.seeds


@pytest.mark.parametrize("content", [b"", b"hello", pickle.dumps([1, 2])], ids=["empty", "text", "pickle"])
def test_a_foreign_file(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    told = refusal(file)
    assert "cut short or of another kind" in told
    assert "allow_pickle" not in told


def test_a_foreign_array(file: Path) -> None:
    with file.open("wb") as opened:
        np.save(opened, np.zeros(3))
    assert "so it is no demonstration file" in refusal(file)


def test_an_archive_of_something_else(file: Path) -> None:
    np.savez(file, weights=np.zeros(3))
    assert "has no format, about, seeds" in refusal(file)


def test_a_pickle_inside_is_not_opened(file: Path) -> None:
    def smuggle(arrays: dict[str, np.ndarray]) -> None:
        arrays["poses"] = np.array([Trap()], dtype=object)

    assert "of another kind" in refusal(broken(file, smuggle, mend_digest=False))


class Trap:
    def __reduce__(self) -> tuple[object, ...]:
        return pytest.fail, ("a pickle was opened",)


def test_an_edited_array_does_not_fit_the_digest(file: Path) -> None:
    def edit(arrays: dict[str, np.ndarray]) -> None:
        arrays["task_reward"][-1] = 1.0

    assert "its digest does not fit its contents" in refusal(broken(file, edit, mend_digest=False))


def test_a_newer_format_asks_for_a_newer_version(file: Path) -> None:
    newer = broken(file, lambda arrays: arrays.update(format=np.array("srm-demonstrations 3")), mend_digest=True)
    assert "format srm-demonstrations 3, this version reads srm-demonstrations 2; update srm" in refusal(newer)


def test_the_first_format_is_named_before_the_arrays_it_lacks(file: Path) -> None:
    def rename(arrays: dict[str, np.ndarray]) -> None:
        arrays |= {"format": np.array("srm-demonstrations 1"), "views": arrays.pop("observations")}

    problem = "format srm-demonstrations 1, this version reads srm-demonstrations 2; record it again"
    assert problem in refusal(broken(file, rename, mend_digest=False))


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("lengths", [0, 5, 8], "lengths: [0, 5, 8] do not divide"),
        ("lengths", [5, 5], "lengths: [5, 5] do not divide"),
        ("terminated", [True], "terminated: shape [1], expected [3, ...]"),
        ("seeds", [1, 2], "seeds: 2 for 3 trajectories"),
        ("about", "[]", "about: must have task, env_id, vocabulary, versions"),
        ("about", "{", "Expecting property name"),
        ("actions", [0.5], "actions holds float64, which no demonstration does"),
    ],
)
def test_parts_that_do_not_fit_together(file: Path, name: str, value: object, problem: str) -> None:
    damaged = broken(file, lambda arrays: arrays.update({name: np.array(value)}), mend_digest=True)
    assert problem in refusal(damaged)


@pytest.mark.parametrize(
    "fields",
    [
        [("seen", "O")],
        [("inner", [("deep", "u1")])],
        [("text", "U3")],
        {"names": ["a"], "formats": ["u1"], "itemsize": 64},
        [(f"field {number}", "u1") for number in range(1001)],
    ],
)
def test_observations_with_fields_that_no_environment_has_are_refused(file: Path, fields: object) -> None:
    def edit(arrays: dict[str, np.ndarray]) -> None:
        arrays["observations"] = np.zeros(len(arrays["observations"]), np.dtype(fields))

    assert "cannot be read as a demonstration file" in refusal(broken(file, edit, mend_digest=True))


@pytest.mark.parametrize(("kind", "problem"), [(np.int64, "expected one number each"), (np.float32, "one number each")])
def test_actions_of_several_numbers_are_none_of_minigrids(file: Path, kind: type, problem: str) -> None:
    def edit(arrays: dict[str, np.ndarray]) -> None:
        arrays["actions"] = np.stack([arrays["actions"]] * 2, axis=1).astype(kind)

    assert problem in refusal(broken(file, edit, mend_digest=True))


@pytest.mark.parametrize(
    ("name", "cell", "value", "problem"),
    [
        ("actions", 0, 7, "episode 0: action 7, expected 0 to 6"),
        ("actions", 0, -1, "episode 0: there is no action -1"),
        ("observations", (0, 3, 5, 0), 11, "episode 0: type 11, expected 0 to 10"),
        ("observations", (0, 3, 5, 1), 6, "episode 0: colour 6, expected 0 to 5"),
        ("observations", (0, 3, 5, 2), 3, "episode 0: state 3, expected 0 to 2"),
        ("poses", (0, 2), 4, "episode 0: direction 4, expected 0 to 3"),
        ("task_reward", 0, np.nan, "episode 0: a reward is not a finite number"),
    ],
)
def test_numbers_no_world_can_show(file: Path, name: str, cell: int, value: float, problem: str) -> None:
    def edit(arrays: dict[str, np.ndarray]) -> None:
        arrays[name][cell] = value

    assert problem in refusal(broken(file, edit, mend_digest=True))


def test_views_of_another_shape(file: Path) -> None:
    smaller = broken(file, lambda arrays: arrays.update(observations=arrays["observations"][:, :5]), mend_digest=True)
    assert "expected uint8 [7, 7, 3]" in refusal(smaller)


def test_writing_leaves_no_draft_behind(file: Path) -> None:
    assert [path.name for path in file.parent.iterdir()] == ["demos.npz"]


def test_recording_nothing_is_refused() -> None:
    with pytest.raises(TaskError, match="at least one is needed"):
        record(find_task("doorkey"), 0, seed=0)
    with pytest.raises(TaskError, match="has no expert"):
        record(replace(find_task("doorkey"), expert=None), 1, seed=0)
    with pytest.raises(TaskError, match="environments in a row have no solution"):
        record(replace(find_task("DoorKey-5x5"), expert=lambda env: None), 1, seed=0)
    failed = (
        r"failed in the environment of seed \d+: its episode of length 1 has return 0 and was not ended by the task"
    )
    with pytest.raises(TaskError, match=failed):
        record(replace(find_task("DoorKey-5x5"), expert=lambda env: [6]), 1, seed=0)
    with pytest.raises(TaskError, match=r"action 1 of the expert is 17, which is not in Discrete\(7\)"):
        record(replace(find_task("DoorKey-5x5"), expert=lambda env: [6, 17]), 1, seed=0)


def packed(file: Path, name: str, content: bytes) -> Path:
    """The file with another member in place of one, or beside them."""
    with zipfile.ZipFile(file) as archive:
        members = {member: archive.read(member) for member in archive.namelist()}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, bytes_of in {**members, f"{name}.npy": content}.items():
            archive.writestr(member, bytes_of)
    return file


def array_bytes(array: np.ndarray) -> bytes:
    written = io.BytesIO()
    np.save(written, array)
    return written.getvalue()


def lying(shape: str, descr: str = "|u1") -> bytes:
    """An array of three bytes whose header tells otherwise."""
    whole = array_bytes(np.zeros(3, np.uint8))
    head = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    return whole[:8] + len(head).to_bytes(2, "little") + head + whole[-3:]


def peak_of(read: Callable[[], object]) -> int:
    """Bytes that were allocated at once."""
    tracemalloc.start()
    try:
        read()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_member_that_no_demonstration_has_is_not_unpacked(file: Path) -> None:
    packed(file, "more", array_bytes(np.zeros(200_000_000, np.uint8)))
    assert peak_of(lambda: load(file)) < 20_000_000


@pytest.mark.parametrize("name", ["observations", "about"])
def test_what_unpacks_to_more_than_the_limit_is_refused_before(
    name: str, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demos, "_MOST_BYTES", 50_000_000)
    packed(file, name, array_bytes(np.zeros(60_000_000, np.uint8)))
    assert peak_of(lambda: refusal(file)) < 20_000_000
    assert "unpack to more than 47 MB" in refusal(file)


def test_a_digest_takes_no_copy_of_what_it_reads() -> None:
    arrays = {"observations": np.zeros(50_000_000, np.uint8)}
    assert peak_of(lambda: demos._digest(arrays)) < 1_000_000


def test_a_text_has_a_limit_of_its_own(file: Path) -> None:
    assert "about is longer than 1 MB" in refusal(packed(file, "about", array_bytes(np.array("x" * 300_000))))


@pytest.mark.parametrize(
    "content",
    [
        lying("(100000000000,)"),
        lying("(-3, -1)"),
        lying("(3, 0, 9999999999999999999999)"),
        lying("(3,)", "|O"),
        lying("(1,)", "|V3"),
        lying("(" * 3000),
        lying("(3,"),
        b"no array",
        b"",
    ],
    ids=["huge", "negative", "beyond 64 bits", "objects", "void", "deep", "cut short", "text", "empty"],
)
@pytest.mark.parametrize("name", ["observations", "seeds"])
def test_a_member_that_is_not_what_it_says_takes_one_line_and_no_memory(name: str, content: bytes, file: Path) -> None:
    packed(file, name, content)
    assert peak_of(lambda: refusal(file)) < 20_000_000


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("about", "[" * 100_000, "about: is nested too deep"),
        ("about", '{"task": 1, "env_id": "a", "vocabulary": "b", "versions": {}}', "no line of text"),
        ("about", '{"task": "a\\nb", "env_id": "a", "vocabulary": "b", "versions": {}}', "no line of text"),
        ("about", ["a", "b"], "about holds several texts"),
        ("seeds", [[1, 2, 3]], "seeds: has 2 axes, expected 1"),
        ("seeds", [1, 2, -7], "seeds: -7, expected -1 or more"),
        ("lengths", 5, "lengths: has 0 axes, expected 1"),
        ("lengths", [2**62, 2**62, 2**62, 2**62], "do not divide"),
        ("poses", [1, 2], "poses: has 1 axes, expected 2"),
    ],
)
def test_parts_of_another_kind_take_one_line(file: Path, name: str, value: object, problem: str) -> None:
    assert problem in refusal(broken(file, lambda arrays: arrays.update({name: np.array(value)}), mend_digest=True))


def test_many_short_episodes_beside_a_long_one_are_not_laid_side_by_side(file: Path) -> None:
    def stretch(arrays: dict[str, np.ndarray]) -> None:
        short, long = 5_000, 5_000
        count = short + 1
        arrays["lengths"] = np.array([long, *[1] * short])
        arrays["seeds"] = np.zeros(count, np.int64)
        arrays["terminated"] = np.ones(count, np.bool_)
        arrays["actions"] = np.zeros(long + short, np.int64)
        arrays["task_reward"] = np.zeros(long + short, np.float32)
        arrays["observations"] = np.zeros((long + short + count, 7, 7, 3), np.uint8)
        arrays["poses"] = np.zeros((long + short + count, 3), np.int16)

    assert "laid side by side, take more than 512 MB" in refusal(broken(file, stretch, mend_digest=True))
