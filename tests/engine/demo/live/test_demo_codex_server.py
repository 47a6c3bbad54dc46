"""What the demo's `codex app-server` alone does."""

import time

import pytest

from oulipoly_demo.quota.meter import Meter
from oulipoly_engine.core.live import failures
from oulipoly_engine.core.live.events import (
    DiffUpdated,
    ItemDelta,
    NameChanged,
    Notice,
    QuotaSeen,
    RequestOpened,
    RequestResolved,
    SessionFailed,
    SessionOpened,
    TurnEnded,
    TurnRetrying,
    TurnStarted,
    UsageUpdated,
)
from oulipoly_engine.drivers.base import ReviewTarget


@pytest.fixture
def start(live):
    """Start a session and wait until it is open, or has failed to open."""

    def start(environment=None, **fields):
        session = live("codex", environment, **fields)
        session.until(SessionOpened, SessionFailed)
        return session

    return start


@pytest.fixture
def session(start):
    return start()


@pytest.fixture
def account(tmp_path):
    return tmp_path / "home"


def test_session_tells_login_models_and_permissions(session):
    opened = session.of(SessionOpened)[0]

    assert "demo-codex1@demo.invalid (pro)" == opened.account
    assert "untrusted, workspace-write" == opened.policy
    assert ["demo-gpt-1", "demo-opus-1", "demo-haiku-1"] == [model.id for model in opened.models]
    assert opened.version.endswith("-demo")


def test_turns_cost_tokens_and_quota(session, account):
    session.turn("hello")

    usage, quota = session.of(UsageUpdated)[-1].usage, session.of(QuotaSeen)[-1]
    assert usage.output > 0
    assert ["5h-burst", "weekly"] == [name for name, _, _ in quota.windows]
    assert quota.windows[0][1] > 0
    assert all(tier.spent > 0 for tier in Meter(account, "codex").read(time.time()))


@pytest.mark.parametrize(("decision", "is_written"), [("approve", True), ("deny", False)])
def test_a_turn_tells_the_sum_of_its_changes(session, decision, is_written):
    session.turn("go [[edit:notes.txt]]", decision)

    assert is_written == bool(session.of(DiffUpdated))


def test_file_outside_the_folder_is_left_alone(start, tmp_path):
    session = start(profile="full_access")
    session.turn("go [[edit:../outside.txt]]")

    assert ["failed"] == [item.status for item in session.items("file_change")]
    assert not (tmp_path / "outside.txt").exists()


def test_interrupt_before_the_turn_has_begun_waits_for_it(session):
    session.send("go [[stall:600]]")
    session.driver.interrupt()

    assert "interrupted" == session.until(TurnEnded).status


def test_interrupt_closes_an_open_request(session):
    session.send("go [[approve:ls]]")
    request = session.until(RequestOpened)
    session.driver.interrupt()
    session.until(TurnEnded)
    session.answer(request, "approve")
    session.turn("next")

    assert [request.native_id] == [event.native_id for event in session.of(RequestResolved)]


def test_steer_cuts_a_text_that_streams(start):
    session = start({"DEMO_PACE": "0.05"})
    session.send("list 9 ideas for a very long walk in the rain")
    session.until(ItemDelta)
    session.driver.steer("m1", "stop that")
    session.until(TurnEnded)

    assert ["interrupted", "completed"] == [item.status for item in session.items("agent_message")]


def test_session_that_is_open_elsewhere_is_not_resumed(session, start):
    session.turn("hello")

    assert failures.ACTIVE_WRITER == start(resume=session.native_id).of(SessionFailed)[0].reason


@pytest.mark.parametrize(("directive", "is_retried"), [("quota", False), ("401", True), ("429", True)])
def test_failures_of_the_connection_are_tried_again(session, directive, is_retried):
    session.turn(f"go [[{directive}]]")

    assert is_retried == bool(session.of(TurnRetrying))


def test_spent_account_refuses(session, account):
    Meter(account, "codex").set_used(100, "short", time.time())

    assert "usage_limit" == session.turn("hello").code


def test_review_is_a_turn_of_its_own(session):
    session.turn("hello")
    session.driver.review("review", ReviewTarget())
    reviewed = session.until(TurnEnded)

    assert ("review", "completed") == (reviewed.turn_id, reviewed.status)
    assert "No findings" in reviewed.reply
    assert "completed" == session.turn("and now?").status


def test_review_is_interrupted(start):
    session = start({"DEMO_PACE": "5"})
    session.driver.review("review", ReviewTarget())
    session.until(TurnStarted)
    session.driver.interrupt()
    ended = session.until(TurnEnded)

    assert ("review", "interrupted") == (ended.turn_id, ended.status)


def test_name_is_changed(session):
    session.driver.rename("A name")

    assert "A name" == session.until(NameChanged).name


def test_version_of_tomorrow_is_lived_with(start):
    session = start({"DEMO_DRIFT": "1"})
    session.turn("hello")

    assert "9.0.0" == session.of(SessionOpened)[0].version
    assert ["hologram"] == [item.native_kind for item in session.items("other")]
    assert [] == [event for event in session.of(Notice) if event.level == "error"]


def test_missing_login_is_told(start, account):
    account.mkdir(exist_ok=True)
    (account / "logged-out").touch()

    assert failures.NEEDS_AUTH == start().of(SessionFailed)[0].reason


def test_garbage_is_left_unanswered(session):
    session.process.stdin.write(b"not json\n[1,2]\n\n" + b'{"id":9999,"result":{"decision":"accept"}}\n')
    session.process.stdin.flush()

    assert "completed" == session.turn("hello").status


@pytest.mark.parametrize("stop", ["eof", "term"])
def test_process_ends_by_itself_in_a_turn(session, stop):
    session.send("go [[stall:600]]")
    session.until(TurnStarted)
    if stop == "term":
        session.process.terminate()
    session.process.stdin.close()

    assert 0 == session.process.wait(60)


def test_probe_leaves_nothing_behind(start, account):
    session = start(is_probe=True)

    assert "" == session.of(SessionOpened)[0].native_id
    assert not (account / "sessions").exists()
