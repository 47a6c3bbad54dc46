"""The settings for a face: all of them, what is wrong with a new value, and its saving unless nothing may change."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine.clock import SystemClock
from oulipoly_engine.config import app_file
from oulipoly_engine.config.edit import settings_edit, views_edit
from oulipoly_engine.config.edit.settings_edit import Section, Setting
from oulipoly_engine.config.edit.undo import Step, last_step, write_step
from oulipoly_engine.config.edit.write_files import FileChange
from oulipoly_engine.core.sessions.saved_view import SavedView
from oulipoly_engine.core.text.nearest import nearest
from oulipoly_engine.errors import ConfigChanged, ConfigInvalid, ReadOnly, StoreUnusable
from oulipoly_engine.paths import PROJECT_FOLDER, Paths
from oulipoly_engine.records import Record

if TYPE_CHECKING:
    from oulipoly_engine.config.check import FindAppFaults
    from oulipoly_engine.store.base.db import Store

__all__ = ["Section", "Setting"]

_HUNK = re.compile(r"@@ -[\d,]+ \+(\d+)")
_TRIES = 10  # each fails only where somebody else has written


class Settings(Record):
    """One user's configuration files, setting by setting."""

    paths: Paths
    models_dir: Path | None = None
    read_only: bool = False
    find_app_faults: FindAppFaults | None = None  # what the app knows of its keys and themes; None: there is no app
    lend_store: Callable[[], AbstractContextManager[Store]] | None = None  # None: nobody is told of changes

    def sections(self) -> tuple[Section, ...]:
        """Return every setting."""
        return settings_edit.sections(self.paths, self.models_dir)

    def find(self, name: str, *, may_be_new: bool = False) -> tuple[str, Setting]:
        """Return a setting and its whole name: see `names`; `settings.` and `app.` may be left out.

        may_be_new: whether the name may be that of a command of the user's own that there is not yet.

        Raises ConfigInvalid where there is none, and names the nearest one.
        """
        known = settings_edit.names(self.paths, self.models_dir)
        for whole in (name, f"settings.{name}", f"app.{name}"):
            if whole in known:
                return whole, known[whole]
        head, dot, identity = name.partition("app.keys.")
        if dot and not head and identity:
            found = self.key(identity, "")
            wrong = None if found.text else self._refusal_of_app(found, "none")  # is there such an action at all?
            if wrong is not None:
                raise ConfigInvalid(f"{name}: {wrong}")
            return name, found
        new = self._find_new_command(name) if may_be_new else None
        if new is not None:
            return new
        broken = settings_edit.failure(self.paths, self.models_dir)
        if broken is not None:
            raise ConfigInvalid(f"there is no setting {name!r}, and a file cannot be read: {broken}")
        bare = {whole.partition(".")[2]: whole for whole in known if whole.startswith(("settings.", "app."))}
        near = nearest(name, known) or tuple(bare[one] for one in nearest(name, bare))
        hint = f"did you mean {near[0]!r}?" if near else "`agents config show` lists them"
        raise ConfigInvalid(f"there is no setting {name[:80]!r}: {hint} (`agents config edit` changes whole files)")

    def of_project(self, setting: Setting, folder: Path) -> Setting:
        """Return a setting as a project has it, or a folder that begins one. Raises ConfigInvalid where none may."""
        return settings_edit.of_project(self.paths, setting, folder)

    def find_again(self, setting: Setting) -> Setting | None:
        """Return a setting as it stands now, whatever its owner is called; None: it is gone."""
        if setting.file.parent.name == PROJECT_FOLDER:
            return settings_edit.of_project(self.paths, setting, setting.file.parent.parent)
        known = settings_edit.names(self.paths, self.models_dir).values()
        return next((one for one in known if one.identity == setting.identity), None)

    def _find_new_command(self, name: str) -> tuple[str, Setting] | None:
        """Return the setting of a command that there is not yet, and its whole name; None: the name is of no command.

        Raises ConfigInvalid where something of such a command is meant.
        """
        command = name.removeprefix("app.").removeprefix("commands.")
        if not command or name.removeprefix("app.") != f"commands.{command}":
            return None
        head, dot, field = command.rpartition(".")
        from oulipoly_engine.config.edit import rules  # noqa: PLC0415 - 100 ms, only a name that is not there needs it

        keys = tuple(rule.name for rule in rules.list_rules(rules.CommandTable))
        if dot and field in keys:
            raise ConfigInvalid(f"there is no command {head[:80]!r}: `config set app.commands.NAME LINE` adds one")
        if dot and self.command(head).text:  # of that command something is meant, not another one
            known = nearest(field, keys) or keys
            raise ConfigInvalid(f"{field[:80]!r} is not a setting of the command {head!r}: write {' or '.join(known)}")
        return f"{settings_edit.COMMAND}{command}", self.command(command)

    def names(self) -> tuple[str, ...]:
        """Return the whole name of every setting."""
        return tuple(settings_edit.names(self.paths, self.models_dir))

    def key(self, identity: str, keys: str) -> Setting:
        """Return the setting that binds a key of the app."""
        return settings_edit.key_setting(self.paths, identity, keys)

    def command(self, name: str) -> Setting:
        """Return one of the user's own commands as one setting; there need be none of that name yet."""
        return settings_edit.command_setting(self.paths, name)

    def command_key(self, place: int) -> Setting:
        """Return the setting that binds the key of one of the user's own commands. place: from 0, in the file."""
        return settings_edit.command_key_setting(self.paths, place)

    def refusal(self, setting: Setting, typed: str) -> str | None:
        """Say what is wrong with a new value; None: it can be saved."""
        return settings_edit.refusal(setting, typed) or self._refusal_of_app(setting, typed)

    def save(self, setting: Setting, typed: str, *, what: str = "") -> Step | None:
        """Write a new value and return the change, as `save_all` does."""
        return self.save_all([(setting, typed)], what=what)

    def save_all(self, changes: Sequence[tuple[Setting, str]], *, what: str = "") -> Step | None:
        """Write new values, all of them or none; what they are together is checked, as keys that change their actions.

        Returns the change, which can be undone as changes of accounts can; None: the files say so already.
        what: the change in the past tense, for people; by default it names the last setting.

        Raises RequestRefused in read-only mode, ConfigInvalid where one is refused.
        """
        self._refuse_if_read_only()
        for left in reversed(range(_TRIES)):
            files = self._plan(changes)
            try:
                if not files:
                    return None
                setting = changes[-1][0]
                what = what or f"set {setting.name} in {setting.file.name}"
                with self._publish(changes):
                    write_step(self.paths.data, Step(what, tuple(files)))
            except ConfigChanged:  # by another process of ours, between our look and our write
                if not left:
                    raise
            else:
                step = last_step(self.paths.data)
                return step if step is not None and step.what == what else None
        raise AssertionError(_TRIES)

    @contextmanager
    def _publish(self, changes: Sequence[tuple[Setting, str]]) -> Iterator[None]:
        """Tell who reads the outbox which settings the block changes: their names, not their values.

        It is told once they are written; a state file that cannot be used keeps nobody from changing a setting.
        """
        with suppress(StoreUnusable), ExitStack() as stack:
            if self.lend_store is not None and self.paths.state_db.exists():
                with suppress(StoreUnusable):
                    _publish_names(stack.enter_context(self.lend_store()), stack, changes)
            yield

    def preview(self, changes: Sequence[tuple[Setting, str]]) -> tuple[str, ...]:
        """Return the lines of the files that new values change: `FILE:LINE`, then `- old` and `+ new`; secrets masked.

        Raises ConfigInvalid where one is refused.
        """
        from oulipoly_engine.config.base import mask  # noqa: PLC0415 - 20 ms, only a change needs it
        from oulipoly_engine.core.text.redact import redact  # noqa: PLC0415 - as above

        lines: list[str] = []
        for file in self._plan(changes):
            texts = [text or "" for text in (file.before, file.after)]
            before, after = (text.splitlines() for text in texts)
            diff = "\n".join([*difflib.unified_diff(before, after, lineterm="", n=0)][2:])
            # What app.toml calls a key is none of those that are secret.
            shown = redact(diff) if app_file.is_app_file(file.path) else mask.lines(diff, texts)
            name = str(file.path).replace(str(self.paths.home), "~", 1)
            for line in shown.splitlines():
                place = _HUNK.match(line)
                lines.append(f"{line[0]} {line[1:]}" if place is None else f"{name}:{max(1, int(place[1]))}")
        return tuple(lines)

    def _plan(self, changes: Sequence[tuple[Setting, str]]) -> tuple[FileChange, ...]:
        files = settings_edit.plan(changes)
        for file in files:
            wrong = self._find_app_fault(file)
            if wrong is not None:
                raise ConfigInvalid(f"{changes[-1][0].name}: {wrong}")
        return files

    def _refusal_of_app(self, setting: Setting, typed: str) -> str | None:
        """Say what the app would find wrong with its file then: a key that is none, one that means two things."""
        if self.find_app_faults is None or setting.file != app_file.path_of(self.paths):
            return None
        change = settings_edit.make_change(setting, typed)
        return None if change is None else self._find_app_fault(change)

    def _find_app_fault(self, change: FileChange) -> str | None:
        if self.find_app_faults is None or change.path != app_file.path_of(self.paths) or change.after is None:
            return None
        from oulipoly_engine.config.parse.app import parse  # noqa: PLC0415 - 100 ms, only a change needs it

        themes = app_file.read_themes(self.paths).value
        before, after = (
            [fault for _file, fault in self.find_app_faults(parse(change.path, text.encode()).value, themes)]
            for text in (change.before or "", change.after)
        )
        known = {fault.message for fault in before}
        return next((f"{fault.message}; {fault.fix}" for fault in after if fault.message not in known), None)

    def save_view(self, view: SavedView) -> bool:
        """Keep a view of the list of sessions; return whether one of that name was replaced.

        Raises RequestRefused in read-only mode, UsageInvalid for a name that is none, ConfigInvalid where app.toml
        cannot be changed.
        """
        self._refuse_if_read_only()
        return views_edit.save(self.paths, view)

    def delete_view(self, name: str) -> SavedView:
        """Forget a view and return it. Raises as `save_view`; RequestRefused also where there is none."""
        self._refuse_if_read_only()
        return views_edit.delete(self.paths, name)

    def _refuse_if_read_only(self) -> None:
        if self.read_only:
            raise ReadOnly("change settings")


def _publish_names(store: Store, stack: ExitStack, changes: Sequence[tuple[Setting, str]]) -> None:
    if store.has_readers():
        from oulipoly_engine.service.telemetry.recorder import READER  # noqa: PLC0415 - mostly nobody reads it
        from oulipoly_engine.store.outbox.events import publish, unregister  # noqa: PLC0415 - as above

        stack.enter_context(store.write())
        keys = [{"key": ".".join(map(str, setting.path)), "file": setting.file.name} for setting, _ in changes]
        publish(store, "settings_changed", SystemClock().now(), "", {"changes": keys})
        if any(setting.path == ("telemetry",) and typed != "true" for setting, typed in changes):
            unregister(store, READER)
