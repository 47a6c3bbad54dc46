"""What somebody may have meant who mistyped a word."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(word: str, known: Iterable[str], *, limit: int = 1) -> tuple[str, ...]:
    """Return the known words most like a mistyped one, best first; none when nothing comes close."""
    import difflib  # noqa: PLC0415 - 2 ms, only a mistyped word needs it

    folded = {name.casefold().replace("-", "_"): name for name in known}
    found = difflib.get_close_matches(word.casefold().replace("-", "_"), folded, n=limit, cutoff=0.6)
    return tuple(folded[name] for name in found)
