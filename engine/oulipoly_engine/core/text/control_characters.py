"""Characters that a terminal obeys or that nobody sees: made visible in texts, escaped in JSON and TOML. Pure.

These are the Unicode categories of controls (Cc), lone surrogates (Cs), separators of lines and paragraphs (Zl, Zp) and
formats (Cf: marks that turn the direction of text, characters without a width, tags). Of Cf only the visible signs of
Arabic, Syriac, Kaithi and hieroglyphs are left out. The two joiners stay between characters of a script or an emoji
that needs them; elsewhere they only hide that two names differ.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from oulipoly_engine.late_pattern import LatePattern

_JOINERS = "\u200c\u200d"
_BEYOND_C0 = (
    "\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e007f\ud800-\udfff"
)
_IN_TEXT = LatePattern(f"[\x00-\x08\x0b-\x1f{_BEYOND_C0}]")
_IN_LINE = LatePattern(f"[\x00-\x1f{_BEYOND_C0}]")
_IN_JSON = LatePattern(f"[{_BEYOND_C0}]")  # what `json.dumps` leaves as it is


def visible_text(text: str) -> str:
    """Return a text of several lines that does nothing to a terminal; its newlines and tabs stay."""
    return text if text.isprintable() else _IN_TEXT.sub(lambda found: _replace(found, _picture), text)


def visible_line(text: str) -> str:
    """Return a text that is one line and does nothing to a terminal: a newline and a tab are shown as signs too."""
    return replace_hidden(text, _picture)


def replace_hidden(text: str, replacement: Callable[[str], str]) -> str:
    """Return a text that is one line, with something else for each character that is not to reach a terminal."""
    return text if text.isprintable() else _IN_LINE.sub(lambda found: _replace(found, replacement), text)


def escape_json(text: str) -> str:
    r"""Return a JSON text of the same values, with `\uXXXX` for what is not to be seen raw."""
    return text if text.isprintable() else _IN_JSON.sub(_escape_for_json, text)


def escape_toml(text: str) -> str:
    r"""Return a TOML text of the same values; TOML knows no surrogates, so a tag is `\UXXXXXXXX` there."""
    return text if text.isprintable() else _IN_JSON.sub(_escape_for_toml, text)


def _replace(found: re.Match[str], replacement: Callable[[str], str]) -> str:
    if found[0] in _JOINERS:
        text, begin, end = found.string, found.start(), found.end()
        if _needs_joiner(text[begin - 1 : begin]) and _needs_joiner(text[end : end + 1]):
            return found[0]
    return replacement(found[0])


def _picture(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else f"<U+{code:04X}>"


def _needs_joiner(neighbour: str) -> bool:
    return not neighbour.isascii() and _IN_JSON.match(neighbour) is None


def _escape_for_json(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x10000:
        return f"\\u{code:04x}"
    high, low = divmod(code - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"


def _escape_for_toml(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
