"""Which tools entries have called, looked up in a transcript of Claude Code whose bodies do not tell."""

import json

import pytest

from oulipoly_engine.adapters.transcript_calls import find_calls, read_calls

SECRET = "sk-ant-api03-" + "Ab1Cd2Ef3G" * 4


@pytest.fixture
def transcript(tmp_path):
    calls = {
        "a": ("Bash", {"command": "ls -la roof", "description": "List"}),
        "b": ("Write", {"file_path": "x.py", "content": "first\nsecond"}),
        "c": ("Bash", {"command": f"curl -H 'x-api-key: {SECRET}'"}),
        "d": ("TodoWrite", {}),
    }
    lines = [
        {"type": "assistant", "parentUuid": parent, "uuid": uuid, "message": {"content": [block]}}
        for (uuid, (name, given)), parent in zip(calls.items(), (None, *calls), strict=False)
        for block in [{"type": "tool_use", "id": f"call-{uuid}", "name": name, "input": given}]
    ]
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines) + '{"torn')
    return str(path)


def test_a_call_is_told_by_its_tool_and_its_first_argument_without_secrets(transcript):
    calls = read_calls(transcript, ["b", "a", "c", "d", "gone"])

    assert ("Bash ls -la roof", "Write x.py", "TodoWrite") == (calls["a"], calls["b"], calls["d"])
    assert SECRET not in calls["c"]
    assert {"a", "b", "c", "d"} == calls.keys()
    assert {} == read_calls(f"{transcript}.gone", ["a"])


@pytest.mark.parametrize(
    ("words", "ids"), [("BASH", ["a", "c"]), ("la roof", ["a"]), ("tool_use", []), ("call-a", []), (SECRET, [])]
)
def test_calls_are_found_by_name_and_argument(transcript, words, ids):
    assert ids == [*find_calls(transcript, words)]
