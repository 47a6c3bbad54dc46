"""Every recorded wire of codex through the driver: whole, and cut behind each line."""

import pytest

from oulipoly_engine.core.live.events import (
    ItemEnded,
    NameChanged,
    OrderFailed,
    QuotaSeen,
    RequestOpened,
    SessionOpened,
    SettingsChanged,
    SteerSettled,
    TurnEnded,
    TurnRetrying,
    UsageUpdated,
)

WIRES = [
    ("codex-0.169.0-basics", 0),
    ("codex-0.169.0-approvals", 0),
    ("codex-0.169.0-fork-compact-review", 0),
    ("codex-0.169.0-interrupt-processes", 0),
    ("codex-0.169.0-interrupt-processes", 1),
    ("codex-0.169.0-kill", 0),
    ("codex-0.169.0-kill", 1),
    ("codex-0.169.0-resume", 0),
    ("codex-0.169.0-steer-interrupt", 0),
    ("codex-0.169.0-two-threads-errors", 0),
    ("codex-app-server-0.169.0", 0),
]


def own_ends(played):
    return [event.turn_id for event in played.of(TurnEnded)]


@pytest.mark.parametrize(("name", "place"), WIRES)
def test_a_whole_wire_opens_a_session_and_leaves_nothing_open(replay, name, place):
    played = replay(name, place)

    assert 1 == len(played.of(SessionOpened))
    assert "0.169.0" == played.of(SessionOpened)[0].version
    assert set() == played.open_items()
    assert set() == played.open_requests()
    assert len(set(own_ends(played))) == len(own_ends(played))


@pytest.mark.parametrize(("name", "place"), WIRES)
def test_a_wire_that_is_cut_anywhere_leaves_nothing_open(codex_wires, name, place):
    read_wire, replay = codex_wires
    process = read_wire(name)[place]

    for count in range(len(process)):
        played = replay(process)
        played.play(count)
        played.leave()

        assert set() == played.open_items()
        assert set() == played.open_requests()
        assert len(set(own_ends(played))) == len(own_ends(played))


def test_approvals_are_asked_and_answered(replay):
    played = replay("codex-0.169.0-approvals")

    commands = [event for event in played.of(RequestOpened) if event.kind == "command_approval"]
    files = [event for event in played.of(RequestOpened) if event.kind == "file_change_approval"]
    assert "/bin/bash -lc 'touch one.txt; echo hi'" == commands[0].prompt.command
    assert "touch one.txt; echo hi" == commands[0].prompt.title
    assert ("/home/user/proj/fa.txt", "add", "@@ -0,0 +1,1 @@\n+hello\n") == tuple(
        getattr(files[0].prompt.changes[0], name) for name in ("path", "kind", "diff")
    )
    decisions = [message["result"]["decision"] for message in played.sent if "result" in message]
    assert ["accept", "decline", "cancel", "acceptForSession"] == decisions[:4]


def test_commands_end_as_codex_tells(replay):
    played = replay("codex-0.169.0-approvals")

    commands = [event.item for event in played.of(ItemEnded) if event.item.kind == "command"]
    assert ("hi\n", 0, "completed") == (commands[0].text, commands[0].exit_code, commands[0].status)
    assert "declined" == commands[1].status


def test_failures_keep_their_causes_apart(replay):
    played = replay("codex-0.169.0-two-threads-errors", skip=1)

    failed = [code for _, status, code in played.ends() if status == "failed"]
    assert ["unauthorized", "rate_limit", "usage_limit", "server_error", "other"] == failed[:5]
    assert "Reconnecting... 1/1" in played.of(TurnRetrying)[0].message


def test_a_review_is_one_turn_and_a_compaction_another(replay):
    played = replay("codex-0.169.0-fork-compact-review")

    kinds = [event.item.native_kind for event in played.of(ItemEnded)]
    assert "contextCompaction" in kinds
    assert 2 == kinds.count("exitedReviewMode")
    assert ["review"] == [event.order for event in played.of(OrderFailed)]  # `detached` is gone
    assert {"completed"} == {status for _, status, _ in played.ends()}
    assert ["A name"] == [event.name for event in played.of(NameChanged)]
    assert "gpt-5.4" in [event.model for event in played.of(SettingsChanged)]
    assert ["refused"] == [event.outcome for event in played.of(SteerSettled)]


def test_steers_are_settled_and_interrupts_end_turns(replay):
    played = replay("codex-0.169.0-steer-interrupt")

    assert "accepted" == played.of(SteerSettled)[0].outcome
    assert "interrupted" in [status for _, status, _ in played.ends()]
    assert "user_input" in [event.kind for event in played.of(RequestOpened)]


def test_tokens_and_quota_are_told(replay):
    played = replay("codex-0.169.0-basics")

    usage = played.of(UsageUpdated)[-1].usage
    assert (12, 7, 258_400) == (usage.input, usage.output, usage.window)
    assert [("5h-burst", 23.0, 1795330751), ("weekly", 45.0, 1795665551)] == list(played.of(QuotaSeen)[0].windows)
    assert 12 == played.of(TurnEnded)[0].usage.input
    assert played.of(TurnEnded)[0].reply.startswith("word1 word2")
