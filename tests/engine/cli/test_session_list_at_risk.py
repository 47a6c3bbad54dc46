"""`session list` by what is at risk, and the other way round."""

import json
import os
import time
from datetime import UTC, datetime, timedelta

import pytest

from oulipoly_engine.clock import to_text

NEW, OLD, KEPT = (f"{digit * 8}-1111-4111-8111-111111111111" for digit in "123")
_DAY_S = 86_400


@pytest.fixture
def listing(world):
    """Return what lists sessions: one of today, one deleted in two days, one that is kept and deleted then."""
    root = world.home / ".claude" / "projects"
    (root / "-w").mkdir(parents=True)
    storage = f"""[acc.session_storage]
kind = "script"
storage_type = "claude_code"
cwd_script = "claude-code-cwd {root}"
transcript_script = "claude-code-locate-transcript {root}"
"""
    world.account("acc", "true", storage)
    (world.config / "sessions.toml").write_text(f"[acc]\nturn_script = 'claude-code-turns {root}'\n")
    (world.config / "config.toml").write_text("archive = false\n")
    for session, days in ((KEPT, 28), (OLD, 28), (NEW, 0)):
        path = root / "-w" / f"{session}.jsonl"
        at = to_text(datetime.now(UTC) - timedelta(days=days, minutes=1))
        record = {"type": "user", "uuid": session[:4], "sessionId": session, "timestamp": at, "cwd": "/w"}
        path.write_text(json.dumps(record | {"message": {"content": f"words {session[0]}"}}) + "\n")
        os.utime(path, (time.time() - days * _DAY_S,) * 2)
        assert 0 == world.run("session-scan").returncode
        if session == KEPT:
            assert 0 == world.run("session", "archive").returncode

    def run(*words):
        done = world.run("session", "list", "--json", *words)
        assert 0 == done.returncode, done.stderr
        found = json.loads(done.stdout)
        return [one["session_id"] for one in found["conversations"]], found["total"]

    return run


def test_what_is_at_risk_is_found_by_the_word_that_the_app_has(listing):
    assert ([OLD], 1) == listing("is:at-risk")
    assert ([NEW], 2) == listing("-is:at-risk", "--limit", "1")
    assert ([], 0) == listing("is:at-risk", "nowhere")


def test_reverse_turns_the_order_round_before_it_is_cut(listing):
    assert ([NEW], 3) == listing("--limit", "1")
    assert listing("--all")[0] == listing("--all", "--reverse")[0][::-1]
    assert NEW not in listing("--limit", "2", "--reverse")[0]


def test_the_search_of_turns_refuses_it_and_names_the_list(world, listing):
    done = world.run("session", "search", "is:at-risk words")

    assert 0 != done.returncode
    assert b"session list is:at-risk" in done.stderr
