"""The framed protocol between a terminal's host and its clients. Pure: bytes in, messages out.

The frames are those of `host.frames`. A client says Hello, then Attach if it wants pictures (without, it only looks,
asks or kills). It draws each Picture and acknowledges it by PictureReceipt. The host sends the next one only then, so
that a slow client gets fewer pictures, never late ones. Everything else may come at any time, in both directions.

Hosts live for weeks, so either end may be older than the other. Fields are refused where they are not known; what was
added later is a message of its own, which is sent only to an end that is known to understand it: `understands`.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from oulipoly_engine.host.frames import LARGEST as LARGEST
from oulipoly_engine.host.frames import VERSION as VERSION
from oulipoly_engine.host.frames import Bye as Bye
from oulipoly_engine.host.frames import Decoder as Decoder
from oulipoly_engine.host.frames import Hello as Hello
from oulipoly_engine.host.frames import Message as Message
from oulipoly_engine.host.frames import WireBroken as WireBroken
from oulipoly_engine.host.frames import encode as encode

NAME = "host"  # a host's name, and behind it what it has learned since version 1
NUMBERS, COLOURS = "numbers-lines", "takes-colours"
NO_EMULATOR = "none"  # for State.emulator: nothing is drawn, and a client may ask for the output as it is

Size = Annotated[int, msgspec.Meta(ge=1, le=10_000)]  # columns or rows
Action = Literal["press", "release", "move"]  # of a mouse
Focus = Literal["focused", "unfocused", "hidden"]  # of a client's window; how often pictures come depends on it
Rgb = Annotated[int, msgspec.Meta(ge=0, le=0xFFFFFF)]
Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 53)]
WireStyle = tuple[int, int | None, int | None, int, str | None]  # id, foreground, background, attrs, link
WireRow = tuple[int, tuple[tuple[str, int, int], ...]]  # y or line; runs of text, style id, width


# From a client -----------------------------------------------------------------------------------------------------
class Attach(Message, frozen=True, tag="attach"):
    """Ask for pictures. The first one is full."""

    columns: Size
    rows: Size
    focus: Focus = "focused"
    only_reads: bool = False  # what it types is nobody's, and other windows decide the size


class TextInput(Message, frozen=True, tag="typed"):
    """Bytes for the child, as they are."""

    data: bytes


class KeyInput(Message, frozen=True, tag="pressed"):
    """A key, encoded by the host in the child's present modes."""

    name: str
    text: str = ""
    mods: int = 0


class MouseInput(Message, frozen=True, tag="pointed"):
    """A mouse event inside the viewport."""

    action: Action
    button: Annotated[int, msgspec.Meta(ge=0, le=11)]
    x: Annotated[int, msgspec.Meta(ge=0, le=10_000)]
    y: Annotated[int, msgspec.Meta(ge=0, le=10_000)]
    mods: int = 0


class PasteInput(Message, frozen=True, tag="pasted"):
    """Text from the clipboard."""

    text: str


class FocusChange(Message, frozen=True, tag="focused"):
    """The client's window has got or lost the focus, or is not shown any more."""

    focus: Focus


class WindowSize(Message, frozen=True, tag="resized"):
    """The client's window has a new size."""

    columns: Size
    rows: Size


class PictureReceipt(Message, frozen=True, tag="seen"):
    """A picture is drawn; the next may come."""

    number: Count


class ScrollRequest(Message, frozen=True, tag="scrolled"):
    """Move the viewport of all clients that type, or a reader's own. Negative is up, 0 goes to the bottom."""

    delta: Annotated[int, msgspec.Meta(ge=-(1 << 31), le=1 << 31)]


class RefreshRequest(Message, frozen=True, tag="refresh"):
    """Ask for a full picture."""


class RowsRequest(Message, frozen=True, tag="rows-wanted"):
    """Ask for styled rows, counted from the oldest of the scrollback, without moving the viewport."""

    request: Count
    first: Count
    count: Annotated[int, msgspec.Meta(ge=0, le=1000)]


class LineNumbersRequest(Message, frozen=True, tag="number-lines"):
    """Ask for TrimReports from now on. Added to a line, their count gives a number that stays the line's own."""


class Colours(Message, frozen=True, tag="coloured"):
    """The client's default colours, for a child that asks for them."""

    foreground: Rgb
    background: Rgb
    dark: bool


class LinesRequest(Message, frozen=True, tag="lines-wanted"):
    """Ask for styled rows by their lasting numbers."""

    request: Count
    first: Count
    count: Annotated[int, msgspec.Meta(ge=0, le=1000)]


class SearchRequest(Message, frozen=True, tag="search-wanted"):
    """Search the whole text, ignoring case."""

    request: Count
    text: Annotated[str, msgspec.Meta(max_length=10_000)]
    limit: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 1000


class OutputRequest(Message, frozen=True, tag="send-output"):
    """Ask for the child's output as it is, from now on and in place of pictures; for a host that has no emulator."""


class Kill(Message, frozen=True, tag="kill"):
    """Signal the child. 0 ends it: HUP, then KILL after a grace time."""

    signal: Annotated[int, msgspec.Meta(ge=0, le=64)] = 0


class EndReceipt(Message, frozen=True, tag="end-seen"):
    """A user has seen how the child ended. The host may end once nobody is attached."""


# From the host -------------------------------------------------------------------------------------------------------
class State(Message, frozen=True, tag="state"):
    """What the terminal is; sent after Hello."""

    id: str
    label: str  # the command, redacted
    pid: int
    started_at: str  # RFC 3339
    title: str = ""
    folder: str = ""
    columns: int = 0
    rows: int = 0
    emulator: str = ""
    unseen_bells: int = 0
    progress: int | None = None


class Picture(Message, frozen=True, tag="picture"):
    """What changed since the picture before."""

    number: Count
    columns: int
    rows: int
    full: bool  # every row is in `changed`; what was drawn before is void
    styles: tuple[WireStyle, ...]  # not told to this client before; rows are to be read by them at once
    changed: tuple[WireRow, ...]
    cursor: tuple[int, int, bool, str]  # x, y, visible, shape
    scrollback: int
    offset: int
    alternate: bool
    mouse: bool
    resets_styles: bool = False  # style ids begin afresh: forget those told before


class SideEffectReport(Message, frozen=True, tag="happened"):
    """What the child did besides drawing. None and empty mean that nothing has changed."""

    title: str | None = None
    folder: str | None = None
    bells: int = 0
    copied: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    progress: int | None = None
    active: bool = False  # for hidden clients, at most once a second: something was printed


class SizeReport(Message, frozen=True, tag="size-set"):
    """Which size the terminal has now, and whose window decided it."""

    columns: int
    rows: int
    decided_by: str
    rule: str  # "smallest" or "last"
    clients: int


class RowsAnswer(Message, frozen=True, tag="rows-found"):
    """The answer to RowsRequest; styles as in Picture. Fewer rows than asked for: the text ends there."""

    request: int
    first: int
    styles: tuple[WireStyle, ...]
    rows: tuple[WireRow, ...]
    resets_styles: bool = False


class TrimReport(Message, frozen=True, tag="trimmed"):
    """How many of its oldest rows the scrollback has lost. It holds for the picture, rows or hits that follow."""

    rows: Count


class LinesAnswer(Message, frozen=True, tag="lines-found"):
    """The answer to LinesRequest: the rows that still exist, by their lasting numbers; styles as in Picture."""

    request: int
    styles: tuple[WireStyle, ...]
    rows: tuple[WireRow, ...]
    goes_on: tuple[int, ...]  # those that were broken only because they were full
    resets_styles: bool = False


class SearchAnswer(Message, frozen=True, tag="search-found"):
    """The answer to SearchRequest, newest first."""

    request: int
    hits: tuple[tuple[int, int, int], ...]  # line, start, end


class Output(Message, frozen=True, tag="output"):
    """What the child printed, as it is; the first one begins with the last that was printed before."""

    data: bytes


class Exited(Message, frozen=True, tag="exited"):
    """The child has ended; its last picture has been sent before."""

    code: int  # 128 plus the signal's number if one killed it
    signal: int | None = None
    stopped_for: int | None = None  # the signal by which a user ended it; None: it ended by itself


class HostNotice(Message, frozen=True, tag="said"):
    """Something the user should know about the terminal itself."""

    text: str
    level: str = "info"  # "info", "warning", "error"


FromClient = (
    Hello | Bye | Attach | TextInput | KeyInput | MouseInput | PasteInput | FocusChange | WindowSize | PictureReceipt
    | ScrollRequest | RefreshRequest | RowsRequest | LineNumbersRequest | LinesRequest | Colours | SearchRequest
    | OutputRequest | Kill | EndReceipt
)  # fmt: skip
FromHost = (
    Hello | Bye | State | Picture | SideEffectReport | SizeReport | RowsAnswer | TrimReport | LinesAnswer | SearchAnswer
    | Output | Exited | HostNotice
)  # fmt: skip


def understands(host: Hello, feature: str) -> bool:
    """Tell whether a host understands LineNumbersRequest and LinesRequest (NUMBERS), or Colours (COLOURS)."""
    return feature in host.name.split()
