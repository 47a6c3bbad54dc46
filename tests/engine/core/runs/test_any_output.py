"""Whatever a CLI prints: a diagnosis and a capture come to an end, in text that can be stored and shown."""

import json

from hypothesis import example, given
from hypothesis import strategies as st

from oulipoly_engine.core.runs.acceptance import judge
from oulipoly_engine.core.runs.capture import ForcedFlagReader, JsonEventReader, ResumedIdReader, read_last_words
from oulipoly_engine.core.runs.diagnose import classify, failure_text, parse_answer, prompt_for

# The words that our readers look for, so that made-up events reach every branch of theirs.
KEYS = (
    *("type", "subtype", "method", "params", "error", "errors", "message", "result", "is_error", "status", "turn"),
    *("api_error_status", "session_id", "thread_id", "willRetry", "codexErrorInfo", "httpStatusCode", "data", "name"),
    *("responseBody", "statusCode", "code", "item", "rate_limit_info", "resetsAt", "rateLimitType", "isUsingOverage"),
    *("error_status", "content", "text", "a", "b"),
)
WORDS = (
    *("result", "assistant", "system", "init", "api_retry", "error", "turn.failed", "turn.completed", "turn/completed"),
    *(
        "item.completed",
        "thread.started",
        "rate_limit_event",
        "rejected",
        "success",
        "failed",
        "rate_limit",
        "step_finish",
    ),
    *("Reconnecting...", "usage limit", "\ud800", "{", '{"error": {"code": []}}', "resets 5:40am"),
)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(WORDS) | st.text(max_size=8)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=12,
)
EVENTS = st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=6)
OUTPUTS = st.lists(EVENTS, max_size=4).map(lambda events: "\n".join(map(json.dumps, events)).encode()) | st.binary()


@given(OUTPUTS, OUTPUTS, st.sampled_from([1, 2, 130, 145]))
@example(b'{"type": "error", "message": "\\ud800"}', b"", 1)
def test_every_failure_gets_a_diagnosis(stdout, stderr, code):
    found = classify(code, stdout, stderr)
    asked = prompt_for(code, failure_text(stdout, stderr))

    assert "\n" not in found.summary
    assert all(text.encode() is not None for text in (found.summary, found.resets_at or "", asked))


@given(st.text(max_size=80), st.text(max_size=80))
def test_every_answer_of_the_diagnostics_model_is_read(answer, words):
    parse_answer(answer, words)


@given(OUTPUTS, st.sampled_from([1, 7, 10_000]))
def test_every_output_ends_in_an_outcome_of_the_capture(output, size):
    for reader in (ForcedFlagReader("a"), JsonEventReader("result", ("data", "session_id"))):
        for start in range(0, len(output), size):
            reader.feed(output[start : start + size])
        outcome = reader.finish()

        assert (outcome.session_id is None) == (outcome.method == "failed")
        assert (outcome.session_id or outcome.error or "").encode()


@given(OUTPUTS, OUTPUTS)
def test_every_output_of_a_resumed_session_is_judged(stdout, stderr):
    reader = ResumedIdReader("a")
    reader.feed("stdout", stdout)
    reader.feed("stderr", stderr)
    read_last_words(stdout)
    judge(None, "a", 1, stdout.decode(errors="replace"), stderr.decode(errors="replace"))
