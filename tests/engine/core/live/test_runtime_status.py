"""The statuses of a runtime: which of the nine a probe stands for, and what scripts read."""

import json

import pytest

from oulipoly_engine.core.live import failures
from oulipoly_engine.core.live.events import ModelInfo
from oulipoly_engine.core.live.runtime_status import (
    Diagnostic,
    MissingBinary,
    Probe,
    Ready,
    describe_status,
    from_probe,
    read_account,
    shorten,
    state_of,
    summarize,
    summary_json,
)
from oulipoly_engine.core.live.runtimes import Runtime
from oulipoly_engine.records import replace

_RUNTIME = Runtime("work", "codex", "Codex", "codex")


@pytest.mark.parametrize(
    ("reason", "state", "code"),
    [
        (failures.MISSING_BINARY, "missing_binary", "codex_probe.missing_binary"),
        (failures.NEEDS_AUTH, "needs_auth", "codex_probe.needs_auth"),
        (failures.SPAWN_FAILED, "spawn_failed", "codex_probe.spawn_failed"),
        (failures.UNSUPPORTED_VERSION, "unsupported_version", "codex_probe.unsupported_version"),
        (failures.HANDSHAKE_FAILED, "error", "codex_probe.initialize_failed"),
        (failures.CLOSED, "error", "codex_probe.stdio_unavailable"),
        (failures.TIMED_OUT, "error", "codex_probe.timed_out"),
        (failures.OVERLOADED, "degraded", "codex_probe.error"),
        ("something new", "error", "codex_probe.error"),
    ],
)
def test_a_failed_probe_has_a_status_of_its_own(reason, state, code):
    status, noticed = from_probe(_RUNTIME, Probe(reason, "why"))

    assert state == state_of(status)
    assert [code] == [one.code for one in noticed]


def test_a_probe_that_answered_is_ready():
    assert (Ready(), ()) == from_probe(_RUNTIME, Probe(version="1.2"))


def test_enabled_and_never_probed_is_degraded_and_says_so():
    summary = summarize(_RUNTIME, "/bin/codex", None)

    assert "degraded" == state_of(summary.status)
    assert ["cli_runtime.unprobed"] == [one.code for one in summary.diagnostics]
    assert "not checked yet" == describe_status(summary.status)
    assert "has a problem" == describe_status(from_probe(_RUNTIME, Probe(failures.OVERLOADED, "busy"))[0])


def test_disabled_has_no_diagnostics_whatever_was_seen():
    summary = summarize(replace(_RUNTIME, is_enabled=False), None, Probe(failures.CLOSED, "gone"))

    assert "disabled" == state_of(summary.status)
    assert () == summary.diagnostics


def test_a_program_that_is_gone_wins_over_an_earlier_probe():
    assert MissingBinary("codex") == summarize(_RUNTIME, None, Probe()).status


def test_a_program_that_came_since_is_to_be_probed_again():
    summary = summarize(_RUNTIME, "/bin/codex", Probe(failures.MISSING_BINARY, "no codex"))

    assert "degraded" == state_of(summary.status)


@pytest.mark.parametrize(
    ("reply", "account", "needs_login"),
    [  # vector 13
        ({"account": {"email": "a@b.c", "planType": "plus"}, "requiresOpenaiAuth": True}, "a@b.c (plus)", False),
        ({"account": None, "requiresOpenaiAuth": True}, "", True),
        ({"account": None, "requiresOpenaiAuth": False}, "", False),
        ({"account": {"type": "apiKey"}, "requiresOpenaiAuth": True}, "apiKey", False),
    ],
)
def test_an_account_or_none_tells_whether_somebody_has_to_log_in(reply, account, needs_login):
    assert (account, needs_login) == read_account(reply)


def test_the_document_has_the_words_that_scripts_read():
    probe = Probe(
        version="0.169.0",
        account="a@b.c",
        models=(ModelInfo("gpt-5", efforts=("low",)),),
        capabilities={"fork": True, "command_approvals": True},
        diagnostics=(Diagnostic("info", "x.y", "z"),),
    )
    summary = summarize(replace(_RUNTIME, custom_models=("own",)), "/bin/codex", probe)

    document = json.loads(json.dumps(summary_json(summary, proxy="http://•••@h", models=summary.models)))

    assert ("work", "codex", {"state": "ready"}) == (document["runtime_id"], document["kind"], document["status"])
    assert document["capabilities"]["supports_fork"]
    assert document["capabilities"]["supports_approvals"]
    assert not document["capabilities"]["supports_goal"]
    assert ["gpt-5", "own"] == [one["id"] for one in document["models"]]
    assert document["models"][0]["supports_reasoning"]


def test_a_diagnostic_is_kept_short_and_says_what_is_left_out():
    text = shorten("\n".join(["x" * 600] + ["y"] * 50))

    assert "600 characters" in text.splitlines()[0]
    assert "11 more lines" in text.splitlines()[-1]
    assert 41 == len(text.splitlines())
