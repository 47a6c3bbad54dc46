"""A session id that no CLI can have made is refused wherever one comes in."""

import json

import pytest

from oulipoly_engine.core.accounts.accounts import Account, ResumeSpec
from oulipoly_engine.core.accounts.arguments import resume_args
from oulipoly_engine.core.accounts.session_ids import is_session_id
from oulipoly_engine.core.runs.capture import JsonEventReader
from oulipoly_engine.core.transcripts.turn_script import parse_line
from oulipoly_engine.errors import SessionIdInvalid

GOOD = ["11111111-1111-4111-8111-111111111111", "ses_5f2cAb", "a.b", "_x", ".x", "a" * 128]
BAD = ["", ".", "..", "-x", "--fork", "a b", "a/b", "../a", "é", "a\n", "\x1b[2J", "a\u202eb", "a" * 129, "x\udcff"]


@pytest.mark.parametrize("text", GOOD)
def test_what_clis_make_is_an_id(text):
    assert is_session_id(text)


@pytest.mark.parametrize("text", BAD)
def test_what_no_cli_makes_is_none(text):
    assert not is_session_id(text)


@pytest.mark.parametrize("text", [text for text in BAD if text])
def test_a_bad_id_is_neither_stored_nor_captured_nor_given_to_a_cli(text):
    told = {"session_id": text, "turn_id": "t", "timestamp": "2026-11-20T10:00:00Z", "role": "user"}
    reader = JsonEventReader("start", ("id",))
    reader.feed(json.dumps({"type": "start", "id": text}).encode() + b"\n")
    captured = reader.finish()

    entry, error = parse_line(json.dumps(told).encode(), 1)

    assert None is entry
    assert "`session_id`" in error.text
    assert (None, "failed") == (captured.session_id, captured.method)
    with pytest.raises(SessionIdInvalid):
        resume_args(Account("a", "cli", resume=ResumeSpec("--resume")), text)
