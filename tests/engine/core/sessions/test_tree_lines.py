"""How a session's tree is laid out, filtered and compared: by rules that need no session."""

from hypothesis import given
from hypothesis import strategies as st

from oulipoly_engine.core.sessions.tree_lines import (
    TreeEntry,
    arrange,
    compare,
    find_ids,
    format_line,
    keep_only,
    path_to,
    short_id,
)

PARENTS = {"2": "1", "3": "2", "4": "3", "5": "4", "6": "5", "7": "4", "8": "7"}  # vector 23


def test_each_entry_stands_behind_its_parent_with_lines_where_branches_part():
    assert [
        ("1", 0, ""),
        ("2", 1, ""),
        ("3", 2, ""),
        ("4", 3, ""),
        ("5", 4, "├─ "),
        ("6", 5, "│  "),
        ("7", 4, "└─ "),
        ("8", 5, "   "),
    ] == list(arrange("12345678", PARENTS))
    assert ["1", "2", "3", "4", "7", "8"] == path_to("8", PARENTS)
    assert (("1", "2", "3", "4"), ("5", "6"), ("7", "8")) == tuple(
        getattr(compare("6", "8", PARENTS), side) for side in ("shared", "left", "right")
    )


def test_what_hangs_below_an_entry_that_is_left_out_hangs_higher():
    assert {"4": "1", "6": "4", "8": "4"} == keep_only("12345678", PARENTS, {"1", "4", "6", "8"})


@given(st.dictionaries(st.sampled_from("abcdefgh"), st.sampled_from("abcdefghx")))
def test_orphans_and_rings_are_drawn_once_each_and_nothing_is_lost(parents):
    drawn = [entry for entry, _, _ in arrange("abcdefgh", parents)]

    assert sorted(drawn) == list("abcdefgh")
    assert len(path_to("a", parents)) <= 9
    assert {*keep_only("abcdefgh", parents, {"a", "b"})} <= {"a", "b"}


def test_ids_are_read_and_typed_in_short():
    live, line, uuid = "live/0a1b/0000000012", "/home/me/rollout-2026-01a22767.jsonl:24", "10eb9c30-6aab-4a05"
    ids = [live, line, uuid, "10eb"]

    assert ["@12", "2767:24", "10eb9c30", "10eb"] == [short_id(one) for one in ids]
    assert [[live], [line], [uuid], ["10eb"], [], []] == [
        find_ids(ids, text) for text in ("@12", "2767:24", "10eb9", "10eb", "zz", "")
    ]
    entry = TreeEntry(uuid, None, "message", "assistant", "", "hello", "good", prefix="├─ ")
    assert "├─ A 10eb9c30  hello  [good]  ← goes on here" == format_line(entry, is_leaf=True)
    deep = entry.placed(None, 99, "│  " * 40 + "└─ ")
    assert f"…{'│  ' * 8}└─ A 10eb9c30" == format_line(deep, is_leaf=False, columns=84)[:38]
    compaction = TreeEntry(uuid, None, "compaction", "assistant", "", "what was")
    assert "C 10eb9c30  what was" == format_line(compaction, is_leaf=False)
