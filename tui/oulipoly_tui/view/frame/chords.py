"""Key chords as people write them, and whether something outside would eat one. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping

_WORDS = {"right_square_bracket": "]", "left_square_bracket": "[", "backslash": "\\", "circumflex_accent": "^",
          "underscore": "_", "at": "@", "question_mark": "?"}  # fmt: skip
_NAMES = {key: name for name, key in _WORDS.items()}
# What terminals and multiplexers keep for themselves by default.
_EATEN = {
    "ctrl+b": "tmux uses it as its prefix",
    "ctrl+a": "screen uses it as its prefix",
    "ctrl+s": "many terminals stop their output with it",
    "ctrl+q": "many terminals resume their output with it",
    "ctrl+z": "shells suspend with it",
    "ctrl+i": "terminals cannot tell it from tab",
    "ctrl+m": "terminals cannot tell it from enter",
    "ctrl+h": "many terminals cannot tell it from backspace",
    "ctrl+left_square_bracket": "terminals cannot tell it from escape",
}
# Offered where the user's own is taken: one byte in every terminal, and nothing that a shell or an agent needs.
_OFFERED = ("ctrl+right_square_bracket", "ctrl+backslash", "ctrl+circumflex_accent", "ctrl+underscore")
_TMUX_HELD = {"C": "ctrl", "M": "alt", "S": "shift"}


def format_chord(chord: str) -> str:
    """Return a chord as people write it: `ctrl+]`."""
    *held, name = chord.split("+")
    return "+".join([*held, _WORDS.get(name, name)])


def read_chord(written: str) -> str:
    """Return Textual's name of a chord that people wrote: `ctrl+]` is `ctrl+right_square_bracket`."""
    *held, key = written.split("+") if not written.endswith("+") else [written[:-1].rstrip("+"), "+"]
    return "+".join([*held, _NAMES.get(key, key)])


def from_tmux(key: str) -> str:
    """Return Textual's name of a key that tmux names: `C-b` is `ctrl+b`."""
    *held, last = key.split("-") if not key.endswith("-") else [*key[:-2].split("-"), "-"]
    words = [_TMUX_HELD[word] for word in held if word in _TMUX_HELD]
    return read_chord("+".join([*words, last.lower() if words else last]))


def suggest_chord(chord: str, environ: Mapping[str, str], tmux_prefixes: Collection[str] = ()) -> str:
    """Return a chord to take in place of one that never reaches us."""
    free = (one for one in _OFFERED if one != chord and describe_interceptor(one, environ, tmux_prefixes) is None)
    return next(free, "f12")


def detour(own: str, environ: Mapping[str, str], tmux_prefixes: Collection[str]) -> tuple[str, str] | None:
    """Return a chord that leads out where one's own may never arrive, and the sentence that says so; None: it does."""
    eater = describe_interceptor(own, environ, tmux_prefixes)
    if eater is None:
        return None
    other = suggest_chord(own, environ, tmux_prefixes)
    text = f"{format_chord(own)} may never come here: {eater}; {format_chord(other)} leaves a terminal too"
    return other, f"{text} (attach_leave_key in config.toml changes it)"


def describe_interceptor(
    chord: str, environ: Mapping[str, str], tmux_prefixes: Collection[str] | None = None
) -> str | None:
    """Say who would take a chord before it reaches us; None: nobody that we know.

    tmux_prefixes: as Textual names them, where the app runs inside tmux and they are known.
    """
    if tmux_prefixes is not None and chord in tmux_prefixes:
        return "the tmux around us uses it as its prefix"
    if chord == "ctrl+b" and (tmux_prefixes or not environ.get("TMUX")):
        return None
    if chord == "ctrl+a" and not environ.get("STY"):
        return None
    return _EATEN.get(chord)
