"""The tree of a session's entries: its rules by example, and against a model that follows each parent by itself.

Conversation tree, vectors 23 and 25.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oulipoly_engine.core.sessions.tree import Statistics, build, count
from oulipoly_engine.core.transcripts.session_file.entry import SessionEntry
from oulipoly_engine.errors import TurnNotFound


def at(second):
    return f"2026-11-20T12:00:{second:02}.000000Z"


def entry(entry_id, parent_id=None, **fields):
    return SessionEntry(entry_id, parent_id, **{"role": "user", "text": entry_id, **fields})


def chain(*ids, parent_id=None):
    return [entry(own, parent) for own, parent in zip(ids, (parent_id, *ids), strict=False)]


def ids(tree, places):
    return [tree.entries[place].id for place in places]


def path(tree):
    return [step.id for step in tree.path_to(tree.leaf)]


def context(*entries):
    return [said.id for said in build(entries).context()]


BRANCHED = [*chain("1", "2", "3", "4", "5", "6"), *chain("7", "8", parent_id="4")]


def test_two_branches_of_one_entry_are_its_children_and_the_leaf_is_the_last_entry():
    tree = build(BRANCHED)

    assert ["5", "7"] == ids(tree, tree.children[tree.place_of("4")])
    assert ["1", "2", "3", "4", "7", "8"] == path(tree)
    assert (["4"], ["6", "8"]) == (ids(tree, tree.branch_points()), ids(tree, tree.tips()))
    assert [0, 1, 2, 3, 4, 5, 4, 5] == tree.depths


def test_the_leaf_moves_to_an_entry_and_before_all_but_not_to_one_that_is_not_there():
    tree = build(BRANCHED)

    assert ["1", "2"] == path(tree.move_leaf("2"))
    assert [] == path(tree.move_leaf(None))
    with pytest.raises(TurnNotFound, match="'nosuch'"):
        tree.move_leaf("nosuch")


def test_children_and_roots_are_ordered_by_time_and_then_as_in_the_file():
    late, early, same = entry("b", "a", at=at(3)), entry("c", "a", at=at(2)), entry("d", "a", at=at(2))
    tree = build([entry("a", at=at(1)), late, early, same, entry("e", "a"), entry("r", at=at(0))])

    assert ["c", "d", "e", "b"] == ids(tree, tree.children[0])
    assert ["r", "a"] == ids(tree, tree.roots)


@pytest.mark.parametrize(
    ("entries", "roots", "orphans", "cuts", "last_path"),
    [
        ([], [], [], [], []),
        ([entry("a", "gone"), entry("b", "a")], ["a"], ["a"], [], ["a", "b"]),
        ([entry("a", "a"), entry("b", "a")], ["a"], [], ["a"], ["a", "b"]),
        ([entry("a", "c"), entry("b", "a"), entry("c", "b")], ["a"], [], ["a"], ["a", "b", "c"]),
        ([entry("x", "b"), entry("b", "c"), entry("c", "b")], ["b"], [], ["b"], ["b", "c"]),
        ([entry("b", "a"), entry("a"), entry("c", "b")], ["a"], [], [], ["a", "b", "c"]),
        ([entry("a"), entry("b", "a"), entry("b", "a"), entry("c", "b")], ["a"], [], [], ["a", "b", "c"]),
    ],
    ids=["empty", "orphan", "own parent", "ring", "before a ring", "child before parent", "doubled id"],
)
def test_what_cannot_be_followed_loses_nothing(entries, roots, orphans, cuts, last_path):
    tree = build(entries)

    assert (roots, orphans, cuts) == tuple(ids(tree, places) for places in (tree.roots, tree.orphans, tree.cuts))
    assert last_path == path(tree)


def test_of_a_doubled_id_the_later_entry_has_the_children():
    tree = build([entry("a"), entry("b", "a", text="old"), entry("c", "b"), entry("b", "a", text="new")])

    assert ["old", "new"] == [tree.entries[place].text for place in tree.children[0]]
    assert ((), (2,)) == (tuple(tree.children[1]), tuple(tree.children[3]))
    assert ["a", "new", "c"] == [step.text for step in tree.path("c")]


def test_the_last_label_of_an_entry_and_the_last_name_count():
    def label(entry_id, target, text):
        return entry(entry_id, "a", kind="label", refers_to=target, text=text)

    names = [entry("n1", "a", kind="session_info", text="old"), entry("n2", "b", kind="session_info", text="new")]
    labels = [
        label("1", "a", "x"),
        label("2", "b", "y"),
        label("3", "a", "z"),
        label("4", "b", ""),
        label("5", None, "w"),
    ]
    tree = build([*chain("a", "b"), *labels, *names])

    assert ({"a": "z"}, "new") == (tree.labels(), tree.name())
    assert (None, {}) == (build(BRANCHED).name(), build(BRANCHED).labels())


def test_a_turn_sends_what_follows_from_the_last_compaction_on_its_path():
    settings = entry("m", "2", kind="model_change")
    hidden = entry("h", "m", is_left_out=True)
    first, kept, last = chain("1", "2"), chain("3", "4", parent_id="h"), chain("5", "6", parent_id="c")

    def compacted(kept_from):
        return [*first, settings, hidden, *kept, entry("c", "4", kind="compaction", refers_to=kept_from), *last]

    assert ["1", "2", "3", "4"] == context(*first, settings, hidden, *kept)
    assert ["c", "4", "5", "6"] == context(*compacted("4"))
    assert ["c", "3", "4", "5", "6"] == context(*compacted("m"))
    assert ["c", "5", "6"] == context(*compacted("nosuch")) == context(*compacted("5")) == context(*compacted(None))
    assert ["c2", "7"] == context(*compacted("4"), entry("c2", "6", kind="compaction"), entry("7", "c2"))
    assert ["1", "b", "9"] == context(*compacted("4"), entry("b", "1", kind="branch_summary"), entry("9", "b"))


def test_statistics_count_all_branches_and_guess_tokens_only_where_nobody_has_counted():
    guessed = [entry("1", at=at(5)), entry("2", "1", role="assistant", text="12345", tool_calls=2, at=at(1))]
    counted = [*guessed, entry("3", "1", role="assistant", tokens=19), entry("4", "1", kind="label")]

    assert Statistics({"user": 1, "assistant": 1}, 2, 2, at(1), at(5), 1) == count(build(guessed))
    assert Statistics({"user": 1, "assistant": 2}, 2, 19, at(1), at(5), 3) == count(build(counted))
    assert Statistics({}, 0, 0, "", "", 0) == count(build([]))


NAMES = st.sampled_from("abcdef")
ENTRIES = st.lists(st.tuples(NAMES, st.one_of(st.none(), NAMES, st.just("gone")), st.integers(0, 3)), max_size=9)


def follow(parents, place):
    """Return the places up to a root, or to the first that comes again."""
    seen = []
    while place is not None and place not in seen:
        seen.append(place)
        place = parents[place]
    return seen, place


@given(ENTRIES)
def test_any_entries_are_the_tree_that_following_each_parent_gives(rows):
    tree = build(entry(own, parent, at=at(second)) for own, parent, second in rows)
    last = {own: place for place, (own, _, _) in enumerate(rows)}
    parents = [last.get(parent) for _, parent, _ in rows]
    rings = {frozenset(follow(parents, place)[0]) for place in range(len(rows)) if follow(parents, place)[1] == place}
    cuts = {min(ring) for ring in rings}
    parents = [None if place in cuts else parent for place, parent in enumerate(parents)]
    order = sorted(range(len(rows)), key=lambda place: rows[place][2])

    assert parents == tree.parents
    assert [tuple(child for child in order if parents[child] == place) for place in range(len(rows))] == [
        tuple(children) for children in tree.children
    ]
    assert tuple(place for place in order if parents[place] is None) == tree.roots
    assert [len(follow(parents, place)[0]) - 1 for place in range(len(rows))] == tree.depths
    assert all(
        tree.path_to(place) == tuple(tree.entries[step] for step in reversed(follow(parents, place)[0]))
        for place in range(len(rows))
    )
    assert sorted(cuts) == list(tree.cuts)
