"""Less garbage, its whole collections made while nobody waits for a key, and bounds for what Textual and malloc keep.

Python makes a whole collection whenever enough has come to be since the last, in the middle of a key if that is when:
it walks every object that is not frozen, tens of thousands of a transcript's cells among them, for tens of
milliseconds.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from time import monotonic

from rich.segment import Segment
from textual._styles_cache import StylesCache
from textual.strip import Strip

_LATEST = 40  # middle collections, of some 7,000 objects each, after which a whole one waits for no pause
_WORTH = 10  # middle collections from which on a pause is used: Python's own measure
_PAUSE_S = (
    1.0  # that so many wait for; four times as many wait for a sixteenth of it: who types fast makes most of them
)
# Caches that are shared by all that is drawn, and the most that each may hold before it is emptied. Theirs hold 1,024
# and 16,384, and a blank row keeps the dozens of rows that were cut out of it: some 50 kB each.
_BOUNDED = ((Strip.blank, 64), (Segment._split_cells, 2048), (Strip.render_ansi, 2048))
_M_ARENA_MAX = -8  # of glibc's malloc.h


class QuietCollector:
    """Collects in the pauses between keys."""

    def __init__(self, give_back: Callable[[], object] = lambda: None) -> None:
        """Begin with nothing changed. give_back: gives the system what is free after a collection."""
        self._before = gc.get_threshold()
        self._give_back = give_back

    def begin(self) -> None:
        """Put Python's own whole collections off."""
        self._before = gc.get_threshold()
        gc.set_threshold(*self._before[:2], _LATEST)

    def end(self) -> None:
        """Let Python decide again."""
        gc.set_threshold(*self._before)

    def look(self, typed_at: float) -> bool:
        """Collect if it is worth it and nobody is typing, and give the system back what is free then.

        Return whether that was done. typed_at: monotonic seconds.
        """
        count = gc.get_count()[2]
        is_due = count >= _WORTH and monotonic() - typed_at >= _PAUSE_S * (_WORTH / count) ** 2
        if is_due:
            gc.collect()
            self._give_back()
        return is_due


def share_heap() -> Callable[[], object]:
    """Let all threads that begin from now on share one heap; return what gives the system back what is free in it.

    glibc gives each thread a heap of its own, up to eight for each processor, and each keeps the most that a thread
    ever needed at once: after ten minutes with a thread for each job 53 of 70 MB were free in 13 heaps. Other C
    libraries have neither call.
    """
    import ctypes  # noqa: PLC0415 - 1.5 ms, the app alone needs it

    with suppress(AttributeError, OSError, TypeError):  # of another C library, or another system
        library = ctypes.CDLL(None)
        library.mallopt(_M_ARENA_MAX, 1)
        return partial(library.malloc_trim, 0)
    return lambda: None


def let_strips_go() -> None:
    """Keep a row that is drawn uncut from holding itself.

    Textual notes in each strip how it was cut, for one that was not cut the strip itself: each row that ever was on the
    screen, with its dozen of caches, would wait for a whole collection.
    """
    divide = Strip.divide
    if getattr(divide, "lets_go", False):
        return

    def divide_and_let_go(strip: Strip, cuts: Iterable[int]) -> Sequence[Strip]:
        wanted = [cut for cut in cuts if cut <= strip.cell_length]
        return [strip] if wanted == [strip.cell_length] else divide(strip, wanted)

    setattr(divide_and_let_go, "lets_go", True)  # noqa: B010 - a function's own mark
    setattr(Strip, "divide", divide_and_let_go)  # noqa: B010 - a method of theirs


def let_removed_widgets_go() -> None:
    """Keep two colours from holding every row of a widget that is gone.

    Textual caches what `StylesCache.get_inner_outer` makes of two colours with the object itself in the key, as it
    lacks a `@classmethod`: a thousand of them, each with all rows that its widget had drawn (seen in 8.2.8).
    """
    if not isinstance(vars(StylesCache)["get_inner_outer"], staticmethod):
        inner_outer = StylesCache.get_inner_outer.__wrapped__
        setattr(StylesCache, "get_inner_outer", staticmethod(lru_cache(1024)(partial(inner_outer, StylesCache))))  # noqa: B010 - a method of theirs


def empty_large_caches() -> None:
    """Empty those of Textual's shared caches that hold more than they are allowed here."""
    for cache, most in _BOUNDED:
        if cache.cache_info().currsize > most:
            cache.cache_clear()
