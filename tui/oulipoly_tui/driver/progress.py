"""Tell the terminal around us that work is under way: OSC 9;4, drawn by it in its tab or in the task bar.

The sequence is ConEmu's; terminals that do not know it may show its figures as a notification, so that only those are
told that are known to draw it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

UNKNOWN = 0  # percent of what tells none
_AGAIN = 10  # tellings that change nothing, of which one is sent: Ghostty takes a bar away that is not renewed in 15 s
_PROGRAMS = ("wezterm", "ghostty")  # TERM_PROGRAM
_VARIABLES = ("WT_SESSION", "WEZTERM_PANE", "GHOSTTY_RESOURCES_DIR")  # set inside tmux as well
_ITERM = (3, 6, 6)  # before it, iTerm2 shows a notification
_VTE = 7900  # 0.79, as VTE_VERSION has it


def is_drawn(environ: Mapping[str, str], mode: str = "auto") -> bool:
    """Tell whether the terminal around us draws progress. mode: "auto", "always" or "off", as app.toml has it."""
    if mode == "off" or environ.get("TERM", "") in ("", "dumb"):
        return False
    if mode == "always" or environ.get("ConEmuANSI") == "ON" or any(map(environ.get, _VARIABLES)):
        return True
    program = environ.get("TERM_PROGRAM", "").lower()
    if program == "iterm.app":
        return _version(environ.get("TERM_PROGRAM_VERSION", "")) >= _ITERM
    vte = environ.get("VTE_VERSION", "")
    return program in _PROGRAMS or (vte.isdecimal() and int(vte) >= _VTE)


def sequence(percent: int | None, environ: Mapping[str, str]) -> str:
    """Return what makes the outer terminal draw it. percent: 0 for work without a figure, None for no work.

    Inside tmux and screen it is wrapped; tmux passes it on where `allow-passthrough` is on.
    """
    told = "0;0" if percent is None else f"1;{min(percent, 100)}" if percent > UNKNOWN else "3;0"
    if environ.get("TMUX"):
        return f"\x1bPtmux;\x1b\x1b]9;4;{told}\x1b\x1b\\\x1b\\"
    if environ.get("STY"):  # screen ends its wrapping at the first ST
        return f"\x1bP\x1b]9;4;{told}\a\x1b\\"
    return f"\x1b]9;4;{told}\x1b\\"


def together(percents: Sequence[int]) -> int | None:
    """Return one figure for several works: of the one that is furthest from its end, where all tell theirs."""
    if not percents:
        return None
    return min(percents)  # one without a figure is UNKNOWN, the least of all


class Progress:
    """Tells the outer terminal what has changed, until it is told that there is nothing any more."""

    def __init__(self, write: Callable[[str], None], environ: Mapping[str, str]) -> None:
        self._write = write
        self._environ = environ
        self._told: int | None = None
        self._same = 0
        self._works = True

    def tell(self, percent: int | None, mode: str = "auto") -> None:
        """Say how far the work is; None: there is none. A mode that forbids it takes away what is drawn."""
        if not is_drawn(self._environ, mode):
            percent = None
        self._same = self._same + 1 if percent == self._told else 0
        if percent == self._told and (percent is None or self._same % _AGAIN):
            return
        self._told = percent
        self._send(sequence(percent, self._environ))

    def farewell(self) -> str:
        """Return what takes away what is drawn, once; empty: nothing is."""
        if self._told is None or not self._works:
            return ""
        self._told = None
        return sequence(None, self._environ)

    def close(self) -> None:
        """Take away what is drawn."""
        self._send(self.farewell())

    def _send(self, text: str) -> None:
        if not text or not self._works:
            return
        try:
            self._write(text)
        except (OSError, ValueError):  # gone, or closed: as with notices
            self._works = False


def _version(text: str) -> tuple[int, ...]:
    numbers = []
    for part in text.split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        numbers.append(int(digits))
    return tuple(numbers)
