"""Drivers of the ingest: a turn script of the vector's making, run for an account of a real store."""

import json
import os
import shlex
from datetime import UTC, datetime

from oulipoly_engine.core.accounts.accounts import SessionScripts
from oulipoly_engine.service.transcripts.ingest import Ingester
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.transcripts import entries
from oulipoly_engine.testing import FakeClock


def script_of(given):
    """Return a shell line that prints the vector's lines and ends as it says."""
    lines = [
        json.dumps(
            {
                "session_id": "5169694d-de0f-40d1-890c-6e28e55bab27",
                "turn_id": "same" if given.get("duplicate") else f"t{number}",
                "timestamp": f"2026-04-17T08:00:0{number}Z",
                "role": "assistant" if number < given.get("assistant", 0) else "user",
            }
        )
        for number in range(given.get("lines", 0))
    ]
    printed = "".join(f"echo {shlex.quote(line)}; " for line in lines)
    return f"{printed}exit {given.get('exit', 0)}"


def ingest(vector, tmp_path):
    store = open_store(tmp_path / "state.db")
    scanner = Ingester(
        store,
        {"claude": SessionScripts(script_of(vector["input"]))},
        FakeClock(),
        home=tmp_path,
        environ=dict(os.environ),
        state_root=tmp_path / "sessions",
        locks=tmp_path / "locks",
    )
    (result,) = scanner.ingest_accounts(["claude"])
    found = {
        "script_lines": result.script_lines,
        "new_turns": result.new_turns,
        "errors": result.error_count,
        "assistant_since_epoch": entries.assistant_turns_since(store, "claude", datetime(1970, 1, 1, tzinfo=UTC)),
    }
    store.close()

    assert vector["expected"] == {key: found[key] for key in vector["expected"]}


DRIVERS = {"sessions.ingest": ingest}
