"""What `git status --porcelain=v2 -z --branch` prints becomes entries: staged, unstaged, renamed, cut."""

import os

from hypothesis import given
from hypothesis import strategies as st

from oulipoly_engine.core.worktrees.porcelain import WORDS, ChangeEntry, parse_status

HEAD = b"# branch.oid 1f1f\0# branch.head main\0# branch.upstream origin/main\0# branch.ab +1 -2\0"
TEXT = st.binary(min_size=1, max_size=20).filter(lambda name: b"\0" not in name)


def test_an_ordinary_answer():
    data = (
        HEAD
        + b"1 MM N... 100644 100644 100644 aaaa bbbb both.txt\0"
        + b"1 .D N... 100644 100644 000000 aaaa bbbb a b.txt\0"
        + b"2 R. N... 100644 100644 100644 aaaa aaaa R100 new\nname\0old name\0"
        + b"1 .M S.M. 160000 160000 160000 aaaa aaaa module\0"
        + b"u UU N... 100644 100644 100644 100644 a b c fought\0"
        + b"? un\ttracked\0"
        + b"! ignored\0"
    )

    status = parse_status(data)

    assert (status.head, status.branch, status.upstream, status.is_cut) == ("1f1f", "main", "origin/main", False)
    assert status.staged == (ChangeEntry("both.txt", "M"), ChangeEntry("new\nname", "R", "old name"))
    assert status.unstaged == (
        ChangeEntry("both.txt", "M"),
        ChangeEntry("a b.txt", "D"),
        ChangeEntry("module", "M", None, is_submodule=True),
        ChangeEntry("fought", "U"),
        ChangeEntry("un\ttracked", "?"),
    )
    assert all(one.status in WORDS for one in status.unstaged)


def test_a_branch_without_commits_and_a_detached_head():
    assert (parse_status(b"# branch.oid (initial)\0# branch.head main\0").head) is None
    assert (parse_status(b"# branch.oid 1f1f\0# branch.head (detached)\0").branch) is None


def test_so_many_files_are_told_and_no_more():
    data = b"".join(b"? %d\0" % number for number in range(201))

    assert len(parse_status(data).unstaged) == 200
    assert parse_status(data).is_cut
    assert not parse_status(data[: data.index(b"? 200")]).is_cut


@given(
    st.lists(st.tuples(st.sampled_from([b"1", b"2", b"u", b"?"]), st.sampled_from(b"MADRCT."), TEXT, TEXT), max_size=8)
)
def test_every_name_comes_through_as_it_is(rows):
    data, expected = HEAD, []
    for kind, state, name, origin in rows:
        if kind == b"?":
            data += b"? " + name + b"\0"
            expected.append((name, None))
        elif kind == b"1":
            data += b"1 ." + bytes((state,)) + b" N... 100644 100644 100644 aaaa bbbb " + name + b"\0"
            expected += [] if state == ord(".") else [(name, None)]
        elif kind == b"2":
            data += b"2 .R N... 100644 100644 100644 aaaa bbbb R90 " + name + b"\0" + origin + b"\0"
            expected.append((name, origin))
        else:
            data += b"u UU N... 100644 100644 100644 100644 a b c " + name + b"\0"
            expected.append((name, None))

    told = parse_status(data).unstaged

    assert [
        (os.fsencode(one.path), None if one.renamed_from is None else os.fsencode(one.renamed_from)) for one in told
    ] == expected


@given(st.binary(max_size=200))
def test_no_answer_however_broken_raises(data):
    parse_status(data)
    parse_status(HEAD + data)


@given(st.integers(min_value=0, max_value=400))
def test_an_answer_that_is_cut_off_tells_only_whole_entries(end):
    data = HEAD + b"".join(b"2 R. N... 100644 100644 100644 aaaa aaaa R100 new%d\0old%d\0" % (n, n) for n in range(4))

    told = parse_status(data[:end], is_whole=False)

    assert told.is_cut
    assert [(one.path, one.renamed_from) for one in told.staged] == [
        (f"new{n}", f"old{n}") for n in range(len(told.staged))
    ]
