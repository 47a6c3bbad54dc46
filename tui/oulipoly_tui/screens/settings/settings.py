"""The settings: every one with its value and where it comes from, changed here with the files' own checks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input, Static

from oulipoly_engine.errors import ReadOnly
from oulipoly_engine.facade.configuration import PLACEHOLDERS, is_command, is_of_command
from oulipoly_engine.records import replace
from oulipoly_tui.actions.custom import custom_id
from oulipoly_tui.keys import keymap
from oulipoly_tui.screens import dialogs
from oulipoly_tui.screens.box import Box, ListScreen
from oulipoly_tui.screens.settings.controls import ask_control, order, turn_control
from oulipoly_tui.screens.settings.edges import KEYS, KEYS_OF_STAGED, colour_diff, link_keys
from oulipoly_tui.screens.settings.items import Items
from oulipoly_tui.screens.settings.key_press import KeyPress
from oulipoly_tui.view.frame.settings import (
    KEY_ROW,
    NEW_COMMAND,
    Control,
    about,
    describe_choices,
    describe_control,
    describe_key,
    describe_new_command,
    describe_setting,
    format_setting_rows,
    list_controls,
    list_key_actions,
    next_choice,
)
from oulipoly_tui.widgets import theming
from oulipoly_tui.widgets.lines import VirtualList

if TYPE_CHECKING:
    from oulipoly_engine.facade.accounts.changes import Step
    from oulipoly_engine.facade.configuration import Section, Setting, Settings
    from oulipoly_tui.actions.action import Action

_TITLE = "Settings"
_LOOK_S = 1.0  # how often controls and files are looked at: others change them too

Change = tuple["Setting", str]  # a setting, and what is typed for it


class SettingsScreen(ListScreen[None]):
    """Lists settings; what is typed filters, enter changes the one under the cursor. In read-only mode it only shows.

    A change of a file is shown first, as the lines that it takes out and puts in; enter writes it then.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "close"),
        Binding("down", "move(1)", show=False, priority=True),
        Binding("up", "move(-1)", show=False, priority=True),
        Binding("pagedown", "move(10)", show=False, priority=True),
        Binding("pageup", "move(-10)", show=False, priority=True),
        Binding("right", "turn(1)", "next choice", show=False, priority=True),
        Binding("left", "turn(-1)", "choice before", show=False, priority=True),
        Binding("ctrl+n", "add_key", "one more key", show=False, priority=True),
        Binding("ctrl+r", "take_away", "no key, or no command", show=False, priority=True),
        Binding("delete", "reset", "default", show=False, priority=True),
        Binding("ctrl+u", "undo", "undo", show=False, priority=True),
    ]
    DEFAULT_CSS = """
    SettingsScreen > Box { max-width: 180; height: 92%; }
    SettingsScreen Input { margin-bottom: 1; }
    SettingsScreen VirtualList { height: 1fr; }
    SettingsScreen Static { height: auto; min-height: 6; max-height: 12; border-top: solid $panel; color: $text-muted; }
    """

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self._settings = settings
        self._sections: tuple[Section, ...] = ()
        self._by_identity: dict[str, Setting] = {}
        self._controls: dict[str, Control] = {}
        self._readings = 0
        self._added = ""  # the user's own command that was added last and has not been shown yet
        self._steps: list[Step] = []  # the changes that were made here, the latest one last
        self._staged: tuple[Change, ...] = ()  # what is shown and not written yet
        self._diff: tuple[str, ...] = ()  # of it
        self._staged_at = ""  # the row that it is of

    def compose(self) -> ComposeResult:
        """Lay out the filter, the list, and what is said of the row under the cursor."""
        with Box() as box:
            box.border_title = f"{_TITLE} (read-only)" if self._settings.read_only else _TITLE
            box.border_subtitle = self._describe_keys()
            yield Input(placeholder="type a word to filter …", compact=True)
            yield VirtualList()
            yield Static(markup=False)

    def on_mount(self) -> None:
        """Read the files."""
        self.rows.can_focus = False  # else its letters would be keys
        self.query_one(Input).focus()
        self._read()
        self._readings = self._app.live_settings.readings
        self.set_interval(_LOOK_S, self._look)

    def action_leave(self) -> None:
        """Drop the change that is shown, else the filter, else close."""
        word = self.query_one(Input)
        if self._staged:
            self._drop_staged()
        elif word.value:
            word.value = ""
        else:
            self.dismiss()

    def _describe_keys(self) -> str:
        """Return what the lower edge says."""
        if self._settings.read_only:
            return link_keys(KEYS[-1:])
        if self._staged:
            return link_keys(KEYS_OF_STAGED)
        return link_keys(KEYS)

    def action_turn(self, step: int) -> None:
        """Show the next choice of the setting under the cursor, to be written."""
        row = self._row
        if row is None or not self._may_change():
            return
        if isinstance(row, Control):
            turn_control(self._app, row, step)
            return
        if self._staged:
            row = replace(row, text=self._staged[-1][1])
        value = None if self._key_row is not None else next_choice(self._with_themes(row), step)
        if value is None:
            self._app.say("Enter changes it: there is nothing to choose from")
        else:
            self._stage([(row, value)])

    def action_add_key(self) -> None:
        """Ask for one more key of the action under the cursor."""
        if self._key_row is not None and self._may_change():
            bound = self._keys_of(self._key_row)
            self._ask_key(self._key_row, bound.split(",") if bound else ())

    def action_take_away(self) -> None:
        """Leave the action under the cursor without a key, or remove the user's own command under it."""
        row = self._row
        if self._key_row is not None and self._may_change():
            self._stage([(self._key_setting(self._key_row), keymap.UNBOUND)])
        elif row is not None and not isinstance(row, Control) and is_of_command(row) and self._may_change():
            self._stage([(self._settings.command(row.owner), "")])

    def action_reset(self) -> None:
        """Take the setting under the cursor away, so that its default holds."""
        row = self._row
        if row is None or not self._may_change():
            return
        if isinstance(row, Control):
            order(self._app, row.undo)
        elif row.source == "default":
            self._app.say(f"{row.name} is at its default already")
        elif (wrong := self._settings.refusal(row, "")) is not None:
            self._app.say(f"{row.name}: {wrong}", severity="warning")
        else:
            self._stage([(row, "")])

    def action_undo(self) -> None:
        """Bring back what was before the last change that was made here."""
        if not self._may_change():
            return
        if not self._steps:
            self._app.say("Nothing was changed here that could be undone")
            return
        step = self._steps.pop()

        def on_undone(_step: Step) -> None:
            self._app.live_settings.read(self._read)
            self._app.say(f"Undone: {step.what}")

        self._app.work("settings", partial(self._engine.account_setup.changes.undo, step), on_undone)

    @property
    def _key_row(self) -> str | None:
        """Return the action whose keys are under the cursor."""
        key = self.rows.cursor_key or ""
        return key.removeprefix(KEY_ROW) if key.startswith(KEY_ROW) else None

    @property
    def _is_new_command(self) -> bool:
        return self.rows.cursor_key == NEW_COMMAND

    @property
    def _row(self) -> Setting | Control | None:
        """Return what is under the cursor."""
        if self._key_row is not None:
            return self._key_setting(self._key_row)
        key = self.rows.cursor_key or ""
        return self._by_identity.get(key) or self._controls.get(key)

    def _key_setting(self, identity: str) -> Setting:
        own = next((one for one in self._app.options.commands if custom_id(one) == identity), None)
        if own is not None:
            return self._settings.command_key(own.place)
        row = self._app.keys.find(identity)
        return self._settings.key(identity, keymap.UNBOUND if row is None else row.keys)

    def _is_key_of_command(self, row: Setting) -> bool:
        """Tell whether a key can be pressed for it: a broken command, and the second of one name, is no action."""
        return is_of_command(row) and self._key_setting(f"commands.{row.owner}").path == row.path

    @on(Input.Changed)
    def _filter(self) -> None:
        self._drop_staged()
        self.redraw()
        self.rows.action_first()

    def _look(self) -> None:
        """Draw what others have changed; their files are read again when the app has done so."""
        if self._readings != self._app.live_settings.readings:
            self._readings = self._app.live_settings.readings
            self._read()
        self.redraw()

    def _draw(self) -> None:
        if not self._sections:  # still being read: a cursor set now would stay at the keys
            return
        width = max(40, self._row_width)
        controls = list_controls(self._app.snapshot)
        self._controls = {one.key: one for one in controls}
        word = self.query_one(Input).value
        self.rows.show_rows(format_setting_rows(self._sections, self._app.keys, width, word, controls))
        self._describe()

    @on(VirtualList.Highlighted)
    def _describe(self) -> None:
        """Say what the row under the cursor is for, and how it is changed."""
        if self._staged and self._staged_at == self.rows.cursor_key:
            self.query_one(Static).update(colour_diff(self._diff))
            return
        self._drop_staged()
        row = self._row
        lines: Sequence[str] = ()
        if isinstance(row, Control):
            lines = describe_control(row)
        elif self._is_new_command:
            lines = describe_new_command(PLACEHOLDERS)
        elif self._key_row is not None and row is not None:
            lines = describe_key(self._app.keys, self._key_row, row.source)
        elif row is not None:
            lines = describe_setting(row, is_of_command=is_of_command(row), is_key=self._is_key_of_command(row))
        elif self._sections and (word := self.query_one(Input).value):
            lines = (f"No setting fits {word!r}.", "")
        self.query_one(Static).update("\n".join(lines[:-1] if self._settings.read_only else lines))

    @on(Input.Submitted)
    @on(VirtualList.Chosen)
    def action_change(self) -> None:
        """Write the change that is shown; else flip the setting under the cursor, or ask for its value or a command."""
        if self._staged:
            self._save(self._staged)
            return
        if self._is_new_command and self._may_change():
            self._ask_command()
        row = self._row
        if row is None or not self._may_change():
            return
        if self._key_row is not None:
            self._ask_key(self._key_row)
        elif isinstance(row, Control):
            ask_control(self.app, self._app, row)
        elif self._is_key_of_command(row):
            self._ask_key(f"commands.{row.owner}")
        else:
            self._ask(self._with_themes(row))

    def _may_change(self) -> bool:
        if self._settings.read_only:
            self._app.say(ReadOnly("change settings").message)
        return not self._settings.read_only

    def _with_themes(self, setting: Setting) -> Setting:
        """Add the app's themes, which the configuration does not know."""
        if setting.names != "themes":
            return setting
        own = tuple(theme.name for theme in self._app.options.themes)
        return replace(setting, choices=(*map(theming.label, theming.ORDER), *own))

    # ---- settings of files

    def _ask(self, setting: Setting) -> None:
        if setting.kind == "switch":
            self._stage([(setting, next_choice(setting, 1) or "")])
        elif setting.kind == "list":
            self._ask_items(setting)
        elif setting.kind == "choice" and setting.choices:
            now = setting.text or setting.shown.strip('"')
            act = partial(self._take_choice, setting)
            rows = describe_choices(setting)
            dialogs.choose(self.app, setting.name, rows, act, setting.description, at=f"={now}")
        else:
            refuse = partial(self._refuse, setting)
            stage = partial(self._stage_one, setting)
            dialogs.ask(self.app, setting.name, about(setting), stage, setting.text, refuse)

    def _ask_items(self, setting: Setting) -> None:
        from oulipoly_engine.facade.configuration import join_items  # noqa: PLC0415 - only a list needs it

        def on_closed(items: Sequence[str] | None) -> None:
            if items is not None and tuple(items) != setting.items:
                self._stage([(setting, join_items(items))])

        self.app.push_screen(
            Items(setting, lambda items: self._settings.refusal(setting, join_items(items))), on_closed
        )

    def _refuse(self, setting: Setting, typed: str) -> str | None:
        wrong = self._settings.refusal(setting, typed)
        return None if wrong is None else f"✗ {wrong}"

    def _take_choice(self, setting: Setting, key: str) -> None:
        typed = key[1:] if key.startswith("=") else ""
        wrong = self._settings.refusal(setting, typed)
        if wrong is None:
            self._stage_one(setting, typed)
        else:
            self._app.say(f"{setting.name}: {wrong}", severity="warning")

    def _stage_one(self, setting: Setting, typed: str) -> None:
        self._stage([(setting, typed)])

    # ---- the user's own commands

    def _ask_command(self) -> None:
        def refuse(name: str) -> str | None:
            if not name.strip():
                return "✗ a command needs a name"
            return f"✗ there is a command {name!r} already" if self._settings.command(name.strip()).text else None

        text = "What it is called in menu, palette, help and behind `:`."
        dialogs.ask(self.app, "new command: name", text, self._ask_line, "", refuse)

    def _ask_line(self, name: str) -> None:
        new = self._settings.command(name.strip())

        def refuse(line: str) -> str | None:
            return self._refuse(new, line) if line.strip() else "✗ a command needs a program"

        def on_typed(line: str) -> None:
            self._added = new.name
            self._stage([(new, line)])

        text = f"A program and its arguments. Placeholders for the row: {describe_new_command(PLACEHOLDERS)[1]}"
        dialogs.ask(self.app, f"new command: {new.name}", text, on_typed, "", refuse)

    # ---- keys

    def _ask_key(self, identity: str, more: Sequence[str] = ()) -> None:
        action, now = self._action(identity), self._keys_of(identity)
        text = f"{action.description}. Now {keymap.format_keys(now) if now else 'no key'}."
        title = f"{'one more' if more else 'new'} key of {identity}"
        self.app.push_screen(KeyPress(title, text), partial(self._take_key, identity, more))

    def _action(self, identity: str) -> Action:
        return next(row for row in list_key_actions(self._app.keys) if row.id == identity)

    def _keys_of(self, identity: str) -> str:
        """Return the keys that an action has now by comma; empty: none."""
        action = self._action(identity)
        row = action if action.custom is not None else self._app.keys.find(identity)
        return "" if row is None else str(row.keys)

    def _take_key(self, identity: str, more: Sequence[str], key: str | None) -> None:
        if key is None:
            return
        wanted = ",".join(dict.fromkeys((*more, key)))
        slip = next(iter(keymap.slips({keymap.TABLE[0].id: wanted})), None)
        if slip is not None:
            self._app.say(f"There is no key {wanted!r} that could be bound: {slip.fix}", severity="warning")
            return
        options = self._app.options
        taken = keymap.free_keys(options.preset, options.own_keys, identity, wanted, options.commands)
        changes = [(self._key_setting(other), keys) for other, keys in taken.items()]
        changes.append((self._key_setting(identity), wanted))
        others = "; ".join(f"{other} ({self._action(other).description.rstrip('.')})" for other in taken)
        left = ", ".join(f"{other} keeps {keymap.format_keys(keys)}" for other, keys in taken.items())
        self._stage(changes, f"{keymap.format_key(key)} is the key of {others}. {left}." if taken else "")

    # ---- writing and reading

    def _stage(self, changes: Sequence[Change], note: str = "") -> None:
        """Show what a change does to the files, for enter to write it. note: stands above it."""
        at = self.rows.cursor_key or ""

        def on_planned(diff: Sequence[str]) -> None:
            if not diff:
                self._app.say("The files say so already")
                self._drop_staged()
                return
            self._staged = tuple(changes)
            self._staged_at = at
            self._diff = (note, *diff) if note else tuple(diff)
            self._show_staged()

        self._app.work("settings", partial(self._settings.preview, changes), on_planned)

    def _drop_staged(self) -> None:
        if self._staged:
            self._staged = self._diff = ()
            self._show_staged()

    def _show_staged(self) -> None:
        self.query_one(Box).border_subtitle = self._describe_keys()
        self._describe()

    def _save(self, changes: Sequence[Change]) -> None:
        self._drop_staged()

        def on_saved(step: Step | None) -> None:
            if step is not None:
                self._steps.append(step)
            self._app.live_settings.read(self._read)
            setting, typed = changes[-1]
            gone = "is removed" if is_command(setting) else "is back at its default"
            self._app.say(f"{setting.file.name}: {setting.name} {'is saved' if typed else gone}")

        self._app.work("settings", partial(self._settings.save_all, changes), on_saved)

    def _read(self) -> None:
        if self.is_attached:
            read = partial(self._app.work, "settings", self._settings.sections, self._take_sections)
            self._app.work_newest("settings", read)

    def _take_sections(self, sections: tuple[Section, ...]) -> None:
        self._sections = sections
        self._by_identity = {one.identity: one for section in sections for one in section.settings}
        added = [one for one in self._by_identity.values() if is_of_command(one) and one.owner == self._added]
        if not added:
            self.redraw()
            return
        self._added = ""
        with self.prevent(Input.Changed):
            self.query_one(Input).value = ""  # what was filtered for may leave the new command out
        self.redraw()
        self.rows.go_to(added[0].identity)
