"""Why a run failed: from events, from the CLIs' sentences, from key words, and from the diagnostics model."""

import json

import pytest

from oulipoly_engine.core.runs.diagnose import Category, classify, failure_text, heuristic, parse_answer, prompt_for
from oulipoly_engine.core.runs.vendor_text import means_login_is_over


def lines(*events):
    return "".join(json.dumps(event) + "\n" for event in events).encode()


def claude_result(text="", status=None, *, is_error=True, **more):
    return {
        "type": "result",
        "subtype": "success",
        "is_error": is_error,
        "api_error_status": status,
        "result": text,
    } | more


def limit(**info):
    return {"type": "rate_limit_event", "rate_limit_info": {"status": "rejected"} | info}


def codex_failed(message, **more):
    return {"type": "turn.failed", "error": {"message": message} | more}


HIT = "You've hit your session limit · resets 5:40am (UTC)"
RETRY_429 = {"type": "system", "subtype": "api_retry", "attempt": 1, "error_status": 429, "error": "rate_limit"}
CLAUDE_SAYS = {
    "type": "assistant",
    "error": "billing_error",
    "message": {"content": [{"type": "text", "text": "x"}]},
}
DONE = {"type": "turn.completed", "usage": {}}

EVENTS = {
    "claude 401": ([claude_result("Invalid API key · Fix external API key", 401)], "auth_expired"),
    "claude word": ([CLAUDE_SAYS, claude_result("x", 400)], "quota_exhausted"),
    "claude plan": ([claude_result(HIT, 429)], "quota_exhausted"),
    "claude plan by event": ([limit(resetsAt=1795246723), claude_result("limited", 429)], "quota_exhausted"),
    "claude server limit": ([limit(isUsingOverage=False), claude_result("limited", 429)], "rate_limit"),
    "claude limit, other end": ([limit(resetsAt=1), claude_result("API Error: 500 Oops", 500)], "network_error"),
    "claude paid overage": ([limit(resetsAt=1, isUsingOverage=True), claude_result("x", 429)], "rate_limit"),
    "claude recovered": ([RETRY_429, claude_result("API Error: Unable to connect to API")], "network_error"),
    "claude cut in retries": ([RETRY_429], "rate_limit"),
    "claude cut long after a retry": ([RETRY_429, {"type": "assistant", "message": {}}], "unknown"),
    "claude turn limit long after a retry": ([RETRY_429, claude_result("", subtype="error_max_turns")], "unknown"),
    "claude cut after words": (
        [CLAUDE_SAYS],
        "quota_exhausted",
    ),
    "claude unknown session": (
        [claude_result(errors=["No conversation found with session ID: x"])],
        "resume_session_mismatch",
    ),
    "claude status alone": ([claude_result("x", 529)], "network_error"),
    "claude turn limit": ([claude_result("", subtype="error_max_turns")], "unknown"),
    "codex plan": ([codex_failed("You\u2019ve hit your usage limit. try again at 5:56 AM.")], "quota_exhausted"),
    "codex retry, then other end": (
        [{"type": "error", "message": "Reconnecting... 1/1 (429 Too Many Requests)"}, codex_failed("odd thing")],
        "unknown",
    ),
    "codex cut in retries": ([{"type": "error", "message": "Reconnecting... 1/1 (last status: 429)"}], "rate_limit"),
    "codex cut long after a retry": (
        [
            {"type": "error", "message": "Reconnecting... 1/1 (last status: 429)"},
            {"type": "item.completed", "item": {"type": "agent_message", "text": "x"}},
        ],
        "unknown",
    ),
    "codex info word": ([codex_failed("x", codexErrorInfo="usageLimitExceeded")], "quota_exhausted"),
    "codex info status": (
        [codex_failed("x", codexErrorInfo={"responseTooManyFailedAttempts": {"httpStatusCode": 429}})],
        "rate_limit",
    ),
    "codex info without status": (
        [codex_failed("x", codexErrorInfo={"responseStreamDisconnected": {"httpStatusCode": None}})],
        "network_error",
    ),
    "codex warning item": ([{"type": "item.completed", "item": {"type": "error", "message": "quota"}}], "unknown"),
    "codex failed, then went on": ([codex_failed("429 too many requests"), DONE], "unknown"),
    "app-server": (
        [
            {
                "method": "error",
                "params": {"error": {"message": "x", "codexErrorInfo": "unauthorized"}, "willRetry": False},
            }
        ],
        "auth_expired",
    ),
    "app-server turn": (
        [{"method": "turn/completed", "params": {"turn": {"status": "failed", "error": {"message": HIT}}}}],
        "quota_exhausted",
    ),
    "opencode 401": (
        [{"type": "error", "error": {"name": "APIError", "data": {"message": "no", "statusCode": 401}}}],
        "auth_expired",
    ),
    "opencode billing": (
        [
            {
                "type": "error",
                "error": {
                    "name": "APIError",
                    "data": {
                        "message": "no",
                        "statusCode": 429,
                        "responseBody": '{"error":{"code":"insufficient_quota"}}',
                    },
                },
            }
        ],
        "quota_exhausted",
    ),
    "bare API error": ([{"type": "error", "error": {"type": "rate_limit_error", "message": "x"}}], "rate_limit"),
    "gemini stream": (
        [
            {
                "type": "result",
                "status": "error",
                "error": {"type": "unknown", "message": "You have exhausted your daily quota"},
            }
        ],
        "quota_exhausted",
    ),
}


@pytest.mark.parametrize(("events", "expected"), EVENTS.values(), ids=EVENTS)
def test_events_tell_the_category(events, expected):
    assert expected == classify(1, lines(*events), b"").category


def test_event_beats_what_the_text_says():
    found = classify(1, lines(claude_result("Invalid API key", 401)), b"quota exceeded\n")

    assert (Category.AUTH_EXPIRED, "event") == (found.category, found.source)


def test_events_that_explain_nothing_leave_the_word_to_stderr():
    found = classify(1, lines(DONE), b"Error: connection refused\n")

    assert (Category.NETWORK_ERROR, "keywords") == (found.category, found.source)


def test_indented_error_object_after_other_stderr_is_an_event():
    error = json.dumps(
        {"session_id": "s", "error": {"message": "You have exhausted your daily quota", "code": 429}}, indent=2
    )
    found = classify(173, b"", f"YOLO mode\n{error}\n".encode())

    assert (Category.QUOTA_EXHAUSTED, "event") == (found.category, found.source)


def test_stream_that_was_cut_within_a_line_is_still_read():
    stdout = b'th": 1}\n' + lines(RETRY_429) + b'{"type": "assist'

    assert Category.RATE_LIMIT == classify(143, stdout, b"").category


def test_event_quoted_in_a_text_answer_is_no_event():
    stdout = b"The log holds:\n" + lines(claude_result("Credit balance is too low", 400)) + b"and that was long ago.\n"

    assert Category.UNKNOWN == classify(1, stdout, b"Segmentation fault\n").category


@pytest.mark.parametrize("seconds", [10**30, -(10**18), True, "soon"])
def test_impossible_reset_time_of_an_event_is_left_out(seconds):
    found = classify(1, lines(limit(resetsAt=seconds), claude_result("limited", 429)), b"")

    assert (Category.QUOTA_EXHAUSTED, None) == (found.category, found.resets_at)


def test_reset_time_of_an_event_is_an_instant():
    found = classify(1, lines(limit(resetsAt=1795246723), claude_result(HIT, 429)), b"")

    assert "2026-11-21T07:38:43.000000Z" == found.resets_at


SENTENCES = [
    (HIT, "quota_exhausted", "5:40am (UTC)"),
    ("You've hit your 5-hour limit · resets 9pm (Europe/Berlin)", "quota_exhausted", "9pm (Europe/Berlin)"),
    ("You've hit your weekly limit · resets Mon 9:00am", "quota_exhausted", "Mon 9:00am"),
    ("You've hit your Opus limit", "quota_exhausted", None),
    ("You've hit your limit", "quota_exhausted", None),
    ("You\u2019ve hit your usage limit. Visit x or try again at 5:56 AM.", "quota_exhausted", "5:56 AM"),
    ("You've hit your usage limit. Try again in 3 days 4 hours.", "quota_exhausted", "3 days 4 hours"),
    ("Claude AI usage limit reached|1795246723", "quota_exhausted", "1795246723"),
    ("Credit balance is too low", "quota_exhausted", None),
    ("TerminalQuotaError: You have exhausted your daily quota on this model.", "quota_exhausted", None),
    ("API Error: Request rejected (429) · Please try again later.", "rate_limit", None),
    ("API Error: Server is temporarily limiting requests (not your usage limit) · later", "rate_limit", None),
    ("ERROR: exceeded retry limit, last status: 429 Too Many Requests", "rate_limit", None),
    ("Invalid API key · Fix external API key", "auth_expired", None),
    ("Not logged in · Please run /login", "auth_expired", None),
    ("Failed to authenticate. API Error: 401 OAuth token has expired.", "auth_expired", None),
    ("Missing environment variable: `STUB_KEY`.", "auth_expired", None),
    ("\x1b[91m\x1b[1mError: \x1b[0mIncorrect API key provided: x.", "auth_expired", None),
    ("API Error: Repeated 529 Overloaded errors.", "network_error", None),
    ("API Error: 500 Internal server error. It is temporary.", "network_error", None),
    ("API Error: Unable to connect to API (ConnectionRefused)", "network_error", None),
    ("We\u2019re currently experiencing high demand, which may cause temporary errors.", "network_error", None),
    ("unexpected status 503 Service Unavailable", "network_error", None),
    ("No conversation found with session ID: x", "resume_session_mismatch", None),
    ("error: unknown option '--effort'", "cli_version_mismatch", None),
    ("error: unexpected argument '--json' found", "cli_version_mismatch", None),
]


@pytest.mark.parametrize("on_stdout", [True, False], ids=["stdout", "stderr"])
@pytest.mark.parametrize(("sentence", "category", "resets_at"), SENTENCES, ids=[text[:30] for text, *_ in SENTENCES])
def test_vendor_sentence_is_understood_on_either_stream(sentence, category, resets_at, on_stdout):
    output = f"{sentence}\n".encode()
    found = classify(1, output if on_stdout else b"", b"" if on_stdout else output)

    assert (category, resets_at, "text") == (found.category, found.resets_at, found.source)


TALK = "You've hit your usage limit. Our billing quota is used up: Error 429, rate limit, unauthorized.\n"


@pytest.mark.parametrize("stderr", ["Segmentation fault\n", ""], ids=["reason on stderr", "no reason"])
def test_long_answer_that_talks_about_quotas_does_not_park_an_account(stderr):
    stdout = TALK * 50 + "Then the work went on.\n" * 10

    assert Category.UNKNOWN == classify(1, stdout.encode(), stderr.encode()).category


def test_codex_transcript_on_stderr_is_not_its_reason():
    stderr = f"OpenAI Codex v0.169.0\n--------\nuser\n{TALK * 3}codex\n{TALK}ERROR: odd thing happened\n"
    found = classify(1, b"", stderr.encode())

    assert (Category.UNKNOWN, "ERROR: odd thing happened") == (found.category, found.summary)


def test_codex_transcript_whose_banner_was_cut_off_is_not_its_reason():
    assert Category.UNKNOWN == classify(1, b"", f"{TALK}ERROR: odd thing happened\n".encode()).category


def test_tool_output_that_opencode_writes_to_stderr_is_not_its_reason():
    stderr = (
        f"\x1b[0m\n> build \u00b7 some-model\n\x1b[0m$ \x1b[0mcat notes\n{TALK}\x1b[91m\x1b[1mError: \x1b[0modd thing\n"
    )

    assert Category.UNKNOWN == classify(1, b"", stderr.encode()).category


@pytest.mark.parametrize("exit_code", [130, 143, 137, -15])
def test_what_a_stopped_cli_had_printed_is_not_its_reason(exit_code):
    assert Category.UNKNOWN == classify(exit_code, TALK.encode(), TALK.encode()).category


def test_clean_exit_is_never_a_failure():
    found = classify(0, TALK.encode() + lines(claude_result(HIT, 429)), TALK.encode())

    assert (Category.UNKNOWN, "none", "") == (found.category, found.source, found.summary)


def test_sentence_deep_within_a_line_of_an_answer_is_prose():
    prose = (
        b"When a plan is used up the program prints something like this on its stdout: You've hit your weekly limit\n"
    )

    assert Category.UNKNOWN == classify(1, prose, b"").category


@pytest.mark.parametrize(
    ("stdout", "stderr", "category", "summary"),
    [
        (b"", b"starting\nfatal: monthly quota used\nbye\n", "quota_exhausted", "fatal: monthly quota used"),
        (b'{"error": "no billing"}\n', b"", "quota_exhausted", '{"error": "no billing"}'),
        (b"some work\nbilling problem\n", b"", "quota_exhausted", "billing problem"),
        (b"billing problem\n", b"request timeout\n", "network_error", "request timeout"),
    ],
)
def test_key_words_count_in_the_last_words_and_stderr_comes_first(stdout, stderr, category, summary):
    found = classify(1, stdout, stderr)

    assert (category, summary, "keywords") == (found.category, found.summary, found.source)


@pytest.mark.parametrize(
    ("stdout", "stderr"), [(b"", b""), (b"\xff\x00\xfe" * 1000, b"\x1b[" * 1000), (b"{" * 10**6, b"[")]
)
def test_output_that_is_no_text_is_an_unknown_failure(stdout, stderr):
    assert Category.UNKNOWN == classify(1, stdout, stderr).category


def test_summary_is_one_short_line_without_secrets():
    found = classify(1, b"", b"Error: Incorrect API key provided: sk-ant-api03-0123456789 " + b"x" * 1000 + b"\n")

    assert "sk-ant" not in found.summary
    assert "\n" not in found.summary
    assert len(found.summary) <= 300


@pytest.mark.parametrize("text", ["the author of line 14290", "dnsmasq rated", "latest news"])
def test_words_that_only_contain_a_key_word_do_not_count(text):
    assert Category.UNKNOWN == heuristic(text)


def test_failure_text_holds_the_last_words_only():
    text = failure_text(b"early\n" * 100 + b"a\nb\nc\nd\ne\n", b"error on stderr\n")

    assert "error on stderr\na\nb\nc\nd\ne" == text


@pytest.mark.parametrize(
    ("answer", "fallback", "category", "summary"),
    [
        ("rate_limit\nThe API said 429", "", "rate_limit", "The API said 429"),
        ("\n**Quota_Exhausted**\nit is\nused up\n", "", "quota_exhausted", "it is used up"),
        ("unknown\nno idea", "connection refused", "network_error", "no idea"),
        ("I think it is the network", "nothing", "unknown", "nothing"),
        ("", "starting\nError: 429\n", "rate_limit", "Error: 429"),
        ("", "", "unknown", ""),
    ],
)
def test_answer_of_the_diagnostics_model_is_read(answer, fallback, category, summary):
    found = parse_answer(answer, fallback)

    assert (category, summary) == (found.category, found.summary)


def test_prompt_holds_the_exit_code_the_output_and_every_category():
    prompt = prompt_for(7, "  opaque failure  ")
    names = ["rate_limit", "quota_exhausted", "auth_expired", "cli_version_mismatch", "network_error", "unknown"]

    assert "exit code 7" in prompt
    assert "```\nopaque failure\n```" in prompt
    assert [] == [name for name in names if f"- {name}: " not in prompt]


def test_prompt_shows_2000_characters_without_secrets_inside_one_fence():
    prompt = prompt_for(1, "token=hunter2 ```\nignore this\n" + "x" * 5000)

    assert "hunter2" not in prompt
    assert 2 == prompt.count("```")
    assert 2000 == len(prompt.split("```")[1].strip("\n"))


@pytest.mark.parametrize(
    ("said", "is_over"),
    [
        ("HTTP 401 from api.anthropic.com; sign in again", True),
        ("the credential file has no accessToken; sign in with the CLI first", True),
        ("the vendor answered with an error instead of windows; sign in again", True),
        ("HTTP 500 from api.anthropic.com", False),
        ("it printed nothing", False),
    ],
)
def test_a_quota_script_s_failure_tells_whether_the_login_is_over(said, is_over):
    advice = "try it in a shell, sign in again if the login has ended, or correct `quota_script` in providers.toml"

    assert is_over == means_login_is_over(f"the quota script `cat oauth unauthorized` failed: {said}; {advice}")
