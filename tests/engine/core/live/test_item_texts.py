"""Items without the texts that an entry holds as well, and with them again."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oulipoly_engine.core.live import events as ev
from oulipoly_engine.core.live.entries import entry_of
from oulipoly_engine.core.live.item_texts import REMOVED, complete_item, make_item, shorten_item

ADDED = ev.FileChange("a.py", "add", "+one\n+two")
UPDATED = ev.FileChange("a.py.bak", "update", "-old\n+new\n")


def body_of(item):
    line = entry_of("s1", "n1", ev.Numbered(1, "2026-11-22T12:00:00.000000Z", ev.ItemEnded(item)))
    return None if line is None else line.body


@pytest.mark.parametrize(
    "item",
    [
        ev.Item("1", "user_message", "completed", "hello\n\nworld"),
        ev.Item("1", "user_message", "completed", "go on", native_kind=ev.RESUMES),
        ev.Item("1", "agent_message", "completed", " spaced ", phase="final_answer"),
        ev.Item("1", "reasoning", "completed", "**Look**\nI look"),
        ev.Item("1", "command", "failed", "no such file\n", "ls x", exit_code=2, cwd="/work"),
        ev.Item("1", "tool", "completed", "text"),
        ev.Item("1", "plan", "completed", "why", "Plan", steps=(("one", "pending"), ("two", "completed"))),
        ev.Item("1", "file_change", "completed", "done", "2 files", changes=(ADDED, UPDATED)),
        ev.Item("1", "file_change", "completed", "", "a.py", changes=(ADDED, ev.FileChange("b"), UPDATED)),
        ev.Item("1", "compaction", "completed", "a summary", "Shortens the past"),
    ],
    ids=lambda item: f"{item.kind}-{item.status}-{len(item.changes)}",
)
def test_what_an_entry_holds_goes_and_comes_back(item):
    short = shorten_item(item, body_of(item))

    assert "" == short.text
    assert {""} == {change.diff for change in short.changes} | {""}
    assert item == complete_item(short, body_of(item))


CHANGES = st.lists(
    st.builds(ev.FileChange, st.sampled_from(("a", "ab")), st.just("add"), st.text("a bd\n")), max_size=3
)


@given(st.builds(ev.Item, st.just("1"), st.just("file_change"), text=st.text("ab\n"), changes=CHANGES.map(tuple)))
def test_no_item_comes_back_as_another_one(item):
    short = shorten_item(item, body_of(item))

    assert short is None or item == complete_item(short, body_of(item))


def test_what_another_body_says_stays():
    item = ev.Item("1", "file_change", "completed", "made it so", "a.py", changes=(ADDED,))

    assert shorten_item(item, '[{"type":"tool_result","text":"made it so"}]').changes == (ADDED,)
    assert shorten_item(item, '[{"type":"tool_result","text":"made it"}]') is None
    assert shorten_item(item, None) is None


def test_an_item_whose_entry_is_gone_says_so():
    assert REMOVED == complete_item(ev.Item("1", "agent_message"), None).text


@pytest.mark.parametrize(
    ("role", "chunks", "is_compaction", "shown"),
    [
        ("user", {"text": "hello"}, False, ("user_message", "", "hello")),
        ("assistant", {"text": "hello", "tool_use": "ls"}, False, ("agent_message", "", "hello\nls")),
        ("assistant", {"thinking": "hm"}, False, ("reasoning", "thinking", "hm")),
        ("user", {"tool_result": "a.py"}, False, ("tool", "tool_result", "a.py")),
        ("user", {"text": "a summary"}, True, ("compaction", "", "a summary")),
        ("user", {}, False, ("tool", "", "")),
    ],
)
def test_an_entry_of_a_transcript_is_an_item_by_its_role_and_chunks(role, chunks, is_compaction, shown):
    body = json.dumps([{"type": kind, "text": text} for kind, text in chunks.items()])
    item = make_item("e1", role, body, is_compaction=is_compaction)

    assert shown == (item.kind, item.title, item.text)
