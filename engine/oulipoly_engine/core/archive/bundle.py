"""The form of a bundle: its manifest, and what a name inside one may be. Pure.

A bundle is a gzipped tar whose members all have names of our making; where a file belongs is said in the manifest, the
first member, and checked here. So nothing that a tar can say of paths, links, owners or modes is ever obeyed.
"""

from __future__ import annotations

import json
import re
from enum import StrEnum
from typing import Annotated, NoReturn

import msgspec
from msgspec import Meta

from oulipoly_engine.clock import from_text
from oulipoly_engine.core.accounts.accounts import StorageType
from oulipoly_engine.records import Record, asdict, prepare

VERSION = 1
KIND = "agent-runner-session-bundle"
MANIFEST = "manifest.json"
MOST_FILES = 20_000
MOST_FILE_BYTES = 4 << 30
MOST_MANIFEST_BYTES = 8 << 20  # 20,000 files take 7 MB
_MOST_VALUES = 400_000  # of a manifest; 20,000 files have 160,000
_MOST_RATIO, _ALWAYS_TAKEN = 100, 64 << 20  # transcripts shrink to a third, the most repetitive ones to a thirtieth

_ROLLOUT = re.compile(r"rollout-(\d{4})-(\d\d)-(\d\d)T\d\d-\d\d-\d\d-([0-9a-f-]{36})\.jsonl", re.ASCII)
_PART_NAME = re.compile(r"[^\x00-\x1f\x7f/\\]+")
_LONGEST_NAME = 255  # bytes; no file system in use takes more
_TEXT = r"^[^\x00\ud800-\udfff]+\Z"  # half a character is no Unicode
_Uuid = Annotated[str, Meta(pattern=r"^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")]
_Sha = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
_Name = Annotated[str, Meta(pattern=_TEXT, max_length=300)]
_Instant = Annotated[str, Meta(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z\Z")]


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
    session_id: _Uuid
    name: Annotated[str, Meta(pattern=_TEXT, max_length=1024)]  # its own; of a part its place in the session's folder
    size_bytes: Annotated[int, Meta(ge=0, le=MOST_FILE_BYTES)]
    sha256: _Sha


class BundledSegment(Record):
    """A part of the session on one account."""

    account: _Name
    session_id: _Uuid
    storage_type: StorageType
    started_at: _Instant
    ended_at: _Instant | None
    last_turn_id: Annotated[str, Meta(pattern=_TEXT, max_length=5000)] | None
    workspace: Annotated[str, Meta(pattern=_TEXT, max_length=4096)] | None
    files: tuple[BundledFile, ...]  # parents first, the transcript last; none: it could not be had

    @property
    def transcript(self) -> BundledFile | None:
        """Return the session's own file."""
        return next((file for file in self.files if file.role is Role.TRANSCRIPT), None)


class Manifest(Record):
    """All that a bundle holds."""

    chain_id: _Uuid
    model: _Name
    created_at: _Instant
    last_used_at: _Instant
    segments: tuple[BundledSegment, ...]  # in order; the last one is the active one
    name: Annotated[str, Meta(pattern=_TEXT, max_length=1000)] | None = None  # what its user calls the session
    note: Annotated[str, Meta(pattern=_TEXT, max_length=100_000)] | None = None

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
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        _refuse(f"its manifest is not JSON ({error})")
    if not isinstance(document, dict) or document.get("kind") != KIND:
        _refuse("it is not a bundle of this program")
    if document.get("version") != VERSION:
        _refuse(f"it has version {document.get('version')!r}, and this program reads {VERSION}: update it")
    try:
        manifest = msgspec.convert(document, prepare(Manifest))
        _check_instants(manifest)
    except ValueError as error:
        _refuse(f"its manifest is not as this program writes it: {error}")
    if not manifest.segments or manifest.segments[-1].transcript is None:
        _refuse("it holds no transcript of its last segment")
    for segment in manifest.segments:
        _check_segment(segment)
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


def _check_instants(manifest: Manifest) -> None:
    """Raise ValueError for a time that no clock can have shown."""
    segments = ((segment.started_at, segment.ended_at) for segment in manifest.segments)
    for instant in (manifest.created_at, manifest.last_used_at, *(text for pair in segments for text in pair if text)):
        from_text(instant)


def _check_segment(segment: BundledSegment) -> None:
    for file in segment.files:
        _check_name(file, segment.storage_type, segment.session_id)
    if sum(file.role is Role.TRANSCRIPT for file in segment.files) > 1:
        _refuse(f"segment {segment.session_id} has two transcripts")
    names = [(file.role is Role.PART, file.name) for file in segment.files]
    if len(set(names)) != len(names):
        _refuse(f"segment {segment.session_id} has a file twice")
    parts = {file.name for file in segment.files if file.role is Role.PART}
    if any(name[:place] in parts for name in parts for place in range(len(name)) if name[place] == "/"):
        _refuse(f"segment {segment.session_id} has a file that is the folder of another one")
    if segment.workspace is not None and not segment.workspace.startswith("/"):
        _refuse("a segment's workspace is not an absolute path")


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


def _refuse(problem: str) -> NoReturn:
    raise BundleRefused(problem)
