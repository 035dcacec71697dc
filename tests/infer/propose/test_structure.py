"""Orders, options, repetitions and ways, read from stories written by hand."""

from __future__ import annotations

from srm.infer.propose.structure import Structure, Way, common_order, find_structure, needed
from tests.infer.propose.accounts import account


def one_way(structure: Structure) -> Way:
    (way,) = structure.ways
    return way


def milestones(way: Way) -> list[str]:
    return [link.event for link in way.links(way.fixed)]


def besides(way: Way) -> dict[str, list[tuple[str, int, int]]]:
    return {link.event: [(b.event, b.least, b.most) for b in link.besides] for link in way.links(way.fixed)}


def test_what_all_do_in_the_same_order_is_a_chain() -> None:
    structure = find_structure(account(*["take unlock goal"] * 10))
    assert milestones(one_way(structure)) == ["take", "unlock", "goal"]
    assert structure.end == "goal"


def test_two_things_in_either_order_come_besides_a_third() -> None:
    way = one_way(find_structure(account(*["press take unlock goal"] * 5, *["take press unlock goal"] * 5)))
    assert milestones(way) == ["unlock", "goal"]
    assert sorted(besides(way)["unlock"]) == [("press", 1, 1), ("take", 1, 1)]


def test_what_only_some_do_is_optional() -> None:
    way = one_way(find_structure(account(*["take unlock goal"] * 6, *["take press unlock goal"] * 4)))
    assert besides(way) == {"take": [], "unlock": [("press", 0, 1)], "goal": []}


def test_a_repetition_is_counted_with_its_range() -> None:
    way = one_way(find_structure(account(*["open take goal"] * 5, *["open open open take goal"] * 5)))
    assert besides(way) == {"take": [("open", 1, 3)], "goal": []}


def test_one_odd_demonstration_of_ten_changes_nothing() -> None:
    way = one_way(find_structure(account(*["take unlock goal"] * 9, "press goal")))
    assert milestones(way) == ["take", "unlock", "goal"]


def test_demonstrations_that_fail_say_nothing_about_the_order() -> None:
    way = one_way(find_structure(account(*["take unlock goal"] * 3, failed=["press"] * 7)))
    assert milestones(way) == ["take", "unlock", "goal"]


def test_detours_are_no_part_of_a_story() -> None:
    wandering = ["take drop take unlock close open goal", "take unlock goal", "take drop take drop take unlock goal"]
    way = one_way(find_structure(account(*wandering)))
    assert besides(way) == {"take": [], "unlock": [], "goal": []}


def test_an_event_at_every_step_is_no_milestone() -> None:
    shown = account(*["take+see see+goal"] * 4)
    shown.shares["see"] = 0.9
    structure = find_structure(shown)
    assert one_way(structure).skeleton == ("take", "goal")
    assert "see: left out, happens at 90 % of all demonstrated steps, so nobody has to reach it" in structure.remarks


def test_what_random_play_does_as_often_is_no_milestone() -> None:
    structure = find_structure(account(*["press take goal"] * 4, random=["press press press press"] * 4))
    assert one_way(structure).skeleton == ("take", "goal")
    assert any(remark.startswith("press: left out, no rarer in random play") for remark in structure.remarks)


def test_of_what_happens_at_the_last_step_the_rarer_in_play_is_the_end() -> None:
    for end, other in (("goal", "press"), ("press", "goal")):
        played = [f"{other} take"] * 4
        structure = find_structure(account(*["take press+goal"] * 4, random=played, random_length=40))
        assert structure.end == end
        assert one_way(structure).skeleton == ("take", end)
        assert f"{other}: left out, it happens at the last step alone, with {end}" in structure.unused.values()


def test_what_is_only_undone_again_is_left_out_with_a_remark() -> None:
    structure = find_structure(account(*["take drop take goal"] * 4))
    assert one_way(structure).skeleton == ("take", "goal")
    assert any(remark.startswith("drop: left out, it is done and undone again") for remark in structure.unused.values())


def test_demonstrations_that_exclude_each_other_are_two_ways() -> None:
    structure = find_structure(account(*["take unlock goal"] * 6, *["press open goal"] * 4))
    assert [way.skeleton for way in structure.ways] == [("take", "unlock", "goal"), ("press", "open", "goal")]
    assert structure.ways[1].numbers == (6, 7, 8, 9)


def test_one_demonstration_is_taken_as_it_is() -> None:
    assert milestones(one_way(find_structure(account("take unlock drop goal")))) == ["take", "unlock", "drop", "goal"]


def test_a_milestone_may_come_twice() -> None:
    way = one_way(find_structure(account(*["press take press goal"] * 5)))
    assert way.skeleton == ("press", "take", "press", "goal")


def test_the_common_order_is_the_longest_with_gaps() -> None:
    sequences = [tuple("abcd"), tuple("axbyd"), tuple("abd")]
    assert common_order(sequences, 3) == ("a", "b", "d")
    assert common_order(sequences, 1) == tuple("axbyd")
    assert common_order([("a",), ("b",)], 2) == ()


def test_of_ten_one_may_be_odd_and_of_few_none() -> None:
    assert [needed(count) for count in (1, 2, 9, 10, 20)] == [1, 2, 9, 9, 18]
