"""What the demo's claude alone does in a session for programs."""

import pytest

from oulipoly_engine.core.live.events import (
    ItemDelta,
    NativeIdChanged,
    Notice,
    QuotaSeen,
    SessionFailed,
    SessionOpened,
    SettingsChanged,
    SteerSettled,
    TurnEnded,
)


@pytest.fixture
def claude(live):
    """Start a session and wait until it is open."""

    def start(environment=None, **fields):
        session = live("claude", environment, **fields)
        session.until(SessionOpened)
        return session

    return start


def test_the_handshake_tells_models_commands_and_account(claude):
    opened = claude().of(SessionOpened)[0]

    assert "demo-claude1@demo.invalid" == opened.account
    assert ["default", "opus", "haiku"] == [model.id for model in opened.models]
    assert "compact" in dict(opened.commands)


def test_an_answer_is_given_back_to_its_question(claude):
    session = claude()
    ended = session.turn("[[ask:Which colour?|red|blue]] go", "answer", question_1=("red",))

    assert 0 < ended.usage.cost_usd
    assert '"Which colour?"="red"' in session.items("tool")[0].text


def test_a_message_while_text_streams_is_left_to_the_queue(claude):
    session = claude(environment={"DEMO_PACE": "0.05"})
    session.send("count to 50")
    session.until(ItemDelta)
    session.driver.steer("message", "and this")
    session.until(TurnEnded)

    assert ["refused"] == [one.outcome for one in session.of(SteerSettled)]


def test_a_lost_session_ends_the_process(live):
    session = live("claude", resume="01900000-0000-4000-8000-000000000000")
    session.until(SessionFailed)

    assert 1 == session.process.wait(60)


def test_a_used_up_window_is_told_with_its_reset(claude):
    session = claude()
    session.turn("[[quota]] go")
    rejected = next(one for one in session.of(QuotaSeen) if one.is_rejected)

    assert ("five_hour", 100.0) == rejected.windows[0][:2]


def test_compaction_tells_its_size_and_clear_begins_another_session(claude):
    session = claude()
    session.turn("one")
    session.driver.compact("c")
    session.until(TurnEnded)
    session.turn("/clear")

    assert ["200 tokens before, 100 after"] == [item.text for item in session.items("compaction")]
    assert 1 == len(session.of(NativeIdChanged))


def test_another_model_is_told_by_its_full_name(claude):
    session = claude()
    session.driver.set_model("haiku")
    session.turn("go")

    assert "demo-haiku-1" == session.of(SettingsChanged)[-1].model


def test_a_broken_line_ends_it_with_one(claude):
    session = claude()
    session.process.stdin.write(b"not json\n")
    session.process.stdin.flush()

    assert 1 == session.process.wait(60)


def test_the_end_of_stdin_lets_the_turn_come_to_its_end(claude):
    session = claude(environment={"DEMO_PACE": "0.02"})
    session.send("count to 20")
    session.until(ItemDelta)
    session.process.stdin.close()

    assert "completed" == session.until(TurnEnded).status
    assert 0 == session.process.wait(60)


def test_nothing_it_writes_is_unreadable(claude):
    session = claude()
    session.turn("[[run:make]] [[edit:a]] go", "approve")

    assert [] == session.of(Notice)
