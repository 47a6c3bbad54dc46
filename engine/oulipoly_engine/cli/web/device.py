"""`device …`: who may use the server. The commands work while it runs, through the state file."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping
from typing import Any

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser
from oulipoly_engine.cli.base.questions import parse_agreed
from oulipoly_engine.cli.base.telling import SCHEMA_VERSION, tell
from oulipoly_engine.clock import to_text
from oulipoly_engine.core.text.columns import table
from oulipoly_engine.core.text.quantities import ago
from oulipoly_engine.core.web.devices import OFFERED, Device, device_document
from oulipoly_engine.facade import diagnostics, output


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Serve one of the verbs."""
    verb = name.partition(" ")[2]
    parser = Parser(
        prog=f"{context.program} {name}",
        command=name,
        more="It works once, within two minutes." if verb == "pair" else "",
    )
    if verb in ("pair", "link"):
        parser.add_argument("--name", default="", metavar="TEXT", help="what it is called in the list")
        parser.add_argument("--url", default="", metavar="URL", help="where the server is reached (default: the last)")
    if verb == "pair":
        parser.add_argument(
            "--scopes",
            default=",".join(OFFERED),
            metavar="WORDS",
            help=f"of {','.join(OFFERED)}; commas between them (default: all)",
        )
    if verb == "link":
        parser.add_argument("--hours", type=float, metavar="NUMBER", help="how long it is good (24)")
    if verb in ("confirm", "revoke"):
        parser.add_argument("device", metavar="DEVICE", help="its id or its name, of `device list`")
    parser.add_argument("--json", action="store_true", help="print it as JSON")
    return _VERBS[verb](context, parse_agreed(parser, name, arguments))


def _list(context: Context, options: Namespace) -> int:
    found = context.engine.web.devices()
    if options.json:
        output.write_json({"schema_version": SCHEMA_VERSION, "devices": [device_document(one) for one in found]})
    elif not found:
        diagnostics.note(f"no device may use the server: `{context.program} device pair` pairs one")
    else:
        now = context.clock.now()
        rows = [
            (
                one.device_id,
                one.kind,
                one.name,
                ", ".join(one.scopes),
                "never" if one.last_seen_at is None else ago(one.last_seen_at, now),
            )
            for one in found
        ]
        output.write_lines(table([("device", "kind", "name", "may", "last seen"), *rows]))
    return 0


def _pair(context: Context, options: Namespace) -> int:
    web = context.engine.web
    address = options.url or web.last_server().url
    fingerprint = "" if options.url else web.last_server().fingerprint
    code = web.make_code(options.name, options.scopes.split(","))
    # The code stands in the fragment, which no browser sends; beside it what the certificate has to be.
    url = f"{address.rstrip('/')}/pair#{code.code}{'&' + fingerprint.replace(':', '') if fingerprint else ''}"
    if options.json:
        told: dict[str, Any] = {
            "url": url,
            "code": code.code,
            "scopes": [*code.scopes],
            "expires_at": to_text(code.expires_at),
        }
        told |= {"fingerprint": fingerprint or None}
        output.write_json({"schema_version": SCHEMA_VERSION, **told})
        return 0
    _show_code(url)
    output.write_line(url)
    if fingerprint:
        output.write_line(f"the certificate's SHA-256: {fingerprint}")
    output.write_line(f"good once, for two minutes; it may {', '.join(code.scopes)}")
    return 0


def _show_code(url: str) -> None:
    """Draw a QR code of half blocks, dark on light whatever the terminal's colours."""
    if not diagnostics.is_terminal():
        return
    import segno  # noqa: PLC0415 - 30 ms, only this shows one

    rows = [[bool(cell) for cell in row] for row in segno.make(url, error="l", micro=False).matrix_iter(border=2)]
    rows += [[False] * len(rows[0])] * (len(rows) % 2)
    blocks = {(False, False): "█", (False, True): "▀", (True, False): "▄", (True, True): " "}
    output.write_lines(
        "".join(blocks[above, below] for above, below in zip(rows[at], rows[at + 1], strict=True))
        for at in range(0, len(rows), 2)
    )


def _link(context: Context, options: Namespace) -> int:
    web = context.engine.web
    address = options.url or web.last_server().url
    made = web.make_link(options.name, options.hours)
    url = f"{address.rstrip('/')}/pair#{made.token}"
    text = f"whoever has it may look until `{context.program} device revoke {made.device.device_id}`"
    return tell(options, {"url": url, **device_document(made.device)}, url, text)


def _confirm(context: Context, options: Namespace) -> int:
    return _tell(context.engine.web.confirm(options.device), options, "confirmed for a quarter of an hour")


def _revoke(context: Context, options: Namespace) -> int:
    return _tell(context.engine.web.revoke(options.device), options, "revoked")


def _tell(device: Device, options: Namespace, done: str) -> int:
    return tell(options, device_document(device), f"{device.name} ({device.device_id}): {done}")


_VERBS: Mapping[str, Callable[[Context, Namespace], int]] = {
    "list": _list,
    "pair": _pair,
    "link": _link,
    "confirm": _confirm,
    "revoke": _revoke,
}
