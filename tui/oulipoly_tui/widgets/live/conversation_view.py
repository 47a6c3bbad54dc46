"""A conversation of any length: its end is followed, older parts come when they are scrolled to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from oulipoly_tui.view.live.block_lines import block_lines, is_foldable, stream_lines
from oulipoly_tui.view.live.blocks import BODY
from oulipoly_tui.view.live.conversation import Conversation
from oulipoly_tui.view.live.stream import StreamLines
from oulipoly_tui.view.transcript.transcript import TranscriptLine
from oulipoly_tui.widgets.places.layout import PlacesLayout
from oulipoly_tui.widgets.places.view import PlacesView

_NEAR = 30  # blocks from the beginning at which older ones are asked for


class ConversationLayout(PlacesLayout):
    """The lines of a conversation's blocks. What is unfolded is known by the blocks' ids: older ones move places."""

    def __init__(self) -> None:
        super().__init__()
        self.talk = Conversation()
        self._opened: set[str] = set()  # with `_is_all` those that are folded
        self._is_all = False
        self._streams: dict[str, StreamLines] = {}

    def begin(self, talk: Conversation) -> None:
        """Lay out another conversation, folded."""
        self.talk = talk
        self._opened.clear()
        self._is_all = False
        self.forget()

    @property
    def length(self) -> int:
        """Return how many blocks there are."""
        return len(self.talk.blocks)

    @property
    def unfolds_all(self) -> bool:
        """Tell whether everything is unfolded."""
        return self._is_all

    def forget(self) -> None:
        """Lay everything out anew."""
        self._streams.clear()
        super().forget()

    def make(self, place: int) -> Sequence[TranscriptLine] | None:
        """Return the lines of a block."""
        block = self.talk.blocks[place]
        stream = self._streams.pop(block.id, None) or stream_lines(block, self._width)
        if block.is_running:
            self._streams[block.id] = stream
        return block_lines(block, self._width, is_open=self._is_open(block.id), stream=stream)

    def toggle(self, place: int, part: int) -> bool:
        """Unfold a block, or fold it; return whether it can be folded at all."""
        if part != BODY or not is_foldable(self.talk.blocks[place]):
            return False
        self._opened ^= {self.talk.blocks[place].id}
        return True

    def toggle_all(self) -> None:
        """Unfold everything, or fold it again."""
        self._opened.clear()
        self._is_all = not self._is_all
        self.forget()

    def unfold_for(self, place: int, text: str) -> None:
        """Unfold what hides a text."""
        block = self.talk.blocks[place]
        if is_foldable(block) and text.casefold() in block.text.casefold() and not self._is_open(block.id):
            self.toggle(place, BODY)
            self.drop(place)

    def _is_open(self, identity: str) -> bool:
        return (identity in self._opened) is not self._is_all


class ConversationView(PlacesView):
    """Shows a conversation, and asks for what is before it."""

    def __init__(self, need_older: Callable[[], None], *, id: str | None = None) -> None:
        self._need_older = need_older
        self._blocks = ConversationLayout()
        super().__init__(self._blocks, id=id)

    def begin(self, talk: Conversation) -> None:
        """Show another conversation, from its end."""
        self._blocks.begin(talk)
        self._pattern = None
        self._forget()
        self.is_following = True
        self._to_end()

    def changed(self, places: Iterable[int]) -> None:
        """Take note of blocks that are not as they were."""
        for place in places:
            self._drop(place)
        if self.is_following:
            self._follow()
        else:
            self._redraw()

    def grew_before(self, count: int) -> None:
        """Take note of blocks that came to stand before all others."""
        top, line = self._top
        self._forget()
        self._set_top((top + count, line))

    def look_ahead(self) -> None:
        """Ask for older parts once the beginning of what is there is near."""
        if self._top[0] < _NEAR:
            self._need_older()
