"""Gemini's operation logs, as gemini-cli 0.61 wrote them, through the turn adapter and the places adapter."""

import json
import shutil
from pathlib import Path

import pytest

from oulipoly_engine.adapters.scripts import places
from oulipoly_engine.adapters.scripts.turns import FORMATS, Reading

REAL = Path(__file__).parents[2] / "fixtures" / "transcripts" / "gemini"
LINEAR, TOOLS = "8dd3ea41-cf30-4615-bec2-350de1bc3bbe", "fcf14bf8-6179-4169-b094-211b44ec9da8"


@pytest.fixture
def logs(tmp_path):
    shutil.copytree(REAL, tmp_path / "gemini")
    return tmp_path / "gemini" / "tmp"


def read(folder, state):
    reading = Reading(FORMATS["gemini-turns"], folder, state)
    found = list(reading.turns())
    reading.keep()
    assert (0, []) == (reading.damaged_lines, reading.notes)
    return found


def distinct(turns, session_id):
    """Return a session's entries as a store keeps them: the first one of each id."""
    found = {}
    for turn in turns:
        if turn["session_id"] == session_id:
            found.setdefault(turn["turn_id"], turn)
    return list(found.values())


def test_real_session_that_was_gone_on_with_has_each_turn_once(logs, tmp_path):
    turns = distinct(read(logs, tmp_path / "state"), LINEAR)

    texts = [turn["body"][0]["text"] for turn in turns]
    assert ["first", "echo: first", "second", "echo: second"] == texts[1:]
    assert ["user", "user", "assistant", "user", "assistant"] == [turn["role"] for turn in turns]
    assert "2026-11-21T04:07:43.012Z" == turns[1]["timestamp"]  # not that of the list that repeats it


def test_real_tool_calls_are_turns_that_say_so_and_their_repeated_answers_are_none(logs, tmp_path):
    turns = distinct(read(logs, tmp_path / "state"), TOOLS)

    assert 9 == len(turns)
    assert [{"type": "tool_use"}] in [turn.get("body") for turn in turns if turn["role"] == "assistant"]
    assert [{"type": "tool_result"}] in [turn.get("body") for turn in turns if turn["role"] == "user"]
    assert 4 == sum(turn["role"] == "assistant" for turn in turns)
    assert not any(turn["turn_id"].endswith("_response") for turn in turns)


def test_any_cut_of_a_real_log_gives_the_same_turns(logs, tmp_path):
    whole = distinct(read(logs, tmp_path / "whole"), LINEAR)
    path = next(logs.rglob(f"*{LINEAR[:8]}*"))
    content = path.read_bytes()
    path.write_bytes(b"")
    found = []
    for end in (*range(0, len(content), 97), len(content)):
        path.write_bytes(content[:end])
        found += read(logs, tmp_path / "cut")

    assert whole == distinct(found, LINEAR)


def test_errors_and_notices_are_no_turns(logs, tmp_path):
    path = next(logs.rglob(f"*{LINEAR[:8]}*"))
    before = read(logs, tmp_path / "state")
    with path.open("a") as file:
        for kind in ("info", "error", "warning", None):
            file.write(
                json.dumps({"id": "x", "timestamp": "2026-11-21T04:07:43Z", "type": kind, "content": "x"}) + "\n"
            )

    assert before
    assert [] == read(logs, tmp_path / "state")


@pytest.mark.parametrize("patch", [{"messages": None}, {"messages": [None, 3, {}]}, None, 5, {"sessionId": 7}])
def test_odd_operations_are_passed_over(logs, tmp_path, patch):
    path = next(logs.rglob(f"*{LINEAR[:8]}*"))
    read(logs, tmp_path / "state")
    with path.open("a") as file:
        file.write(json.dumps({"$set": patch, "type": "user"}) + "\n")
        file.write('{"id":"n","timestamp":"2026-11-21T05:00:00Z","type":"user","content":[{"text":"after"}]}\n')

    assert [(LINEAR, "n")] == [(turn["session_id"], turn["turn_id"]) for turn in read(logs, tmp_path / "state")]


def test_a_session_is_located_by_the_id_inside(logs):
    found = places.run(("gemini-locate-transcript", str(logs), TOOLS), {})
    other = places.run(("gemini-locate-transcript", str(logs), TOOLS[:8] + LINEAR[8:]), {})

    assert (0, f"session-2026-11-21T04-07-{TOOLS[:8]}.jsonl\n") == (found.exit_code, found.stdout.rpartition("/")[2])
    assert 1 == other.exit_code


def test_the_folder_is_what_the_list_of_projects_says(logs, tmp_path):
    (logs.parent / "projects.json").write_text(json.dumps({"projects": {str(tmp_path): "proj", "/elsewhere": "q"}}))

    said = places.run(("gemini-cwd", str(logs), TOOLS), {}).stdout

    assert {"found": True, "cwd": str(tmp_path)} == json.loads(said)


@pytest.mark.parametrize(
    ("content", "slug"),
    [
        (None, "gemini_no_projects_file"),
        ("[]", "gemini_no_projects_file"),
        ('{"projects": {"/x": "other"}}', "gemini_project_unknown"),
        ('{"projects": {"/nowhere/at/all": "proj"}}', "gemini_cwd_missing"),
    ],
)
def test_a_folder_that_cannot_be_told_says_why(logs, content, slug):
    (logs.parent / "projects.json").unlink()
    if content is not None:
        (logs.parent / "projects.json").write_text(content)

    said = places.run(("gemini-cwd", str(logs), TOOLS), {}).stdout

    assert {"found": False, "error": slug} == json.loads(said)


@pytest.mark.parametrize("missing", ["id", "timestamp"])
def test_message_that_lacks_something_is_told(logs, tmp_path, missing):
    path = next(logs.rglob(f"*{LINEAR[:8]}*"))
    lines = len(path.read_bytes().splitlines())
    message = {"id": "n", "timestamp": "2026-11-21T05:00:00Z", "type": "user", "content": "x"}
    del message[missing]
    with path.open("a") as file:
        file.write(json.dumps(message) + "\n")
    reading = Reading(FORMATS["gemini-turns"], logs, tmp_path / "state")

    assert "n" not in [turn["turn_id"] for turn in reading.turns()]
    assert [f"{path}:{lines + 1}: a message without `{missing}`, left out"] == reading.notes
