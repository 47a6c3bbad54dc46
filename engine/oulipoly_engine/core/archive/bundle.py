"""The form of a bundle: its manifest, and what a name inside one may be. Pure.

A bundle is a gzipped tar whose members all have names of our making; where a file belongs is said in the manifest, the
first member, and checked here. So nothing that a tar can say of paths, links, owners or modes is ever obeyed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, NoReturn

from oulipoly_engine.clock import from_text
from oulipoly_engine.core.accounts.accounts import StorageType
from oulipoly_engine.records import Record, asdict

VERSION = 1
KIND = "agent-runner-session-bundle"
MANIFEST = "manifest.json"
MOST_FILES = 20_000
MOST_FILE_BYTES = 4 << 30
MOST_MANIFEST_BYTES = 8 << 20  # 20,000 files take 7 MB
_MOST_VALUES = 400_000  # of a manifest; 20,000 files have 160,000
_MOST_RATIO, _ALWAYS_TAKEN = 100, 64 << 20  # transcripts shrink to a third, the most repetitive ones to a thirtieth

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
_SHA = re.compile(r"[0-9a-f]{64}", re.ASCII)
_ROLLOUT = re.compile(r"rollout-(\d{4})-(\d\d)-(\d\d)T\d\d-\d\d-\d\d-([0-9a-f-]{36})\.jsonl", re.ASCII)
_PART_NAME = re.compile(r"[^\x00-\x1f\x7f/\\]+")
_LONGEST_NAME = 255  # bytes; no file system in use takes more
_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII)


class Role(StrEnum):
    """What a file of a bundle is."""

    TRANSCRIPT = "transcript"
    PART = "part"  # of a Claude session's own folder
    PARENT = "parent"  # a Codex rollout that the session was forked from


class BundleRefused(ValueError):
    """A bundle is not as we write it; the message says where."""


class BundledFile(Record):
    """One file."""

    member: str  # its name in the tar
    role: Role
    session_id: str
    name: str  # the transcript's own file name; of a part its place in the session's folder
    size_bytes: int
    sha256: str


class BundledSegment(Record):
    """A part of the session on one account."""

    account: str
    session_id: str
    storage_type: StorageType
    started_at: str  # RFC 3339
    ended_at: str | None
    last_turn_id: str | None
    workspace: str | None
    files: tuple[BundledFile, ...]  # parents first, the transcript last; none: it could not be had

    @property
    def transcript(self) -> BundledFile | None:
        """Return the session's own file."""
        return next((file for file in self.files if file.role is Role.TRANSCRIPT), None)


class Manifest(Record):
    """All that a bundle holds."""

    chain_id: str
    model: str
    created_at: str  # RFC 3339
    last_used_at: str
    segments: tuple[BundledSegment, ...]  # in order; the last one is the active one
    name: str | None = None  # what its user calls the session
    note: str | None = None

    @property
    def files(self) -> tuple[BundledFile, ...]:
        """Return every file, in the order of the tar."""
        return tuple(file for segment in self.segments for file in segment.files)


def rollout_day(name: str) -> tuple[str, str, str]:
    """Return year, month and day of a rollout's name, the folders it lies in. Raises BundleRefused."""
    found = _ROLLOUT.fullmatch(name)
    if found is None:
        _refuse(f"{name[:200]!r} is not a name of a Codex rollout")
    return found[1], found[2], found[3]


def write_manifest(manifest: Manifest) -> bytes:
    """Write the manifest."""
    document = {"kind": KIND, "version": VERSION, **asdict(manifest)}
    return json.dumps(document, ensure_ascii=True, indent=1).encode() + b"\n"


def read_manifest(data: bytes) -> Manifest:
    """Read a manifest and check everything in it. Raises BundleRefused."""
    if len(data) > MOST_MANIFEST_BYTES:
        _refuse(f"its manifest has {len(data)} bytes, and the most are {MOST_MANIFEST_BYTES}")
    if sum(data.count(mark) for mark in (b",", b"[", b"{")) > _MOST_VALUES:  # each of them would be made an object
        _refuse(f"its manifest holds more than {_MOST_VALUES} values")
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        _refuse(f"its manifest is not JSON ({error})")
    top = _table(value, "the manifest")
    if top.get("kind") != KIND:
        _refuse("it is not a bundle of this program")
    if top.get("version") != VERSION:
        _refuse(f"it has version {top.get('version')!r}, and this program reads {VERSION}: update it")
    segments = tuple(map(_segment, _list(top, "segments")))
    if not segments or segments[-1].transcript is None:
        _refuse("it holds no transcript of its last segment")
    manifest = Manifest(
        chain_id=_require_match(top, "chain_id", _UUID),
        model=_text(top, "model", 300),
        created_at=_instant(top, "created_at"),
        last_used_at=_instant(top, "last_used_at"),
        segments=segments,
        name=_optional(top, "name", 1000),
        note=_optional(top, "note", 100_000),
    )
    if len(manifest.files) > MOST_FILES:
        _refuse(f"it lists {len(manifest.files)} files, and the most are {MOST_FILES}")
    for number, file in enumerate(manifest.files, 1):
        if file.member != member_name(number, file.role):
            _refuse(f"file {number} of the manifest has the member name {file.member[:100]!r}")
    return manifest


def check_ratio(unpacked_bytes: int, packed_bytes: int) -> None:
    """Raise BundleRefused where so many bytes unpack to more than any session's would."""
    if unpacked_bytes > _ALWAYS_TAKEN + _MOST_RATIO * packed_bytes:
        sizes = f"{packed_bytes >> 10} kB to {unpacked_bytes >> 20} MB"
        _refuse(f"it unpacks to more than {_MOST_RATIO} times its size ({sizes})")


def member_name(number: int, role: Role) -> str:
    """Return the name of a bundle's nth file in the tar."""
    return f"files/{number:05}-{role.value}"


def _segment(value: object) -> BundledSegment:
    entry = _table(value, "a segment")
    try:
        kind = StorageType(str(entry.get("storage_type")))
    except ValueError:
        _refuse(f"a segment has the unknown storage_type {entry.get('storage_type')!r}")
    session_id = _require_match(entry, "session_id", _UUID)
    files = tuple(_file(item, kind, session_id) for item in _list(entry, "files"))
    if sum(file.role is Role.TRANSCRIPT for file in files) > 1:
        _refuse(f"segment {session_id} has two transcripts")
    names = [(file.role is Role.PART, file.name) for file in files]
    if len(set(names)) != len(names):
        _refuse(f"segment {session_id} has a file twice")
    parts = {file.name for file in files if file.role is Role.PART}
    if any(name[:place] in parts for name in parts for place in range(len(name)) if name[place] == "/"):
        _refuse(f"segment {session_id} has a file that is the folder of another one")
    workspace = _optional(entry, "workspace", 4096)
    if workspace is not None and not workspace.startswith("/"):
        _refuse("a segment's workspace is not an absolute path")
    return BundledSegment(
        account=_text(entry, "account", 300),
        session_id=session_id,
        storage_type=kind,
        started_at=_instant(entry, "started_at"),
        ended_at=_instant(entry, "ended_at") if entry.get("ended_at") is not None else None,
        last_turn_id=_optional(entry, "last_turn_id", 5000),
        workspace=workspace,
        files=files,
    )


def _file(value: object, kind: StorageType, session_id: str) -> BundledFile:
    entry = _table(value, "a file")
    try:
        role = Role(str(entry.get("role")))
    except ValueError:
        _refuse(f"a file has the unknown role {entry.get('role')!r}")
    size = entry.get("size_bytes")
    if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size <= MOST_FILE_BYTES:
        _refuse(f"a file has the size {size!r}")
    file = BundledFile(
        member=_text(entry, "member", 100),
        role=role,
        session_id=_require_match(entry, "session_id", _UUID),
        name=_text(entry, "name", 1024),
        size_bytes=size,
        sha256=_require_match(entry, "sha256", _SHA),
    )
    _check_name(file, kind, session_id)
    return file


def _check_name(file: BundledFile, kind: StorageType, session_id: str) -> None:
    if (file.role is Role.PARENT) == (file.session_id == session_id):
        _refuse(f"{file.name[:100]!r} belongs to another session than its segment")
    if file.role is Role.PART:
        parts = file.name.split("/")
        is_plain = all(_PART_NAME.fullmatch(part) and part not in (".", "..") for part in parts)
        if any(len(part.encode("utf-8", "surrogatepass")) > _LONGEST_NAME for part in parts):
            _refuse(f"the name {file.name[:200]!r} has a part of more than {_LONGEST_NAME} bytes")
        if kind is not StorageType.CLAUDE_CODE or not is_plain or len(parts) > 16:
            _refuse(f"the name {file.name[:200]!r} leads out of the session's folder")
    elif kind is StorageType.CLAUDE_CODE:
        if file.role is Role.PARENT or file.name != f"{file.session_id}.jsonl":
            _refuse(f"{file.name[:200]!r} is not a name of that session's transcript")
    elif kind is StorageType.CODEX_SESSION:
        rollout_day(file.name)
        if not file.name.endswith(f"-{file.session_id}.jsonl"):
            _refuse(f"{file.name[:200]!r} is not a name of that session's rollout")
    else:
        _refuse(f"transcripts of storage type {kind.value} cannot be placed")


def _table(value: object, what: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        _refuse(f"{what} is not a JSON object")
    return value


def _list(table: Mapping[str, Any], key: str) -> Sequence[object]:
    value = table.get(key)
    if not isinstance(value, list):
        _refuse(f"its `{key}` is not a list")
    return value


def _text(table: Mapping[str, Any], key: str, most: int) -> str:
    value = table.get(key)
    if not isinstance(value, str) or not 0 < len(value) <= most or "\0" in value:
        _refuse(f"its `{key}` is not text of at most {most} characters")
    try:
        value.encode()
    except UnicodeEncodeError:
        _refuse(f"its `{key}` is not Unicode")
    return value


def _optional(table: Mapping[str, Any], key: str, most: int) -> str | None:
    return None if table.get(key) is None else _text(table, key, most)


def _require_match(table: Mapping[str, Any], key: str, pattern: re.Pattern[str]) -> str:
    value = _text(table, key, 100)
    if not pattern.fullmatch(value):
        _refuse(f"its `{key}` {value!r} has the wrong form")
    return value


def _instant(table: Mapping[str, Any], key: str) -> str:
    value = _require_match(table, key, _INSTANT)
    try:
        from_text(value)
    except ValueError as error:
        _refuse(f"its `{key}` {value!r} is not an instant: {error}")
    return value


def _refuse(problem: str) -> NoReturn:
    raise BundleRefused(problem)
