"""What four ACP agents wrote in recorded sessions, through the driver: whole, cut at each line, and part by part."""

import pytest

from oulipoly_engine.core.live import events

WIRES = [
    "acp-pending-permission",
    "claude-agent-acp-0.49.0",
    "codex-acp-2.6.0",
    "gemini-0.61.0-acp",
    "gemini-0.61.0-acp-load",
    "opencode-1.18.33-acp",
    "opencode-1.18.33-acp-load",
    "opencode-1.18.33-acp-permissions",
]


def opening_of(process):
    """The opening's fields for a process whose first session was resumed."""
    methods = {m["method"]: m["params"] for d, m in process if d.startswith("client->") and m.get("method")}
    opened = next((one for one in methods if one.startswith("session/")), "session/new")
    return {} if opened == "session/new" else {"resume": methods[opened]["sessionId"]}


@pytest.fixture
def play(acp, processes):
    """Play a process of a recording and return the replay."""

    def start(name, number=0, **fields):
        process = processes(name)[number]
        replay = acp(**{**opening_of(process), **fields})
        replay.play(process)
        return replay

    return start


@pytest.mark.parametrize("name", WIRES)
def test_recorded_sessions_close_all_that_they_open(name, acp, processes):
    for process in processes(name):
        replay = acp(**opening_of(process))
        replay.play(process)
        replay.close()

        replay.assert_sound()


@pytest.mark.parametrize("name", WIRES)
def test_a_session_cut_at_any_line_closes_all_that_it_had_opened(name, acp, processes):
    for process in processes(name):
        fields = opening_of(process)
        for length in range(1, len(process), 1 if len(process) < 200 else 3):
            replay = acp(**fields)
            replay.play(process[:length])
            replay.close()

            replay.assert_sound()


@pytest.mark.parametrize(
    ("name", "model", "version", "policy"),
    [
        ("opencode-1.18.33-acp", "stub/stub-model", "1.18.33", "build"),
        ("gemini-0.61.0-acp", "gemini-2.5-flash", "0.61.0", "default"),
        ("claude-agent-acp-0.49.0", "default", "0.49.0", "default"),
        ("codex-acp-2.6.0", "gpt-5.5", "2.6.0", "read-only"),
    ],
)
def test_a_session_opens_with_the_model_the_version_and_the_mode(name, model, version, policy, play):
    opened = play(name).of(events.SessionOpened)[0]

    assert (model, version, policy) == (opened.model, opened.version, opened.policy)
    assert opened.models


@pytest.mark.parametrize(
    ("name", "able"),
    [
        ("opencode-1.18.33-acp", {"resume", "fork", "compaction"}),
        ("gemini-0.61.0-acp", {"resume"}),
        ("claude-agent-acp-0.49.0", {"resume", "fork", "compaction"}),
        ("codex-acp-2.6.0", {"resume", "fork", "steer", "compaction"}),
    ],
)
def test_an_agent_can_do_what_it_advertises(name, able, play):
    capabilities = play(name).driver.capabilities
    asked = ("resume", "fork", "steer", "compaction", "review", "rename", "fork_at_turn")

    assert able == {each for each in asked if getattr(capabilities, each)}


def test_a_codex_agent_is_set_to_ask_before_it_writes(play):
    own = [line["params"] for line in play("codex-acp-2.6.0").written if line.get("method") == "session/set_mode"]

    assert ["read-only"] == [one["modeId"] for one in own]


def test_the_past_of_a_loaded_session_is_no_news(play):
    replay = play("opencode-1.18.33-acp-load")

    assert ["after load"] == [item.text for item in replay.items("user_message")][:1]
    assert "echo: after load" == replay.of(events.TurnEnded)[0].reply


def test_a_load_that_fails_though_it_is_advertised_is_a_lost_session(play):
    failed = play("gemini-0.61.0-acp-load").of(events.SessionFailed)

    assert ["thread_lost"] == [one.reason for one in failed]
    assert failed[0].message.startswith("Invalid session identifier")


def test_text_streams_and_its_pieces_make_the_message(play):
    replay = play("opencode-1.18.33-acp")
    message = replay.items("agent_message")[0]

    pieces = [one.text for one in replay.of(events.ItemDelta) if one.item_id == message.id]
    assert len(pieces) > 10
    assert message.text == "".join(pieces)


def test_options_are_chosen_by_their_kind(play):
    chosen = [
        [
            line["result"]["outcome"]["optionId"]
            for line in play(name).written
            if "optionId" in line.get("result", {}).get("outcome", {})
        ]
        for name in ("gemini-0.61.0-acp", "claude-agent-acp-0.49.0")
    ]

    assert ["proceed_once", "cancel", "proceed_always"] == chosen[0][:3]
    assert ["allow", "reject", "allow_always"] == chosen[1][:3]


def test_a_call_that_is_first_seen_in_its_request_is_an_item_all_the_same(play):
    replay = play("gemini-0.61.0-acp")
    asked = replay.of(events.RequestOpened)[0]

    assert ("command_approval", "touch ge1.txt; echo hi") == (asked.kind, asked.prompt.command)
    assert "Allow for this session (the agent does not say what else that covers)" == asked.prompt.reach
    assert ("command", "completed") == (replay.items("command")[0].kind, replay.items("command")[0].status)
    assert asked.prompt.item_id == replay.items("command")[0].id


def test_a_command_is_named_by_its_command_and_has_output_and_exit_code(play):
    opencode = play("opencode-1.18.33-acp").items("command")[0]
    codex = play("codex-acp-2.6.0").items("command")[0]

    assert ("touch oc1.txt; echo hi", "hi\n", 0) == (opencode.title, opencode.text, opencode.exit_code)
    assert ("touch ad1.txt; echo hi", "hi\n", 0) == (codex.title, codex.text, codex.exit_code)


def test_a_change_is_asked_for_with_its_diff(play):
    asked = play("opencode-1.18.33-acp-permissions").of(events.RequestOpened)
    change = next(one.prompt.changes[0] for one in asked if one.kind == "file_change_approval")

    assert "/home/user/proj/ocw2.txt" == change.path
    assert change.diff.endswith("+hello\n")


def test_a_denied_call_is_declined(play):
    assert ["completed", "declined", "completed", "completed", "declined"] == [
        item.status for item in play("opencode-1.18.33-acp-permissions").items("command")[:5]
    ]


@pytest.mark.parametrize("number", range(4), ids=["opencode", "claude-agent-acp", "codex-acp", "gemini"])
def test_a_cancel_answers_the_open_request_and_ends_the_turn(number, play):
    replay = play("acp-pending-permission", number)
    answers = [line["result"] for line in replay.written if "result" in line]

    assert {"outcome": {"outcome": "cancelled"}} == answers[0]
    assert "interrupted" == replay.of(events.TurnEnded)[0].status
    assert "interrupted" == replay.items("command")[0].status


def test_a_failure_that_comes_as_text_and_as_error_is_one_failure(play):
    for name in ("claude-agent-acp-0.49.0", "codex-acp-2.6.0"):
        failed = [turn for turn in play(name).of(events.TurnEnded) if turn.status == "failed"]

        assert ["usage_limit", "unauthorized"] == [turn.code for turn in failed]
        assert ["", ""] == [turn.reply for turn in failed]


def test_the_code_of_gemini_is_the_http_status_and_its_message_is_read(play):
    failed = next(turn for turn in play("gemini-0.61.0-acp").of(events.TurnEnded) if turn.status == "failed")

    assert ("unauthorized", "API key not valid. Please pass a valid API key.") == (failed.code, failed.message)


def test_opencode_tells_a_bad_key_by_a_sentence_alone(play):
    failed = next(turn for turn in play("opencode-1.18.33-acp").of(events.TurnEnded) if turn.status == "failed")

    assert ("unauthorized", "Incorrect API key") == (failed.code, failed.message[:17])


def test_usage_comes_from_the_reply_and_cost_is_the_difference(play):
    claude = play("claude-agent-acp-0.49.0").of(events.TurnEnded)[1].usage
    gemini = play("gemini-0.61.0-acp").of(events.TurnEnded)[0].usage

    assert (24, 14, 19, 1_000_000, 0.00047) == (
        claude.input,
        claude.output,
        claude.context,
        claude.window,
        claude.cost_usd,
    )
    assert (12, 7) == (gemini.input, gemini.output)


def test_another_session_of_the_process_is_left_out(play):
    replay = play("opencode-1.18.33-acp")

    assert any(one.method.startswith("another session's") for one in replay.of(events.Raw))


def test_the_agents_title_names_the_session(play):
    assert "Stub title" in [one.name for one in play("codex-acp-2.6.0").of(events.NameChanged)]


def test_notes_of_a_vendor_are_let_by(play):
    assert "_auth/status_update" in [one.method for one in play("codex-acp-2.6.0").of(events.Raw)]
