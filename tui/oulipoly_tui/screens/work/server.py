"""The server: how it stands, starting and ending it, pairing a phone, the devices that may use it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from oulipoly_tui.screens.box import Box
from oulipoly_tui.screens.choice import Choice
from oulipoly_tui.screens.question import Confirm
from oulipoly_tui.view.frame.hints import CLOSE, link
from oulipoly_tui.view.transcript.spans import Line, wrap_lines
from oulipoly_tui.view.work.server import ADDRESSES, SCOPES, device_rows, pair_url, server_lines
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


class ServerScreen(ModalScreen[None]):
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
        self._is_looking = self._has_begun = False

    def compose(self) -> ComposeResult:
        """Lay out the state and the devices."""
        with Box() as box:
            box.border_title = "Server"
            hints = (("s: start", "start"), ("x: end", "end"), ("p: pair", "pair"), ("d: revoke", "revoke"))
            box.border_subtitle = " · ".join((*(link(text, f"screen.act('{name}')") for text, name in hints), CLOSE))
            yield Lines(id="server-state")
            yield VirtualList()
            yield Lines(_NO_DEVICE, id="server-empty")

    def on_mount(self) -> None:
        """Look, and look again as long as it is seen."""
        self._has_begun = True
        self.query_one(VirtualList).focus()
        self.set_interval(_LOOK_S, self._look)
        self._look()
        self.call_after_refresh(self._draw)

    def on_resize(self) -> None:
        """Fit the rows."""
        self.call_after_refresh(self._draw)

    # ---- keys

    def works(self, action: str) -> bool:
        """Tell whether a key does something now: the footer shows no other."""
        name = action.partition("'")[2].partition("'")[0]
        return not name or (self._has_begun and self.obstacle(name) is None)

    def obstacle(self, name: str) -> str | None:
        """Say why an action does nothing now; None: it does."""
        if self._app.options.read_only:
            return "this app is read-only: nothing is changed"
        if name in ("end", "pair") and not self.servers:
            return "no server runs: s starts one"
        if name in ("revoke", "confirm") and self._chosen is None:
            return "choose a device first"
        return None

    def action_act(self, name: str) -> None:
        """Do something, or say why that cannot be."""
        reason = self.obstacle(name)
        if reason is not None:
            self._app.say(reason[:1].upper() + reason[1:])
        else:
            getattr(self, f"_{name}")()

    # ---- orders

    def _start(self) -> None:
        def on_chosen(address: str | None) -> None:
            if address is not None:
                work = partial(self._app.engine.web.start_server, address)
                self._do("start the server", work, lambda url: self._app.say(f"Serving on {url}"))

        text = "It goes on when the app is closed. x ends it."
        self.app.push_screen(Choice("Serve whom?", ADDRESSES, text), on_chosen)

    def _end(self) -> None:
        servers = self.servers or ()
        if not servers:
            return
        one = servers[0]

        def on_answered(yes: bool | None) -> None:
            if yes:
                self._do("end the server", partial(self._app.engine.web.end_server, one))

        text = f"{one.url} ends for every device. Sessions go on."
        self.app.push_screen(Confirm("End the server?", text, "end"), on_answered)

    def _pair(self) -> None:
        servers = self.servers or ()

        def on_chosen(scopes: str | None) -> None:
            if scopes is not None and servers:
                work = partial(self._app.engine.web.make_code, "", scopes.split(","))
                self._app.work("pair", work, partial(self._show_code, servers[0]))

        self.app.push_screen(Choice("What may the device do?", SCOPES), on_chosen)

    def _show_code(self, server: ServerEntry, code: Code) -> None:
        from oulipoly_tui.screens.work.pairing import Pairing  # noqa: PLC0415 - only when it is opened

        url = pair_url(server.url, code.code, server.fingerprint)
        self.app.push_screen(Pairing(url, ", ".join(code.scopes), code.expires_at), lambda _: self._look())

    def _revoke(self) -> None:
        one = self._chosen
        if one is None:
            return

        def on_answered(yes: bool | None) -> None:
            if yes:
                work = partial(self._app.engine.web.revoke, one.device_id)
                self._do("revoke", work, lambda _: self._app.say(f"{one.name} may do nothing any more"))

        text = f"{one.name} may do nothing any more, at once. This cannot be undone: it has to be paired anew."
        self.app.push_screen(Confirm("Revoke?", text, "revoke"), on_answered)

    def _confirm(self) -> None:
        one = self._chosen
        if one is not None:
            text = f"{one.name} may change what runs code here, for a quarter of an hour"
            self._do("confirm", partial(self._app.engine.web.confirm, one.device_id), lambda _: self._app.say(text))

    def _do(self, name: str, work: Callable[[], Any], then: Callable[[Any], object] = lambda _: None) -> None:
        def on_done(result: Any) -> None:  # noqa: ANN401 - whatever was done
            then(result)
            self._look()

        self._app.work(name, work, on_done, lambda _error: self._look(), title=name)

    # ---- what comes of it

    def _look(self) -> None:
        if is_standing(self) and self.is_current and not self._is_looking:
            self._is_looking = True
            self._app.work("server", partial(_read, self._app.engine), self._take, self._skip)

    def _take(self, found: tuple[Sequence[ServerEntry], Sequence[Device]]) -> None:
        self._is_looking = False
        is_other = found != (self.servers, self.devices)
        self.servers, self.devices = found
        if is_other and is_standing(self):
            self._draw()
            self._app.show_keys()

    def _skip(self, _error: Exception) -> None:
        self._is_looking = False

    def _draw(self) -> None:
        if not is_standing(self):
            return
        rows, state, now = self.query_one(VirtualList), self.query_one("#server-state", Lines), self._app.now()
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
        key = self.query_one(VirtualList).cursor_key
        return next((one for one in self.devices if one.device_id == key), None)

    @property
    def _app(self) -> Any:  # noqa: ANN401 - AgentsApp, whose import would be a cycle
        return self.app


def _read(engine: Engine) -> tuple[Sequence[ServerEntry], Sequence[Device]]:
    return engine.web.servers(), engine.web.devices()
