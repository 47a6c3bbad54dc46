"""The server as lines: its state and address, the devices that may use it, a code that a phone scans. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from oulipoly_engine.core.commands.needs import Need
from oulipoly_engine.core.text.control_characters import visible_line
from oulipoly_tui.view import words
from oulipoly_tui.view.transcript.spans import Line, Row, cut, fit_text

if TYPE_CHECKING:
    from oulipoly_engine.core.web.devices import Device, ServerEntry

_NAME, _SEEN = 20, 10
_BLOCKS = {(False, False): "█", (False, True): "▀", (True, False): "▄", (True, True): " "}
_LOCAL = ("http://127.", "http://localhost", "http://[::1]")
NETWORK, HERE = "0.0.0.0", "127.0.0.1"  # noqa: S104 - what is offered; it speaks TLS there
PROXY = "proxy"
ADDRESSES = (
    Row(HERE, ((fit_text("this computer", 18), "strong"), ("nobody else reaches it", "dim"))),
    Row(NETWORK, ((fit_text("the network", 18), "strong"), ("phones too: TLS, and paired devices alone", "dim"))),
)
SCOPES = (
    Row("view,answer,operate", ((fit_text("work with it", 18), "strong"), ("look, answer, send, merge", "dim"))),
    Row("view,answer", ((fit_text("answer", 18), "strong"), ("look, and answer what is asked", "dim"))),
    Row("view", ((fit_text("look", 18), "strong"), ("nothing else", "dim"))),
)


def server_lines(found: Sequence[ServerEntry] | None, now: datetime) -> tuple[Line, ...]:
    """Return how the server stands. None: nobody has looked yet."""
    if found is None:
        return ((("looking …", "dim"),),)
    if not found:
        return (
            ((f"{Need.SERVER.fact} ", "strong"), ("s", "key"), (" starts one, which goes on without the app.", "")),
        )
    lines: list[Line] = []
    for one in found:
        since = words.age(one.started_at, now)
        lines.append((("● ", "good"), (visible_line(one.url), "strong"), (f"  pid {one.pid}, {since}", "dim")))
        if is_local(one):
            lines.append((("  this computer alone: x ends it, s starts one for phones", "dim"),))
        if one.fingerprint:
            lines.append((("  SHA-256 ", "dim"), (visible_line(one.fingerprint), "")))
    return tuple(lines)


def is_local(server: ServerEntry) -> bool:
    """Tell whether this computer alone reaches a server."""
    return server.url.startswith(_LOCAL)


def pairing_ways(*, has_server: bool) -> tuple[Row, ...]:
    """Return how a phone can come here while no server runs that it reaches. has_server: one for this computer runs."""
    key, name, text = PROXY, "a proxy of mine", "or a tunnel leads here: I know its address"
    if not has_server:
        key, name, text = NETWORK, "the network", "starts a server with TLS, for paired devices"
    return (Row(key, ((fit_text(name, 18), "strong"), (text, "dim"))),)


def device_rows(found: Sequence[Device], width: int, now: datetime) -> tuple[Row, ...]:
    """Return a row a device or link."""
    rows = []
    for one in found:
        seen = "never" if one.last_seen_at is None else words.age(one.last_seen_at, now)
        kind = "" if one.kind == "device" else f"{one.kind}: "
        may = ", ".join(one.scopes) + (" · confirmed" if one.is_confirmed(now) else "")
        room = max(8, width - _NAME - _SEEN - 2)
        rows.append(
            Row(
                one.device_id,
                (
                    (fit_text(kind + visible_line(one.name), _NAME), "strong"),
                    (f" {fit_text(seen, _SEEN)} ", "dim"),
                    (cut(may, room), ""),
                ),
            )
        )
    return tuple(rows)


def code_text(modules: Sequence[Sequence[bool]]) -> str:
    """Return a QR code as text of half blocks, light where it is drawn. modules: dark ones are True, edge included."""
    rows = [list(row) for row in modules]
    if len(rows) % 2:
        rows.append([False] * len(rows[0]))
    return "\n".join(
        "".join(_BLOCKS[above, below] for above, below in zip(rows[at], rows[at + 1], strict=True))
        for at in range(0, len(rows), 2)
    )


def pair_url(address: str, code: str, fingerprint: str) -> str:
    """Return what a phone opens: the code stands in the fragment, which no browser sends."""
    return f"{address.rstrip('/')}/pair#{code}{'&' + fingerprint.replace(':', '') if fingerprint else ''}"
