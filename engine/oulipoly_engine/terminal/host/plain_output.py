"""The child's output as it is, for clients of a terminal that no emulator draws. They read it out of the crash buffer.

A client that reads slowly never makes anybody wait: what the buffer has lost meanwhile is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from oulipoly_engine.terminal.host.client_connection import ClientSeat
from oulipoly_engine.terminal.host.crash_buffer import Memory
from oulipoly_engine.terminal.protocol.messages import Output

_RECENT = 64 << 10  # bytes that a client is shown of what was printed before it came
_PIECE = 256 << 10  # bytes of one message
# Modes that the program has switched on and off: the real terminal needs them all, however old they are.
_SWITCH = re.compile(rb"\x1b\[(?:\?[0-9;]{1,40}[hl]|[<>][0-9;]{0,12}u)")
# Questions that the program asked its terminal. A second answer to an old one would be typed into whatever runs now:
# device attributes and status, modes, versions, the kitty keyboard, sizes, colours, the clipboard, terminfo, settings.
_QUERY = re.compile(
    rb"\x1b\[[?>=]?[0-9;]{0,20}[cn]|\x1b\[\??[0-9;]{1,20}\$p|\x1b\[>[0-9;]{0,9}q|\x1b\[\?u|\x1b\[(?:1[1-9]|2[01])t"
    rb"|\x1b\][0-9;]{1,20}[^\x07\x1b]{0,20};\?(?:\x07|\x1b\\)|\x1bP[+$]q[^\x1b]{0,200}\x1b\\"
)


def begin_output(client: ClientSeat, memory: Memory) -> None:
    """Send a client what was printed last, and from now on what comes."""
    before, _ = memory.output_since(0)
    recent, _ = memory.output_since(max(0, memory.total - _RECENT))
    if len(recent) < len(before):
        recent = recent[recent.find(b"\n") + 1 :]  # not from the middle of a sequence on
    modes = b"".join(_SWITCH.findall(before[: len(before) - len(recent)]))
    client.output_at = memory.total
    client.send(Output(modes + _QUERY.sub(b"", recent)))


def send_output(clients: Iterable[ClientSeat], memory: Memory) -> None:
    """Send every client that wants it what was printed since it was last sent some, as far as it reads."""
    for client in clients:
        while client.output_at is not None and client.output_at < memory.total and not client.has_unsent:
            data, _ = memory.output_since(client.output_at)
            piece = data[:_PIECE]
            client.output_at = memory.total - len(data) + len(piece)
            if piece:
                client.send(Output(piece))
