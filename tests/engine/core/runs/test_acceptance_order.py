"""Whether a CLI took a resumed session id, in the contract's order."""

import pytest

from oulipoly_engine.core.accounts.accounts import AcceptanceSpec
from oulipoly_engine.core.runs.acceptance import judge

ID = "9e69e8cc-616d-4640-bf1d-96f5391b1a2e"
SPEC = AcceptanceSpec(accepted=('"session_id":"{session_id}"',), rejected=("Invalid resume {session_id}", "refused"))
ECHO = f'{{"session_id":"{ID}"}}'


@pytest.mark.parametrize(
    ("exit_code", "stdout", "stderr", "status", "evidence"),
    [
        (0, ECHO, "refused", "rejected", "'refused'"),
        (1, f"Invalid resume {ID}", "", "rejected", f"'Invalid resume {ID}'"),
        (0, ECHO, "", "accepted", f'\'"session_id":"{ID}"\''),
        (0, ECHO, f"No conversation found with session ID: {ID}", "accepted", "accepted_output_patterns"),
        (0, "", f"No conversation found with session ID: {ID}", "rejected", "'No conversation found'"),
        (1, "", "Error: thread/resume: thread/resume failed: no rollout found", "rejected", "'thread/resume failed'"),
        (0, "hi", "", "unconfirmed", "no resume_acceptance pattern matched"),
        (3, ECHO, "", "rejected", "exited with 3"),
    ],
)
def test_first_rule_that_holds_decides(exit_code, stdout, stderr, status, evidence):
    verdict = judge(SPEC, ID, exit_code, stdout, stderr)

    assert status == verdict.status
    assert evidence in verdict.evidence


@pytest.mark.parametrize(
    "spec", [None, AcceptanceSpec(), AcceptanceSpec(accepted=("",))], ids=["none", "empty", "blank"]
)
def test_clean_exit_without_a_match_stays_unconfirmed(spec):
    assert "unconfirmed" == judge(spec, ID, 0, "hi", "").status


def test_missing_rules_and_unmatched_rules_have_different_evidence():
    assert judge(None, ID, 0, "hi", "").evidence != judge(SPEC, ID, 0, "hi", "").evidence


@pytest.mark.parametrize(
    ("output", "is_mismatch"),
    [
        (f"No conversation found with session ID: {ID}", True),
        ("\x1b[91m\x1b[1mError: \x1b[0mSession not found", True),
        (f'Error resuming session: Invalid session identifier "{ID}".', True),
        ("Some trouble", False),
    ],
)
def test_unknown_session_is_told_from_other_failures(output, is_mismatch):
    assert is_mismatch == judge(None, ID, 1, "", output).is_mismatch


def test_a_long_line_of_prose_about_missing_sessions_is_no_rejection():
    prose = "When you resume with an id that has been deleted, some programs answer: no conversation found"

    assert "unconfirmed" == judge(None, ID, 0, prose, "").status


def test_pattern_may_span_the_border_of_stdout_and_stderr():
    spec = AcceptanceSpec(accepted=("out\nerr",))

    assert "accepted" == judge(spec, ID, 0, "out", "err").status
