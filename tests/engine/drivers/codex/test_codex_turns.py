"""Turns of codex: their events, their orders, their ends (contract, vectors 3, 16 to 22; rules of the wire)."""

import pytest

from oulipoly_engine.core.live import failures
from oulipoly_engine.core.live.events import (
    DiffUpdated,
    Item,
    ItemDelta,
    ItemEnded,
    ItemStarted,
    NameChanged,
    Notice,
    OrderFailed,
    Raw,
    SettingsChanged,
    SteerSettled,
    TurnEnded,
    TurnRetrying,
    TurnStarted,
)
from oulipoly_engine.drivers.base import Opening, ReviewTarget

THREAD, TURN = "01a20168-70e5-7342-be6c-a6bdd2ea72f1", "01a20168-711d-78b1-8c77-c95f6c898f24"
OURS = "7f7b2d1c-0000-4000-8000-000000000001"


def test_every_turn_carries_the_whole_policy(ready):
    ready.driver.set_model("big", "high")
    ready.run("one two")

    sent = ready.last_sent("turn/start")

    assert ("untrusted", "workspaceWrite") == (sent["approvalPolicy"], sent["sandboxPolicy"]["type"])
    assert (THREAD, "big", "high", OURS) == (
        sent["threadId"],
        sent["model"],
        sent["effort"],
        sent["clientUserMessageId"],
    )
    assert [{"type": "text", "text": "one two"}] == sent["input"]


def test_nothing_is_asked_under_full_access_and_the_effort_stays(peer):
    peer.__init__(Opening(cwd="/w", new_id="", profile="full_access", effort="high"))
    peer.open()
    peer.run()

    sent = peer.last_sent("turn/start")
    assert ("never", "high") == (sent["approvalPolicy"], sent["effort"])


def test_sandbox_of_the_users_own_configuration_goes_on(peer):
    sandbox = {"type": "workspaceWrite", "writableRoots": ["/cache"], "networkAccess": True}
    peer.open(approvalPolicy="untrusted", sandbox=sandbox)
    peer.run()

    assert sandbox == peer.last_sent("turn/start")["sandboxPolicy"]


def test_broader_sandbox_than_asked_for_is_not_taken_over(peer):
    peer.open(approvalPolicy="never", sandbox={"type": "dangerFullAccess"})
    peer.run()

    assert "workspaceWrite" == peer.last_sent("turn/start")["sandboxPolicy"]["type"]


def test_turn_begins_and_ends_once(running):
    running.item("item/completed", type="agentMessage", id="m", text="done")
    running.complete()
    running.complete()

    assert [(TURN, OURS, "user")] == [(e.native_turn_id, e.turn_id, e.kind) for e in running.of(TurnStarted)]
    assert [("completed", OURS, "done")] == [(e.status, e.turn_id, e.reply) for e in running.of(TurnEnded)]


def test_turn_started_without_an_id_is_raw(ready):
    assert [Raw("turn/started")] == ready.tell("turn/started", threadId=THREAD, turn={})


def test_turn_that_codex_begins_by_itself_is_told(ready):
    ready.tell("turn/started", threadId=THREAD, turn={"id": TURN})
    ready.complete()

    assert [(TURN, "")] == [(event.native_turn_id, event.turn_id) for event in ready.of(TurnStarted)]
    assert [""] == [event.turn_id for event in ready.of(TurnEnded)]


def test_idle_thread_does_not_end_a_turn(running):
    running.tell("thread/status/changed", threadId=THREAD, status={"type": "idle"})

    assert [] == running.of(TurnEnded)


def test_failed_turn_carries_message_and_code(running):
    running.complete("failed", error={"message": "boom", "code": "failed"})

    assert [("failed", "boom", "failed")] == [(e.status, e.message, e.code) for e in running.of(TurnEnded)]


@pytest.mark.parametrize(
    ("info", "code"),
    [
        ("usageLimitExceeded", "usage_limit"),
        ("internalServerError", "server_error"),
        ({"responseStreamDisconnected": {"httpStatusCode": 503}}, "server_error"),
        ({"httpConnectionFailed": {"httpStatusCode": 401}}, "unauthorized"),
        ({"responseTooManyFailedAttempts": {"httpStatusCode": 429}}, "rate_limit"),
        ("contextWindowExceeded", "contextWindowExceeded"),
        ({"newKind": {}}, "newKind"),
        ({"newKind": 7}, "newKind"),
        (None, ""),
        ([], ""),
    ],
)
def test_cause_of_a_failure_has_a_word(running, info, code):
    running.complete("failed", error={"message": "m", "codexErrorInfo": info})

    assert code == running.of(TurnEnded)[0].code


def test_codex_tries_again_by_itself(running):
    error = {"message": "Reconnecting... 2/5", "code": "stream_disconnected"}
    running.tell("error", threadId=THREAD, turnId=TURN, willRetry=True, error=error)

    assert [TurnRetrying("Reconnecting... 2/5", "stream_disconnected", OURS)] == running.of(TurnRetrying)


def test_error_and_the_end_that_follows_are_one(running):
    error = {"message": "boom", "codexErrorInfo": "usageLimitExceeded"}
    running.tell("error", threadId=THREAD, turnId=TURN, willRetry=False, error=error)
    running.complete("failed", error=error)

    assert [("boom", "usage_limit")] == [(event.message, event.code) for event in running.of(TurnEnded)]


def test_error_alone_ends_the_turn_after_a_while(running):
    running.tell("error", threadId=THREAD, turnId=TURN, willRetry=False, error={"message": "boom"})
    wait = running.driver.tick(50.0)
    running.driver.tick(50.0 + wait)
    running.take()

    assert [("failed", "boom")] == [(event.status, event.message) for event in running.of(TurnEnded)]


def test_error_without_a_turn_ends_none(running):
    running.tell("error", error={"message": "boom"})
    running.driver.tick(0.0)
    running.driver.tick(60.0)
    running.take()

    assert ["boom"] == [event.text for event in running.of(Notice)]
    assert [] == running.of(TurnEnded)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ({"code": -32600, "message": f"thread not found: {THREAD}"}, failures.THREAD_LOST),
        ({"code": -32001, "message": "busy"}, failures.OVERLOADED),
        ({"code": -32602, "message": "long", "data": {"input_error_code": "input_too_large"}}, "input_too_large"),
        ({"code": -32603, "message": "x"}, "-32603"),
    ],
)
def test_refused_turn_fails_with_the_cause(ready, error, code):
    ready.driver.send(OURS, "x")
    ready.take()
    ready.reply("turn/start", error=error)

    assert [("failed", code, OURS)] == [(event.status, event.code, event.turn_id) for event in ready.of(TurnEnded)]


def test_deltas_are_told_as_they_come(running):
    running.tell("item/agentMessage/delta", threadId=THREAD, turnId=TURN, itemId="m", delta="hello")

    assert [ItemDelta("m", "hello", kind="agent_message", turn_id=OURS)] == running.of(ItemDelta)
    assert ["m"] == [event.item.id for event in running.of(ItemStarted)]


def test_stream_of_a_command_is_kept_apart(running):
    running.tell("item/commandExecution/outputDelta", turnId=TURN, itemId="c", output="oh", stream="stderr")
    running.tell("item/reasoning/summaryPartAdded", turnId=TURN, itemId="r", summaryIndex=1)

    assert [("stderr", "oh"), ("summary", "\n")] == [(event.stream, event.text) for event in running.of(ItemDelta)]


def test_message_without_ids_belongs_to_the_running_turn(running):
    running.tell("item/agentMessage/delta", itemId="m", delta="x")

    assert 1 == len(running.of(ItemDelta))


def test_phase_of_a_message_is_told(running):
    running.item("item/started", type="agentMessage", id="m", phase="commentary", text="")

    expected = Item("m", "agent_message", native_kind="agentMessage", phase="commentary")
    assert [expected] == [event.item for event in running.of(ItemStarted)]


def test_item_that_never_completes_is_closed_with_its_text(running):
    running.item("item/started", type="agentMessage", id="m", text="")
    running.tell("item/agentMessage/delta", turnId=TURN, itemId="m", delta="so ")
    running.tell("item/agentMessage/delta", turnId=TURN, itemId="m", delta="far")
    running.complete("interrupted")

    ended = running.of(ItemEnded)[0].item
    assert ("m", "interrupted", "so far") == (ended.id, ended.status, ended.text)
    assert isinstance(running.events[-1], TurnEnded)


@pytest.mark.parametrize("cause", ["steer", "retry"])
def test_message_that_is_cut_off_ends_there(running, cause):
    running.tell("item/agentMessage/delta", turnId=TURN, itemId="m", delta="so far")
    if cause == "steer":
        running.item("item/started", type="userMessage", id="u", content=[])
    else:
        running.tell("error", threadId=THREAD, turnId=TURN, willRetry=True, error={"message": "again"})
    running.tell("item/agentMessage/delta", turnId=TURN, itemId="n", delta="anew")

    assert [("m", "interrupted", "so far")] == [
        (event.item.id, event.item.status, event.item.text) for event in running.of(ItemEnded)
    ]


def test_late_messages_of_an_ended_turn_are_raw(running):
    running.complete()

    assert [Raw("item/completed")] == running.item("item/completed", type="agentMessage", id="m", text="late")


def test_item_that_ends_twice_ends_once(running):
    running.item("item/completed", type="agentMessage", id="m", text="a")
    running.item("item/completed", type="agentMessage", id="m", text="b")

    assert ["a"] == [event.item.text for event in running.of(ItemEnded)]


def test_unknown_item_keeps_its_own_name(running):
    running.item("item/started", type="hologram", id="h", text="x")

    item = running.of(ItemStarted)[0].item
    assert ("other", "hologram", "x") == (item.kind, item.native_kind, item.text)


def test_output_of_six_megabytes_is_kept_whole(running):
    running.item("item/completed", type="commandExecution", id="c", command="x", aggregatedOutput="\0" * 6_300_000)

    assert 6_300_000 == len(running.of(ItemEnded)[0].item.text)


def test_points_of_a_plan_follow_it(running):
    running.tell("turn/plan/updated", threadId=THREAD, turnId=TURN, plan=[{"step": "a", "status": "inProgress"}])
    running.tell("turn/plan/updated", threadId=THREAD, turnId=TURN, plan=[{"step": "a", "status": "completed"}])
    running.complete()

    assert [(("a", "in_progress"),), (("a", "completed"),)] == [event.item.steps for event in running.of(ItemStarted)]
    assert ["completed"] == [event.item.status for event in running.of(ItemEnded)]


def use(peer, total, last):
    counts = {name: {"inputTokens": one, "outputTokens": one} for name, one in (("total", total), ("last", last))}
    peer.tell("thread/tokenUsage/updated", threadId=THREAD, turnId=TURN, tokenUsage=counts)


def test_tokens_of_a_turn_are_those_of_its_calls(ready):
    ready.run()
    use(ready, total=10, last=10)
    use(ready, total=15, last=5)
    ready.complete()
    ready.run()
    use(ready, total=15, last=5)  # told again: the call has failed
    use(ready, total=18, last=3)
    ready.complete()

    assert [15, 3] == [event.usage.input for event in ready.of(TurnEnded)]


def test_tokens_of_a_resumed_session_do_not_count_for_the_turn(peer):
    peer.__init__(Opening(cwd="/w", new_id="", resume=THREAD))
    peer.open()
    peer.run()
    use(peer, total=100, last=10)
    peer.complete()

    assert [10] == [event.usage.input for event in peer.of(TurnEnded)]


def test_diff_that_is_repeated_is_told_once(running):
    for diff in ("a", "a", "b"):
        running.tell("turn/diff/updated", threadId=THREAD, turnId=TURN, diff=diff)

    assert ["a", "b"] == [event.diff for event in running.of(DiffUpdated)]


def test_unknown_notification_is_raw(ready):
    assert [Raw("item/future_event")] == ready.tell("item/future_event", item={"id": "i1"})


def test_other_threads_are_raw(running):
    other = "01a20168-ffff-7342-be6c-a6bdd2ea72f1"

    assert [Raw("turn/completed")] == running.tell("turn/completed", threadId=other, turn={"id": TURN})
    assert [Raw("item/agentMessage/delta")] == running.tell("item/agentMessage/delta", threadId=other, itemId="m")


# Orders --------------------------------------------------------------------------------------------------------------
def test_interrupt_waits_for_turn_started(ready):
    ready.driver.send(OURS, "x")
    ready.driver.interrupt()
    ready.take()
    ready.reply("turn/start", {"turn": {"id": TURN}})
    assert "turn/interrupt" not in ready.methods()

    ready.tell("turn/started", threadId=THREAD, turn={"id": TURN})

    assert {"threadId": THREAD, "turnId": TURN} == ready.last_sent("turn/interrupt")


def test_commands_that_outlive_an_interrupt_are_ended(running):
    running.driver.interrupt()
    running.driver.interrupt()
    running.take()
    running.reply("turn/interrupt", {})
    running.complete("interrupted")

    assert 1 == running.methods().count("turn/interrupt")
    assert {"threadId": THREAD} == running.last_sent("thread/backgroundTerminals/clean")


def test_turn_that_ends_by_itself_leaves_background_commands_alone(running):
    running.complete()

    assert "thread/backgroundTerminals/clean" not in running.methods()


def test_refused_interrupt_is_tried_again(running):
    running.driver.interrupt()
    running.take()
    running.reply("turn/interrupt", error={"code": -32600, "message": "no active turn to interrupt"})
    wait = running.driver.tick(10.0)
    running.driver.tick(10.0 + wait)
    running.take()

    assert 2 == running.methods().count("turn/interrupt")


def test_interrupt_that_is_always_refused_is_told(running):
    running.driver.interrupt()
    running.take()
    for second in range(100):
        running.reply("turn/interrupt", error={"code": -32600, "message": "no"})
        running.driver.tick(float(second))
        running.take()

    assert [OrderFailed("interrupt", "no")] == running.of(OrderFailed)


def test_interrupt_without_a_turn_does_nothing(ready):
    ready.driver.interrupt()

    assert [] == ready.take()
    assert "turn/interrupt" not in ready.methods()


def test_steer_is_bound_to_the_turn_and_sent_once(running):
    running.driver.steer("m1", "more")
    running.driver.steer("m1", "more")
    running.take()
    running.reply("turn/steer", {"turnId": TURN})
    running.item("item/completed", type="userMessage", id="u", clientId="m1", content=[])

    sent = running.last_sent("turn/steer")
    assert (TURN, "m1") == (sent["expectedTurnId"], sent["clientUserMessageId"])
    assert 1 == running.methods().count("turn/steer")
    assert [SteerSettled("m1", "accepted")] == running.of(SteerSettled)


def test_steer_before_turn_started_waits_for_it(ready):
    ready.driver.send(OURS, "x")
    ready.driver.steer("m1", "more")
    ready.take()
    assert "turn/steer" not in ready.methods()

    ready.reply("turn/start", {"turn": {"id": TURN}})
    ready.tell("turn/started", threadId=THREAD, turn={"id": TURN})

    assert "turn/steer" in ready.methods()


def test_refused_steer_says_why(running):
    running.driver.steer("m1", "more")
    running.take()
    running.reply("turn/steer", error={"code": -32600, "message": "expected active turn id `a` but found `b`"})

    assert [("refused", True)] == [(event.outcome, "expected" in event.message) for event in running.of(SteerSettled)]


def test_steer_that_is_open_when_the_turn_ends_is_refused_once(running):
    running.driver.steer("m1", "more")
    running.take()
    running.complete()
    running.reply("turn/steer", {"turnId": TURN})

    assert ["refused"] == [event.outcome for event in running.of(SteerSettled)]


@pytest.mark.parametrize("text", ["", "x" * 32_769])
def test_steer_of_the_wrong_length_is_refused(running, text):
    running.driver.steer("m1", text)
    running.take()

    assert ["refused"] == [event.outcome for event in running.of(SteerSettled)]
    assert "turn/steer" not in running.methods()


def test_steer_without_a_turn_is_refused(ready):
    ready.driver.steer("m1", "x")
    ready.take()

    assert ["refused"] == [event.outcome for event in ready.of(SteerSettled)]


def test_compaction_is_a_turn_whose_id_comes_later(ready):
    ready.driver.compact(OURS)
    ready.take()
    ready.driver.steer("m1", "x")
    ready.reply("thread/compact/start", {})
    ready.tell("turn/started", threadId=THREAD, turn={"id": TURN})
    ready.item("item/completed", type="contextCompaction", id="c")
    ready.complete()

    assert [("compact", OURS)] == [(event.kind, event.turn_id) for event in ready.of(TurnStarted)]
    assert ["compaction"] == [event.item.kind for event in ready.of(ItemEnded)]
    assert ["refused"] == [event.outcome for event in ready.of(SteerSettled)]
    assert ["completed"] == [event.status for event in ready.of(TurnEnded)]


def test_an_order_that_codex_refuses_is_told_as_such_and_is_no_turn(ready):
    ready.driver.compact(OURS)
    ready.take()
    ready.reply("thread/compact/start", error={"code": -32600, "message": "nothing to compact"})

    assert [("compact", "nothing to compact")] == [(event.order, event.message) for event in ready.of(OrderFailed)]
    assert [] == ready.of(TurnEnded)
    ready.driver.send(OURS, "go on")
    ready.take()
    assert "turn/start" in ready.methods()


def test_review_has_two_ids_and_ends_with_that_of_the_reply(ready):
    ready.driver.review(OURS, ReviewTarget())
    ready.take()
    ready.reply("review/start", {"turn": {"id": TURN}, "reviewThreadId": THREAD})
    ready.item("item/started", type="enteredReviewMode", id="e", review="Reviewing current diff")
    ready.tell("turn/started", threadId=THREAD, turn={"id": "B"})
    ready.tell("turn/completed", threadId=THREAD, turn={"id": "B", "status": "completed"})
    assert [] == ready.of(TurnEnded)
    ready.item("item/completed", type="exitedReviewMode", id="x", review="fine", status="completed")
    ready.complete()

    entered, left = ready.of(ItemStarted)[0].item, ready.of(ItemEnded)[0].item
    assert ("review", "enteredReviewMode", "Reviewing current diff") == (
        entered.kind,
        entered.native_kind,
        entered.text,
    )
    assert ("exitedReviewMode", "completed", "fine") == (left.native_kind, left.status, left.text)
    assert [TURN] == [event.native_turn_id for event in ready.of(TurnStarted)]
    assert ["completed"] == [event.status for event in ready.of(TurnEnded)]


def test_review_is_interrupted_by_the_id_that_it_began_with(ready):
    ready.driver.review(OURS, ReviewTarget())
    ready.take()
    ready.reply("review/start", {"turn": {"id": TURN}, "reviewThreadId": THREAD})
    ready.tell("turn/started", threadId=THREAD, turn={"id": "B"})
    ready.driver.interrupt()
    ready.take()

    assert "B" == ready.last_sent("turn/interrupt")["turnId"]


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (ReviewTarget(), {"type": "uncommittedChanges"}),
        (ReviewTarget("branch", "main"), {"type": "baseBranch", "branch": "main"}),
        (ReviewTarget("commit", "abc"), {"type": "commit", "sha": "abc"}),
        (ReviewTarget("custom", "look"), {"type": "custom", "instructions": "look"}),
    ],
)
def test_review_names_its_target(ready, target, expected):
    ready.driver.review(OURS, target)
    ready.take()

    sent = ready.last_sent("review/start")
    assert (expected, "inline") == (sent["target"], sent["delivery"])


def test_second_turn_at_once_is_refused_here(running):
    running.driver.compact("other")
    running.take()

    assert [("other", "busy")] == [(event.turn_id, event.code) for event in running.of(TurnEnded)]
    assert "thread/compact/start" not in running.methods()


def test_order_before_the_session_is_open_is_refused(peer):
    peer.begin()
    peer.driver.send(OURS, "x")
    peer.take()

    assert [failures.CLOSED] == [event.code for event in peer.of(TurnEnded)]


def test_rename_is_told_when_codex_has_it(ready):
    ready.driver.rename("A name")
    ready.take()
    assert {"threadId": THREAD, "name": "A name"} == ready.last_sent("thread/name/set")
    ready.tell("thread/name/updated", threadId=THREAD, threadName="A name")

    assert [NameChanged("A name")] == ready.of(NameChanged)


@pytest.mark.parametrize("name", ["", "x" * 257])
def test_name_of_the_wrong_length_is_refused(ready, name):
    ready.driver.rename(name)
    ready.take()

    assert ["rename"] == [event.order for event in ready.of(OrderFailed)]
    assert "thread/name/set" not in ready.methods()


def test_refused_name_is_told(ready):
    ready.driver.rename("x")
    ready.take()
    ready.reply("thread/name/set", error={"code": -32600, "message": "no"})

    assert [OrderFailed("rename", "no")] == ready.of(OrderFailed)


def test_other_model_is_for_later_turns(ready):
    ready.driver.set_model("big")
    ready.take()

    assert [SettingsChanged("big")] == ready.of(SettingsChanged)


def test_end_of_codex_leaves_the_turn_to_the_host(running):
    running.item("item/started", type="commandExecution", id="c", command="ls")
    running.driver.steer("m1", "x")
    running.driver.closed()
    running.take()

    assert ["interrupted"] == [event.item.status for event in running.of(ItemEnded)]
    assert ["refused"] == [event.outcome for event in running.of(SteerSettled)]
    assert [] == running.of(TurnEnded)
