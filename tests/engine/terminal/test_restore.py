"""How a screen begins after its emulator has failed."""

import pytest

from oulipoly_engine.terminal.emulators.ghostty.screen import GhosttyScreen
from oulipoly_engine.terminal.host.crash_buffer import CrashBuffer
from oulipoly_engine.terminal.host.restore import DUMP_ONLY, restore_screen
from oulipoly_engine.terminal.protocol.screen import ScreenLimits

LIMITS = ScreenLimits(columns=40, rows=5)


@pytest.fixture
def crash_buffer():
    buffer = CrashBuffer(ring=4096, dump_slot=1 << 16)
    yield buffer
    buffer.close()


def test_second_failure_without_a_dump_leaves_the_plain_text(crash_buffer):
    crash_buffer.append(
        b"before\r\n\x1b]0;title\x07\x1b[31mred\x1b[m \x1b]8;;http://x\x1b\\link\r\nhello\x1b^\x9b65535b"
    )

    restored = restore_screen(crash_buffer, LIMITS, DUMP_ONLY, "t")

    assert ("before", "red link", "hello") == restored.screen.lines(0, 3)
    assert "twice" in restored.text


def test_second_failure_with_a_dump_leaves_what_it_shows(crash_buffer):
    screen = GhosttyScreen(LIMITS)
    screen.feed(b"kept")
    crash_buffer.append(b"kept")
    crash_buffer.keep_dump(screen.dump())
    crash_buffer.append(b"\x1bP deadly")

    assert ("kept",) == restore_screen(crash_buffer, LIMITS, DUMP_ONLY, "t").screen.lines(0, 1)


def test_dump_that_cannot_be_read_is_as_none(crash_buffer):
    crash_buffer.append(b"printed")
    crash_buffer.keep_dump(b"ghostty-vt 0.1.3\n")

    assert ("printed",) == restore_screen(crash_buffer, LIMITS, DUMP_ONLY, "t").screen.lines(0, 1)
