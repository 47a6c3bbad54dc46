"""Drives `trace.*`: rows written through the store, the real tracer, the real rendering."""

import json
from datetime import UTC, datetime, timedelta

from oulipoly_engine.clock import from_text, to_text
from oulipoly_engine.core.accounts.accounts import SessionScripts
from oulipoly_engine.core.runs import trace as tree
from oulipoly_engine.core.runs.invocations import Invocation, Status
from oulipoly_engine.records import replace
from oulipoly_engine.service.runs.trace import Tracer
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.runs import invocations

NOW = datetime(2026, 4, 17, 12, tzinfo=UTC)
UUID = "0f0f0f0f-0000-4000-8000-000000000001"
SESSION = "9e69e8cc-616d-4640-bf1d-96f5391b1a2e"


def _begin(store, **changes):
    new = invocations.NewInvocation(
        uuid=UUID, model="m", account="a", member_index=0, created_at=NOW - timedelta(seconds=1)
    )
    return invocations.begin(store, replace(new, **changes))


def _ascii(vector, tmp_path):
    given = vector["input"]
    row = Invocation(
        row_id=1,
        uuid=given["id"],
        model=given["model"],
        account=given["provider"],
        member_index=None,
        parent_row_id=None,
        status=Status(given["status"]),
        success=None,
        exit_code=None,
        error_category=None,
        terminal_reason=None,
        session_id=given["session"],
        capture_method=given.get("capture_method", "none"),
        resume_input_id=None,
        acceptance_status=given.get("resume_acceptance"),
        acceptance_evidence=None,
        attempt=1,
        working_directory=None,
        owner_pid=None,
        created_at=from_text(given["started_at"]),
        finished_at=None,
    )
    state = given.get("state", "unresolved" if given["session"] is None else "no_locator")
    facts = tree.SessionFacts(transcript_state=tree.TranscriptState(state))
    assert vector["expected"] == next(tree.to_lines(tree.Node(row, None, facts), NOW))


def _json(vector, tmp_path):
    given, expected = vector["input"], vector["expected"]
    if "cases" in given:
        assert expected == [_state(case, tmp_path / str(place)) for place, case in enumerate(given["cases"])]
    elif "turns" in given:
        _counts(given, expected, tmp_path)
    else:
        _running(given, expected, tmp_path)


def _running(given, expected, tmp_path):
    store = open_store(tmp_path / "state.db")
    _begin(store, created_at=NOW - timedelta(seconds=given["age_s"]))
    before = store.rows("SELECT * FROM invocations")
    root = Tracer(store, dict, tmp_path).trace(UUID)
    node = tree.to_json(root, NOW)["root"]
    shown = node["invocation"]
    for key in ("status", "success", "exit_code", "finished_at", "terminal_reason"):
        if key in expected:
            assert (key, expected[key]) == (key, shown[key])
    if "stale_running" in expected:
        assert expected["stale_running"].items() <= shown["stale_running"].items()
    if "has_stale_running" in expected:
        assert expected["has_stale_running"] == ("stale_running" in shown)
    if "warnings" in expected:
        assert expected["warnings"] == node["warnings"]
    if "ascii_status" in expected:
        assert f"  {expected['ascii_status']}  " in next(tree.to_lines(root, NOW))
    assert before == store.rows("SELECT * FROM invocations")
    store.close()


def _counts(given, expected, tmp_path):
    store = open_store(tmp_path / "state.db")
    _begin(store, session_id=SESSION)
    with store.write():
        for place, entry in enumerate(given["turns"]):
            role, _, side = entry.partition("+")
            store.insert(
                "session_turns",
                provider_name="a",
                session_id=SESSION,
                turn_id=str(place),
                timestamp=to_text(NOW),
                role=role,
                is_sidechain=int(side == "sidechain"),
                ingested_at=to_text(NOW),
            )
    session = tree.to_json(Tracer(store, dict, tmp_path).trace(UUID), NOW)["root"]["session"]
    assert expected == {key: session[key] for key in expected}
    store.close()


def _state(case, folder):
    folder.mkdir()
    store = open_store(folder / "state.db")
    _begin(store, session_id=None if "no session" in case else SESSION)
    there = folder / "transcript.jsonl"
    there.touch()
    path = there if "exists" in case else folder / "gone.jsonl"
    scripts = {} if "no locator" in case else {"a": SessionScripts("true", f"echo {json.dumps(str(path))}")}
    state = Tracer(store, lambda: scripts, folder).trace(UUID).session.transcript_state.value
    store.close()
    return state


DRIVERS = {"trace.ascii": _ascii, "trace.json": _json}
