"""The Live pane, as the parts that it is composed of know it. Imports none of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oulipoly_tui.base.app_interface import app_of
from oulipoly_tui.base.pane import Pane
from oulipoly_tui.keys.keymap import format_first_key
from oulipoly_tui.widgets.live.composer import Composer
from oulipoly_tui.widgets.live.conversation_view import ConversationView

if TYPE_CHECKING:
    from oulipoly_tui.actions.action import Action


class LiveBase(Pane):
    """What its parts draw on, and have drawn."""

    @property
    def view(self) -> ConversationView:
        """Return the conversation."""
        return self.query_one(ConversationView)

    @property
    def composer(self) -> Composer:
        """Return the line that is written on."""
        return self.query_one(Composer)

    def find_row(self, identity: str) -> Action | None:
        """Return an action of the table with the keys that it has now."""
        return app_of(self).keys.find(identity)

    def find_key(self, identity: str) -> str:
        """Return an action's first key as it is shown; empty: it has none."""
        row = self.find_row(identity)
        return "" if row is None else format_first_key(row.keys)

    def draw(self) -> None:
        """Draw all but the conversation."""
        raise NotImplementedError

    def draw_working(self) -> None:
        """Draw the line that says how the session stands."""
        raise NotImplementedError

    def keep_soon(self) -> None:
        """Have what is open and what is written kept, once the hand rests."""
        raise NotImplementedError
