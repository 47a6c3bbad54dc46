"""What `session status` tells a person."""

from datetime import UTC, datetime

from oulipoly_engine.core.live.sessions import LiveSession
from oulipoly_engine.facade.live.standing import LiveStatus, describe_lines

NOW = datetime(2026, 11, 28, tzinfo=UTC)
SESSION = LiveSession("s1", "/w", "claude-one", "claude", "opus", NOW, NOW)


def test_a_turn_that_was_cut_off_tells_its_message_and_how_it_goes_on():
    status = LiveStatus(SESSION, "recoverable", turn_id="t1", turn_input="paint the turtle\nblue")

    lines = describe_lines(status, "agents")

    assert "turn:     paint the turtle blue" in lines
    assert "cut off:  `agents turn resume t1` has the agent go on with that turn" in lines
