"""The settings: every one with its value and where it comes from, changed here with the files' own checks."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from oulipoly_engine.records import replace
from oulipoly_tui.keys import keymap
from oulipoly_tui.screens.question import Question
from oulipoly_tui.view.frame.hints import CLOSE, link
from oulipoly_tui.view.frame.settings import KEY_ROW, about, clash_text, format_setting_rows, next_choice
from oulipoly_tui.widgets import theming
from oulipoly_tui.widgets.lines import GUTTER, VirtualList
from oulipoly_tui.widgets.standing import is_standing

if TYPE_CHECKING:
    from oulipoly_engine.facade.configuration import AppSettings, Section, Setting, Settings

_TITLE = "Settings"


class SettingsScreen(ModalScreen[None]):
    """Lists settings; enter changes the one under the cursor. In read-only mode it only shows."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", "close"),
        Binding("slash", "filter", "filter"),
        Binding("right,l,space", "turn(1)", "next choice", show=False),
        Binding("left,h", "turn(-1)", "choice before", show=False),
    ]
    DEFAULT_CSS = """
    SettingsScreen > Vertical { width: 96%; max-width: 150; height: 92%; padding: 0 1; }
    SettingsScreen > Vertical { border: round $accent; background: $surface; }
    SettingsScreen Input { margin-bottom: 1; }
    SettingsScreen VirtualList { height: 1fr; }
    """

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self._settings = settings
        self._sections: tuple[Section, ...] = ()
        self._by_identity: dict[str, Setting] = {}

    def compose(self) -> ComposeResult:
        """Lay out the filter and the list."""
        with Vertical() as box:
            box.border_title = f"{_TITLE} (read-only)" if self._settings.read_only else _TITLE
            deeds = f"{link('enter changes', 'screen.change')} · {link('→ next', 'screen.turn(1)')} · "
            filters = link("/ filters", "screen.filter")
            box.border_subtitle = f"{'' if self._settings.read_only else deeds}{filters} · {CLOSE}"
            yield Input(placeholder="filter by word …", compact=True)
            yield VirtualList()

    def on_mount(self) -> None:
        """Read the files."""
        self.query_one(VirtualList).focus()
        self._read()

    def on_resize(self) -> None:
        """Fit the rows."""
        self.call_after_refresh(self._draw)

    def action_filter(self) -> None:
        """Let a word be typed."""
        self.query_one(Input).focus()

    def action_turn(self, step: int) -> None:
        """Take the next choice of the setting under the cursor, at once."""
        setting = self._by_identity.get(self.query_one(VirtualList).cursor_key or "")
        if setting is None or not self._may_change():
            return
        value = next_choice(self._with_themes(setting), step)
        if value is None:
            self._app.say("enter changes it: there is nothing to choose from")
        else:
            self._save(setting, value)

    @property
    def _app(self) -> Any:  # noqa: ANN401 - AgentsApp, whose import would be a cycle
        return self.app

    @on(Input.Changed)
    def _draw(self) -> None:
        if not is_standing(self) or not self._sections:  # still being read: a cursor set now would stay at the keys
            return
        rows = self.query_one(VirtualList)
        width = max(40, rows.scrollable_content_region.width - GUTTER)
        rows.show_rows(format_setting_rows(self._sections, self._app.keys, width, self.query_one(Input).value))

    @on(Input.Submitted)
    def _focus_list(self) -> None:
        self.query_one(VirtualList).focus()

    @on(VirtualList.Chosen)
    def action_change(self) -> None:
        """Ask for the value of the setting under the cursor."""
        key = self.query_one(VirtualList).cursor_key
        if key is None or not self._may_change():
            return
        if key.startswith(KEY_ROW):
            self._ask_key(key.removeprefix(KEY_ROW))
        elif key in self._by_identity:
            self._ask(self._with_themes(self._by_identity[key]))

    def _may_change(self) -> bool:
        if self._settings.read_only:
            self._app.say("this app is read-only: settings are shown, not changed")
        return not self._settings.read_only

    def _with_themes(self, setting: Setting) -> Setting:
        """Add the app's themes, which the configuration does not know."""
        if setting.path != ("theme",):
            return setting
        own = tuple(theme.name for theme in self._app.options.themes)
        return replace(setting, choices=(*map(theming.label, theming.ORDER), *own))

    def _ask(self, setting: Setting) -> None:
        def refuse(typed: str) -> str | None:
            wrong = self._settings.refusal(setting, typed)
            return None if wrong is None else f"✗ {wrong}"

        self.app.push_screen(
            Question(setting.name, about(setting), setting.text, refuse), partial(self._answer, setting)
        )

    def _ask_key(self, identity: str) -> None:
        row = self._app.keys.find(identity)
        setting = self._settings.key(identity, keymap.UNBOUND if row is None else row.keys)
        warned: list[str] = []

        def refuse(typed: str) -> str | None:
            wrong = self._settings.refusal(setting, typed)
            if wrong is not None:
                return f"✗ {wrong}"
            slip = next(iter(keymap.slips({identity: typed})), None)
            if slip is not None:
                return f"✗ {slip.cause.removeprefix('[keys] gives ')}: {slip.fix}"
            wishes = {**self._app.options.own_keys, identity: typed}
            clash = clash_text(keymap.resolve(self._app.options.preset, wishes), identity) if typed else None
            if clash is None or typed in warned:
                return None
            warned.append(typed)
            return f"✗ {clash}. Enter again keeps both; the one of the pane in front wins"

        text = f"The keys of {identity}, by comma, as `ctrl+d` or `slash`; {keymap.UNBOUND} takes them away, empty "
        text += "brings the preset's back."
        self.app.push_screen(Question(identity, text, setting.shown, refuse), partial(self._answer, setting))

    def _answer(self, setting: Setting, typed: str | None) -> None:
        if typed is not None:
            self._save(setting, typed)

    def _save(self, setting: Setting, typed: str) -> None:
        def on_saved(_result: None) -> None:
            self._app.work("settings", self._app.engine.configuration.app, self._apply_app_settings)
            self._app.say(f"{setting.file.name}: {setting.name} {'is saved' if typed else 'is back at its default'}")

        self._app.work("settings", partial(self._settings.save, setting, typed), on_saved)

    def _apply_app_settings(self, found: Any) -> None:  # noqa: ANN401 - Loaded[AppSettings]
        """Let the app look and listen as app.toml says now; what it cannot change while it runs waits for a start."""
        wishes: AppSettings = found.value
        app = self._app
        app.options = replace(app.options, preset=wishes.preset, own_keys=wishes.keys, footer=wishes.footer)
        app.keys = keymap.resolve(wishes.preset, wishes.keys, read_only=app.options.read_only)
        app.set_keymap(dict(app.keys.changed))
        if wishes.theme is not None:
            app.theme = theming.choose(wishes.theme, app.available_themes)
        self._read()

    def _read(self) -> None:
        self._app.work("settings", self._settings.sections, self._take_sections)

    def _take_sections(self, sections: tuple[Section, ...]) -> None:
        self._sections = sections
        self._by_identity = {one.identity: one for section in sections for one in section.settings}
        self._draw()
