"""What is asked and ordered about the configuration's files: what is in them, what is wrong, and changing them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oulipoly_engine.config import app_file
from oulipoly_engine.config.base.app_settings import PLACEHOLDERS, AppSettings, CustomCommand, ThemeFile, fill
from oulipoly_engine.config.base.layers import ABOVE
from oulipoly_engine.config.base.problem import Fault, Level, Loaded, Problem
from oulipoly_engine.config.layers import PROJECT_FILES, find_project_file, read_project
from oulipoly_engine.errors import RequestRefused, UsageInvalid
from oulipoly_engine.facade.base.home import Part
from oulipoly_engine.paths import PROJECT_FOLDER, find_project
from oulipoly_engine.records import Record, replace

if TYPE_CHECKING:
    from oulipoly_engine.config.check import FindAppFaults
    from oulipoly_engine.config.migration.migrate import MigrationPlan
    from oulipoly_engine.config.origins import Origin, Origins, Statement
    from oulipoly_engine.paths import Paths
    from oulipoly_engine.service.accounts.configuration import Configured
    from oulipoly_engine.service.accounts.file_edit import FileEdit
    from oulipoly_engine.service.accounts.resources import Resource
    from oulipoly_engine.service.accounts.settings import Section, Setting, Settings
    from oulipoly_engine.service.accounts.setup import SetUp

# ruff: noqa: PLC0415 - a checker, an editor and a first set-up: whoever asks for one of them needs none of the others

__all__ = [
    "ABOVE",
    "PLACEHOLDERS",
    "AppSettings",
    "CustomCommand",
    "Fault",
    "Level",
    "Origin",
    "Problem",
    "Section",
    "SetUp",
    "Setting",
    "Settings",
    "Statement",
    "ThemeFile",
    "fill",
]


class Migration(Record):
    """A change of files of an older form."""

    plan: MigrationPlan
    diff: str  # secrets masked


class ProjectSettings(Record):
    """The settings of a project, as they are now."""

    folder: Path
    file: Path
    needing_trust: Mapping[str, Any]  # what counts only once a person trusts it, by key
    prompts: Mapping[str, str]  # texts of prompt files, which need trust as well, by name
    extensions: tuple[Path, ...]  # which may ask for rights once a person trusts them
    digests: tuple[str, ...]  # of what needs trust: the settings, the prompt files, which extensions there are
    is_trusted: bool


class Configuration(Part):
    """The configuration's files of one user."""

    def read_configuration(self) -> Configured:
        """Return what the files say; an earlier reading stands in for a broken file."""
        return self._home.read_configuration()

    def examine(self) -> None:
        """Look for what is wrong between the files too, missing programs included; the next snapshot has it."""
        self._home.examine()

    def check(self) -> tuple[Problem, ...]:
        """Return what is wrong with every file, and between them; no snapshot of an earlier reading is asked.

        A secret that stands where something else belongs is taken out.
        """
        from oulipoly_engine.core.text.redact import redact  # 2 ms, not for what only reads settings

        return tuple(
            replace(one, key=redact(one.key), message=redact(one.message), fix=redact(one.fix))
            for one in self._home.check_configuration()
        )

    def effective(self) -> dict[str, object]:
        """Return what is in force, secrets masked, for JSON."""
        from oulipoly_engine.config.show import effective

        return effective(self._home.paths, self._home.models_dir, self._home.agents_dir)

    def origins(self, folder: Path | None = None) -> Origins:
        """Return where each setting comes from, and what of a project's has no effect.

        folder: of the project, where this process may have begun it; None: the one that it has begun in.
        """
        from oulipoly_engine.config.origins import read_origins

        paths = self._home.paths
        if folder is not None:
            paths = replace(paths, above=replace(paths.above, project=find_project(folder)))
        return read_origins(paths)

    def find_origin(self, setting: Setting) -> Origin | None:
        """Return where a setting of config.toml, app.toml or a project comes from; None: another file's has one place.

        What lies in a table of its own has one place, too.
        """
        if setting.path[1:] or setting.file.name not in (*PROJECT_FILES, "config.toml", "app.toml"):
            return None
        return next((origin for origin in self.origins().settings if origin.key == setting.name), None)

    def find_project_file(self, folder: Path) -> Path | None:
        """Return the settings of the project around a folder, there or not; None: there is no project."""
        place = find_project(folder)
        if place is None:
            return None
        return find_project_file(place) or place / PROJECT_FILES[1]

    def project(self, folder: Path) -> ProjectSettings:
        """Return settings and prompts of the project around a folder. Raises RequestRefused where there are none."""
        from oulipoly_engine.config.extension_files import digest_of_places, list_of_project
        from oulipoly_engine.config.prompt_files import read_of_project

        place = find_project(folder)
        extensions = list_of_project(place)
        path = None if place is None else find_project_file(place)
        files = read_of_project(place)
        if place is None or (path is None and not files.texts and not extensions):
            where = f"{PROJECT_FOLDER}/settings.toml"
            raise RequestRefused(f"no project around {folder} has settings of its own: they lie in {where}")
        needing: Mapping[str, Any] = {}
        digests: list[str] = []
        if path is not None:
            loaded, digest = read_project(self._home.paths, place, path)
            needing = {key: stated.value for key, stated in loaded.value.items() if stated.in_project == "trusted"}
            digests += [digest] if needing else []
        digests += [files.digest] if files.texts else []
        digests += [digest_of_places(extensions)] if extensions else []
        is_trusted = all(self._home.paths.above.is_trusted(place, digest) for digest in digests)
        shown = place if path is None else path
        return ProjectSettings(place, shown, needing, files.texts, extensions, tuple(digests), is_trusted)

    def trust(self, project: ProjectSettings) -> None:
        """Have a project's settings count, as long as they stay as a person has seen them."""
        from oulipoly_engine.store.grants import grants

        self._home.refuse_if_read_only("trust a project")
        with self._home.lend_store() as store:
            for digest in project.digests:
                grants.allow(store, str(project.folder), digest, self._home.now())

    def migration(self) -> Migration:
        """Return how files of an older form would be changed; nothing is written. Raises ConfigInvalid."""
        from oulipoly_engine.config.base import mask
        from oulipoly_engine.config.migration import migrate

        plan = migrate.plan(self._home.paths, self._home.models_dir)
        documents = [text for change in plan.files for text in (change.before, change.after) if text is not None]
        return Migration(plan, mask.lines("".join(change.diff for change in plan.files), documents))

    def migrate(self, migration: Migration) -> None:
        """Write what a migration would change. Raises ConfigInvalid."""
        from oulipoly_engine.config.migration import migrate

        self._home.refuse_if_read_only("migrate a configuration")
        migrate.apply(migration.plan)

    def app(self) -> Loaded[AppSettings]:
        """Return app.toml's settings and what is wrong with them."""
        return read_app(self._home.paths)

    def themes(self) -> Loaded[tuple[ThemeFile, ...]]:
        """Return the user's own themes and what is wrong with them."""
        return read_themes(self._home.paths)

    @property
    def settings(self) -> Settings:
        """Return the files setting by setting, to be changed."""
        from oulipoly_engine.service.accounts.settings import Settings

        home = self._home
        return Settings(home.paths, home.models_dir, home.read_only, home.find_app_faults, home.lend_store)

    def list_resources(self, kind: str | None = None) -> tuple[Resource, ...]:
        """Return extensions, skills, prompts and themes, or those of one type. Raises UsageInvalid for no type."""
        from oulipoly_engine.core.accounts.resource_lists import TYPES
        from oulipoly_engine.service.accounts import resources

        kinds = TYPES if kind is None else (resources.parse_type(kind),)
        return resources.list_resources(self._home.paths, kinds)

    def switch_resource(self, kind: str, name: str, *, is_on: bool, folder: Path | None = None) -> tuple[str, str]:
        """Switch one on or off; return its type and its name, as the list has them.

        folder: of a project whose list is meant; None: the user's own. Raises as `service/accounts/resources.py`.
        """
        from oulipoly_engine.service.accounts import resources

        kind = resources.parse_type(kind)
        return kind, resources.switch_resource(self.settings, kind, name, is_on=is_on, folder=folder)

    def edit_file(self, name: str) -> FileEdit:
        """Return a file to be edited, a context: see `service/accounts/file_edit.py`. Raises UsageInvalid."""
        from oulipoly_engine.service.accounts.file_edit import FileEdit

        self._home.refuse_if_read_only("edit the configuration")
        home = self._home
        return FileEdit(home.paths, name, home.models_dir, home.agents_dir, lambda file: home.tell_changed([file]))

    def set_up(self) -> SetUp:
        """Return what would be added for the logins of this machine that are not accounts yet; nothing is written."""
        from oulipoly_engine.service.accounts.setup import propose

        return propose(self._home.paths, self._home.models_dir)

    def write_set_up(self, proposed: SetUp) -> None:
        """Write what a set-up would add; what is there stays. Raises RequestRefused or ConfigInvalid."""
        from oulipoly_engine.service.accounts.setup import write_set_up

        self._home.refuse_if_read_only("write a configuration")
        write_set_up(self._home.paths, proposed)


def refuse_wrong_options(
    paths: Paths, models_dir: Path | None = None, find_app_faults: FindAppFaults | None = None
) -> None:
    """Raise UsageInvalid where `--set` gives what is no setting, no value of it, or the name of nothing."""
    from oulipoly_engine.config.check import find_wrong_option

    if (problem := find_wrong_option(paths, models_dir, find_app_faults)) is not None:
        raise UsageInvalid(f"{problem.file}: {problem.message}: {problem.fix}")


def locate_app_fault(paths: Paths, name: str, fault: Fault) -> Problem:
    """Return what the app finds wrong with one of its files, at the place that says it. name: below the folder."""
    from oulipoly_engine.config.check import locate_above

    return locate_above(paths, paths.config / name, [fault])[0]


def is_command(setting: Setting) -> bool:
    """Tell whether a setting is a whole command of the user's own."""
    from oulipoly_engine.config.edit import settings_edit

    return settings_edit.is_command(setting)


def is_of_command(setting: Setting) -> bool:
    """Tell whether a setting is one of those of a command of the user's own, which is its owner."""
    from oulipoly_engine.config.edit import settings_edit

    return settings_edit.is_of_command(setting)


def join_items(items: Sequence[str]) -> str:
    """Return texts as one would type them for a setting that is a list."""
    from oulipoly_engine.config.edit.settings_edit import as_toml

    return as_toml(list(items))


def read_app(paths: Paths) -> Loaded[AppSettings]:
    """Return app.toml's settings and what is wrong with them; for whoever has no engine yet."""
    return app_file.read(paths)


def read_themes(paths: Paths) -> Loaded[tuple[ThemeFile, ...]]:
    """Return the user's own themes and what is wrong with them; for whoever has no engine yet."""
    return app_file.read_themes(paths)


def schema_titles() -> Mapping[str, str]:
    """Return what each file that has a JSON Schema holds, by the file's name."""
    from oulipoly_engine.config.schema.documents import FILES

    return FILES


def json_schema(file: str) -> dict[str, object]:
    """Return the JSON Schema of a file, one of `schema_titles`."""
    from oulipoly_engine.config.schema.documents import json_schema as schema

    return schema(file)


def as_text(effective: dict[str, object]) -> str:
    """Return what is in force as text for people."""
    from oulipoly_engine.config.show import as_text as text

    return text(effective)
