"""Copy skills and MCP servers from one CLI's home to another's, also between CLIs (contract, section 13).

Nothing is written before `apply`, and what was written `account undo` takes back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from oulipoly_engine.config.base import mask
from oulipoly_engine.config.edit import mcp_files
from oulipoly_engine.config.edit.folders import Folder, FolderChange, check_replaceable, clear_left, read_folder
from oulipoly_engine.config.edit.mcp_files import McpFile
from oulipoly_engine.config.edit.undo import Step, write_step
from oulipoly_engine.config.edit.write_files import FileChange
from oulipoly_engine.core.accounts.accounts import Account
from oulipoly_engine.core.accounts.clis.cli import Cli
from oulipoly_engine.core.accounts.clis.extensions import McpForm, McpServers
from oulipoly_engine.core.accounts.clis.table import CLIS, recognise_cli
from oulipoly_engine.core.setup import mcp
from oulipoly_engine.core.setup.turn import read_number
from oulipoly_engine.core.text.nearest import nearest
from oulipoly_engine.errors import ConfigInvalid, RequestRefused, UsageInvalid
from oulipoly_engine.paths import Paths
from oulipoly_engine.records import Record

_MARK = "SKILL.md"  # every skill has it
_LONGEST_SHOWN = 64 << 10  # bytes of a file in a diff
_LONGEST_CONFIG = 64 << 10  # characters of an entry that is given
_MOST_SKILLS = 500  # of one home
_MOST_ALONE = 20  # servers of single projects that are told


class SyncHome(Record):
    """One home of a CLI, and what it is extended by."""

    name: str  # of the account, or of the CLI where it looks by itself
    cli: Cli
    skills_folder: Path | None
    skills: tuple[str, ...]
    servers: Mapping[str, Mapping[str, Any]]  # entries by name, without secrets
    problems: tuple[str, ...] = ()  # why some are not known, a sentence each


class SyncPlan(Record):
    """What is to be written so that a target has what a source has."""

    what: str  # in the past tense: "copied the skill commit from claude to codex"
    diff: str  # without secrets; empty: the target has the same already
    notes: tuple[str, ...]  # what is left out, a sentence each
    replaces: bool  # the target has another one of that name
    step: Step

    @property
    def is_needed(self) -> bool:
        """Return whether there is anything to write."""
        return bool(self.step.places)


class _Home(Record):
    name: str
    cli: Cli
    variables: Mapping[str, str]  # that lead the CLI to it
    is_usual: bool = True  # the CLI looks there by itself

    def describe(self) -> str:
        return self.name if self.name == self.cli.name else f"{self.name} ({self.cli.title})"


class _Found(Record):
    """An entry, and where it stands."""

    entry: object
    form: McpForm
    where: str


class Sync:
    """The homes of the CLIs on this machine, and what is copied between them."""

    def __init__(
        self, paths: Paths, accounts: Mapping[str, Account], environ: Mapping[str, str], run: str = ""
    ) -> None:
        """run: of the set-up agent, which the changes belong to."""
        self._paths, self._environ, self._run = paths, environ, run
        self._homes = {cli.name: _Home(cli.name, cli, self._shared(cli, {})) for cli in CLIS.values()}
        for name, account in accounts.items():
            found = recognise_cli(account, paths.home)
            if found is not None:
                self._homes[name] = _Home(
                    name, found.cli, self._shared(found.cli, found.variables), not found.variables
                )

    def homes(self) -> tuple[SyncHome, ...]:
        """Return all homes and what is in them; one that several names have counts once."""
        places: dict[tuple[object, ...], SyncHome] = {}
        for home in sorted(self._homes.values(), key=lambda one: one.name != one.cli.name):
            key = (self._skills_folder(home), *(file for form in home.cli.mcp for file in self._files(home, form)))
            if key not in places:
                places[key] = self._look(home)
        return tuple(places.values())

    def home(self, name: str) -> SyncHome:
        """Return one of them, by the name of an account or of a CLI. Raises UsageInvalid."""
        return self._look(self._find_home(name))

    def plan_skill_sync(self, source: str, target: str, name: str) -> SyncPlan:
        """Return the changes that give a target a source's skill. Raises RunnerError."""
        origin, goal = self._pair(source, target)
        if not mcp.is_skill_name(name):
            raise UsageInvalid(
                f"{name[:80]!r} cannot be the name of a skill: letters, digits, `_`, `-`, `.`, at most 100 of them"
            )
        there, here = self._skill(origin, name), self._skill(goal, name)
        content = read_folder(there) if _is_skill(there) else None
        if content is None:
            raise RequestRefused(self._missing("skill", name, origin, self._skill_names(origin)))
        clear_left(here)
        present = read_folder(here)
        what = f"copied the skill {name} from {origin.describe()} to {goal.describe()}"
        notes = tuple(f"{one}, so it is left out" for one in content.left_out)
        if present is not None and present.digest == content.digest:
            return SyncPlan(what, "", (), replaces=False, step=Step(what, ()))
        if here.is_symlink():
            raise RequestRefused(f"{here} is a link to {here.readlink()}: change it there, or remove the link first")
        if present is not None:
            check_replaceable(here, present)
        change = FolderChange(here, None if present is None else present.digest, content.digest, there)
        return SyncPlan(
            what, _diff(here, present, content), notes, present is not None, Step(what, (), folders=(change,))
        )

    def plan_mcp_sync(self, source: str, target: str, name: str, config_json: str | None = None) -> SyncPlan:
        """Return the changes that give a target a source's MCP server. Raises RunnerError.

        config_json: the entry in the source CLI's form, where it is not what the source itself has.
        """
        origin, goal = self._pair(source, target)
        if not mcp.is_server_name(name):
            raise UsageInvalid(f"{name[:80]!r} cannot be the name of an MCP server: one line of at most 100 characters")
        found = self._entry(origin, name) if config_json is None else _given(origin, name, config_json)
        servers = self._servers(goal)
        file, keys, present = self._place(goal, servers, name)
        converted = mcp.convert(found.entry, found.form, servers.form, goal.cli.title, found.where)
        entry = mcp.switch(converted.entry, servers.form, is_inner=len(keys) > 1)
        what = f"copied the MCP server {name} from {origin.describe()} to {goal.describe()}"
        if config_json is not None:
            what = f"gave {goal.describe()} the MCP server {name}"
        if present is not None and mcp.says_the_same(entry, present, servers.form):
            return SyncPlan(what, "", converted.notes, replaces=False, step=Step(what, ()))
        planned = mcp_files.plan_entry(file, (*keys, name), entry)
        diff = "".join(change.diff for change in mcp_files.put_entries([planned]))
        if config_json is None:
            diff = mask.lines(diff, [json.dumps({name: one}) for one in (entry, present)])
        else:  # nobody has seen it yet
            diff = mask.old_lines(diff, [json.dumps({name: present})])
        return SyncPlan(what, diff, converted.notes, present is not None, Step(what, (), entries=(planned,)))

    def apply(self, *plans: SyncPlan) -> None:
        """Write plans as one change, which can be undone. Raises ConfigInvalid, and then nothing is changed."""
        steps = [plan.step for plan in plans if plan.is_needed]
        if steps:
            more = f", and {len(steps) - 1} more" if len(steps) > 1 else ""
            folders = tuple(one for step in steps for one in step.folders)
            entries = tuple(one for step in steps for one in step.entries)
            step = Step(f"{steps[0].what}{more}", (), folders=folders, entries=entries, run=self._run)
            write_step(self._paths.data, step)

    def _shared(self, cli: Cli, own: Mapping[str, str]) -> dict[str, str]:
        """Return variables with the user's general folders, which hold for a home that has none of its own.

        Variables of the CLI's own would lead to another login, which is an account by its own name.
        """
        general = (name for name in cli.place.variables if name.startswith("XDG_"))
        return {name: self._environ[name] for name in general if self._environ.get(name)} | dict(own)

    def _pair(self, source: str, target: str) -> tuple[_Home, _Home]:
        origin, goal = self._find_home(source), self._find_home(target)
        if origin.cli is goal.cli and origin.variables == goal.variables:
            raise RequestRefused(f"{source} and {target} are the same home: name another one")
        return origin, goal

    def _find_home(self, name: str) -> _Home:
        found = self._homes.get(name)
        if found is None:
            near = nearest(name, self._homes)
            hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(self._homes)}"
            raise UsageInvalid(f"{name[:80]!r} is not a CLI and no account of one that is known: {hint}")
        return found

    def _look(self, home: _Home) -> SyncHome:
        problems: list[str] = []
        servers: dict[str, Mapping[str, Any]] = {}
        for form in reversed(home.cli.mcp):  # what the CLI reads goes before what it read once
            for path in reversed(self._files(home, form)):
                try:
                    document = mcp_files.read(path).document
                    entries = mcp.find_servers(document, form, str(path))[1]
                except ConfigInvalid as error:
                    problems.append(error.message)
                    continue
                alone = mcp.find_project_servers(document, form)
                problems += (
                    f"{name} is there for the project {project} alone, and is not copied"
                    for name, project in list(alone.items())[:_MOST_ALONE]
                    if name not in entries
                )
                servers |= {name: mask.document(entry) for name, entry in entries.items() if isinstance(entry, dict)}
        folder = self._skills_folder(home)
        return SyncHome(
            home.name, home.cli, folder, self._skill_names(home), dict(sorted(servers.items())), tuple(problems)
        )

    def _files(self, home: _Home, form: McpServers) -> tuple[Path, ...]:
        places = (one for one in form.files if one.variable or home.is_usual)
        return tuple(Path(one.find(str(self._paths.home), home.variables)) for one in places)

    def _skills_folder(self, home: _Home) -> Path | None:
        location = home.cli.skills
        return None if location is None else Path(location.find(str(self._paths.home), home.variables))

    def _skill(self, home: _Home, name: str) -> Path:
        folder = self._skills_folder(home)
        if folder is None:
            raise RequestRefused(f"{home.cli.title} has no skills that this program knows")
        return folder / name

    def _skill_names(self, home: _Home) -> tuple[str, ...]:
        folder = self._skills_folder(home)
        entries: list[Path] = []
        if folder is not None:
            with suppress(OSError):
                entries = sorted(folder.iterdir())[:_MOST_SKILLS]
        return tuple(one.name for one in entries if mcp.is_skill_name(one.name) and _is_skill(one))

    def _servers(self, home: _Home) -> McpServers:
        """Return how a CLI keeps its MCP servers now."""
        if not home.cli.mcp:
            raise RequestRefused(f"{home.cli.title} has no MCP servers that this program knows")
        return home.cli.mcp[0]

    def _entry(self, home: _Home, name: str) -> _Found:
        """Return the entry of a home's server. Raises RequestRefused where there is none."""
        names: list[str] = []
        alone: dict[str, str] = {}
        for form in home.cli.mcp:
            for path in self._files(home, form):
                document = mcp_files.read(path).document
                keys, entries = mcp.find_servers(document, form, str(path))
                alone |= mcp.find_project_servers(document, form)
                if name in entries:
                    return _Found(entries[name], form.form, f"{path}: {'.'.join((*keys, name))}")
                names += entries
        if name in alone:
            raise RequestRefused(
                f"{home.describe()} has the MCP server {name} for the project {alone[name]} alone: it is not copied"
            )
        raise RequestRefused(self._missing("MCP server", name, home, tuple(names)))

    def _place(self, home: _Home, servers: McpServers, name: str) -> tuple[McpFile, tuple[str, ...], object | None]:
        """Return the file that a home's server goes to, the keys that lead to it, and what has its name there.

        That is the file that has the name already, else the first one that is there.
        """
        files = [mcp_files.read(path) for path in self._files(home, servers)]
        found = [(file, *mcp.find_servers(file.document, servers, str(file.path))) for file in files]
        best = next((one for one in found if name in one[2]), None)
        best = best or next((one for one in found if one[0].text is not None), found[0])
        return best[0], best[1], best[2].get(name)

    @staticmethod
    def _missing(kind: str, name: str, home: _Home, names: tuple[str, ...]) -> str:
        known = f"it has {', '.join(names[:20])}" if names else "it has none"
        return f"{home.describe()} has no {kind} {name[:80]!r}: {known}"


def _is_skill(folder: Path) -> bool:
    with suppress(OSError):
        return (folder / _MARK).is_file()
    return False


def _given(home: _Home, name: str, text: str) -> _Found:
    """Return an entry that was given as JSON. Raises UsageInvalid."""
    where = f"the configuration that was given for {name}"
    if len(text) > _LONGEST_CONFIG:
        raise UsageInvalid(f"{where} has more than {_LONGEST_CONFIG >> 10} KB")
    try:
        entry = json.loads(text, parse_float=read_number, parse_constant=read_number)
    except (ValueError, RecursionError) as error:
        raise UsageInvalid(f"{where} is not JSON: {error}") from error
    return _Found(entry, home.cli.mcp[0].form, where)


def _diff(path: Path, before: Folder | None, after: Folder) -> str:
    """Return the change of a folder as unified diffs, without secrets; files that are no text are named."""
    old, new = before.files if before is not None else {}, after.files
    pieces = []
    for name in sorted(old.keys() | new.keys()):
        was, now = old.get(name), new.get(name)
        if was == now:
            continue
        texts = [None if one is None else _text_of(one) for one in (was, now)]
        if (texts[0] is None) == (was is None) and (texts[1] is None) == (now is None):
            pieces.append(FileChange(path / name, texts[0], texts[1]).diff)
        else:
            size = "deleted" if now is None else f"{len(now)} bytes"
            pieces.append(f"{path / name}: no short text, {size}\n")
    return mask.text("".join(pieces)) or f"{path}: only permissions, links or empty folders change\n"


def _text_of(data: bytes) -> str | None:
    """Return a file's text; None for what is none, or too long to be shown."""
    try:
        return data.decode() if len(data) <= _LONGEST_SHOWN and b"\0" not in data else None
    except UnicodeDecodeError:
        return None
