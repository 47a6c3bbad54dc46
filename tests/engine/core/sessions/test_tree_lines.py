"""How a session's tree is laid out, filtered and compared: by rules that need no session."""

from hypothesis import given
from hypothesis import strategies as st

from oulipoly_engine.core.sessions.tree_lines import (
    TreeEntry,
    TreeLayout,
    compare,
    find_ids,
    format_line,
    path_to,
    short_id,
)
from oulipoly_engine.core.transcripts.entry_tree import cut_rings

PARENTS = {"2": "1", "3": "2", "4": "3", "5": "4", "6": "5", "7": "4", "8": "7"}  # vector 23
ABOVE = (None, 0, 1, 2, 3, 4, 3, 6)  # the same by places


def drawn(layout):
    return [(name, layout.depths[row], layout.prefix(row)) for row, name in enumerate(layout.ids)]


def test_each_entry_stands_behind_its_parent_with_lines_where_branches_part():
    layout = TreeLayout("12345678", ABOVE)

    assert [
        ("1", 0, ""),
        ("2", 1, ""),
        ("3", 2, ""),
        ("4", 3, ""),
        ("5", 4, "├─ "),
        ("6", 5, "│  "),
        ("7", 4, "└─ "),
        ("8", 5, "   "),
    ] == drawn(layout)
    assert PARENTS == layout.parent_ids
    assert ["1", "2", "3", "4", "7", "8"] == path_to("8", PARENTS)
    assert (("1", "2", "3", "4"), ("5", "6"), ("7", "8")) == tuple(
        getattr(compare("6", "8", PARENTS), side) for side in ("shared", "left", "right")
    )


def test_what_hangs_below_an_entry_that_is_left_out_hangs_higher():
    layout = TreeLayout("12345678", ABOVE, [0, 3, 5, 7])

    assert [("1", 0, ""), ("4", 1, ""), ("6", 2, "├─ "), ("8", 2, "└─ ")] == drawn(layout)
    assert [] == drawn(TreeLayout("12345678", ABOVE, []))


def draw_naively(above, kept):
    """Draw entries by their places, with a list of children for each and recursion."""

    def find_parent(place):
        while above[place] is not None and above[place] not in kept:
            place = above[place]
        return above[place]

    def draw(place, depth, own, rest):
        yield place, depth, own
        children = [child for child in sorted(kept) if find_parent(child) == place]
        for child in children:
            lines = ("", "") if len(children) == 1 else ("└─ ", "   ") if child == children[-1] else ("├─ ", "│  ")
            yield from draw(child, depth + 1, rest + lines[0], rest + lines[1])

    roots = (place for place in sorted(kept) if find_parent(place) is None)
    return [line for root in roots for line in draw(root, 0, "", "")]


PLACES = st.integers(0, 11)


@given(st.lists(st.none() | PLACES, min_size=12, max_size=12), st.none() | st.sets(PLACES))
def test_any_tree_is_drawn_as_by_a_naive_model_whatever_is_left_out(parents, kept):
    """Rings are cut first; a parent may be the later one of the two."""
    cut_rings(parents)
    layout = TreeLayout([str(place) for place in range(12)], parents, None if kept is None else sorted(kept))
    naive = draw_naively(parents, {*range(12)} if kept is None else kept)

    assert [(str(place), depth, prefix) for place, depth, prefix in naive] == drawn(layout)
    assert [place for place, _, _ in naive] == layout.places
    for row, size in enumerate(layout.sizes):
        behind = [later for later in range(len(naive)) if later == row or row in path_of(layout, later)]
        assert [*range(row, row + size)] == behind


def path_of(layout, row):
    path = []
    while row >= 0:
        path.append(row)
        row = layout.parents[row]
    return path


def test_of_very_many_branches_in_each_other_the_last_lines_are_drawn_and_the_time_stays_short():
    """Each second entry of 40,000 is left behind: with all their lines they would be 1.2 GB."""
    above = [None, *(place - 1 if place % 2 else place - 2 for place in range(1, 40_000))]
    layout = TreeLayout([str(place) for place in range(40_000)], above)

    assert "…" + "   " * 63 + "└─ " == layout.prefix(39_998)
    assert 193 >= max(len(layout.prefix(row)) for row in range(39_000, 40_000))


def test_ids_are_read_and_typed_in_short():
    live, line, uuid = "live/0a1b/0000000012", "/home/me/rollout-2026-01a22767.jsonl:24", "10eb9c30-6aab-4a05"
    ids = [live, line, uuid, "10eb"]

    assert ["@12", "2767:24", "10eb9c30", "10eb"] == [short_id(one) for one in ids]
    assert [[live], [line], [uuid], ["10eb"], [], []] == [
        find_ids(ids, text) for text in ("@12", "2767:24", "10eb9", "10eb", "zz", "")
    ]
    entry = TreeEntry(uuid, None, "message", "assistant", "", "hello", "good", prefix="├─ ")
    assert "├─ A 10eb9c30  hello  [good]  ← goes on here" == format_line(entry, is_leaf=True)
    deep = entry.behind("│  " * 40 + "└─ ")
    assert f"…{'│  ' * 8}└─ A 10eb9c30" == format_line(deep, is_leaf=False, columns=84)[:38]
    compaction = TreeEntry(uuid, None, "compaction", "assistant", "", "what was")
    assert "C 10eb9c30  what was" == format_line(compaction, is_leaf=False)
