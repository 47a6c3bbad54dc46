"""Lines of real transcripts take over the turns of what was heard, whichever comes first and however much at once."""

import sqlite3
from contextlib import closing
from datetime import timedelta
from itertools import groupby
from pathlib import Path

import pytest

from oulipoly_engine.adapters.bundled import entry_reading, turn_call
from oulipoly_engine.clock import from_text, to_text
from oulipoly_engine.core.sessions.takeover import HeardEntry, ReadEntry, plan_takeover, read_words
from oulipoly_engine.records import replace

TRANSCRIPTS = Path(__file__).parents[3] / "fixtures" / "transcripts"
# How a driver names what it hears: Claude's user messages and opencode's answers have the ids of the transcript.
NAMES = {
    "claude": lambda line, number: line.entry_id if line.role == "user" else f"msg_{number}/0",
    "codex": lambda line, number: f"msg_{number}",
    "gemini": lambda line, number: f"message/turn/{number}",
    "opencode": lambda line, number: line.entry_id if line.role == "assistant" else f"user/{number}",
}


def later(instant, seconds):
    return to_text(from_text(instant) + timedelta(seconds=seconds))


@pytest.fixture(scope="module")
def sessions(tmp_path_factory):
    """Return a way to read the sessions of a CLI's fixtures, each as the lines of its main conversation."""

    def read(cli):
        folder, state = TRANSCRIPTS / cli, tmp_path_factory.mktemp(cli)
        if cli == "opencode":
            folder = tmp_path_factory.mktemp("database")
            with closing(sqlite3.connect(folder / "opencode.db")) as database:
                database.executescript((TRANSCRIPTS / cli / "opencode-1.18.33.sql").read_text())
        call = turn_call(f"{cli if cli != 'claude' else 'claude-code'}-turns '{folder}'", Path("/"))
        lines = {}
        for line, _ in entry_reading(call, state).turns():
            if line is not None and not line.is_sidechain:
                lines.setdefault((line.session_id, line.entry_id), line)  # as they are stored
        lines = sorted(lines.values(), key=lambda line: (line.session_id, line.timestamp))
        return [list(group) for _, group in groupby(lines, lambda line: line.session_id)]

    return read


def read(lines):
    return [ReadEntry(line.entry_id, line.role, line.timestamp, read_words(line.body)) for line in lines]


def hear(lines, name):
    """Return what a host would have heard of a conversation: a turn a user's message, and a command behind each."""
    heard, turn, begun_at = [], 0, ""
    for number, line in enumerate(lines):
        words = read_words(line.body)
        if not words:
            continue
        if line.role == "user":
            turn, begun_at = turn + 1, later(line.timestamp, -0.01)
        at = later(line.timestamp, 0.01)
        entry = HeardEntry(f"live/{number}", line.role, at, words, f"t{turn}", name(line, number), begun_at)
        command = HeardEntry(f"live/{number}c", "assistant", at, "", f"t{turn}", f"call_{number}", begun_at)
        heard += [command, entry]
    return heard


def turns_of(lines, heard):
    by_id = {entry.entry_id: (entry.turn_id, entry.native_id) for entry in heard}
    return {line.entry_id: by_id[f"live/{number}"] for number, line in enumerate(lines) if read_words(line.body)}


@pytest.mark.parametrize("cli", sorted(NAMES))
def test_every_line_with_words_takes_over_its_turn_and_nothing_heard_is_left(sessions, cli):
    found = sessions(cli)
    assert found
    for lines in found:
        heard = hear(lines, NAMES[cli])
        plan = plan_takeover(heard, read(lines))
        taken = {each.entry_id: (each.turn_id, each.native_id) for each in plan.turns}

        assert turns_of(lines, heard).items() <= taken.items()
        assert {entry.entry_id for entry in heard} == {*plan.dropped}


@pytest.mark.parametrize("cli", sorted(NAMES))
def test_it_does_so_too_when_the_transcript_comes_line_by_line_while_the_turns_run(sessions, cli):
    for lines in sessions(cli)[:5]:
        heard = left = hear(lines, NAMES[cli])
        known = {}
        for end in range(1, len(lines) + 1):
            entries = [replace(entry, turn_id=known.get(entry.entry_id, (None,))[0]) for entry in read(lines[:end])]
            plan = plan_takeover(
                [entry for entry in left if entry.timestamp <= later(lines[end - 1].timestamp, 1)], entries
            )
            known |= {each.entry_id: (each.turn_id, each.native_id) for each in plan.turns}
            left = [entry for entry in left if entry.entry_id not in plan.dropped]

        assert turns_of(lines, heard).items() <= known.items()
        assert [] == left


def at(second):
    return f"2026-11-20T12:00:{second:02}.000000Z"


def ours(number, text, role="assistant", turn="t1", **more):
    return HeardEntry(f"h{number}", role, at(number), text, turn, f"n{number}", at(0), **more)


def theirs(number, text, role="assistant", **more):
    return ReadEntry(f"r{number}", role, at(number), text, **more)


USER = ours(1, "do it", "user")
PLANS = {
    "words that came with more around them": ([USER], [theirs(2, "<preface>do it", "user")], {"r2": "t1"}, {"h1"}),
    "one answer that was heard in two pieces": (
        [USER, ours(2, "ab"), ours(3, ""), ours(4, "cd")],
        [theirs(1, "do it", "user"), theirs(2, "abcd")],
        {"r1": "t1", "r2": "t1"},
        {"h1", "h2", "h3", "h4"},
    ),
    "what the transcript has not come to yet": (
        [USER, ours(5, "done")],
        [theirs(1, "do it", "user")],
        {"r1": "t1"},
        {"h1"},
    ),
    "what stands between two lines of a turn": (
        [USER, ours(4, "done")],
        [theirs(1, "do it", "user"), theirs(2, ""), theirs(3, "", "user"), theirs(4, "done")],
        {"r1": "t1", "r2": "t1", "r3": "t1", "r4": "t1"},
        {"h1", "h4"},
    ),
    "what a tool gives while its turn runs": (
        [USER, ours(3, "")],
        [theirs(1, "do it", "user"), theirs(2, "", "user")],
        {"r1": "t1", "r2": "t1"},
        {"h1"},
    ),
    "what was said before the turn": (
        [USER],
        [replace(theirs(1, "do it", "user"), timestamp="2026-11-20T11")],
        {},
        set(),
    ),
    "what nobody has heard": ([USER], [theirs(2, "typed in a terminal", "user")], {}, {"h1"}),
    "other words in a turn that is over": (
        [USER, ours(5, "done", has_ended=True)],
        [theirs(1, "do it", "user"), theirs(4, "finished")],
        {"r1": "t1", "r4": "t1"},
        {"h1", "h5"},
    ),
    "other words in a turn that runs": (
        [USER, ours(5, "done")],
        [theirs(1, "do it", "user"), theirs(4, "finished")],
        {"r1": "t1", "r4": "t1"},
        {"h1"},
    ),
    "a sub-agent's line that is later": ([USER], [theirs(9, "", is_sidechain=True)], {}, set()),
    "the same words twice": (
        [ours(1, "ok"), ours(2, "ok", turn="t2")],
        [theirs(1, "ok", turn_id="t1"), theirs(2, "ok")],
        {"r2": "t1"},
        {"h1", "h2"},
    ),
}


@pytest.mark.parametrize(("heard", "lines", "turns", "dropped"), PLANS.values(), ids=PLANS.keys())
def test_what_is_taken_over(heard, lines, turns, dropped):
    plan = plan_takeover(heard, lines)

    assert (turns, dropped) == ({each.entry_id: each.turn_id for each in plan.turns}, {*plan.dropped})
