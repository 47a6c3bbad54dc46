"""The log of a wire: what it keeps, and what it does not."""

import json
from base64 import b64encode
from pathlib import Path

import pytest

from oulipoly_engine.clock import SystemClock
from oulipoly_engine.core.live.runtimes import hide_proxy
from oulipoly_engine.core.text.redact import redact_strictly
from oulipoly_engine.service.live.session_log import SessionLog
from oulipoly_engine.service.live.wire.log import WireLog

PROXY = "http://ann:CANARY-word@proxy.example:8080"
DRAWN = "CANARYf3a91c07e2b8d45460affe12cd9b"


@pytest.fixture
def log(tmp_path):
    return WireLog(tmp_path / "log", lambda text: redact_strictly(hide_proxy(text, PROXY)))


@pytest.mark.parametrize(
    ("direction", "message"),
    [
        ("client->cli", {"id": 1, "result": {"answers": {"key": {"answers": ["CANARY"]}}}}),
        ("client->cli", {"id": 1, "result": {"action": "accept", "content": {"key": "CANARY"}}}),
        ("client->cli", {"type": "control_response", "response": {"updatedInput": {"answers": {"Key?": "CANARY"}}}}),
        (
            "cli->client",
            {"id": "", "msg": {"type": "exec_command_output_delta", "chunk": b64encode(b"CANARY").decode()}},
        ),
        ("cli->client", {"method": "warning", "params": {"text": f"cannot reach {PROXY}"}}),
        ("cli->client", {"method": "warning", "params": {"text": f"not valid: {DRAWN}"}}),
    ],
    ids=["codex", "acp", "claude", "bytes", "proxy", "drawn"],
)
def test_secrets_are_not_kept(log, tmp_path, direction, message):
    log.write(direction, json.dumps(message).encode())

    kept = (tmp_path / "log").read_text()
    assert "CANARY" not in kept
    assert b64encode(b"CANARY").decode() not in kept


PIECES = {
    "claude": lambda text: {
        "type": "stream_event",
        "uuid": f"another-each-time-{len(text)}",
        "event": {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
    },
    "claude's tools": lambda text: {
        "type": "stream_event",
        "event": {"type": "content_block_delta", "delta": {"type": "input_json_delta", "partial_json": text}},
    },
    "codex": lambda text: {"method": "item/agentMessage/delta", "params": {"itemId": "i", "delta": text}},
    "acp": lambda text: {
        "method": "session/update",
        "params": {"update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}},
    },
}


@pytest.mark.parametrize("piece", PIECES.values(), ids=PIECES)
def test_a_secret_that_comes_in_pieces_is_kept_in_neither_log(log, tmp_path, piece):
    secret = "sk-proj-" + "aB3dE5gH7jK9mN1pQ3"
    log_for_people = SessionLog(tmp_path / "people", SystemClock())
    for text in ("the key is sk-pr", "oj-aB3dE5gH7", "jK9mN1pQ3 and", " that is all\n"):
        line = json.dumps(piece(text)).encode()
        log.write("cli->client", line)
        log_for_people.write("out", line)

    for path in (tmp_path / "log", tmp_path / "people"):
        kept = path.read_text()
        assert [] == [
            part for part in (secret[:8], "aB3dE5gH7", "jK9mN1pQ3") if f'"{part}' in kept or f" {part}" in kept
        ]
        assert "[redacted]" in kept
        assert "that is all" in kept


def test_a_key_of_several_lines_is_not_kept(log, tmp_path):
    lines = ["-----BEGIN RSA PRIVATE KEY-----", "CANARYaB3dE5gH7jK9", "-----END RSA PRIVATE KEY-----", "go on"]
    for line in lines:
        log.write("cli->client", line.encode())

    assert "CANARY" not in (tmp_path / "log").read_text()
    assert "go on" in (tmp_path / "log").read_text()


def test_the_rest_is_kept(log, tmp_path):
    messages = [
        {"method": "item/completed", "params": {"itemId": DRAWN, "item": {"content": [{"text": "a"}], "tokens": 7}}},
        {"id": 1, "method": "session/prompt", "params": {"prompt": [{"type": "text", "content": "what to do"}]}},
    ]
    for message in messages:
        log.write("client->cli", json.dumps(message).encode())

    assert messages == [json.loads(line)["msg"] for line in (tmp_path / "log").read_text().splitlines()]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a disk that is always full")
def test_a_full_disk_ends_nothing():
    log = WireLog(Path("/dev/full"), str)

    for _ in range(2):
        log.write("client->cli", b"{}")
