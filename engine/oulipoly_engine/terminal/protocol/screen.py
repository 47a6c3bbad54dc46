"""The small interface that a terminal emulator has for the rest of the program, so that it can be replaced.

A screen takes the child's bytes and gives frames: the rows that changed since the last frame, as runs of one style.
"""

from __future__ import annotations

from enum import IntFlag
from typing import Protocol

from oulipoly_engine.errors import RunnerError
from oulipoly_engine.records import Record, field

Colour = int | None  # None: the terminal's default; 0..255: palette; 0x1000000 | 0xRRGGBB: true colour
TRUE_COLOUR = 0x1000000
# The first 16 colours of the palette: what a child is told of them, and what a pane draws. libghostty's own.
PALETTE = (
    *(0x1D1F21, 0xCC6666, 0xB5BD68, 0xF0C674, 0x81A2BE, 0xB294BB, 0x8ABEB7, 0xC5C8C6),
    *(0x666666, 0xD54E53, 0xB9CA4A, 0xE7C547, 0x7AA6DA, 0xC397D8, 0x70C0B1, 0xEAEAEA),
)


class ScreenBroken(RunnerError, slug="terminal-screen-broken"):
    """A screen cannot be used any more: its library failed, or it was closed."""


class ScreenUnavailable(RunnerError, slug="terminal-screen-unavailable"):
    """The emulator's library cannot be used here, or a dump is not one that it reads."""


class Attr(IntFlag):
    """Attributes of text, as bits."""

    NONE = 0
    BOLD = 1
    DIM = 2
    ITALIC = 4
    UNDERLINE = 8
    BLINK = 16
    REVERSE = 32
    HIDDEN = 64
    STRIKE = 128
    CURLY = 256  # with UNDERLINE


class Mods(IntFlag):
    """Modifier keys, as bits."""

    NONE = 0
    SHIFT = 1
    CTRL = 2
    ALT = 4
    SUPER = 8


class CellStyle(Record):
    """Colours, attributes and link of a run; equal styles look the same."""

    foreground: Colour = None
    background: Colour = None
    attrs: int = 0  # of Attr
    link: str | None = None  # OSC 8


class Run(Record):
    """Text of one style. Its width in cells is the emulator's; a wide character has two."""

    text: str
    style: CellStyle
    width: int


Row = tuple[Run, ...]  # trailing default blanks left out


class Cursor(Record):
    """Where the cursor stands in the viewport."""

    x: int
    y: int
    visible: bool
    shape: str = "block"  # "block", "bar", "underline"


class Frame(Record):
    """What changed since the last frame."""

    columns: int
    rows: int
    changed: tuple[tuple[int, Row], ...]  # (y in the viewport, row)
    cursor: Cursor
    full: bool  # every row of the viewport is in `changed`
    scrollback: int  # rows above the screen
    offset: int  # how many rows the viewport stands above the bottom; 0: it follows the output
    alternate: bool  # the alternate screen is shown
    mouse: bool  # the child wants mouse events
    bracketed_paste: bool = False  # it asked for pastes to be marked: what is pasted runs no command by itself
    trimmed: int = 0  # rows that the scrollback has lost at its old end, since the screen was made


class SideEffects(Record):
    """What the child did besides drawing, since the last question: title, bells, notices, answers to its queries."""

    title: str | None = None  # a new title; None: unchanged
    folder: str | None = None  # OSC 7, unchanged when None
    bells: int = 0
    copied: tuple[str, ...] = ()  # OSC 52 texts it wants on the clipboard
    notices: tuple[str, ...] = ()  # OSC 9 and 777
    replies: bytes = b""  # answers to its queries, to be written to the PTY
    progress: int | None = None  # OSC 9;4: percent, 0 also when it tells no figure, -1 when it is over


class Key(Record):
    """One key as the app names it: `a`, `enter`, `up`, `f5`, `ctrl` and others in mods."""

    name: str  # a Textual key name without modifiers, or a printable character
    text: str = ""  # what it types, if anything
    mods: int = 0  # of Mods


class Mouse(Record):
    """One mouse event inside the viewport."""

    action: str  # "press", "release", "move"
    button: int  # 0 none, 1 left, 2 middle, 3 right, 4 wheel up, 5 wheel down
    x: int
    y: int
    mods: int = 0


class SearchHit(Record):
    """One hit of a search, in lines counted from the oldest row of the scrollback.

    A hit that runs over the end of a wrapped line is given by its part in the line that it begins in.
    """

    line: int
    start: int  # cell
    end: int  # cell after the last


class ScreenLimits(Record, frozen=False):
    """What a screen may keep."""

    scrollback_rows: int = 10_000
    columns: int = 80
    rows: int = 24
    foreground: int = field(default=0xD0D0D0)  # what OSC 10 is answered with
    background: int = field(default=0x101010)
    dark: bool = True


class Screen(Protocol):
    """One emulated terminal. Not thread-safe; every call may raise ScreenBroken; it cannot be used after that."""

    name: str  # of the emulator, as clients are told it

    def feed(self, data: bytes) -> None:
        """Process the child's output."""

    def take_side_effects(self) -> SideEffects:
        """Return and forget the child's side effects. Replies must be written to the PTY at once."""

    def frame(self, *, full: bool = False) -> Frame | None:
        """Return what changed since the last frame; None when nothing did or the child holds the picture (2026).

        full: every row, whether it changed or not, and also while the picture is held.
        """

    def hold_left(self) -> float:
        """Return the seconds for which the child may still hold the picture; 0 when `frame` may answer at once."""

    def resize(self, columns: int, rows: int) -> None:
        """Change the size, with reflow where the library has it."""

    def recolour(self, foreground: int, background: int, *, dark: bool) -> None:
        """Set the default colours, which the child can ask for."""

    def scroll(self, delta: int) -> None:
        """Move the viewport: negative is up, into the past."""

    def scroll_to_bottom(self) -> None:
        """Let the viewport follow the output again."""

    def encode_key(self, key: Key) -> bytes:
        """Return what a key sends in the child's present modes; empty: nothing."""

    def encode_mouse(self, mouse: Mouse) -> bytes:
        """Return what a mouse event sends; empty: the child does not want it."""

    def encode_paste(self, text: str) -> bytes:
        """Return what a paste sends, bracketed where the child asked for it."""

    def encode_focus(self, *, gained: bool) -> bytes:
        """Return what a change of focus sends; empty: the child does not want it."""

    def lines(self, first: int, count: int) -> tuple[str, ...]:
        """Return plain lines, counted from the oldest row of the scrollback; what a copy mode shows and copies."""

    def styled_rows(self, first: int, count: int) -> tuple[Row, ...]:
        """Return styled rows by the same count, without moving the viewport."""

    def goes_on(self, first: int, count: int) -> tuple[int, ...]:
        """Return those of so many lines that were broken only because they were full: each goes on in the next."""

    def trimmed(self) -> int:
        """Return how many rows the scrollback has lost at its old end since the screen was made.

        Added to a row's line it gives a number that stays the row's own while the width does. What came and went
        between two calls was nobody's to see, and need not be counted.
        """

    def search(self, text: str, limit: int = 1000) -> tuple[SearchHit, ...]:
        """Find plain text, ignoring case, newest hits first."""

    def dump(self) -> bytes:
        """Return what `restore` of the same class makes this screen of again: picture, scrollback and modes.

        Empty: there is nothing that would be worth keeping, or it cannot be kept now. The screen works on.
        """

    def close(self) -> None:
        """Release everything."""
