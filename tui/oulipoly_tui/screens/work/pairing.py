"""A QR code that a phone scans to become a device, once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.screen import ModalScreen
from textual.widgets import Static

from oulipoly_engine.core.text.control_characters import visible_line
from oulipoly_tui.base.app_interface import app_of
from oulipoly_tui.view.work.server import code_text
from oulipoly_tui.widgets.standing import close_by_itself, is_standing

if TYPE_CHECKING:
    from oulipoly_engine.core.web.devices import Device

_EDGE = 2  # modules around the code
_BESIDE = 24  # columns for the text at least


class Pairing(ModalScreen[None]):
    """Shows a code until it is too old, was used, or escape."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", "close"),
        Binding("y", "copy", "copy the address"),
    ]
    DEFAULT_CSS = """
    Pairing { align: center middle; }
    Pairing Horizontal { width: auto; height: auto; max-width: 100%; background: $surface; }
    Pairing #code { width: auto; height: auto; color: #ffffff; background: #000000; }
    Pairing #pair-text { width: 36; max-width: 40%; height: auto; padding: 1 0 0 2; }
    Pairing.-small Horizontal { layout: vertical; width: 100%; }
    Pairing.-small #code { display: none; }
    Pairing.-small #pair-text { width: 100%; max-width: 100%; }
    """

    def __init__(
        self, url: str, scopes: str, expires_at: datetime, list_devices: Callable[[], Sequence[Device]]
    ) -> None:
        """list_devices: blocks; a device that was not there before has used the code."""
        super().__init__()
        self._list_devices = list_devices
        self._known: frozenset[str] | None = None  # ids of the devices that were there before; None: not read yet
        self._is_looking = False
        self._url, self._scopes, self._expires_at = url, scopes, expires_at
        import segno  # noqa: PLC0415 - 30 ms, only this shows one

        made = segno.make(url, error="l", micro=False)
        self._code = code_text([[bool(cell) for cell in row] for row in made.matrix_iter(border=_EDGE)])

    def compose(self) -> ComposeResult:
        """Lay out the code and what it is."""
        with Horizontal():
            yield Static(self._code, id="code", markup=False)
            yield Static(id="pair-text", markup=False)

    def on_mount(self) -> None:
        """Count down, and look whether it was used."""
        self.set_interval(1.0, self._tell)
        self._tell()

    def _look(self) -> None:
        app = app_of(self)
        if not self._is_looking:
            self._is_looking = True
            app.work("pair", self._list_devices, self._take_devices, self._skip)

    def _skip(self, _error: Exception) -> None:
        self._is_looking = False

    def _take_devices(self, devices: Sequence[Device]) -> None:
        self._is_looking = False
        known = self._known
        self._known = frozenset(device.device_id for device in devices)
        new = [device for device in devices if known is not None and device.device_id not in known]
        if new and is_standing(self):
            app = app_of(self)
            app.say(f"{visible_line(new[0].name)} may {', '.join(new[0].scopes)}")
            close_by_itself(self)

    def on_resize(self) -> None:
        """Leave the code out where it does not fit: half of one helps nobody."""
        lines = self._code.split("\n")
        is_small = self.size.height < len(lines) or self.size.width < len(lines[0]) + _BESIDE
        self.set_class(is_small, "-small")
        self._tell()

    def action_copy(self) -> None:
        """Copy the address."""
        app = app_of(self)
        app.copy_to_clipboard(self._url)
        app.say("Copied")

    def _tell(self) -> None:
        if not is_standing(self):
            return
        app = app_of(self)
        self._look()
        left = int((self._expires_at - app.now()).total_seconds())
        if left <= 0:
            if self.is_active:
                app.say("The code is too old: p makes another one")
                self.dismiss()
            return
        small = "This terminal is too small for the code: enlarge it, or open this there:\n\n"
        what = f"{small}{self._url}\n\n" if self.has_class("-small") else "Scan it with the phone.\n\n"
        text = f"{what}Good once, for {left} s.\nIt may {self._scopes}.\n\nesc closes · y copies the address"
        self.query_one("#pair-text", Static).update(text)
