"""The server: how it stands, starting and ending it, pairing a phone, the devices that may use it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from oulipoly_engine.core.commands.needs import Need
from oulipoly_tui.screens import dialogs
from oulipoly_tui.screens.box import Box
from oulipoly_tui.screens.work.acting import ActingScreen
from oulipoly_tui.view.frame.hints import CLOSE, key_links
from oulipoly_tui.view.transcript.spans import Line, wrap_lines
from oulipoly_tui.view.work.server import (
    ADDRESSES,
    NETWORK,
    PROXY,
    SCOPES,
    device_rows,
    is_local,
    pair_url,
    pairing_ways,
    server_lines,
)
from oulipoly_tui.widgets.lines import GUTTER, Lines, VirtualList
from oulipoly_tui.widgets.standing import is_standing

if TYPE_CHECKING:
    from oulipoly_engine.core.web.devices import Device, ServerEntry
    from oulipoly_engine.facade.engine import Engine
    from oulipoly_engine.facade.web.access import Code

_LOOK_S = 2.0
_MOST = 8  # rows of devices
_NO_DEVICE: tuple[Line, ...] = (
    (("No device may use it yet. ", ""), ("p", "key"), (" shows a code that a phone scans.", "")),
)


class ServerScreen(ActingScreen):
    """Shows the server until escape."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", "close"),
        Binding("s", "act('start')", "start"),
        Binding("x", "act('end')", "end"),
        Binding("p", "act('pair')", "pair"),
        Binding("d", "act('revoke')", "revoke"),
        Binding("c", "act('confirm')", "confirm"),
    ]
    DEFAULT_CSS = f"""
    ServerScreen VirtualList {{ height: auto; max-height: {_MOST}; border-top: solid $panel; }}
    ServerScreen #server-state {{ height: auto; max-height: 10; }}
    ServerScreen #server-empty {{ height: 2; border-top: solid $panel; }}
    """

    def __init__(self) -> None:
        super().__init__()
        self.servers: Sequence[ServerEntry] | None = None
        self.devices: Sequence[Device] = ()
        self._is_looking = False

    def compose(self) -> ComposeResult:
        """Lay out the state and the devices."""
        with Box() as box:
            box.border_title = "Server"
            orders = (f"act('{name}')" for name in ("start", "end", "pair", "revoke"))
            box.border_subtitle = " · ".join((*key_links(self.BINDINGS, *orders), CLOSE))
            yield Lines(id="server-state")
            yield VirtualList()
            yield Lines(_NO_DEVICE, id="server-empty")

    def on_mount(self) -> None:
        """Look, and look again as long as it is seen."""
        self.rows.focus()
        self.set_interval(_LOOK_S, self.look_after)
        self.look_after()
        self.call_after_refresh(self.redraw)

    # ---- keys

    DOES: ClassVar[Mapping[str, str]] = {
        "start": "serve",
        "end": "server end",
        "pair": "device pair",
        "revoke": "device revoke",
        "confirm": "device confirm",
    }

    def lacks(self, need: Need) -> bool:
        """Return whether no server runs, or no device is under the cursor."""
        return (need is Need.SERVER and not self.servers) or (need is Need.DEVICE and self._chosen is None)

    # ---- orders

    def _start(self) -> None:
        def on_chosen(address: str) -> None:
            work = partial(self._engine.web.start_server, address)
            self.do("start the server", work, lambda url: self._app.say(f"Serving on {url}"))

        text = "It goes on when the app is closed. x ends it."
        dialogs.choose(self.app, "Serve whom?", ADDRESSES, on_chosen, text)

    def _end(self) -> None:
        servers = self.servers or ()
        if not servers:
            return
        one = servers[0]
        text = f"{one.url} ends for every device. Sessions go on."
        end = partial(self.do, "end the server", partial(self._engine.web.end_server, one))
        dialogs.confirm(self.app, "End the server?", text, "end", end)

    def _pair(self) -> None:
        """Show a code for a server that a phone reaches; where none does, ask how it is to come here first."""
        servers = self.servers or ()
        reachable = next((server for server in servers if not is_local(server)), None)
        if reachable is not None:
            self._ask_scopes(reachable.url, reachable.fingerprint)
            return

        def on_chosen(way: str) -> None:
            if way == NETWORK:
                self.do(
                    "start the server", self._start_for_phones, lambda one: self._ask_scopes(one.url, one.fingerprint)
                )
            elif way == PROXY:
                text = "What the phone opens: the proxy's or the tunnel's address"
                ask_scopes = partial(self._ask_scopes, fingerprint="")
                dialogs.ask_name(self.app, "Address for the phone", text, ask_scopes, "https://")

        text = Need.SERVER.fact if not servers else f"{servers[0].url} is for this computer alone. x ends it."
        ways = pairing_ways(has_server=bool(servers))
        dialogs.choose(self.app, "How does the phone come here?", ways, on_chosen, text)

    def _start_for_phones(self) -> ServerEntry:
        self._engine.web.start_server(NETWORK)
        return self._engine.web.last_server()

    def _ask_scopes(self, address: str, fingerprint: str) -> None:
        def on_chosen(scopes: str) -> None:
            self._app.work("pair", partial(self._engine.web.make_code, "", scopes.split(",")), on_made)

        def on_made(code: Code) -> None:
            from oulipoly_tui.screens.work.pairing import Pairing  # noqa: PLC0415 - only when it is opened

            url = pair_url(address, code.code, fingerprint)
            pairing = Pairing(url, ", ".join(code.scopes), code.expires_at, self._engine.web.devices)
            self.app.push_screen(pairing, lambda _: self.look_after())

        dialogs.choose(self.app, "What may the device do?", SCOPES, on_chosen)

    def _revoke(self) -> None:
        one = self._chosen
        if one is None:
            return

        def revoke() -> None:
            work = partial(self._engine.web.revoke, one.device_id)
            self.do("revoke", work, lambda _: self._app.say(f"{one.name} may do nothing any more"))

        text = f"{one.name} may do nothing any more, at once. This cannot be undone: it has to be paired anew."
        dialogs.confirm(self.app, "Revoke?", text, "revoke", revoke)

    def _confirm(self) -> None:
        one = self._chosen
        if one is not None:
            text = f"{one.name} may change what runs code here, for a quarter of an hour"
            self.do("confirm", partial(self._engine.web.confirm, one.device_id), lambda _: self._app.say(text))

    # ---- what comes of it

    def look_after(self) -> None:
        """Look, unless it is being looked."""
        if is_standing(self) and self.is_current and not self._is_looking:
            self._is_looking = True
            self._app.work("server", partial(_read, self._engine), self._take, self._skip)

    def _take(self, found: tuple[Sequence[ServerEntry], Sequence[Device]]) -> None:
        self._is_looking = False
        is_other = found != (self.servers, self.devices)
        self.servers, self.devices = found
        if is_other and is_standing(self):
            self.redraw()
            self._app.show_keys()

    def _skip(self, _error: Exception) -> None:
        self._is_looking = False

    def _draw(self) -> None:
        rows, state, now = self.rows, self.query_one("#server-state", Lines), self._app.now()
        width = max(20, rows.scrollable_content_region.width or state.size.width)
        lines = wrap_lines(server_lines(self.servers, now), width)
        state.styles.height = min(10, len(lines))
        state.show_lines(lines)
        rows.display = bool(self.devices)
        self.query_one("#server-empty").display = not self.devices
        rows.styles.height = min(_MOST, len(self.devices)) + 1
        rows.show_rows(device_rows(self.devices, width - GUTTER, now))

    @on(VirtualList.Highlighted)
    def _handle_highlight(self) -> None:
        self._app.show_keys()

    @property
    def _chosen(self) -> Device | None:
        key = self.rows.cursor_key
        return next((one for one in self.devices if one.device_id == key), None)


def _read(engine: Engine) -> tuple[Sequence[ServerEntry], Sequence[Device]]:
    return engine.web.servers(), engine.web.devices()
