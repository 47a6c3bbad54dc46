"""How often the redactor is wrong about ordinary text: our own programs, and transcripts without secrets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from oulipoly_engine.core.text.redact import redact, redact_strictly

_ROOT = Path(__file__).parents[4]
_PER_ALARM = 10_000  # lines


def _lines(folder: str, *patterns: str) -> Iterator[str]:
    for pattern in patterns:
        for path in sorted((_ROOT / folder).rglob(pattern)):
            yield from path.read_text(encoding="utf-8", errors="replace").splitlines()


@pytest.mark.parametrize(
    ("folder", "patterns"),
    [("engine", ("*.py",)), ("tui", ("*.py",)), ("tests/fixtures", ("*.py", "*.txt", "*.json", "*.jsonl", "*.sql"))],
)
def test_ordinary_lines_are_left_alone(folder, patterns):
    lines = list(_lines(folder, *patterns))

    wrong = {line for line in {*lines} if redact(line) != line}  # many lines are there more than once
    alarms = [line for line in lines if line in wrong]

    assert lines
    assert len(alarms) * _PER_ALARM <= len(lines), "\n".join(alarms)


def test_lines_of_the_standard_library_are_left_alone():
    paths = sorted(Path(json.__file__).parents[1].glob("*.py"))
    lines = [line for path in paths for line in path.read_text(encoding="utf-8", errors="replace").splitlines()]

    alarms = [line for line in lines[:_PER_ALARM] if redact(line) != line]

    assert _PER_ALARM == len(lines[:_PER_ALARM])
    assert len(alarms) <= 2, "\n".join(alarms)


@pytest.mark.parametrize(
    "text",
    [
        "request 550e8400-e29b-41d4-a716-446655440000 was refused",
        "cannot read /home/user/.config/agent-runner/scripts/quota-of-claude.sh",
        "some_function_of_a_module_with_a_long_name failed: HTTP 503",
        "https://api.vendor.example/v1/organizations/usage_report/messages",
        json.dumps({"error": {"type": "authentication_error", "message": "OAuth token has expired."}}),
    ],
)
def test_messages_of_scripts_stay_legible(text):
    assert text == redact_strictly(text)


@pytest.mark.parametrize(
    "secret",
    [  # each in two parts: scanners for leaked keys look for the whole
        "7f3KQm9sLw2PzX8v" + "N4bTc6RyHd1JgAe5UoZiEq0M",
        "9c1185a5c5e9fc546128" + "08977ee8f548b2258d31",
        "4k8z1q7w9e3r5t6y" + "2u0i4o8p1a3s5d7f",
        "Zm9v/mJhcjE3Qx+YmF6c" + "XV4OTk5OTk4Nzc3NzY2NjU1NTQ0=",
    ],
    ids=["letters and digits", "hexadecimal", "small letters", "base64"],
)
def test_bare_token_in_a_message_of_a_script_is_removed(secret):
    assert "refused [redacted] twice" == redact_strictly(f"refused {secret} twice")
    assert secret in redact(f"refused {secret} twice")
