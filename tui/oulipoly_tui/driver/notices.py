"""A word to the user who looks elsewhere: by the terminal's own notification where it has one, else by its bell.

Terminals draw or say these themselves, over SSH too, so that nothing has to run beside us.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

_LONGEST = 200  # characters: what notification daemons show
_BELL = "\a"
_BY_PROGRAM = {  # TERM_PROGRAM, as each terminal's documentation gives it
    "iterm.app": "9",
    "wezterm": "777",
    "ghostty": "777",
    "warpterminal": "777",
    "rio": "777",
    "kitty": "99",
}
_BY_VARIABLE = (  # set inside tmux as well, where TERM_PROGRAM is tmux's own
    ("KITTY_WINDOW_ID", "99"),
    ("GHOSTTY_RESOURCES_DIR", "777"),
    ("WEZTERM_PANE", "777"),
    ("ITERM_SESSION_ID", "9"),
)
_BY_TERM = (
    ("xterm-kitty", "99"),
    ("foot", "777"),
    ("rxvt-unicode", "777"),
    ("contour", "777"),
    ("xterm-ghostty", "777"),
)


def sequence(title: str, text: str, environ: Mapping[str, str]) -> str:
    """Return what makes the outer terminal tell something; the bell, where it is not known to know better.

    Inside tmux and screen the sequence is wrapped, and the bell rings too: it is what marks their own windows, and
    tmux passes sequences on only where `allow-passthrough` is on.
    """
    kind = _kind(environ)
    title, text = _clean(title), _clean(text)
    match kind:
        case "9":
            told = f"\x1b]9;{title}: {text}{_BELL}"
        case "99":
            told = f"\x1b]99;i=agents:d=0:p=title;{title}\x1b\\\x1b]99;i=agents:d=1:p=body;{text}\x1b\\"
        case "777":
            told = f"\x1b]777;notify;{title.replace(';', ',')};{text.replace(';', ',')}{_BELL}"
        case _:
            return _BELL
    if environ.get("TMUX"):
        return "\x1bPtmux;" + told.replace("\x1b", "\x1b\x1b") + "\x1b\\" + _BELL
    if environ.get("STY"):  # screen ends its wrapping at the first ST
        return "\x1bP" + told.replace("\x1b\\", _BELL) + "\x1b\\" + _BELL
    return told


def title_sequence(text: str) -> str:
    """Return what gives the terminal's window a title."""
    return f"\x1b]2;{_clean(text)}{_BELL}"


KEEP_TITLE, GIVE_TITLE_BACK = "\x1b[22;2t", "\x1b[23;2t"  # xterm's stack of titles; others ignore both


class Notices:
    """Tells the outer terminal, until it cannot be written to."""

    def __init__(self, write: Callable[[str], None], environ: Mapping[str, str]) -> None:
        self.works = True
        self._write = write
        self._environ = environ
        self._title = ""

    def tell(self, title: str, text: str) -> None:
        """Tell something."""
        self._send(sequence(title, text, self._environ))

    def entitle(self, text: str) -> None:
        """Give the window a title; the one it had is kept the first time."""
        if text != self._title:
            self._send(("" if self._title else KEEP_TITLE) + title_sequence(text))
            self._title = text

    def close(self) -> None:
        """Give the window its own title back."""
        if self._title:
            self._send(GIVE_TITLE_BACK)

    def _send(self, text: str) -> None:
        if not self.works:
            return
        try:
            self._write(text)
        except (OSError, ValueError):  # gone, or closed: it will not come back, and the app has worse to bear
            self.works = False


def _kind(environ: Mapping[str, str]) -> str:
    program, term = environ.get("TERM_PROGRAM", "").lower(), environ.get("TERM", "")
    if program in _BY_PROGRAM:
        return _BY_PROGRAM[program]
    for name, kind in _BY_VARIABLE:
        if environ.get(name):
            return kind
    return next((kind for begin, kind in _BY_TERM if term.startswith(begin)), "")


def _clean(text: str) -> str:
    """Return one line without control characters: an account's name must not end the sequence."""
    line = " ".join("".join(character if character.isprintable() else " " for character in text).split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
