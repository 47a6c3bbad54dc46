from hypothesis import given
from hypothesis import strategies as st

from oulipoly_engine.core.transcripts.entry_tree import EntryLink, LineKind, build, parent_ids, place_own


def link(number, parent=None, side=False, source="main.jsonl"):
    at = f"2026-11-20T12:{number // 60:02}:{number % 60:02}.000000Z"
    return EntryLink(number, f"t{number}", None if parent is None else f"t{parent}", side, at, source)


def shape(tree):
    return [(line.kind, line.rows, line.leaves_line, line.leaves_at) for line in tree.lines]


def test_turns_without_branches_are_one_line():
    assert [(LineKind.MAIN, (1, 2, 3), None, None)] == shape(build([link(1), link(2, 1), link(3, 2)]))


def test_what_was_left_behind_is_a_branch_at_its_turn():
    tree = build([link(1), link(2, 1), link(3, 2), link(4, 3), link(5, 2), link(6, 5)])

    assert [(LineKind.MAIN, (1, 2, 5, 6), None, None), (LineKind.BRANCH, (3, 4), 0, 2)] == shape(tree)


def test_a_branch_may_leave_a_branch():
    tree = build([link(1), link(2, 1), link(3, 2), link(4, 2), link(5, 1)])

    assert [
        (LineKind.MAIN, (1, 5), None, None),
        (LineKind.BRANCH, (2, 4), 0, 1),
        (LineKind.BRANCH, (3,), 1, 2),
    ] == shape(tree)


def test_side_chains_leave_at_the_main_turn_before_them():
    links = [link(1), link(2, 1), link(3, None, True, "a"), link(4, 3, True, "a"), link(5, 2), link(6, None, True, "b")]

    tree = build(links)

    assert [
        (LineKind.MAIN, (1, 2, 5), None, None),
        (LineKind.SIDE_CHAIN, (3, 4), 0, 2),
        (LineKind.SIDE_CHAIN, (6,), 0, 5),
    ] == shape(tree)


def test_a_parent_that_is_not_stored_means_the_turn_before():
    assert [(LineKind.MAIN, (1, 2, 3), None, None)] == shape(build([link(1), link(2, 99), link(3, 98)]))


def test_what_is_dated_back_hangs_on_the_later_turn_that_it_names():
    """Of a compaction, which follows on 2 by no name: 4 stands before it in the file, and is dated behind."""
    compacted = [link(1), link(2, 1), link(3, 4), link(4, 99), link(5, 3)]

    assert {"t2": "t1", "t3": "t4", "t4": "t2", "t5": "t3"} == parent_ids(compacted)
    assert [(LineKind.MAIN, (1, 2, 4, 3, 5), None, None)] == shape(build(compacted))


def test_turns_that_name_no_parents_at_all_are_one_line():
    assert [(LineKind.MAIN, (1, 2, 3), None, None)] == shape(build([link(1), link(2), link(3)]))


def test_no_turns_make_no_lines():
    assert () == build([]).lines


PARENTS = st.lists(st.tuples(st.one_of(st.none(), st.integers(0, 40)), st.booleans()), max_size=40)


@given(PARENTS)
def test_every_turn_lies_on_exactly_one_line_whatever_the_parents(parents):
    tree = build(link(number, parent, side) for number, (parent, side) in enumerate(parents))

    assert list(range(len(parents))) == sorted(row for line in tree.lines for row in line.rows)
    assert all(line.leaves_line is None or 0 <= line.leaves_line < len(tree.lines) for line in tree.lines)


def test_a_long_session_is_put_together_in_linear_time():
    tree = build([link(0), *(link(number, number - 1) for number in range(1, 3000))])

    assert 3000 == len(tree.lines[0].rows)


def change(number, parent=None):
    at = f"2026-11-20T12:{number // 60:02}:{number % 60:02}.000000Z"
    return EntryLink(number, f"live/s/{number}", parent, False, at, kind="model_change")


def test_a_change_stands_between_what_was_said_before_and_after_it_and_the_second_branch_does_not_follow_on_it():
    links = [link(1), link(2, 1), change(3), change(4), link(5, 2), link(6, 2), change(7, "t1"), link(8, 1)]
    parents = parent_ids(place_own(links))

    assert ("t2", "live/s/3", "live/s/4", "t2") == tuple(parents[x] for x in ("live/s/3", "live/s/4", "t5", "t6"))
    assert ("t1", "live/s/7") == (parents["live/s/7"], parents["t8"])


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 40), st.booleans()), max_size=40))
def test_without_its_changes_a_tree_is_as_it_was(drawn):
    links = []
    for number, (is_change, back, is_placed) in enumerate(drawn, 1):
        said = [each.entry_id for each in links if not each.is_own]
        parent = said[back % len(said)] if said else None
        made = change(number, parent if is_placed else None) if is_change else link(number)
        links.append(made if is_change else EntryLink(number, made.entry_id, parent or "", False, made.timestamp))
    parents = parent_ids(place_own(links))
    for each in links:
        above = parents.get(each.entry_id, "")
        while above.startswith("live/") and not each.is_own:
            above = parents.get(above, "")

        assert each.is_own or above == each.parent_entry_id
