"""Both CLIs' transcripts as entries for people."""

import json

import pytest

from oulipoly_engine.core.transcripts import claude as claude_lines
from oulipoly_engine.core.transcripts import codex as codex_lines
from oulipoly_engine.core.transcripts.canonical import scan
from oulipoly_engine.core.transcripts.dialogue import EVERYTHING, TALK, Findings, Kind, PartSelection, select

AT = "2026-11-21T04:19:00.126Z"


def claude(kind, content, **more):
    message = {"role": kind, "content": content} | ({"model": "opus"} if kind == "assistant" else {})
    return {"type": kind, "uuid": "u", "timestamp": AT, "cwd": "/srv/app", "message": message} | more


def codex(kind, **payload):
    return {"type": kind, "timestamp": AT, "payload": payload}


def read(reader, *records, wanted=EVERYTHING):
    lines = [record if isinstance(record, bytes) else json.dumps(record).encode() + b"\n" for record in records]
    findings = Findings()
    return list(select(reader.dialogue(scan(lines), findings), wanted)), findings


def kinds(entries):
    return [[part.kind for part in entry.parts] for entry in entries]


def test_claude_blocks_become_parts():
    blocks = [
        {"type": "thinking", "thinking": "hmm"},
        {"type": "text", "text": "hello"},
        {"type": "tool_use", "name": "Bash", "input": {"command": "ls"}},
    ]
    entries, findings = read(claude_lines, claude("assistant", blocks))

    assert [[Kind.THINKING, Kind.TEXT, Kind.CALL]] == kinds(entries)
    assert ("Bash", "command: ls") == (entries[0].parts[2].label, entries[0].parts[2].text)
    assert (["opus"], ["/srv/app"], AT) == (findings.models, findings.workspaces, findings.first_at)


def test_result_of_a_tool_goes_on_with_the_answer():
    result = [{"type": "tool_result", "content": [{"type": "text", "text": "a.py"}], "is_error": True}]
    entries, _ = read(
        claude_lines,
        claude("user", "hi"),
        claude("assistant", [{"type": "text", "text": "x"}]),
        claude("user", result),
    )

    assert [("user", False), ("assistant", False), ("assistant", True)] == [(t.role, t.continues) for t in entries]
    assert entries[2].parts[0].is_error


@pytest.mark.parametrize("text", ["<command-name>/x", "<local-command-stdout>y"])
def test_what_the_cli_puts_in_is_no_text_of_the_user(text):
    assert [[Kind.CONTEXT]] == kinds(read(claude_lines, claude("user", text))[0])
    assert [] == read(claude_lines, claude("user", text), wanted=TALK)[0]


def test_summary_of_a_compaction_is_one():
    assert [[Kind.SUMMARY]] == kinds(read(claude_lines, claude("user", "so far", isCompactSummary=True))[0])


def test_image_is_named_with_type_and_size():
    block = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 4000}}

    part = read(claude_lines, claude("user", [block]))[0][0].parts[0]

    assert (Kind.IMAGE, "image/png", "3,000 bytes") == (part.kind, part.label, part.text)


def test_damaged_lines_are_counted_and_the_rest_is_read():
    entries, findings = read(claude_lines, b"{nope\n", claude("user", "hi"), b"[1]\n")

    assert 1 == len(entries)
    assert (2, [1, 3]) == (findings.damaged, findings.damaged_lines)


LONG = "9" * 5000  # digits: more than Python makes a number of


@pytest.mark.parametrize(
    ("reader", "record"),
    [
        (claude_lines, claude("assistant", [{"type": "tool_use", "name": "Bash", "input": {"n": LONG}}])),
        (codex_lines, codex("response_item", type="message", role="user", content=[{"text": "x", "n": LONG}])),
        (codex_lines, codex("response_item", type="function_call_output", output={"content": LONG})),
        (codex_lines, codex("compacted", message={"n": LONG})),
    ],
)
def test_an_endless_number_in_a_content_damages_its_line_alone(reader, record):
    fitting = claude("user", "hi") if reader is claude_lines else codex("compacted", message="hi")
    spoiled = json.dumps(record).replace(f'"{LONG}"', LONG).encode() + b"\n"

    entries, findings = read(reader, spoiled, fitting)

    assert (1, [1]) == (len(entries), findings.damaged_lines)


@pytest.mark.parametrize(
    "message", [None, 5, [], {"content": None}, {"content": [None, 5, {"type": None}]}, {"content": {"a": 1}}, "text"]
)
def test_strange_messages_break_nothing(message):
    record = claude("user", "x") | {"message": message}

    assert len(read(claude_lines, record)[0]) <= 1


def test_codex_items_become_parts():
    entries, findings = read(
        codex_lines,
        codex("session_meta", id="s", cwd="/srv/app", forked_from_id="parent"),
        codex("turn_context", model="gpt", cwd="/srv/app"),
        codex("response_item", type="message", role="developer", content=[{"type": "input_text", "text": "rules"}]),
        codex("response_item", type="message", role="user", content=[{"type": "input_text", "text": "hi"}]),
        codex("event_msg", type="user_message", message="hi"),
        codex("response_item", type="reasoning", summary=[{"type": "summary_text", "text": "hmm"}]),
        codex("response_item", type="function_call", name="shell", arguments='{"cmd": "ls"}'),
        codex("response_item", type="function_call_output", output="a.py"),
        codex("response_item", type="message", role="assistant", content=[{"type": "output_text", "text": "done"}]),
    )

    assert [[Kind.TEXT], [Kind.THINKING], [Kind.CALL], [Kind.RESULT], [Kind.TEXT]] == kinds(entries)
    assert "cmd: ls" == entries[2].parts[0].text
    assert (["gpt"], "parent") == (findings.models, findings.forked_from)


@pytest.mark.parametrize(
    ("name", "given", "command"),
    [
        ("shell", {"arguments": '{"command": ["bash", "-lc", "echo hi; pwd"]}'}, "echo hi; pwd"),
        ("shell", {"arguments": '{"command": ["rg", "-n", "a b"]}'}, "rg -n 'a b'"),
        ("shell_command", {"arguments": '{"command": "ls"}'}, "ls"),
        ("exec_command", {"arguments": '{"cmd": "ls"}'}, "ls"),
        (None, {"type": "local_shell_call", "action": {"type": "exec", "command": ["ls"]}}, "ls"),
        ("exec_command", {"arguments": '{"command": "ls"}'}, ""),
        ("exec", {"type": "custom_tool_call", "input": "tools.exec_command({cmd: 'ls'})"}, ""),
        ("spawn_agent", {"arguments": '{"command": "ls"}'}, ""),
        ("shell", {"arguments": '{"command": {"a": 1}}'}, ""),
        ("shell", {"arguments": "[not JSON"}, ""),
        ("shell", {}, ""),
    ],
)
def test_what_a_call_of_codex_runs_is_known_where_its_tool_is(name, given, command):
    payload = {"type": "function_call", "name": name, "call_id": "c1"} | given
    (part,) = read(codex_lines, codex("response_item", **payload))[0][0].parts

    assert ("c1", command) == (part.call_id, part.command)


@pytest.mark.parametrize(
    ("output", "code"),
    [
        ('{"output": "hi", "metadata": {"exit_code": 2}}', 2),
        ("Wall time: 0.0 seconds\nProcess exited with code 2\nOutput:\nhi", 2),
        ("Exit code: 0\nWall time: 0.1 seconds\nOutput:\nhi", 0),
        ("Wall time: 0.0 seconds\nOutput:\nProcess exited with code 0\n", None),  # said by the command
        ('{"output": "Exit code: 0\\n", "metadata": {"exit_code": true}}', None),
        (f"Exit code: {'9' * 5000}", None),
        ('{"metadata": []}', None),
        ("{", None),
        ('{"output": "\ud800"}', None),
    ],
)
def test_the_exit_code_of_a_result_of_codex_is_that_of_its_head(output, code):
    payload = {"type": "function_call_output", "call_id": "c1", "output": output}
    (part,) = read(codex_lines, codex("response_item", **payload))[0][0].parts

    assert ("c1", code) == (part.call_id, part.exit_code)


def test_without_a_wish_calls_are_named_and_results_left_out():
    call = [{"type": "tool_use", "name": "Bash", "input": {"command": "ls"}}]
    result = [{"type": "tool_result", "content": "a.py"}]

    entries, _ = read(claude_lines, claude("assistant", call), claude("user", result), wanted=TALK)

    assert [("Bash", "")] == [(part.label, part.text) for entry in entries for part in entry.parts]


def test_each_wish_shows_its_own():
    blocks = [{"type": "thinking", "thinking": "hmm"}, {"type": "tool_use", "name": "Bash", "input": {"command": "ls"}}]

    assert [[Kind.THINKING, Kind.CALL]] == kinds(read(claude_lines, claude("assistant", blocks), wanted=EVERYTHING)[0])
    only = read(claude_lines, claude("assistant", blocks), wanted=PartSelection(tools=True))[0]
    assert [[Kind.CALL]] == kinds(only)
