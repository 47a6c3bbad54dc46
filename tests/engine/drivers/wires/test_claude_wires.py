"""What Claude Code wrote in recorded sessions, through its driver: whole, cut at each line, and part by part."""

import json

import pytest

from oulipoly_engine.core.live import events

WIRES = ["approvals", "errors-compact", "flags-hooks", "interrupt-modes", "queue-stdin", "resume-fork-kill"]


@pytest.fixture
def play(claude, processes):
    """Play a process of a recording and return the replay."""

    def start(name, number=0, **fields):
        replay = claude(**fields)
        replay.play(processes(f"claude-2.1.197-{name}")[number])
        return replay

    return start


@pytest.mark.parametrize("name", [*(f"claude-2.1.197-{name}" for name in WIRES), "claude-stream-json-2.1.197"])
def test_recorded_sessions_close_all_that_they_open(name, claude, processes):
    for process in processes(name):
        replay = claude()
        replay.play(process)
        replay.close()

        replay.assert_sound()
        assert not [one for one in replay.of(events.Notice) if one.code == "undecodable"]


@pytest.mark.parametrize("name", WIRES)
def test_a_session_cut_at_any_line_closes_all_that_it_had_opened(name, claude, processes):
    for process in processes(f"claude-2.1.197-{name}"):
        for length in range(1, len(process), 1 if len(process) < 200 else 3):
            replay = claude()
            replay.play(process[:length])
            replay.close()

            replay.assert_sound()


def test_what_is_written_is_json_with_the_role_of_a_user(play):
    written = play("approvals").written

    assert {"user", "control_request", "control_response"} == {line["type"] for line in written}
    users = [line for line in written if line["type"] == "user"]
    assert {"user"} == {line["message"]["role"] for line in users}
    assert len(users) == len({line["uuid"] for line in users})


def test_models_and_account_come_with_the_handshake(play):
    opened = play("approvals").of(events.SessionOpened)[0]

    assert "Claude Max" == opened.account
    assert ("default", True) == (opened.models[0].id, opened.models[0].is_default)
    assert ("low", "medium", "high", "xhigh", "max") == opened.models[0].efforts
    assert "deep-research" == opened.commands[0][0]


def test_thinking_and_text_stream_as_items_of_their_own(play):
    replay = play("approvals")
    deltas = {one.item_id: one.text for one in replay.of(events.ItemDelta)}

    assert "stub thought" == replay.items("reasoning")[0].text
    assert "stub thought" == deltas[replay.items("reasoning")[0].id]
    assert "echo: first" == replay.of(events.TurnEnded)[0].reply


def test_each_turn_costs_the_difference_of_the_process_sums(play):
    turns = play("approvals").of(events.TurnEnded)

    assert [0.000235, 0.000235, 0.00047] == [turn.usage.cost_usd for turn in turns[:3]]
    assert (12, 7, 1_000_000) == (turns[0].usage.input, turns[0].usage.output, turns[0].usage.window)


def test_how_full_the_window_is_is_told_with_its_size_once_that_is_known(play):
    told = [one.usage for one in play("approvals").of(events.UsageUpdated)]

    assert (13, None) == (told[0].context, told[0].window)
    assert (13, 1_000_000) == (told[-1].context, told[-1].window)


def test_an_allowance_repeats_the_input_and_a_denial_declines_the_call(play):
    replay = play("approvals")
    answers = [line["response"]["response"] for line in replay.written if line["type"] == "control_response"]

    assert {
        "behavior": "allow",
        "updatedInput": {"command": "touch c1.txt; echo hi", "description": "stub command"},
    } == answers[0]
    assert {"behavior": "deny", "message": "not now"} == answers[1]
    assert {"behavior": "deny", "message": "stop it", "interrupt": True} == answers[2]
    assert ["completed", "declined", "declined"] == [item.status for item in replay.items("command")[:3]]
    assert "interrupted" == replay.of(events.TurnEnded)[4].status


def test_for_the_session_grants_the_suggested_rule_alone(play):
    replay = play("approvals")
    granted = [
        line["response"]["response"]["updatedPermissions"]
        for line in replay.written
        if "updatedPermissions" in line.get("response", {}).get("response", {})
    ]
    reaches = [one.prompt.reach for one in replay.of(events.RequestOpened) if one.kind == "command_approval"]

    rule = {"toolName": "Bash", "ruleContent": "touch c5.txt"}
    assert [{"type": "addRules", "rules": [rule], "behavior": "allow", "destination": "session"}] == granted[0]
    assert "Bash(touch c1.txt; echo hi), until this session's process ends" == reaches[0]


def test_a_file_is_written_only_after_its_diff_was_shown_and_for_once(play):
    asked = next(one for one in play("approvals").of(events.RequestOpened) if one.kind == "file_change_approval")

    assert "" == asked.prompt.reach
    assert ("/home/user/proj/w0.txt", "add") == (asked.prompt.changes[0].path, asked.prompt.changes[0].kind)
    assert asked.prompt.changes[0].diff.endswith("@@ -0,0 +1 @@\n+hello\n")


def test_a_question_is_answered_by_its_text(play):
    replay = play("approvals")
    asked = next(one for one in replay.of(events.RequestOpened) if one.kind == "user_input")
    answer = next(line for line in replay.written if '"answers"' in json.dumps(line))

    assert (("Red", "r"), ("Blue", "b")) == asked.prompt.questions[0].options
    assert {"Which color?": "Red"} == answer["response"]["response"]["updatedInput"]["answers"]


def test_tasks_make_a_plan_that_grows_over_calls(play):
    plans = play("approvals").items("plan")

    assert [(("a task", "pending"),), (("a task", "in_progress"),)] == [plan.steps for plan in plans]


def test_an_interrupt_ends_turns_that_stream_run_and_ask(play):
    replay = play("interrupt-modes")
    turns = replay.of(events.TurnEnded)

    assert ["completed", "interrupted", "interrupted", "interrupted"] == [turn.status for turn in turns[:4]]
    assert turns[1].reply.startswith("word1 word2")
    assert ["interrupted", "interrupted"] == [item.status for item in replay.items("command")[:2]]


def test_the_model_and_the_mode_are_told_as_they_change(play):
    changes = play("interrupt-modes").of(events.SettingsChanged)

    models = [one.model for one in changes if one.model]
    assert ["claude-opus-4-8[1m]", "claude-opus-4-5", "no-such-model", "default", "claude-opus-4-8[1m]"] == models
    assert ["acceptEdits", "plan", "acceptEdits", "default"] == [one.policy for one in changes if one.policy]


def test_a_message_is_taken_while_a_tool_runs_and_refused_while_text_streams(play):
    while_it_streams = play("interrupt-modes").of(events.SteerSettled)[0]
    while_a_tool_runs = play("queue-stdin").of(events.SteerSettled)

    assert ("refused", "claude takes a message only while a tool runs") == (
        while_it_streams.outcome,
        while_it_streams.message,
    )
    assert {"accepted"} == {one.outcome for one in while_a_tool_runs[:4]}


def test_a_message_that_claude_had_queued_is_a_turn_that_nobody_sent(play):
    started = play("interrupt-modes").of(events.TurnStarted)

    assert "" in [one.native_turn_id for one in started]


def test_failures_of_the_api_fail_the_turn_though_they_are_told_as_success(play):
    failed = [turn for turn in play("errors-compact").of(events.TurnEnded) if turn.status == "failed"]

    assert ["unauthorized", "rate_limit", "usage_limit", "server_error", "overloaded", "server_error"] == [
        turn.code for turn in failed
    ]
    assert {""} == {turn.reply for turn in failed}
    assert "You've hit your session limit · resets 7:08am (UTC)" == failed[2].message


def test_a_used_up_plan_names_its_window_and_a_short_refusal_none(play):
    rejected = [one for one in play("errors-compact").of(events.QuotaSeen) if one.is_rejected]

    assert [(), (("five_hour", 100.0, 1795331316),)] == [one.windows for one in rejected]


def test_retries_are_told(play):
    retries = play("errors-compact").of(events.TurnRetrying)

    assert ("attempt 1 of 1 after authentication failed", "authentication_failed") == (
        retries[0].message,
        retries[0].code,
    )


def test_compacting_is_a_turn_with_one_item_and_clearing_changes_the_id(play):
    replay = play("errors-compact")

    assert ["19 tokens before, 1043 after"] == [item.text for item in replay.items("compaction")]
    ids = [one.native_id for one in replay.of(events.NativeIdChanged)]
    assert ["0fd5742b-4fb9-485e-a9a4-b379a61cdc96", "24c0774b-29ef-4ee0-9a96-cfcfcf9050f7"] == ids


def test_a_sub_agent_shows_as_its_tool_call(play):
    agent = next(item for item in play("errors-compact").items("tool") if item.native_kind == "Agent")

    assert "Agent inner words" == agent.title
    assert agent.text.startswith("echo: inner words")


def test_a_request_that_cannot_be_answered_here_is_shown_and_refused(play):
    replay = play("flags-hooks", 2)
    other = next(one for one in replay.of(events.RequestOpened) if one.kind == "other")
    refusal = next(line["response"] for line in replay.written if line.get("response", {}).get("subtype") == "error")

    assert "hook_callback" == other.prompt.title
    assert other.native_id == refusal["request_id"]
    assert "cannot be answered here" in other.prompt.note


def test_a_lost_session_is_told_as_lost_and_no_turn_ends(play):
    replay = play("resume-fork-kill", 3, resume="01900000-0000-4000-8000-000000000000")
    failed = replay.of(events.SessionFailed)

    assert ["thread_lost"] == [one.reason for one in failed]
    assert [] == replay.of(events.TurnEnded)


def test_a_resumed_session_keeps_its_id_and_a_fork_tells_its_own(play):
    resumed = play("resume-fork-kill", 1, resume="a7e50eae-57f4-4c2c-bf0b-baa771233356")
    forked = play("resume-fork-kill", 2, resume="a7e50eae-57f4-4c2c-bf0b-baa771233356", fork=True)

    assert [] == resumed.of(events.NativeIdChanged)
    assert "" == forked.of(events.SessionOpened)[0].native_id
    assert ["17c84082-3cdd-41dd-a391-9e08c8c2386c"] == [one.native_id for one in forked.of(events.NativeIdChanged)]


def test_another_session_than_the_one_asked_for_fails(play):
    replay = play("resume-fork-kill", 1, resume="11111111-0000-4000-8000-000000000000")

    assert ["thread_mismatch"] == [one.reason for one in replay.of(events.SessionFailed)]


def test_a_turn_tells_where_a_fork_can_cut(play):
    turn = play("resume-fork-kill", 0).of(events.TurnEnded)[0]

    assert 36 == len(turn.fork_at)
