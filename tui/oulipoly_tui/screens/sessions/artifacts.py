"""What a session or a run has returned, received, sent and kept: a list, and the one under the cursor beside it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content

from oulipoly_engine.core.commands.needs import Need
from oulipoly_engine.core.commands.table import find
from oulipoly_engine.errors import RunnerError
from oulipoly_tui.screens.box import Box, ListScreen
from oulipoly_tui.screens.sessions import artifact_actions as actions
from oulipoly_tui.view.frame.hints import CLOSE, key_links, link
from oulipoly_tui.view.sessions.artifacts import EMPTY, ArtifactRows, brief_lines, content_lines
from oulipoly_tui.view.transcript.spans import Line, wrap_lines
from oulipoly_tui.widgets.lines import Lines, VirtualList
from oulipoly_tui.widgets.standing import is_standing

if TYPE_CHECKING:
    from oulipoly_engine.core.artifacts.versions import Version
    from oulipoly_engine.facade.artifacts import RunArtifacts

_DOES = {"save": "artifact get", "remove": "artifact remove"}
_WIDE = 150  # columns of the screen, from which list and preview stand side by side


class ArtifactsScreen(ListScreen[None]):
    """Lists artifacts until escape; enter reads one."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", "close"),
        Binding("d", "diff", "diff"),
        Binding("s", "save", "save as"),
        Binding("y", "copy", "copy"),
        Binding("x", "remove", "remove"),
        Binding("R", "look", "check again"),
    ]
    DEFAULT_CSS = """
    ArtifactsScreen > Box { max-width: 196; height: 92%; }
    ArtifactsScreen #artifacts-body { height: 1fr; layout: vertical; }
    ArtifactsScreen VirtualList { height: 1fr; scrollbar-gutter: stable; }
    ArtifactsScreen #artifacts-detail { height: 1fr; scrollbar-gutter: stable; border-top: solid $panel; }
    ArtifactsScreen.-wide #artifacts-body { layout: horizontal; }
    ArtifactsScreen.-wide VirtualList { width: 3fr; height: 100%; }
    ArtifactsScreen.-wide #artifacts-detail { width: 2fr; height: 100%; border-top: none; border-left: solid $panel; }
    ArtifactsScreen.-empty VirtualList { display: none; }
    ArtifactsScreen.-empty #artifacts-detail { border: none; }
    """

    def __init__(self, title: str, read: Callable[[], RunArtifacts], folder: Path | None = None) -> None:
        """read: asks for what is listed, in a thread. folder: where a file of it is offered to be saved."""
        super().__init__()
        self._title = title
        self._read = read
        self._folder = folder
        self._rows: ArtifactRows | None = None  # None: nothing was read yet, or it failed
        self._wrong = ""
        self._previews: dict[str, str | RunnerError | None] = {}  # of the latest one alone

    def compose(self) -> ComposeResult:
        """Lay out the list and what is known of one."""
        with Box() as box:
            orders = key_links(self.BINDINGS, "diff", "save", "copy", "remove")
            box.border_subtitle = " · ".join((link("enter: open", "screen.read"), *orders, CLOSE))
            with Container(id="artifacts-body"):
                yield VirtualList()
                yield Lines(id="artifacts-detail")

    def on_mount(self) -> None:
        """Give the keys to the list, and read."""
        self.rows.focus()
        self.action_look()

    def on_resize(self) -> None:
        """Fit the rows."""
        self.set_class(self.size.width >= _WIDE, "-wide")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave out what changes something, where nothing may be changed."""
        if action in _DOES and find(_DOES[action]).writes and self._app.options.read_only:
            return False
        return super().check_action(action, parameters)

    # ---- keys

    def action_look(self) -> None:
        """Read what there is anew."""
        self.query_one(Box).border_title = Content(f"{self._title} · reading …")
        look = partial(self._app.work, "artifacts", partial(_read_rows, self._read), self._take)
        self._app.work_newest("artifacts", look)

    @on(VirtualList.Chosen)
    def action_read(self) -> None:
        """Open all that can be read of it."""
        self._with_chosen(actions.read)

    def action_diff(self) -> None:
        """Show what differs from the version before."""
        rows, one = self._rows, self._chosen
        if rows is None or one is None:
            self._with_chosen(actions.read)
            return
        before = rows.before(one)
        if before is None:
            self._app.say(f"There is no version before v{one.number} here to compare it with")
            return
        actions.compare(self._app, before, one)

    def action_save(self) -> None:
        """Ask where to, and save it as it is."""
        self._with_chosen(partial(actions.ask_to_save, folder=self._folder))

    def action_copy(self) -> None:
        """Choose what is copied."""
        self._with_chosen(actions.copy)

    def action_remove(self) -> None:
        """Remove it after a yes."""
        self._with_chosen(partial(actions.ask_to_remove, then=self._look_again))

    # ---- what comes of it

    def _look_again(self) -> None:
        if is_standing(self):
            self.action_look()

    def _take(self, found: ArtifactRows | RunnerError) -> None:
        if not is_standing(self):
            return
        is_wrong = isinstance(found, RunnerError)
        self._rows = None if isinstance(found, RunnerError) else found
        self._wrong = f"The artifacts cannot be read: {found.message}" if isinstance(found, RunnerError) else ""
        self._previews.clear()
        self.set_class(is_wrong or not self._rows, "-empty")
        count = 0 if self._rows is None else self._rows.total
        self.query_one(Box).border_title = Content(self._title + (f" · {count:,}" if count else ""))
        self.call_after_refresh(self.redraw)

    def _draw(self) -> None:
        rows = self.rows
        width = self._row_width
        if self._rows and width > 0:
            rows.show_rows(self._rows.laid_out(width, self._app.now().astimezone()))
        self._describe()

    @on(VirtualList.Highlighted)
    def _describe(self) -> None:
        """Show what is known of the chosen one, and how it begins once that was read."""
        one = self._chosen
        if one is None:
            self._show_detail((((self._wrong, "warn"),),) if self._wrong else EMPTY if self._rows is not None else ())
            return
        key = one.address.text
        known = brief_lines(one, self._detail_width, self._app.now())
        if key not in self._previews:
            self._show_detail(known)
            self._app.work_newest("preview", self._ask)
            return
        text = self._previews[key]
        if isinstance(text, RunnerError):
            self._show_detail((*known, (), ((text.message, "warn"),)))
        else:
            self._show_detail((*known, (), *content_lines(one, text, is_brief=True)))

    def _ask(self) -> None:
        one = self._chosen if is_standing(self) else None
        if one is not None and one.address.text not in self._previews:
            self._app.work("preview", partial(actions.preview, self._engine, one), partial(self._take_text, one))

    def _take_text(self, one: Version, text: str | RunnerError | None) -> None:
        self._previews = {one.address.text: text}
        if is_standing(self) and one == self._chosen:
            self._describe()

    def _show_detail(self, lines: tuple[Line, ...]) -> None:
        detail = self.query_one("#artifacts-detail", Lines)
        detail.scroll_to(y=0, animate=False)
        detail.show_lines(wrap_lines(lines, self._detail_width))

    @property
    def _detail_width(self) -> int:
        return self.query_one("#artifacts-detail", Lines).scrollable_content_region.width or 40

    def _with_chosen(self, act: Callable[[Any, Version], object]) -> None:
        one = self._chosen
        if one is None:
            self._app.say(Need.ARTIFACT.value.capitalize())
        else:
            act(self._app, one)

    @property
    def _chosen(self) -> Version | None:
        return None if self._rows is None else self._rows.find(self.rows.cursor_key)


def _read_rows(read: Callable[[], RunArtifacts]) -> ArtifactRows | RunnerError:
    """Return what there is, or what is wrong: it stands in the list's place then."""
    try:
        return ArtifactRows(read())
    except RunnerError as error:
        return error
