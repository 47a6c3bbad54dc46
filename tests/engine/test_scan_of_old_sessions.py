"""A scan leaves nothing at risk that a CLI deletes soon, however slow the disk is."""

import json
import os
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

from oulipoly_engine.clock import to_text
from oulipoly_engine.facade.engine import Engine
from oulipoly_engine.facade.sessions import scans

_DAYS = (28, 1)
_DAY_S = 86_400


@pytest.fixture
def engine(world, monkeypatch):
    """Return an engine of a home with a session that is deleted in two days and one of yesterday."""
    root = world.home / ".claude" / "projects"
    (root / "-w").mkdir(parents=True)
    world.account("acc", "true")
    (world.config / "sessions.toml").write_text(f"[acc]\nturn_script = 'claude-code-turns {root}'\n")
    for days in _DAYS:
        session = f"{days:08}-1111-4111-8111-111111111111"
        at = to_text(datetime.now(UTC) - timedelta(days=days))
        record = {"type": "user", "uuid": f"u{days}", "sessionId": session, "timestamp": at, "cwd": "/w"}
        path = root / "-w" / f"{session}.jsonl"
        path.write_text(json.dumps(record | {"message": {"role": "user", "content": "words"}}) + "\n")
        os.utime(path, (time.time() - days * _DAY_S,) * 2)
    monkeypatch.setattr(scans, "_AFTERWARDS_S", -1.0)
    with closing(Engine()) as made:
        yield made


def test_a_scan_keeps_what_is_deleted_soon_and_no_alert_stays(engine):
    engine.sessions.scans.read_new()
    board = engine.sessions.catalogue.board()

    assert len(_DAYS) == len(board.rows)
    assert () == engine.snapshot().alerts_of("at-risk")
