"""Cut text without spaces between its words, Chinese and Japanese, into pairs of signs that an index can hold. Pure.

A run of n signs becomes its n - 1 overlapping pairs and its last sign: each sign then begins a word, so that one sign
is found as the beginning of a word, and several as a phrase of pairs.
"""

from __future__ import annotations

import re
import unicodedata

# Han with its extensions, kana and their half-width forms; Korean has spaces.
_SIGNS = (
    "\u3005\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U000323af"
)
_RUN = re.compile(f"[{_SIGNS}]+")


def has_runs(text: str) -> bool:
    """Tell whether a text holds any such sign."""
    return not text.isascii() and _RUN.search(text) is not None


def pair_signs(text: str) -> str:
    """Return a text with its runs cut."""
    return _RUN.sub(_cut_run, unicodedata.normalize("NFC", text))


def pair_phrase(text: str, *, is_prefix: bool) -> tuple[str, bool]:
    """Return what a phrase is looked for by among cut texts, and whether its last word is the beginning of one."""
    whole = unicodedata.normalize("NFC", text)
    while whole and not whole[-1].isalnum():
        whole = whole[:-1]
    runs = list(_RUN.finditer(whole))
    if not runs or runs[-1].end() < len(whole):
        return pair_signs(whole), is_prefix
    last = runs[-1]
    before = pair_signs(whole[: last.start()])
    return (before + " " + last[0], True) if len(last[0]) == 1 else (before + " " + " ".join(_pairs(last[0])), False)


def _cut_run(run: re.Match[str]) -> str:
    return f" {' '.join((*_pairs(run[0]), run[0][-1]))} "


def _pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)]
