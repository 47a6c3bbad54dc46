"""When a session is compacted by a model, what that hides, and what the model is asked."""

import pytest

from oulipoly_engine.core.sessions.compaction import (
    STATES,
    Message,
    Rules,
    guess_tokens,
    judge,
    next_state,
    plan,
    read_summary,
    write_prompt,
)


@pytest.mark.parametrize(
    ("tokens", "window", "rules", "verdict"),
    [
        (8000, 10_000, Rules(), "compact"),
        (7300, 10_000, Rules(), "warn"),
        (7000, 10_000, Rules(), "nothing"),
        (8000, 0, Rules(), "nothing"),
        (8000, 10_000, Rules(is_enabled=False), "nothing"),
        (4500, 10_000, Rules(threshold=0.5), "warn"),
    ],
)
def test_a_context_is_compacted_from_the_threshold_on(tokens, window, rules, verdict):  # contract, vector 37
    assert verdict == judge(tokens, window, rules)


@pytest.mark.parametrize(("text", "tokens"), [("", 1), ("abc", 1), ("x" * 400, 100)])
def test_tokens_are_guessed_by_characters(text, tokens):
    assert tokens == guess_tokens(text)


def test_a_failed_automatic_compaction_waits_for_a_person_and_no_other_order_of_events_is():
    assert "paused" == next_state(next_state(next_state("idle", "fill"), "begin"), "fail")
    assert "paused" == next_state("paused", "fill")
    assert "idle" == next_state(next_state("paused", "begin"), "complete")
    assert {"idle", "due", "paused", "compacting"} == {state for state, _ in STATES}
    with pytest.raises(ValueError, match="compacting cannot begin"):
        next_state("compacting", "begin")


def said(count):
    return [Message(f"e{place}", "user", f"text {place} {'x' * 600}", 10) for place in range(count)]


def test_all_but_the_last_messages_go_in_batches():
    compaction = plan(said(50), "", None, 4)

    assert (46, ["e46", "e47", "e48", "e49"]) == (len(compaction.hidden), [each.entry_id for each in compaction.kept])
    assert [20, 20, 6] == [len(batch) for batch in compaction.batches]
    assert (500, 460) == (compaction.tokens_before, compaction.tokens_hidden)
    hides = compaction.hide("y" * 40)
    assert ("e46", 46, 500, 50) == (hides.first_kept, hides.entries, hides.tokens_before, hides.tokens_after)
    assert 9000 == plan(said(50), "", 9000, 4).tokens_before  # the CLI has counted
    assert () == plan(said(4), "", None, 4).hidden


def test_the_model_reads_the_beginning_of_each_message_and_the_summary_before():
    prompt = write_prompt(said(2), "what was", "Write German.")

    assert "user 1: text 0 " in prompt
    assert "user 2: text 1 " in prompt
    assert 500 < max(len(line) for line in prompt.splitlines() if "xxx" in line) < 520
    assert prompt.index("Write German.") < prompt.index("<summary>\nwhat was\n</summary>") < prompt.index("user 1")


@pytest.mark.parametrize(
    ("answer", "summary"),
    [
        (" all \n", "all"),
        ('{"type": "result", "result": " all ", "is_error": false}', "all"),
        ('{"result": "no credit", "is_error": true}', ""),
        ('{"result": 7}', ""),
        ("[1]", ""),
        ("", ""),
    ],
)
def test_a_summary_is_read_from_what_a_cli_prints(answer, summary):
    assert summary == read_summary(answer)
