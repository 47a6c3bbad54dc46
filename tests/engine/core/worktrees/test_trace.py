"""The trace of a session: its runs with their thoughts, tools, plan and tokens."""

import pytest

from oulipoly_engine.core.live import events as ev
from oulipoly_engine.core.transcripts.dialogue import Entry, Kind, Part
from oulipoly_engine.core.worktrees.trace import Section, build_trace, label_command, split_sections, trace_entries


def numbered(*told):
    """told: milliseconds and an event each."""
    return [ev.Numbered(seq, f"2026-11-23T10:00:0{at / 1000:.3f}Z", event) for seq, (at, event) in enumerate(told, 1)]


def run(*told):
    (trace,) = build_trace(numbered((0, ev.TurnStarted(turn_id="r")), *told))
    return trace


@pytest.mark.parametrize(
    ("end", "status"),
    [
        (ev.TurnEnded("completed", turn_id="r"), "success"),
        (ev.TurnEnded("failed", "no", turn_id="r"), "error"),
        (ev.TurnEnded("interrupted", turn_id="r"), "error"),
        (ev.TurnEnded("failed", "slow", "timed_out", turn_id="r"), "timeout"),
        (ev.RequestOpened("n", "command_approval", ev.Prompt("ls"), turn_id="r"), "waiting_approval"),
    ],
)
def test_a_run_says_how_it_stands(end, status):
    assert ("running", status) == (run().status, run((1, end)).status)


def test_whatever_comes_after_a_question_shows_that_the_run_goes_on():
    asked = ev.RequestOpened("n", "command_approval", ev.Prompt("ls"), turn_id="r")

    assert "running" == run((1, asked), (2, ev.UsageUpdated(ev.Usage(1), turn_id="r"))).status


def test_thoughts_are_sections_with_the_bold_line_as_title():
    text = "**Look**\n\nwhere **is** it?\n\n**Then**\nchange it"

    assert (Section("where **is** it?", "Look"), Section("change it", "Then")) == split_sections(text)
    assert (Section("plain"),) == split_sections("plain")
    thought = ev.Item("i", "reasoning", "completed", text)
    assert ["Look", "Then"] == [one.title for one in run((1, ev.ItemEnded(thought, "r"))).sections]


def test_a_command_is_one_row_from_its_beginning_to_its_end():
    begun = ev.Item("c", "command", title="rg -n x src | head -3 && make")
    ended = ev.Item("c", "command", "failed", title=begun.title, exit_code=2)
    (row,) = run((100, ev.ItemStarted(begun, "r"))).tools
    (after,) = run((100, ev.ItemStarted(begun, "r")), (350, ev.ItemEnded(ended, "r"))).tools

    assert ("search", "+2 cmds", "running", None, None) == (
        row.label, row.more, row.status, row.exit_code, row.duration_ms
    )  # fmt: skip
    assert ("failed", 2, 250) == (after.status, after.exit_code, after.duration_ms)


@pytest.mark.parametrize(
    ("command", "label", "others"),
    [
        ("cat a.py", "read", 0),
        ("sed -n 1,5p a", "read", 0),
        ("sed -i s/a/b/ a", "exec", 0),
        ("/bin/ls -la", "list", 0),
        ("find . -type d", "list", 0),
        ("find . -name 'a;b'", "search", 0),
        ("git grep x", "search", 0),
        ("make; make test", "exec", 1),
        ("echo 'not closed", "exec", 0),
        ("", "exec", 0),
    ],
)
def test_a_command_has_a_label(command, label, others):
    assert (label, others) == label_command(command)


def test_runs_stand_apart_and_other_events_belong_to_none():
    told = (
        (0, ev.SessionOpened("n")),
        (1, ev.TurnStarted(turn_id="a")),
        (2, ev.TurnStarted(turn_id="b")),
        (3, ev.TurnEnded("completed", usage=ev.Usage(5), turn_id="a")),
    )

    assert [("a", "success", ev.Usage(5)), ("b", "running", None)] == [
        (one.run_id, one.status, one.usage) for one in build_trace(numbered(*told))
    ]


def entry(second, role, *parts, **more):
    """Return an entry of a transcript."""
    return Entry(role, f"2026-11-23T10:00:{second:02}Z", parts, **{"entry_id": f"e{second}", "line": second} | more)


def call(call_id, command):
    return Part(Kind.CALL, "", "Bash", call_id=call_id, command=command)


SAID, CONTEXT, ANSWER = Part(Kind.TEXT, "do it"), Part(Kind.CONTEXT, "<x>"), Part(Kind.RESULT, "", call_id="c1")
INTERRUPTED = Part(Kind.TEXT, "[Request interrupted by user]")


@pytest.mark.parametrize(
    ("entries", "runs"),
    [
        pytest.param((entry(1, "assistant", call("c1", "ls")),), [], id="before every message"),
        pytest.param((entry(1, "user", SAID), entry(2, "user", CONTEXT)), [("e1", [])], id="nothing is typed"),
        pytest.param((entry(1, "user", SAID), entry(2, "user", INTERRUPTED)), [("e1", [])], id="interrupted"),
        pytest.param((entry(1, "user", SAID, entry_id=""),), [("line 1", [])], id="without an id"),
        pytest.param(
            (entry(1, "user", SAID), entry(2, "assistant", call("c1", "ls")), entry(3, "user", SAID)),
            [("e1", [("ls", "unknown", None)]), ("e3", [])],
            id="without a result",
        ),
        pytest.param(
            (
                entry(1, "user", SAID),
                entry(2, "assistant", call("c1", "ls"), call("c2", "")),
                entry(3, "user", SAID),
                entry(4, "user", ANSWER),
            ),
            [("e1", [("ls", "completed", 2000)]), ("e3", [])],
            id="a message before the result",
        ),
        pytest.param(
            (entry(1, "user", SAID), entry(2, "assistant", call("c1", "ls"), is_sidechain=True)),
            [("e1", [])],
            id="of a sub-agent",
        ),
    ],
)  # fmt: skip
def test_a_transcript_is_a_run_for_each_message(entries, runs):
    trace = trace_entries(entries)

    assert {"unknown"} >= {run.status for run in trace}
    assert runs == [(run.run_id, [(row.command, row.status, row.duration_ms) for row in run.tools]) for run in trace]
