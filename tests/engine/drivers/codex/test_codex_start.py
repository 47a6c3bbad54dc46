"""How a session with codex begins (contract, vectors 12 to 15, 29)."""

import pytest

from oulipoly_engine.core.live import failures
from oulipoly_engine.core.live.events import Notice, SessionFailed, SessionOpened
from oulipoly_engine.drivers.base import Opening
from oulipoly_engine.drivers.codex.driver import CodexDriver
from oulipoly_engine.records import replace

HELLO = {"userAgent": "agent-runner/0.169.0 (Debian 12.0.0; x86_64) xterm"}
LOGIN = {"account": {"email": "a@b.c", "planType": "plus"}, "requiresOpenaiAuth": True}
OPENING = Opening(cwd="/w", new_id="unused")
RESUME = replace(OPENING, resume="t-1")
FORK = replace(RESUME, fork=True, fork_at="turn-3")


@pytest.fixture
def begin(peer):
    """Return what lets a session begin, up to the answer to its thread."""

    def run(opening):
        peer.__init__(opening)
        peer.begin()
        peer.reply("initialize", HELLO)
        peer.reply("account/read", LOGIN)
        return peer

    return run


def test_the_users_arguments_stand_behind_the_word():
    opening = replace(OPENING, args=("-c", "model=x"))

    assert ("app-server", "-c", "model=x") == CodexDriver.words(opening)


@pytest.mark.parametrize("words", [(), ("--ephemeral",)])
def test_thread_that_is_not_to_be_kept_is_ephemeral(begin, words):
    opening = replace(OPENING, args=words)
    peer = begin(opening)

    assert ("app-server",) == CodexDriver.words(opening)
    assert bool(words) == peer.last_sent("thread/start").get("ephemeral", False)


def test_initialized_follows_once_and_only_then_anything_else(peer):
    peer.begin()
    assert ["initialize"] == peer.methods()
    assert "agent-runner" == peer.last_sent("initialize")["clientInfo"]["name"]

    peer.reply("initialize", HELLO)

    assert ["initialize", "initialized", "account/read"] == peer.methods()


def test_nothing_follows_a_refused_hello(peer):
    peer.begin()
    peer.reply("initialize", error={"code": -32600, "message": "no"})

    assert ["initialize"] == peer.methods()
    assert [failures.HANDSHAKE_FAILED] == [event.reason for event in peer.of(SessionFailed)]


@pytest.mark.parametrize(
    ("account", "is_ready"),
    [
        (LOGIN, True),
        ({"account": None, "requiresOpenaiAuth": True}, False),
        ({"account": None, "requiresOpenaiAuth": False}, True),
        ({}, True),
    ],
)
def test_login_is_needed_where_codex_says_so(peer, account, is_ready):
    peer.begin()
    peer.reply("initialize", HELLO)
    peer.reply("account/read", account)

    assert is_ready == ("thread/start" in peer.methods())
    assert is_ready == ([] == [event.reason for event in peer.of(SessionFailed)])


def test_unknown_account_method_is_a_warning(begin, peer):
    peer.begin()
    peer.reply("initialize", HELLO)
    peer.reply("account/read", error={"code": -32601, "message": "unknown"})

    assert "thread/start" in peer.methods()
    assert ["account_read_failed"] == [event.code for event in peer.of(Notice)]


@pytest.mark.parametrize(
    ("profile", "approval", "sandbox"),
    [
        ("full_access", "never", "danger-full-access"),
        ("auto_accept_edits", "on-request", "workspace-write"),
        ("supervised", "untrusted", "workspace-write"),
    ],
)
def test_profile_decides_what_codex_may_do(begin, profile, approval, sandbox):
    peer = begin(replace(OPENING, profile=profile, model="gpt"))

    sent = peer.last_sent("thread/start")

    assert {"cwd": "/w", "approvalPolicy": approval, "sandbox": sandbox, "model": "gpt"} == sent


def test_session_is_told_with_all_that_is_known(begin):
    peer = begin(OPENING)
    sandbox = {"type": "workspaceWrite", "networkAccess": True}
    peer.reply("thread/start", {"thread": {"id": "t"}, "model": "m", "approvalPolicy": "untrusted", "sandbox": sandbox})
    page = {"id": "m", "supportedReasoningEfforts": ["low", {"reasoningEffort": "high"}], "inputModalities": ["text"]}
    peer.reply("model/list", {"data": [page, {"id": "h", "hidden": True}]})

    opened = peer.of(SessionOpened)[0]

    assert ("t", "m", "0.169.0", "a@b.c (plus)") == (opened.native_id, opened.model, opened.version, opened.account)
    assert "untrusted, workspace-write, network" == opened.policy
    assert [("m", ("low", "high"))] == [(model.id, model.efforts) for model in opened.models]
    assert [] == peer.of(Notice)


def test_policy_of_codex_own_is_shown(begin):
    peer = begin(OPENING)
    peer.reply("thread/start", {"thread": {"id": "t"}, "approvalPolicy": "never", "sandbox": {"type": "readOnly"}})

    assert ["policy"] == [event.code for event in peer.of(Notice)]


@pytest.mark.parametrize("result", [{"thread": {"id": "t"}}, {"threadId": "t"}, {"id": "t"}])
def test_thread_id_is_found_where_versions_put_it(begin, result):
    peer = begin(OPENING)
    peer.reply("thread/start", result)
    peer.reply("model/list", {"data": []})

    assert ["t"] == [event.native_id for event in peer.of(SessionOpened)]


@pytest.mark.parametrize("result", [{}, None, [1], {"thread": {"id": 7}}, "t"])
def test_thread_without_id_fails(begin, result):
    peer = begin(OPENING)
    peer.reply("thread/start", result)

    assert [failures.HANDSHAKE_FAILED] == [event.reason for event in peer.of(SessionFailed)]


def test_resume_asks_for_the_thread_without_its_past(begin):
    sent = begin(RESUME).last_sent("thread/resume")

    assert ("t-1", True) == (sent["threadId"], sent["excludeTurns"])


def test_fork_names_the_last_turn(begin):
    sent = begin(FORK).last_sent("thread/fork")

    assert ("t-1", "turn-3") == (sent["threadId"], sent["lastTurnId"])


@pytest.mark.parametrize(
    ("opening", "method", "answer"), [(RESUME, "thread/resume", "other"), (FORK, "thread/fork", "t-1")]
)
def test_another_session_than_asked_for_fails(begin, opening, method, answer):
    peer = begin(opening)
    peer.reply(method, {"thread": {"id": answer}})

    assert [failures.THREAD_MISMATCH] == [event.reason for event in peer.of(SessionFailed)]


@pytest.mark.parametrize(
    ("message", "code", "reason", "hint"),
    [
        ("no rollout found for thread id t-1", -32600, failures.THREAD_LOST, "any more"),
        ("thread not found: t-1", -32600, failures.THREAD_LOST, "any more"),
        ("thread t-1 already has an active writer", -32600, failures.ACTIVE_WRITER, "fork the session"),
        ("Invalid request: unknown variant `thread/resume`", -32600, failures.UNSUPPORTED_VERSION, "update it"),
        ("too many requests", -32001, failures.OVERLOADED, "again"),
        ("something else", -32603, failures.HANDSHAKE_FAILED, "something else"),
    ],
)
def test_refused_resume_says_why(begin, message, code, reason, hint):
    peer = begin(RESUME)
    peer.reply("thread/resume", error={"code": code, "message": message})

    failed = peer.of(SessionFailed)
    assert [reason] == [event.reason for event in failed]
    assert hint in failed[0].message


def test_id_that_is_too_long_is_not_sent(begin):
    peer = begin(replace(RESUME, resume="x" * 129))

    assert [failures.THREAD_LOST] == [event.reason for event in peer.of(SessionFailed)]
    assert "thread/resume" not in peer.methods()


def test_models_come_page_by_page_and_once_each(begin):
    peer = begin(OPENING)
    peer.reply("thread/start", {"thread": {"id": "t"}})
    assert {} == peer.last_sent("model/list")
    peer.reply("model/list", {"data": [{"id": "a"}, {"id": "b"}], "nextCursor": "cursor_2"})
    assert {"cursor": "cursor_2"} == peer.last_sent("model/list")
    peer.reply("model/list", {"models": [{"id": "b"}, {"model": " c "}, {"name": "nameless"}]})

    assert ["a", "b", "c"] == [model.id for model in peer.of(SessionOpened)[0].models]


def test_a_page_that_names_itself_ends_the_paging(begin):
    peer = begin(OPENING)
    peer.reply("thread/start", {"thread": {"id": "t"}})
    peer.reply("model/list", {"data": [{"id": "a"}], "nextCursor": "again"})
    peer.reply("model/list", {"data": [{"id": "b"}], "nextCursor": "again"})

    assert 2 == peer.methods().count("model/list")
    assert ["model_list_failed"] == [event.code for event in peer.of(Notice)]
    assert 1 == len(peer.of(SessionOpened))


def test_missing_models_are_a_warning(begin):
    peer = begin(OPENING)
    peer.reply("thread/start", {"thread": {"id": "t"}})
    peer.reply("model/list", error={"code": -32603, "message": "no"})

    assert ["model_list_failed"] == [event.code for event in peer.of(Notice)]
    assert 1 == len(peer.of(SessionOpened))


@pytest.mark.parametrize("answers", [0, 1, 2, 3])
def test_end_of_codex_before_the_session_is_open_is_told_once(peer, answers):
    peer.begin()
    for method, result in (("initialize", HELLO), ("account/read", LOGIN), ("thread/start", {"id": "t"}))[:answers]:
        peer.reply(method, result)

    peer.driver.closed()
    peer.take()

    assert [failures.CLOSED] == [event.reason for event in peer.of(SessionFailed)]


def test_silent_codex_is_given_up_after_a_while(peer):
    peer.begin()
    wait = peer.driver.tick(1000.0)
    peer.driver.tick(1000.0 + wait)
    peer.take()

    assert [failures.TIMED_OUT] == [event.reason for event in peer.of(SessionFailed)]


def test_probe_opens_no_session(begin):
    peer = begin(replace(OPENING, is_probe=True))
    peer.reply("model/list", {"data": [{"id": "a"}]})

    opened = peer.of(SessionOpened)[0]
    assert ("", "0.169.0", "a@b.c (plus)") == (opened.native_id, opened.version, opened.account)
    assert ["a"] == [model.id for model in opened.models]
    assert "thread/start" not in peer.methods()
