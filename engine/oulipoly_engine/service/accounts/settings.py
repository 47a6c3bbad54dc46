"""The settings for a face: all of them, what is wrong with a new value, and its saving unless nothing may change."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine.config import app_file
from oulipoly_engine.config.edit import settings_edit, views_edit
from oulipoly_engine.config.edit.settings_edit import Section, Setting
from oulipoly_engine.core.sessions.saved_view import SavedView
from oulipoly_engine.core.text.nearest import nearest
from oulipoly_engine.errors import ConfigInvalid, RequestRefused
from oulipoly_engine.paths import Paths
from oulipoly_engine.records import Record

if TYPE_CHECKING:
    from oulipoly_engine.config.check import FindAppFaults

__all__ = ["Section", "Setting", "Settings"]


class Settings(Record):
    """One user's configuration files, setting by setting."""

    paths: Paths
    models_dir: Path | None = None
    read_only: bool = False
    find_app_faults: FindAppFaults | None = None  # what the app knows of its keys and themes; None: there is no app

    def sections(self) -> tuple[Section, ...]:
        """Return every setting."""
        return settings_edit.sections(self.paths, self.models_dir)

    def find(self, name: str) -> tuple[str, Setting]:
        """Return a setting and its whole name: see `names`; `settings.` and `app.` may be left out.

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
        broken = settings_edit.failure(self.paths, self.models_dir)
        if broken is not None:
            raise ConfigInvalid(f"there is no setting {name!r}, and a file cannot be read: {broken}")
        near = nearest(name, known) or nearest(f"settings.{name}", known) or nearest(f"app.{name}", known)
        hint = f"did you mean {near[0]!r}?" if near else "`agents config show` lists them"
        raise ConfigInvalid(f"there is no setting {name[:80]!r}: {hint} (`agents config edit` changes whole files)")

    def names(self) -> tuple[str, ...]:
        """Return the whole name of every setting."""
        return tuple(settings_edit.names(self.paths, self.models_dir))

    def key(self, identity: str, keys: str) -> Setting:
        """Return the setting that binds a key of the app."""
        return settings_edit.key_setting(self.paths, identity, keys)

    def command_key(self, place: int) -> Setting:
        """Return the setting that binds the key of one of the user's own commands. place: from 0, in the file."""
        return settings_edit.command_key_setting(self.paths, place)

    def refusal(self, setting: Setting, typed: str) -> str | None:
        """Say what is wrong with a new value; None: it can be saved."""
        return settings_edit.refusal(setting, typed) or self._refusal_of_app(setting, typed)

    def save(self, setting: Setting, typed: str) -> None:
        """Write a new value. Raises RequestRefused in read-only mode, ConfigInvalid where it is refused."""
        self._refuse_if_read_only()
        wrong = self._refusal_of_app(setting, typed) if settings_edit.refusal(setting, typed) is None else None
        if wrong is not None:
            raise ConfigInvalid(f"{setting.name}: {wrong}")
        settings_edit.save(setting, typed)

    def _refusal_of_app(self, setting: Setting, typed: str) -> str | None:
        """Say what the app would find wrong with its file then: a key that is none, one that means two things."""
        if self.find_app_faults is None or setting.file != app_file.path_of(self.paths):
            return None
        change = settings_edit.make_change(setting, typed)
        if change is None or change.after is None:
            return None
        from oulipoly_engine.config.parse.app import parse  # noqa: PLC0415 - 100 ms, only a change needs it

        themes = app_file.read_themes(self.paths).value
        before, after = (
            [fault for _file, fault in self.find_app_faults(parse(setting.file, text.encode()).value, themes)]
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
            message = "this app is read-only and does not change settings: start it without --read-only"
            raise RequestRefused(message)
