"""Where a bundled segment belongs on this machine: its account, and the path of each of its files. Writes nothing."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from oulipoly_engine.adapters.scripts.places import encode_project_dir
from oulipoly_engine.adapters.transcript_file import open_transcript, status_of
from oulipoly_engine.core.accounts.accounts import StorageType
from oulipoly_engine.core.archive.bundle import BundledFile, BundledSegment, Manifest, Role, rollout_day
from oulipoly_engine.errors import AccountUnusable, RunnerError, UsageInvalid
from oulipoly_engine.records import Record
from oulipoly_engine.regular_files import read_regular
from oulipoly_engine.service.transcripts.files import Home, session_files

_BLOCK = 1 << 20
_LONGEST_NAME = 200  # characters; Claude Code cuts longer project names there and adds a hash of its own
_BUILT_IN = ("openai", "oss", "ollama", "lmstudio", "amazon-bedrock")  # Codex's model providers without an entry


class PlaceTaken(RunnerError, slug="conflict"):
    """A different file lies where one of a bundle belongs."""


class PlacedFile(Record):
    """A file and where it goes."""

    file: BundledFile
    path: Path
    is_there: bool  # with the same content; of a parent: at least with all of it


class Placement(Record):
    """A segment and where it goes."""

    segment: BundledSegment
    account: str
    files: tuple[PlacedFile, ...]
    left_out: str | None = None  # why it goes nowhere


def choose_workspace(manifest: Manifest, wanted: Path | None) -> Path:
    """Return the real path of the folder in which the session goes on: the one wanted, else where it was.

    Raises UsageInvalid.
    """
    known = manifest.segments[-1].workspace
    folder = wanted if wanted is not None else None if known is None else Path(known)
    if folder is None or not folder.is_dir():
        named = f"there is no folder {folder} here" if folder is not None else "the bundle names no folder"
        raise UsageInvalid(f"{named}: say with --project DIR where the session goes on")
    return folder.resolve()


def place(manifest: Manifest, homes: Mapping[str, Home], account: str | None, workspace: Path) -> tuple[Placement, ...]:
    """Return where each segment goes.

    account: the one that takes the session; None: accounts of the same names, or the only one of that CLI.
    Raises AccountUnusable, UsageInvalid, and PlaceTaken when a different file lies in a place.
    """
    active = manifest.segments[-1]
    taken: set[tuple[str, str]] = set()
    placements: list[Placement] = []
    for segment in reversed(manifest.segments):
        if segment.transcript is None:
            placements.append(Placement(segment, segment.account, (), "its transcript is not in the bundle"))
            continue
        try:
            home = _home(segment, homes, account)
        except RunnerError as error:
            if segment is active:
                raise
            placements.append(Placement(segment, segment.account, (), error.message))
            continue
        if (home.account, segment.session_id) in taken:
            why = f"a later part of the session has the same id on {home.account}"
            placements.append(Placement(segment, home.account, (), why))
            continue
        taken.add((home.account, segment.session_id))
        files = tuple(_place_file(file, path) for file, path in _paths(segment, home, workspace))
        _refuse_other_states(segment, home, files)
        placements.append(Placement(segment, home.account, files))
    return tuple(reversed(placements))


def provider_warning(first_line: Mapping[str, object], home: Home) -> str | None:
    """Return why Codex may refuse a rollout: its model provider is not configured in this home; None: it is."""
    payload = first_line.get("payload")
    name = payload.get("model_provider") if isinstance(payload, dict) else None
    if home.storage_type is not StorageType.CODEX_SESSION or not isinstance(name, str) or name in _BUILT_IN:
        return None
    config = home.root.parent / "config.toml"
    try:
        providers = tomllib.loads(read_regular(config).decode()).get("model_providers")
    except (OSError, ValueError, RecursionError):
        providers = None
    if isinstance(providers, dict) and name in providers:
        return None
    return f"Codex will refuse it: {config} has no model provider {name!r}; add [model_providers.{name}] there"


def _home(segment: BundledSegment, homes: Mapping[str, Home], account: str | None) -> Home:
    fitting = {name: home for name, home in homes.items() if home.storage_type is segment.storage_type}
    known = ", ".join(sorted(fitting)) or "none"
    if account is not None:
        if account not in fitting:
            raise AccountUnusable(
                f"account {account!r} cannot take a {segment.storage_type.value} session: its storage is not "
                f"known to be of that kind; those that can: {known}"
            )
        return fitting[account]
    if segment.account in fitting:
        return fitting[segment.account]
    if len(fitting) == 1:
        return next(iter(fitting.values()))
    raise AccountUnusable(
        f"no account here is called {segment.account!r}, whose {segment.storage_type.value} session this is: "
        f"say --account, one of: {known}"
    )


def _paths(segment: BundledSegment, home: Home, workspace: Path) -> list[tuple[BundledFile, Path]]:
    if segment.storage_type is StorageType.CODEX_SESSION:
        return [(file, home.root.joinpath(*rollout_day(file.name), file.name)) for file in segment.files]
    folder = home.root / _project(home, workspace)
    own = folder / segment.session_id
    return [(file, own / file.name if file.role is Role.PART else folder / file.name) for file in segment.files]


def _project(home: Home, workspace: Path) -> str:
    """Return the name of the folder of a workspace's sessions. Raises UsageInvalid for one that cannot be told."""
    name = encode_project_dir(str(workspace))
    if len(name) <= _LONGEST_NAME:
        return name
    found = sorted(path.name for path in home.root.glob(f"{name[:_LONGEST_NAME]}-*") if path.is_dir())
    if len(found) == 1:
        return found[0]
    raise UsageInvalid(
        f"the path {workspace} is so long that only Claude Code knows the name of its project folder: start it there "
        "once, or choose a shorter path"
    )


def _place_file(file: BundledFile, path: Path) -> PlacedFile:
    """Look at what lies in a place. Raises PlaceTaken."""
    if not path.is_symlink() and not path.exists():
        return PlacedFile(file, path, is_there=False)
    try:
        size = status_of(path).st_size
        may_grow = file.role is Role.PARENT  # a fork needs its parent's beginning
        is_same = size == file.size_bytes or (may_grow and size > file.size_bytes)
        if is_same and _hash_of(path, file.size_bytes) == file.sha256:
            return PlacedFile(file, path, is_there=True)
    except OSError as error:
        message = f"{path} is in the way and cannot be read: {error.strerror or error}"
        raise PlaceTaken(message, path=str(path)) from error
    message = f"{path} holds something else, so nothing was written: move it away, or choose another account or folder"
    raise PlaceTaken(message, path=str(path))


def _refuse_other_states(segment: BundledSegment, home: Home, files: tuple[PlacedFile, ...]) -> None:
    """Raise PlaceTaken where the account has another state of the session in another place.

    Which of the two its CLI goes on with would be left to chance, and what was said in the other one would be lost.
    """
    transcript = next(one for one in files if one.file.role is Role.TRANSCRIPT)
    places = {one.path for one in files}
    for found in session_files(home, segment.session_id):
        is_same = found.status.st_size == transcript.file.size_bytes
        if found.part or found.path in places:
            continue
        if not is_same or _hash_of(found.path, found.status.st_size) != transcript.file.sha256:
            message = (
                f"account {home.account!r} has this session in another state already, {found.path}, so nothing was "
                "written: go on with that one, or move it away"
            )
            raise PlaceTaken(message, path=str(found.path))


def _hash_of(path: Path, size: int) -> str:
    digest = sha256()
    with open_transcript(path) as file:
        while size and (block := file.read(min(size, _BLOCK))):
            digest.update(block)
            size -= len(block)
    return digest.hexdigest()
