"""What the screens have in common whose keys order something, or say why that cannot be."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from textual.screen import ModalScreen

from oulipoly_tui.base.app_interface import AppInterface, app_of, engine_of
from oulipoly_tui.widgets.standing import is_standing

if TYPE_CHECKING:
    from oulipoly_engine.facade.engine import Engine


class ActingScreen(ModalScreen[None]):
    """A screen with actions `act('name')`, each a method `_name`."""

    def obstacle(self, name: str) -> str | None:
        """Say why an action does nothing now; None: it does."""
        raise NotImplementedError

    def look_after(self) -> None:
        """Look again, since something was ordered; the screen may have gone meanwhile."""
        raise NotImplementedError

    def works(self, action: str) -> bool:
        """Tell whether a key does something now: the footer shows no other."""
        name = action.partition("'")[2].partition("'")[0]
        return not name or (is_standing(self) and self.obstacle(name) is None)

    def action_act(self, name: str) -> None:
        """Do something, or say why that cannot be."""
        reason = self.obstacle(name)
        if reason is not None:
            self.app_of_ours.say(reason[:1].upper() + reason[1:])
        else:
            getattr(self, f"_{name}")()

    def do(
        self, name: str, work: Callable[[], Any], then: Callable[[Any], object] = lambda _: None, title: str = ""
    ) -> None:
        """Have something done in a thread, then look again; what is refused is said."""

        def on_done(result: Any) -> None:  # noqa: ANN401 - whatever was done
            then(result)
            self.look_after()

        self.app_of_ours.work(name, work, on_done, lambda _error: self.look_after(), title=title or name)

    @property
    def app_of_ours(self) -> AppInterface:
        """Return the app."""
        return app_of(self)

    @property
    def engine(self) -> Engine:
        """Return the engine."""
        return engine_of(self.app_of_ours)
