"""The log of a wire: what it keeps, and what it does not."""

import json
from pathlib import Path

import pytest

from oulipoly_engine.core.live.runtimes import hide_proxy
from oulipoly_engine.core.text.redact import redact_strictly
from oulipoly_engine.service.live.wire_log import WireLog

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
        ("cli->client", {"method": "warning", "params": {"text": f"cannot reach {PROXY}"}}),
        ("cli->client", {"method": "warning", "params": {"text": f"not valid: {DRAWN}"}}),
    ],
    ids=["codex", "acp", "claude", "proxy", "drawn"],
)
def test_secrets_are_not_kept(log, tmp_path, direction, message):
    log.write(direction, json.dumps(message).encode())

    assert "CANARY" not in (tmp_path / "log").read_text()


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
