"""What a replacement changes: as a diff to read, and as values to work with."""

import pytest

from oulipoly_engine.core.rewrite.diff import diff, documents
from oulipoly_engine.core.rewrite.replacement_input import ReplacementRecord
from oulipoly_engine.core.rewrite.steps import Kind, Step
from oulipoly_engine.core.transcripts.canonical import CanonicalRecord, Chunk, Source

BEFORE, AFTER = "2026-11-20T12:00:00Z", "2026-11-20T13:00:00Z"


def text(words):
    return (Chunk("text", words),)


def old(content, role="user"):
    return CanonicalRecord("s", "a", "u1", role, BEFORE, content, Source("claude_code", "/t", 1, 0, 9, ""))


def new(content, line=4, role="user"):
    return ReplacementRecord(line, "u1", role, AFTER, content)


KEPT = Step(Kind.KEPT, old(text("a")), new(text("a")))
CHANGED = Step(Kind.CHANGED, old(text("one\ntwo\nthree")), new(text("one\n2\nthree")))
ADDED = Step(Kind.ADDED, None, new(text("x"), role="assistant"))
REMOVED = Step(Kind.REMOVED, old(text("x"), role="assistant"), None)


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (
            CHANGED,
            [f"--- user u1\t{BEFORE}", f"+++ user u1\t{AFTER}", "@@ -1,3 +1,3 @@", " one", "-two", "+2", " three"],
        ),
        (ADDED, ["--- /dev/null", f"+++ assistant u1\t{AFTER}", "@@ -0,0 +1 @@", "+x"]),
        (REMOVED, [f"--- assistant u1\t{BEFORE}", "+++ /dev/null", "@@ -1 +0,0 @@", "-x"]),
    ],
    ids=["changed", "added", "removed"],
)
def test_each_turn_is_a_file_of_the_diff(step, expected):
    assert expected == list(diff([step]))


def test_turns_that_stay_are_left_out():
    assert list(diff([ADDED, REMOVED])) == list(diff([KEPT, ADDED, KEPT, REMOVED, KEPT]))
    assert documents([ADDED, REMOVED]) == documents([KEPT, ADDED, KEPT, REMOVED, KEPT])


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        ((Chunk("tool_use", None), Chunk("text", "a")), ["+[tool_use]", "+a"]),
        ((Chunk("thinking", "b\nc"),), ["+[thinking]", "+b", "+c"]),
        ((Chunk("text", None),), ["+[text]"]),
    ],
    ids=["no text", "text of another kind", "text without one"],
)
def test_what_is_no_plain_text_is_named_by_its_type(content, lines):
    assert lines == list(diff([Step(Kind.ADDED, None, new(content))]))[3:]


def test_document_of_a_change_holds_both_sides():
    assert documents([CHANGED]) == [
        {
            "change": "changed",
            "turn_id": "u1",
            "role": "user",
            "input_line": 4,
            "old": {"timestamp": BEFORE, "content": [{"type": "text", "text": "one\ntwo\nthree"}]},
            "new": {"timestamp": AFTER, "content": [{"type": "text", "text": "one\n2\nthree"}]},
        }
    ]


@pytest.mark.parametrize(
    ("step", "line", "missing"),
    [(ADDED, 4, "old"), (REMOVED, None, "new"), (Step(Kind.ADDED, None, new(text("x"), line=0)), None, "old")],
    ids=["added", "removed", "from no input"],
)
def test_side_and_line_that_do_not_exist_are_null(step, line, missing):
    (document,) = documents([step])

    assert (line, None) == (document["input_line"], document[missing])
