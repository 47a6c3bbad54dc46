"""What the screens have in common whose keys order something, or say why that cannot be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from oulipoly_engine.core.commands.table import find
from oulipoly_engine.errors import ReadOnly
from oulipoly_tui.screens.box import ListScreen
from oulipoly_tui.widgets.standing import is_standing

if TYPE_CHECKING:
    from oulipoly_engine.core.commands.needs import Need


class ActingScreen(ListScreen[None]):
    """A screen with actions `act('name')`, each a method `_name`, which is a command of the table."""

    DOES: ClassVar[Mapping[str, str]] = {}  # by the actions' names

    def reason_against(self, name: str) -> str | None:
        """Say why an action does nothing now; None: it does."""
        does = find(self.DOES[name])
        if does.writes and self._app.options.read_only:
            return ReadOnly().message
        lacking = next((need for need in does.all_needs if self.lacks(need)), None)
        return self.obstacle(name) if lacking is None else lacking.value

    def lacks(self, need: Need) -> bool:
        """Return whether what some commands need is not there now."""
        raise NotImplementedError

    def obstacle(self, name: str) -> str | None:
        """Say why an action does nothing now though there is all that its command needs; None: it does."""
        return None

    def look_after(self) -> None:
        """Look again, since something was ordered; the screen may have gone meanwhile."""
        raise NotImplementedError

    def works(self, action: str) -> bool:
        """Tell whether a key does something now: the footer shows no other."""
        name = action.partition("'")[2].partition("'")[0]
        return not name or (is_standing(self) and self.reason_against(name) is None)

    def action_act(self, name: str) -> None:
        """Do something, or say why that cannot be."""
        reason = self.reason_against(name)
        if reason is not None:
            self._app.say(reason[:1].upper() + reason[1:])
        else:
            getattr(self, f"_{name}")()

    def do(
        self, name: str, work: Callable[[], Any], then: Callable[[Any], object] = lambda _: None, title: str = ""
    ) -> None:
        """Have something done in a thread, then look again; what is refused is said."""

        def on_done(result: Any) -> None:  # noqa: ANN401 - whatever was done
            then(result)
            self.look_after()

        self._app.work(name, work, on_done, lambda _error: self.look_after(), title=title or name)
