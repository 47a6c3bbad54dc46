"""Which entries of a transcript stay, change, go or come."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oulipoly_engine.core.rewrite.replacement_input import ReplacementRecord, keep_unchanged
from oulipoly_engine.core.rewrite.steps import Kind, Step, compare, steps, texts
from oulipoly_engine.core.transcripts.canonical import CanonicalRecord, Chunk, Source
from oulipoly_engine.errors import ReplacementInvalid

AT = "2026-04-17T08:00:00Z"


def record(name, words="x", *, role="user", at=AT, is_note=False):
    content = () if is_note else (Chunk("text", words),)
    source = Source("claude_code", "/t", 1, 0, 9, "ab")
    return CanonicalRecord("s", "a", name, "note" if is_note else role, at, content, source, is_note)


def wanted(name, words="x", *, role="user", at=AT, line=1, sha256="ab"):
    return ReplacementRecord(line, name, role, at, (Chunk("text", words),), sha256)


def note(name="n", *, role="note", line=1, sha256="ab", at=AT, content=()):
    return ReplacementRecord(line, name, role, at, content, sha256, True)


NOTE = record("n", is_note=True)


def fates(found):
    return [(step.kind.value, step.entry_id) for step in found]


def refusal(old, given):
    with pytest.raises(ReplacementInvalid) as caught:
        steps(old, given)
    return caught.value.message


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([wanted("a"), wanted("b")], [("kept", "a"), ("kept", "n"), ("kept", "b")]),
        ([wanted("a"), note(), wanted("b")], [("kept", "a"), ("kept", "n"), ("kept", "b")]),
        ([wanted("a", "y"), wanted("b")], [("changed", "a"), ("kept", "n"), ("kept", "b")]),
        ([wanted("a", at="2026-04-17T09:00:00Z"), wanted("b")], [("changed", "a"), ("kept", "n"), ("kept", "b")]),
        ([wanted("b")], [("removed", "a"), ("kept", "n"), ("kept", "b")]),
        ([wanted("a")], [("kept", "a"), ("kept", "n"), ("removed", "b")]),
        ([wanted("x"), wanted("a")], [("added", "x"), ("kept", "a"), ("kept", "n"), ("removed", "b")]),
        ([wanted("a"), wanted("x"), wanted("b")], [("kept", "a"), ("kept", "n"), ("added", "x"), ("kept", "b")]),
        (
            [wanted("a"), wanted("b"), wanted("x"), wanted("y")],
            [("kept", "a"), ("kept", "n"), ("kept", "b"), ("added", "x"), ("added", "y")],
        ),
        (
            [wanted("a"), wanted("x"), note(), wanted("y"), wanted("b")],
            [("kept", "a"), ("added", "x"), ("kept", "n"), ("added", "y"), ("kept", "b")],
        ),
        ([wanted("x")], [("removed", "a"), ("kept", "n"), ("removed", "b"), ("added", "x")]),
    ],
    ids=[
        "all",
        "all and the note",
        "other text",
        "other time",
        "first goes",
        "last goes",
        "added in front",
        "added behind what is not a turn",
        "added at the end",
        "added around a note that is mentioned",
        "all replaced",
    ],
)
def test_every_record_has_its_part_in_the_new_order(given, expected):
    assert expected == fates(steps([record("a"), NOTE, record("b")], given))


def test_note_that_is_not_mentioned_has_no_new_side():
    found = steps([NOTE, record("a")], [wanted("a")])

    assert Step(Kind.KEPT, NOTE, None) == found[0]
    assert (NOTE, note()) == (steps([NOTE, record("a")], [note(), wanted("a")])[0].old, note())


def test_same_id_twice_is_matched_in_order():
    old = [record("a", "1"), record("a", "2")]

    assert [("kept", "a"), ("kept", "a")] == fates(steps(old, [wanted("a", "1"), wanted("a", "2")]))
    assert [("changed", "a"), ("removed", "a")] == fates(steps(old, [wanted("a", "2")]))


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ([note()], "no turn would be left: a session needs one"),
        (
            [wanted("b"), wanted("a", line=2)],
            "input line 2: turn a stands before another one than in the transcript: turns cannot be moved",
        ),
        (
            [wanted("x", line=3), wanted("x", line=4)],
            "input line 4: turn x was already given in line 3",
        ),
        (
            [wanted("a"), note("m", line=2)],
            "input line 2: the record m is not a turn, and the transcript has none like it at this place",
        ),
        (
            [wanted("a"), wanted("n", role="note", line=2)],
            "input line 2: the record n is not a turn in the transcript",
        ),
        (
            [note("a", role="user")],
            "input line 1: the record a is a turn, not an unsupported record in the transcript",
        ),
        (
            [wanted("a", role="assistant")],
            "input line 1: turn a is the user's, and cannot become the 'assistant''s",
        ),
        (
            [wanted("a"), note(role="z" * 41, line=2)],
            f"input line 2: turn n is the note's, and cannot become the {'z' * 40!r}'s",
        ),
        (
            [wanted("a"), note(sha256="cd", line=2)],
            "input line 2: the record n (note) is not a turn and must stay as it was exported",
        ),
        (
            [wanted("a"), note(at="2026-04-17T09:00:00Z", line=2)],
            "input line 2: the record n (note) is not a turn and must stay as it was exported",
        ),
        (
            [wanted("a"), note(content=(Chunk("text", "x"),), line=2)],
            "input line 2: the record n (note) is not a turn and must stay as it was exported",
        ),
    ],
    ids=[
        "no turn left",
        "moved",
        "new one twice",
        "unknown note",
        "note as a turn",
        "turn as a note",
        "other role",
        "other kind of note",
        "note of other bytes",
        "note of another time",
        "note with content",
    ],
)
def test_what_is_no_replacement_is_refused_by_its_line(given, problem):
    assert problem == refusal([record("a"), NOTE, record("b")], given)


def test_removed_turn_has_the_old_side_and_an_added_one_the_new():
    removed, added = steps([record("a", role="assistant")], [wanted("x")])

    assert ("a", "assistant", True) == (removed.entry_id, removed.role, removed.is_entry)
    assert ("x", "user", True) == (added.entry_id, added.role, added.is_entry)


def test_step_without_any_side_is_named_by_nothing():
    assert ("", "") == (Step(Kind.KEPT, None, None).entry_id, Step(Kind.KEPT, None, None).role)


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        ([record("a"), record("b")], [("kept", "a"), ("kept", "b")]),
        ([record("a"), record("b", "y")], [("kept", "a"), ("changed", "b")]),
        ([record("a")], [("kept", "a"), ("removed", "b")]),
        ([record("a"), record("c", "z"), record("b")], [("kept", "a"), ("added", "c"), ("kept", "b")]),
        ([record("a"), record("c", "z")], [("kept", "a"), ("removed", "b"), ("added", "c")]),
        ([record("a"), record("b", role="assistant")], [("kept", "a"), ("changed", "b")]),
        ([record("a"), record("b", at="2026-04-17T09:00:00Z")], [("kept", "a"), ("changed", "b")]),
        ([], [("removed", "a"), ("removed", "b")]),
    ],
    ids=["nothing", "text", "gone", "come", "another in its place", "role", "time", "all gone"],
)
def test_two_states_of_a_transcript_are_compared_and_nothing_is_refused(new, expected):
    assert expected == fates(compare([record("a"), record("b")], new))


def test_compared_turns_have_the_lines_of_the_newer_state():
    (kept, added) = compare([record("a")], [record("a"), record("b", "y")])

    assert (record("a"), 1, 2) == (kept.old, kept.new.line, added.new.line)


def test_compared_turn_that_changed_has_both_sides():
    (changed,) = compare([record("a", "x")], [record("a", "y")])

    assert (record("a", "x"), (Chunk("text", "y"),)) == (changed.old, changed.new.content)


def test_turns_of_a_long_talk_that_all_say_the_same_are_compared_as_kept():
    old = [record(f"u{number}") for number in range(200)]
    found = compare(old, old[:-1])

    assert ["kept"] * 199 + ["removed"] == [step.kind.value for step in found]


names = st.lists(st.sampled_from("abc"), max_size=5, unique=True)


@given(names, names)
def test_comparison_accounts_for_every_record_of_both_states_in_order(before, after):
    found = compare([record(name, name) for name in before], [record(name, name) for name in after])

    assert before == [step.old.entry_id for step in found if step.old is not None]
    assert after == [step.new.entry_id for step in found if step.new is not None]


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=5))
def test_transcript_that_is_wanted_as_it_is_is_kept_whole(order):
    old = [record(name, str(place)) for place, name in enumerate(order)]

    assert {Kind.KEPT} == {step.kind for step in steps(old, keep_unchanged(old))}


def test_texts_of_a_content_leave_out_what_has_none():
    assert ["a", "", "b"] == texts([Chunk("text", "a"), Chunk("tool_use", None), Chunk("text", ""), Chunk("x", "b")])
