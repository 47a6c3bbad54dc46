"""Keys with Ctrl that were never told from Tab, Return and Escape, and still are not where nobody asked."""

import pytest

from oulipoly_engine.terminal.emulators.ghostty.screen import GhosttyScreen
from oulipoly_engine.terminal.protocol.screen import Key, Mods, ScreenLimits

_KEYS = (("i", b"\t", b"\x1b[105;5u"), ("m", b"\r", b"\x1b[109;5u"), ("[", b"\x1b", b"\x1b[91;5u"))


@pytest.fixture
def screen():
    opened = GhosttyScreen(ScreenLimits())
    yield opened
    opened.close()


@pytest.mark.parametrize(("name", "old", "kitty"), _KEYS)
def test_program_that_asked_for_nothing_gets_the_old_byte(screen, name, old, kitty):
    key = Key(name, mods=int(Mods.CTRL))

    assert old == screen.encode_key(key)
    screen.feed(b"\x1b[>1u")
    assert kitty == screen.encode_key(key)
    screen.feed(b"\x1b[<u")
    assert old == screen.encode_key(key)
