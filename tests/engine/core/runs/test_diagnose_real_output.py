"""Diagnoses of whole one-shots that the real CLIs printed, if their recordings lie beside the repository."""

import json
from pathlib import Path

import pytest

from oulipoly_engine.core.runs.diagnose import classify

RECORDED = Path(__file__).resolve().parents[5] / "shared" / "fixtures" / "transcripts" / "stdout"

EXPECTED = {
    "claude/401": "auth_expired",
    "claude/429": "rate_limit",
    "claude/500": "network_error",
    "claude/529": "network_error",
    "claude/credit": "quota_exhausted",
    "claude/drop": "network_error",
    "claude/no-conversation": "resume_session_mismatch",
    "claude/not-logged-in": "auth_expired",
    "claude/oauth-401": "auth_expired",
    "claude/oauth-429": "rate_limit",
    "claude/oauth-limit": "quota_exhausted",
    "codex/401": "auth_expired",
    "codex/429": "rate_limit",
    "codex/500": "network_error",
    "codex/drop": "network_error",
    "codex/login-status-none": "auth_expired",
    "codex/no-session": "resume_session_mismatch",
    "codex/quota": "quota_exhausted",
    "gemini/401": "auth_expired",
    "gemini/no-session": "resume_session_mismatch",
    "gemini/quota": "quota_exhausted",
    "gemini/untrusted": "unknown",
    "opencode/401": "auth_expired",
    "opencode/429": "rate_limit",
    "opencode/no-session": "resume_session_mismatch",
}


def recordings():
    """List (vendor/case, exit code, stem) of each recorded run."""
    found = []
    for path in sorted(RECORDED.glob("*/*.out")):
        stem = path.with_suffix("")
        case = f"{path.parent.name}/{path.name.partition('.')[0]}"
        found.append((case, json.loads(Path(f"{stem}.json").read_text())["rc"], stem))
    return found


FAILED = [(case, code, stem) for case, code, stem in recordings() if code != 0]
SUCCEEDED = [(code, stem) for _, code, stem in recordings() if code == 0]
pytestmark = pytest.mark.skipif(not FAILED, reason="no recordings beside the repository")


@pytest.mark.parametrize(("case", "exit_code", "stem"), FAILED, ids=[stem.name for *_, stem in FAILED])
def test_recorded_failure_gets_its_category(case, exit_code, stem):
    found = classify(exit_code, Path(f"{stem}.out").read_bytes(), Path(f"{stem}.err").read_bytes())

    assert EXPECTED[case] == found.category
    assert "" != found.summary
    is_json = ".json" in stem.name or ".stream-json" in stem.name
    assert found.source == ("none" if found.category == "unknown" else "event" if is_json else "text")


@pytest.mark.parametrize(("exit_code", "stem"), SUCCEEDED, ids=[stem.name for _, stem in SUCCEEDED])
def test_recorded_success_is_no_failure(exit_code, stem):
    found = classify(exit_code, Path(f"{stem}.out").read_bytes(), Path(f"{stem}.err").read_bytes())

    assert ("unknown", "none") == (found.category, found.source)


def test_every_recorded_limit_of_a_plan_tells_when_it_ends():
    stems = [stem for case, _, stem in FAILED if case in ("claude/oauth-limit", "codex/quota")]
    resets = [classify(1, Path(f"{s}.out").read_bytes(), Path(f"{s}.err").read_bytes()).resets_at for s in stems]

    assert None not in resets
