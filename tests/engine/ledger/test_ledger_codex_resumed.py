"""Codex's rollouts of resumed threads: until 0.60 their totals began anew, later they went on."""

import json
from pathlib import Path

import pytest

from oulipoly_engine.core.ledger.calls import Found
from oulipoly_engine.core.ledger.codex import CodexReader

REAL = Path(__file__).parents[2] / "fixtures" / "transcripts" / "codex"
ENTRY = {"type": "turn_context", "payload": {"model": "gpt-5"}}
UNKNOWN = {"type": "event_msg", "payload": {"type": "token_count", "info": None}}


def told(total, last=None):
    """Return a count as the CLI writes it."""
    info = {"total_token_usage": {"input_tokens": total}, "last_token_usage": {"input_tokens": last or total}}
    return {"type": "event_msg", "payload": {"type": "token_count", "info": info}}


def counted(content, *cuts):
    """Read a rollout in pieces, by a new reader each, and return its calls' input tokens."""
    found, state = Found(), None
    for begin, end in zip((0, *cuts), (*cuts, len(content)), strict=True):
        reader = CodexReader("a", found, lambda session: session)
        reader.begin(state, "rollout-01a1fc50-ee73-7561-bc1d-000000000001", 0)
        reader.take(bytearray(content), begin, end, begin)
        state = reader.state
    return [entry[2][0] for entry in found.calls.values()]


def lines(*records):
    return b"".join(json.dumps(record, separators=(",", ":")).encode() + b"\n" for record in records)


@pytest.fixture(scope="module")
def real():
    """Return a rollout of five runs with tools between, eight calls in all."""
    return next((REAL / "0.60.1").rglob("*-d849-*.jsonl")).read_bytes()


def test_each_call_of_a_real_resumed_thread_counts_once(real):
    assert [12] * 8 == counted(real)


def test_a_cut_after_any_line_changes_nothing(real):
    ends = [at + 1 for at, byte in enumerate(real) if byte == 10][:-1]

    assert {8} == {len(counted(real, end)) for end in ends}
    assert [12] * 8 == counted(real, *ends)


@pytest.mark.parametrize("entry", [(), (ENTRY, told(19)), (ENTRY, told(19), ENTRY, told(19))])
def test_an_unknown_total_in_mid_turn_begins_nothing_anew(entry):
    assert [19] == counted(lines(ENTRY, told(19), *entry, UNKNOWN, told(19)))


def test_totals_that_go_on_after_an_unknown_one_are_the_same_count():
    content = lines(ENTRY, told(19), told(38, 19), ENTRY, UNKNOWN, told(38, 19), told(50, 12))

    assert [19, 19, 12] == counted(content)


def test_a_resume_that_fails_before_its_first_call_leaves_the_next_one_right():
    assert [19, 19, 7] == counted(lines(ENTRY, told(19), ENTRY, UNKNOWN, ENTRY, UNKNOWN, told(19), told(26, 7)))
