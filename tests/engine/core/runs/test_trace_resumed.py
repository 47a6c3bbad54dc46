from datetime import UTC, datetime

import pytest

from oulipoly_engine.core.runs.invocations import Invocation, Status
from oulipoly_engine.core.runs.trace import Node, SessionFacts, to_json

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def row(acceptance):
    fixed = {"row_id": 1, "uuid": "u", "model": "m", "account": "a", "member_index": 0, "parent_row_id": None}
    ended = {"status": Status.SUCCEEDED, "success": True, "exit_code": 0, "error_category": None}
    session = {"session_id": "s", "capture_method": "resumed", "resume_input_id": "s"}
    rest = {"attempt": 1, "working_directory": None, "owner_pid": None, "created_at": NOW, "finished_at": NOW}
    judged = {"terminal_reason": None, "acceptance_status": acceptance, "acceptance_evidence": None}
    return Invocation(**fixed, **ended, **session, **judged, **rest)


@pytest.mark.parametrize(
    ("acceptance", "warned"), [(None, True), ("unconfirmed", True), ("rejected", True), ("accepted", False)]
)
def test_resumed_row_is_warned_of_until_its_id_is_known_to_be_accepted(acceptance, warned):
    (root,) = [to_json(Node(row(acceptance), None, SessionFacts()), NOW)["root"]]

    assert warned == any("attempted resume target" in text for text in root["warnings"])
