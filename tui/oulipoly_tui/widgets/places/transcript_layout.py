"""The lines of a session's entries, folded and unfolded, laid out where somebody looks. Nothing of the screen here."""

from __future__ import annotations

from oulipoly_engine.records import replace
from oulipoly_tui.view.transcript.transcript import SIDE_CHAIN, Folds, TranscriptLine, entry_lines, foldable, part_with
from oulipoly_tui.widgets.places.layout import PlacesLayout, Position
from oulipoly_tui.widgets.transcript_entries import PAGE, Entries


class Layout(PlacesLayout):
    """The lines."""

    def __init__(self, placed_entries: Entries) -> None:
        super().__init__()
        self._entries = placed_entries
        self._unfolded: set[Position] = set()
        self._folds = Folds(self._unfolded)

    @property
    def length(self) -> int:
        """Return how many places there are."""
        return self._entries.length

    def begin(self, *, is_side: bool) -> None:
        """Fold everything."""
        self._unfolded = set()
        self._folds = Folds(self._unfolded, is_side=is_side)
        self.forget()

    def make(self, place: int) -> tuple[TranscriptLine, ...] | None:
        """Return the lines of a place; ask for its page where it has not come."""
        placed = self._entries.at(place)
        if placed is None:
            self._entries.ask(place // PAGE)
            return None
        return entry_lines(placed, self._width, self._folds)

    # ---- folding

    @property
    def unfolds_all(self) -> bool:
        """Tell whether everything is unfolded."""
        return self._folds.is_all

    def toggle_all(self) -> None:
        """Unfold everything, or fold it again."""
        self._unfolded.clear()
        self._folds = replace(self._folds, is_all=not self._folds.is_all)
        self.forget()

    def toggle(self, place: int, part: int) -> bool:
        """Unfold a part, or fold it; return whether it can be folded at all."""
        placed = self._entries.at(place)
        if placed is None or not foldable(placed, part):
            return False
        self._unfolded ^= {(place, part)}
        self.drop(place)
        return True

    def unfold_for(self, place: int, text: str) -> None:
        """Unfold what hides a text."""
        placed = self._entries.at(place)
        part = None if placed is None else part_with(placed.entry, text)
        if placed is None or part is None:
            return
        if placed.entry is not None and placed.entry.is_sidechain and not self._folds.is_open(place, SIDE_CHAIN):
            self._unfolded ^= {(place, SIDE_CHAIN)}
        if foldable(placed, part) and not self._folds.is_open(place, part):
            self._unfolded ^= {(place, part)}
        self.drop(place)
