"""migrate-config: move what old models said of their accounts into providers.toml, and repair what is half moved.

The whole change is planned first, as texts; a conflict stops it before anything is written. Running it again changes
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oulipoly_engine.config import model_files
from oulipoly_engine.config.base import legacy, mask
from oulipoly_engine.config.base.problem import Fault, summary
from oulipoly_engine.config.edit import write_files
from oulipoly_engine.config.edit.write_files import FileChange, edit_lines
from oulipoly_engine.config.migration import old_models, old_runtimes
from oulipoly_engine.config.migration.old_models import OldEntry
from oulipoly_engine.config.toml import toml_file
from oulipoly_engine.config.toml.toml_file import TomlFile
from oulipoly_engine.errors import ConfigInvalid
from oulipoly_engine.paths import Paths
from oulipoly_engine.records import Record

if TYPE_CHECKING:
    from oulipoly_engine.config.toml.toml_edit import Document

_ORDER = ("command", "args", "interactive_args", "prompt_mode", *old_models.BLOCKS)


class MigrationPlan(Record):
    """What migrate-config would do; nothing to do is an empty `files`."""

    files: tuple[FileChange, ...]  # providers.toml first, so that a crash in between loses nothing
    notes: tuple[str, ...]  # what happens and what is left to people, one sentence each


class _Wish(Record):
    """A value that a model's file wants its account to have."""

    value: Any  # plain
    source: Path
    item: Any = None  # the value as it stood in the file, with its comments


def plan(paths: Paths, models_dir: Path | None = None) -> MigrationPlan:
    """Work out every change, writing nothing.

    Raises ConfigInvalid when a file cannot be read or two places disagree; the message names both.
    """
    return _Migration(paths, models_dir or paths.models).plan()


def apply(plan: MigrationPlan) -> None:
    """Write a plan's files, each in one step.

    Raises ConfigInvalid when a file was changed since, or cannot be written.
    """
    write_files.write(plan.files)


class _Migration:
    """The documents being edited, and what was found so far."""

    def __init__(self, paths: Paths, models_dir: Path) -> None:
        from oulipoly_engine.config.toml import toml_edit  # noqa: PLC0415 - tomlkit, 60 ms, only when something is edited

        self.edit = toml_edit
        self.paths = paths
        self.providers = _usable_accounts(toml_file.read(paths.providers))
        self.sessions = _usable(toml_file.read(paths.sessions))
        self.settings = toml_file.read(paths.settings)  # a broken one stops no account's migration
        names = model_files.names(models_dir)
        self.models = [_usable_model(toml_file.read(models_dir / f"{name}.toml")) for name in names]
        self.accounts = toml_edit.parse(self.providers.text)
        self.documents = {file.path: toml_edit.parse(file.text) for file in self.models}
        self.wishes: dict[str, dict[str, _Wish]] = {}
        self.conflicts: list[str] = []
        self.notes: list[str] = []

    def plan(self) -> MigrationPlan:
        old = {file.path: found for file in self.models if (found := self._old_entries(file))}
        for path, entries in old.items():
            for entry in entries:
                self._collect(path, entry)
        self._repair_accounts()
        for name, wishes in self.wishes.items():
            self._merge(name, wishes)
        if self.conflicts:
            more = "" if len(self.conflicts) == 1 else "\n" + "\n".join(self.conflicts[1:])
            message = f"{self.conflicts[0]}{more}\nNothing was written: make the values equal, then run it again"
            raise ConfigInvalid(message)
        for path, entries in old.items():
            self._rewrite_model(path, entries)
        self._hoist_arguments()
        self._complete_storage()
        runtimes, notes = old_runtimes.plan_runtimes(self.settings)
        changes = (*self._changes(), *(() if runtimes is None else (runtimes,)))
        return MigrationPlan(changes, (*self.notes, *notes))

    def _old_entries(self, file: TomlFile) -> tuple[OldEntry, ...]:
        if not any(legacy.old_keys(file.data)):
            return ()
        entries, faults = old_models.entries(file.data)
        if faults:
            raise ConfigInvalid(summary(file.problems(faults)))
        return entries

    # What the models want

    def _collect(self, path: Path, entry: OldEntry) -> None:
        wanted: dict[str, _Wish] = {}
        document = self.documents[path]
        for key, value in (
            ("command", entry.command),
            ("args", entry.account_args),
            ("interactive_args", entry.account_interactive),
            ("prompt_mode", entry.prompt_mode),
        ):
            if value is not None:
                plain = list(value) if isinstance(value, tuple) else value
                wanted[key] = _Wish(plain, path, self._find_item(document, entry, key))
        for key, place in entry.blocks.items():
            item = self.edit.at(document, place)
            wanted[key] = _Wish(_as_script(key, item.unwrap(), self.paths.home), path, item)
        for key, wish in wanted.items():
            self._wish(entry.account, key, wish)

    def _find_item(self, document: Document, entry: OldEntry, key: str) -> Any:  # noqa: ANN401 - any TOML item
        own = {} if entry.index is None else self.edit.at(document, ("providers", entry.index))
        return own.get(key, document.get(key))

    def _wish(self, account: str, key: str, wish: _Wish) -> None:
        wishes = self.wishes.setdefault(account, {})
        first = wishes.setdefault(key, wish)
        if first.value != wish.value:
            self._conflict(account, key, (first.source, first.value), (wish.source, wish.value))

    def _conflict(self, account: str, key: str, one: tuple[Path, object], other: tuple[Path, object]) -> None:
        self.conflicts.append(
            f"[{account}].{key}: {one[0]} says {mask.text(_format_value(one[1]))}, "
            f"{other[0]} says {mask.text(_format_value(other[1]))}"
        )

    # What the accounts have

    def _merge(self, name: str, wishes: Mapping[str, _Wish]) -> None:
        is_new = name not in self.accounts
        table = self.edit.new_account(self.accounts, name) if is_new else self.accounts[name]
        for key in sorted(wishes, key=_ORDER.index):
            wish = wishes[key]
            had = _plain(table.get(key))
            if had is not None and not (had == [] and wish.value):
                comparable = _as_script(key, had, self.paths.home)
                if comparable != wish.value:
                    self._conflict(name, key, (self.paths.providers, had), (wish.source, wish.value))
                continue
            try:
                self._put(table, key, wish)
            except ValueError as error:  # an inline table takes no table
                message = f"{self.paths.providers}: [{name}]: {key} cannot be added: {error}; write it in plain tables"
                raise ConfigInvalid(message) from error
            self.notes.append(f"[{name}].{key} {'comes from' if is_new else 'is completed from'} {wish.source}")

    def _put(self, table: Any, key: str, wish: _Wish) -> None:  # noqa: ANN401 - a table or its proxy
        if key not in old_models.BLOCKS:
            self.edit.set_value(table, key, wish.value, like=wish.item)
        elif _plain(wish.item) == wish.value:
            self.edit.add_table(table, key, self.edit.copy_table(wish.item))
        else:
            self.edit.add_table(table, key, wish.value)

    def _repair_accounts(self) -> None:
        """Take apart commands that hold arguments, and turn storage folders into scripts."""
        for name in tuple(self.accounts):
            table = self.accounts[name]
            if not isinstance(_plain(table), dict):
                continue
            command = _plain(table.get("command"))
            if isinstance(command, str) and len(command.split()) > 1 and not Path(command).exists():
                self._split_command(name, table, command)
            storage = _plain(table.get("session_storage"))
            scripts = _as_script("session_storage", storage, self.paths.home)
            if scripts != storage:
                self._replace_storage(name, table, scripts)

    def _split_command(self, name: str, table: Any, command: str) -> None:  # noqa: ANN401 - a table or its proxy
        program, words = old_models.split_command(command)
        args = [*words, *(_plain(table.get("args")) or [])]
        self.edit.set_value(table, "command", program)
        self.edit.set_value(table, "args", args)
        interactive = _plain(table.get("interactive_args"))
        if interactive is not None:
            prefix = old_models.interactive_prefix(program, words)
            self.edit.set_value(table, "interactive_args", [*prefix, *interactive])
        self.notes.append(f"[{name}]: the arguments of `command` move to `args`")

    def _replace_storage(self, name: str, table: Any, wanted: Mapping[str, str]) -> None:  # noqa: ANN401
        storage = table["session_storage"]
        for key in ("projects_dir", "sessions_dir"):
            self.edit.remove(storage, key)
        for key, value in wanted.items():
            self.edit.set_value(storage, key, value)
        self.notes.append(f"[{name}]: the session storage is told by scripts")

    # The models' files

    def _rewrite_model(self, path: Path, entries: Sequence[OldEntry]) -> None:
        document = self.documents[path]
        for entry in entries:
            if entry.index is None:
                table = self.edit.new_pool_entry(document)
            else:
                table = self.edit.at(document, ("providers", entry.index))
            self._rewrite_entry(table, entry)
        for key in legacy.OLD_TOP_KEYS:
            self.edit.remove(document, key)
        self.notes.append(f"{path} keeps only names and its own arguments")

    def _rewrite_entry(self, table: Any, entry: OldEntry) -> None:  # noqa: ANN401 - a table
        if "name" not in table and "command" in table:
            self.edit.rename(table, "command", "name", entry.account)
        self.edit.set_value(table, "name", entry.account)
        for key in legacy.OLD_ENTRY_KEYS:
            self.edit.remove(table, key)
        self._set_or_remove(table, "args", entry.model_args, keep_empty=True)
        self._set_or_remove(table, "interactive_args", entry.model_interactive, keep_empty=False)

    def _set_or_remove(self, table: Any, key: str, words: Sequence[str], *, keep_empty: bool) -> None:  # noqa: ANN401
        if words or keep_empty:
            self.edit.set_value(table, key, list(words))
        else:
            self.edit.remove(table, key)

    # What an earlier, incomplete migration left

    def _hoist_arguments(self) -> None:
        """Fill an account's empty arguments with the launch that its pool entries still carry."""
        for name in tuple(self.accounts):
            table = self.accounts[name]
            command = _plain(table.get("command")) if isinstance(_plain(table), dict) else None
            if not isinstance(command, str):
                continue
            for key in ("args", "interactive_args"):
                self._hoist(name, table, command, key)
            wrapper = old_models.wrapper_args(command, _plain(table.get("args")) or [])
            if wrapper and _plain(table.get("interactive_args")) == []:  # `env` alone starts nothing
                self.edit.set_value(table, "interactive_args", list(wrapper))
                self.notes.append(f"[{name}]: the empty `interactive_args` get the wrapped program")

    def _hoist(self, name: str, table: Any, command: str, key: str) -> None:  # noqa: ANN401 - a table or its proxy
        carriers = list(self._entries_of(name, key))
        parted = [old_models.split_model_args(_plain(entry[key])) for entry in carriers]
        launches = {launch for launch, _ in parted if launch}
        wish = self.wishes.get(name, {}).get(key)
        if _plain(table.get(key)) == []:
            if not launches or not all(old_models.is_launch(command, launch) for launch in launches):
                return
            if len(launches) > 1 or len([launch for launch, _ in parted if launch]) != len(carriers):
                self.notes.append(f"[{name}].{key} stays empty: its models carry different ones, so move them by hand")
                return
            self.edit.set_value(table, key, list(next(iter(launches))))
        elif wish is None or not wish.value or _plain(self._had(name, key)) != []:
            return
        account_args = tuple(_plain(table[key]))
        for entry, (launch, model) in zip(carriers, parted, strict=True):
            if launch == account_args:
                self._set_or_remove(entry, key, model, keep_empty=key == "args")
                self.notes.append(f"[{name}].{key} now holds what a model carried: {' '.join(launch)}")

    def _had(self, name: str, key: str) -> object:
        return self.providers.data.get(name, {}).get(key)

    def _entries_of(self, account: str, key: str) -> Iterator[Any]:
        for document in self.documents.values():
            for entry in document.get("providers", ()):
                if _plain(entry.get("name")) == account and _plain(entry.get(key)):
                    yield entry

    def _complete_storage(self) -> None:
        for name in tuple(self.accounts):
            table = self.accounts[name]
            if not isinstance(_plain(table), dict):
                continue
            storage = _plain(table.get("session_storage"))
            if storage is None:
                found = legacy.adapter_root(str(self.sessions.data.get(name, {}).get("turn_script", "")))
                if found is not None:
                    self.edit.add_table(table, "session_storage", legacy.script_storage(*found))
                    self.notes.append(f"[{name}]: the session storage follows from {self.paths.sessions}")
            elif isinstance(storage, dict) and not {"transcript_script", "storage_type"} <= set(storage):
                found = legacy.adapter_root(str(storage.get("cwd_script", "")))
                if found is not None:
                    self._replace_storage(name, table, {**legacy.script_storage(*found), **storage})

    def _changes(self) -> Iterator[FileChange]:
        yield from self._change(self.providers, self.accounts)
        for file in self.models:
            yield from self._change(file, self.documents[file.path])

    def _change(self, file: TomlFile, document: Document) -> Iterator[FileChange]:
        try:
            after = self.edit.render(document)
        except ValueError as error:
            raise ConfigInvalid(f"{file.path} cannot be migrated: {error}; write it in plain tables first") from error
        if after != file.text:
            yield edit_lines(file.path, file.text if file.exists else None, after)


def _usable(file: TomlFile) -> TomlFile:
    if file.failure is not None:
        raise ConfigInvalid(file.failure.text)
    wrong = [name for name, value in file.data.items() if not isinstance(value, dict)]
    if wrong and file.path.name in ("providers.toml", "sessions.toml"):
        faults = [Fault((name,), "it is not a table", f"write [{name}]") for name in wrong]
        raise ConfigInvalid(summary(file.problems(faults)))
    return file


def _usable_accounts(file: TomlFile) -> TomlFile:
    """Return providers.toml, if what the migration takes apart has its shape. Raises ConfigInvalid."""
    faults = [fault for name, table in _usable(file).data.items() for fault in old_models.shape_faults((name,), table)]
    if faults:
        raise ConfigInvalid(summary(file.problems(faults)))
    return file


def _usable_model(file: TomlFile) -> TomlFile:
    """Return a model's file, if what the migration takes apart has its shape. Raises ConfigInvalid."""
    members = _usable(file).data.get("providers", [])
    if not isinstance(members, list) or not all(isinstance(entry, dict) for entry in members):
        faults = [Fault(("providers",), "it must be a list of tables", "write [[providers]]")]
    else:
        own = enumerate(members)
        faults = [fault for index, entry in own for fault in old_models.shape_faults(("providers", index), entry)]
    if faults:
        raise ConfigInvalid(summary(file.problems(faults)))
    return file


def _as_script(key: str, value: Any, home: Path) -> Any:  # noqa: ANN401 - plain TOML values
    """Return a storage block of a folder kind as scripts, and anything else as it is."""
    if key != "session_storage" or not isinstance(value, dict) or value.get("kind") not in legacy.FOLDER_KINDS:
        return value
    folder = value.get(legacy.folder_key(value["kind"]))
    if not isinstance(folder, str) or not folder.strip():
        return value
    return legacy.script_storage(legacy.FOLDER_KINDS[value["kind"]], legacy.folder_word(folder, home))


def _plain(item: Any) -> Any:  # noqa: ANN401 - any TOML item
    return item.unwrap() if hasattr(item, "unwrap") else item


def _format_value(value: object) -> str:
    return repr(value)
