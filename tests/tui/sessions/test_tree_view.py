"""The tree of a session as rows: what is folded, where it goes on, what fits, and two branches beside each other."""

import pytest

from oulipoly_engine.core.sessions.tree_lines import TreeEntry, TreeLayout, compare
from oulipoly_engine.errors import StoreUnusable
from oulipoly_engine.facade.sessions.branches import FILTERS as OF_FACADE
from oulipoly_engine.facade.sessions.branches import SessionTree
from oulipoly_engine.records import replace
from oulipoly_tui.view.sessions.tree import FILTERS, TreeLook, TreeRows, comparison_lines, find_next
from oulipoly_tui.view.transcript.spans import cells, plain

# a ─ b ┬ c ─ d
#       └ e ┬ f
#           └ g
PARENTS = {"b": "a", "c": "b", "d": "c", "e": "b", "f": "e", "g": "e"}
SAID = {"a": "user", "b": "assistant", "c": "user", "d": "tool_result", "e": "user", "f": "assistant", "g": "assistant"}


def make_tree(leaf="g", preview="words of {}", parents=PARENTS, said=SAID):
    names = [*said]
    layout = TreeLayout(names, [names.index(parents[name]) if name in parents else None for name in names])
    entries = tuple(
        TreeEntry(
            name, parents.get(name), "message", said[name], "", preview.format(name), "good" * (name == "c"), line
        )
        for name, line in zip(layout.ids, map(layout.prefix, range(len(names))), strict=True)
    )
    return SessionTree("chain", "session", leaf, layout, entries)


def rows_of(tree, **look):
    rows = TreeRows(tree, TreeLook(**look))
    return rows, [plain(row.line).rstrip() for row in rows]


def test_branches_leave_where_they_part_and_the_end_is_told():
    rows, lines = rows_of(make_tree())

    assert [
        "  me    words of a",
        "▾ agent words of b",
        "├─ ▾ me    words of c [good]",
        "│    tool  words of d",
        "└─ ▾ me    words of e",
        "   ├─   agent words of f",
        "   └─   agent words of g ← goes on here",
    ] == lines
    assert (7, 4, "e") == (len(rows), rows.place_of("e"), rows.find("e").entry_id)


def test_a_branch_that_ends_with_what_both_have_says_so_and_a_compaction_was_said_by_nobody():
    tree = make_tree()
    lines = [*map(plain, comparison_lines(tree, compare("b", "g", tree.parents), ("< one", "> other"), 80))]
    compacted = replace(tree.entries[0], kind="compaction", role="user")
    rows = TreeRows(replace(tree, entries=(compacted, *tree.entries[1:])), TreeLook())

    assert ["< one", "nothing more: it is the last one that both have"] == lines[2:4]
    assert "  ·     words of a compaction" == plain(rows[0].line)


class Unreadable(tuple):
    def __getitem__(self, place):
        raise StoreUnusable("the state file is gone")


def test_where_entries_cannot_be_read_any_more_rows_say_why():
    rows, lines = rows_of(SessionTree("chain", "session", "a", TreeLayout("a", (None,)), Unreadable("a")))

    assert ["  ·     the state file is gone ← goes on here"] == lines
    assert "a" == rows.find("a").entry_id


def test_what_is_folded_hides_all_behind_it_and_says_how_much_and_that_it_goes_on_there():
    rows, lines = rows_of(make_tree(), folded=frozenset("ec"), marked="a")

    assert [
        "  me    words of a ◆ marked",
        "▾ agent words of b",
        "├─ ▸ me    words of c [good] +1",
        "└─ ▸ me    words of e +2 ← goes on here",
    ] == lines
    assert rows.place_of("d") is None


@pytest.mark.parametrize(("at", "place"), [("d", "c"), ("c", "c"), ("g", "e"), ("b", "b"), ("a", None)])
def test_a_branch_is_folded_from_anywhere_in_it(at, place):
    rows, _ = rows_of(make_tree())

    assert place == rows.fold_of(at)
    assert frozenset("ce") == rows.find_branches()


@pytest.mark.parametrize("width", [32, 38, 80, 200])
def test_no_line_is_wider_than_its_row_and_deep_branches_keep_their_words(width):
    deep = {f"{kind}{number}": f"a{number - 1}" for number in range(1, 60) for kind in "ab"}
    said = {"a0": "user", **dict.fromkeys(deep, "user")}
    tree = make_tree("a59", "漢字 of {} and many more words, which go on and on", deep, said)
    rows, lines = rows_of(tree, width=width, folded=frozenset(["a50"]))

    assert width >= max(map(cells, lines))
    assert all("漢" in line for line in lines)
    assert len(rows) == len(said) - 18


def test_endless_words_are_cut_to_the_row():
    _, lines = rows_of(make_tree(preview="x" * 10_000), width=40)

    assert 40 == max(map(cells, lines))


@pytest.mark.parametrize(
    ("at", "step", "expected"), [("a", 1, "c"), ("c", 1, "f"), ("f", 1, "c"), ("c", -1, "f"), (None, 1, "c")]
)
def test_matches_are_gone_through_round_the_end(at, step, expected):
    assert expected == find_next([*"abcdefg"], frozenset("cf"), at, step)
    assert find_next([*"abc"], frozenset(), at, step) is None


def test_each_filter_of_the_engine_has_a_name():
    assert OF_FACADE == tuple(FILTERS)


@pytest.mark.parametrize("width", [40, 80, 120])
def test_two_branches_stand_beside_each_other_where_there_is_room_and_else_below(width):
    tree = make_tree()
    lines = [*map(plain, comparison_lines(tree, compare("d", "g", tree.parents), ("< one", "> other"), width))]

    assert lines[0].startswith("= 2 messages are in both, the last one:"[: width - 1])
    if width < 110:
        below = ["< one", "me    words of c [good]", "tool  words of d", "", "> other", "me    words of e"]
        assert [*below, "agent words of g"] == lines[2:]
    else:
        beside = [tuple(part.strip() for part in line.split(" │ ")) for line in lines[2:]]
        both = [("< one", "> other"), ("me    words of c [good]", "me    words of e")]
        assert [*both, ("tool  words of d", "agent words of g")] == beside
        assert 1 == len({line.index("│") for line in lines[2:]})
