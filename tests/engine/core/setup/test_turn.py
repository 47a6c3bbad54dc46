"""What a model replies is read from whatever stands around it; what is wrong in it is named, and the rest done."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oulipoly_engine.core.setup import turn
from oulipoly_engine.core.setup.actions import AskUser, CompleteAction, RunCommand, StatusAction
from oulipoly_engine.core.setup.turn import BadAction, parse_reply
from oulipoly_engine.errors import RequestRefused

REPLY = {"actions": [{"type": "status", "message": "hello"}], "done": True}
TEXT = json.dumps(REPLY)


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        f"Sure:\n```json\n{json.dumps(REPLY, indent=2)}\n```\nDone {{}}.",
        json.dumps({"type": "result", "is_error": False, "result": f"```\n{TEXT}\n```"}),
        json.dumps({"type": "result", "result": "", "structured_output": REPLY}),
        json.dumps({"type": "result", "result": REPLY}),
        "\n".join((json.dumps({"type": "system"}), json.dumps({"type": "result", "result": TEXT}))),
        f'a {{brace}} and {{"another": "object"}} before {TEXT}',
    ],
    ids=["bare", "fenced", "envelope", "structured", "an object within", "stream", "after others"],
)
def test_the_object_is_found(text):
    reply = parse_reply(text)
    assert (reply.actions, reply.done) == ((StatusAction("hello"),), True)
    assert json.loads(reply.text) == REPLY


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no JSON object"),
        ("no", "no JSON object"),
        ("[1]", "no JSON object"),
        ('{"actions": {}}', '"actions" has to be a list'),
        ('{"actions": [], "done": "yes"}', '"done" true or false'),
        ('{"actions": [' * 50_000, "no JSON object"),
        (
            json.dumps({"actions": [{"type": "status", "message": "x" * turn.LONGEST_REPLY}]}),
            "longer than 1048576 bytes",
        ),
    ],
    ids=["empty", "words", "a list", "no list", "no truth", "deep", "1 MB"],
)
def test_what_cannot_be_read_is_refused_with_the_reason(text, reason):
    with pytest.raises(RequestRefused, match=reason):
        parse_reply(text)


@pytest.mark.parametrize(
    "action",
    [
        {"type": "delete_everything"},
        {"type": "run_command"},
        {"type": "run_command", "command": "npm", "args": "install"},
        {"type": "run_command", "command": "npm", "args": ["x"] * 51},
        {"type": "run_command", "command": "npm", "args": ["\ud800"]},
        {"type": "status", "message": "x" * 5000},
        {"type": "write_config", "path": "a", "content": "x" * 200_001},
        {"type": "ask_user", "action": {"type": "form", "title": "t", "fields": []}},
        {"type": "ask_user", "action": {"type": "form", "title": "t", "fields": [{"name": str(n)} for n in range(21)]}},
        {"type": "ask_user", "action": {"type": "confirm", "title": "t", "message": "x" * 5000}},
        {"type": "ask_user", "action": {"type": "api_key_entry", "provider": "x", "env_var": "PATH; rm"}},
        {"type": "update_memory", "node_type": "cli", "label": "x", "data": {"a": "x" * 30_000}},
        {"type": "complete", "summary": "s", "items": ["x"] * 101},
        ["a list"],
        7,
    ],
    ids=lambda action: json.dumps(action)[:40],
)
def test_a_wrong_action_is_refused_alone(action):
    bad, good = parse_reply(json.dumps({"actions": [action, {"type": "status", "message": "hello"}]})).actions
    assert isinstance(bad, BadAction)
    assert bad.reason
    assert len(bad.reason) <= 200
    assert good == StatusAction("hello")


def test_what_is_left_out_means_go_on():
    reply = parse_reply('{"actions": []}')
    assert (reply.actions, reply.done, reply.left_out) == ((), False, 0)


def test_more_actions_than_a_turn_may_have_are_counted():
    reply = parse_reply(json.dumps({"actions": [{"type": "status", "message": str(n)} for n in range(33)]}))
    assert (len(reply.actions), reply.left_out) == (20, 13)


def test_every_kind_of_action_is_read():
    actions = [
        {"type": "run_command", "command": "npm", "args": ["-v"], "description": "see"},
        {"type": "ask_user", "action": {"type": "cli_selection", "available": [{"name": "codex"}], "message": "which"}},
        {"type": "test_integration", "model_name": "m", "command": "codex", "args": []},
        {"type": "sync_skill", "source_cli": "a", "target_cli": "b", "skill_name": "c"},
        {"type": "sync_mcp", "source_cli": "a", "target_cli": "b", "mcp_name": "c", "config": "{}"},
        {
            "type": "update_memory",
            "node_type": "cli",
            "label": "codex",
            "data": {"a": 1},
            "edges": [{"target_label": "x", "edge_type": "uses"}],
        },
        {"type": "complete", "summary": "done", "items": ["a"]},
    ]
    read = parse_reply(json.dumps({"actions": actions})).actions
    assert not [one for one in read if isinstance(one, BadAction)]
    assert read[0] == RunCommand("npm", ("-v",), "see")
    assert isinstance(read[1], AskUser)
    assert read[-1] == CompleteAction("done", ("a",))


@given(st.text(alphabet='{}[]":,aactionsdonetrue 1\\', max_size=300))
def test_nothing_but_a_refusal_comes_of_garbage(text):
    with suppress(RequestRefused):
        assert parse_reply(text).text
