"""Text to the user's clipboard through the terminal: OSC 52, wrapped for tmux and screen, of a bounded size."""

from __future__ import annotations

import base64
from collections.abc import Mapping

LARGEST = 74_994  # bytes of text: 100,000 of base64, what xterm and tmux take


def sequence(text: str, environ: Mapping[str, str]) -> str | None:
    """Return what makes the outer terminal keep a text; None: it is too long for one.

    tmux passes on what is wrapped in its own DCS where `allow-passthrough` is on; it also takes the plain form itself
    where `set-clipboard` is, so both are sent. screen needs the wrapping alone.
    """
    data = text.encode("utf-8", "replace")
    if len(data) > LARGEST:
        return None
    plain = f"\x1b]52;c;{base64.b64encode(data).decode('ascii')}\a"
    if environ.get("TMUX"):
        return plain + "\x1bPtmux;" + plain.replace("\x1b", "\x1b\x1b") + "\x1b\\"
    if environ.get("STY"):
        return "\x1bP" + plain + "\x1b\\"
    return plain
