"""What was read of the configuration's files, kept in one file of the cache folder until a file changes.

pydantic takes 80 ms to import and YAML 15, the snapshot one. It is a help and nothing more: one that is missing,
spoiled, not ours or made by another version counts as empty, and one that cannot be written is left unwritten. It holds
what accounts have in their environment, so that nobody else may read it, nor is anybody else's believed.

Every file stands for itself: a command pays for those that it asks for and that have changed.
"""

from __future__ import annotations

import os
import stat
import sys
import time
import zlib
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from oulipoly_engine import __version__
from oulipoly_engine.config.base.problem import Loaded
from oulipoly_engine.paths import Paths
from oulipoly_engine.private_files import make_folder, open_private
from oulipoly_engine.records import Record, prepare
from oulipoly_engine.regular_files import open_regular, read_regular

T = TypeVar("T")
Stamp = tuple[int, int, int, int, int]  # device, inode, size, and when it was written and changed, in ns
Parse = Callable[[bytes | None], Loaded[T]]  # the bytes of a file; None: read it yourself, and say why it cannot be

_NAME = "configuration"
_MAGIC = b"oulipoly-configuration-1\n"  # the number counts the forms of this file
_CHECKSUM_BYTES = 4
_SAFE_AGE_NS = 2_000_000_000  # of a file that would have another time if it were written again; FAT counts in 2 s
_FILE_LIMIT, _SNAPSHOT_LIMIT, _ENTRY_LIMIT = 1 << 20, 8 << 20, 1024  # bytes, bytes, files
_LEFT_OVER_S = 60.0  # age at which an unfinished file is one that a killed process left
_SUFFIX = ".part"
_SOURCES = (  # folders of the package
    ".",
    "config",
    "config/base",
    "config/parse",
    "config/schema",
    "config/toml",
    "core/accounts",
    "core/ledger",
    "core/live",
    "core/sessions",
    "core/text",
)


class _Entry(Record):
    """What was read of one file."""

    home: bytes  # what `~` stood for
    stamp: Stamp | None  # the file then; None: it was too young to be known by its times, so that its bytes are kept
    raw: bytes
    loaded: msgspec.Raw


class _Kept(Record):
    program: str  # what wrote it
    entries: dict[bytes, _Entry]  # by kind and path


def read(
    paths: Paths,
    path: Path,
    kind: str,
    shape: object,
    parse: Parse[T],
    *,
    absent: Loaded[T] | None = None,
) -> Loaded[T]:
    """Return what `parse` makes of a file, from the snapshot where it has the file as it is now.

    kind: names what is read, since one file could be read as several. shape: the type of what `parse` returns.
    absent: what a missing file stands for; None: `parse` says it.
    """
    if paths.cache is None:
        return parse(None)
    return Snapshot(paths.cache, paths.home).read(path, kind, shape, parse, absent=absent)


def read_bytes(paths: Paths, name: str, raw: bytes, shape: object, parse: Callable[[], Loaded[T]]) -> Loaded[T]:
    """Return what `parse` makes of bytes that a caller has, from the snapshot where it has the same ones.

    name: of what they are. shape: the type of what `parse` returns.
    """
    if paths.cache is None:
        return parse()
    return Snapshot(paths.cache, paths.home).read_bytes(name, raw, shape, parse)


class Snapshot:
    """The snapshot in a cache folder, of so many files; `program` and `now_ns` are for tests."""

    def __init__(
        self,
        folder: Path,
        home: Path,
        *,
        limit: int = _ENTRY_LIMIT,
        program: str | None = None,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self.file = folder / _NAME
        self._home = os.fsencode(home)
        self._limit = limit
        self._program = identify_program() if program is None else program
        self._now_ns = now_ns

    def read(
        self,
        path: Path,
        kind: str,
        shape: object,
        parse: Parse[T],
        *,
        absent: Loaded[T] | None = None,
    ) -> Loaded[T]:
        """Return what `parse` makes of a file; see the function of the same name."""
        try:
            status = path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return parse(None) if absent is None else absent
        except (OSError, ValueError):
            return parse(None)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _FILE_LIMIT:  # a pipe can be read but once
            return parse(None)
        key = kind.encode() + b":" + os.fsencode(path)
        entry = self._entries().get(key)
        if entry is not None and entry.home == self._home and _is_of(entry, path, status):
            with suppress(msgspec.MsgspecError, ValueError):
                return _decode(entry, shape)
        return self._parse(path, key, parse)

    def read_bytes(self, name: str, raw: bytes, shape: object, parse: Callable[[], Loaded[T]]) -> Loaded[T]:
        """Return what `parse` makes of bytes that a caller has; see the function of the same name."""
        key = f"bytes:{zlib.crc32(raw):08x}:{name}".encode("utf-8", "surrogateescape")
        entry = self._entries().get(key)
        if entry is not None and (entry.home, entry.raw) == (self._home, raw):
            with suppress(msgspec.MsgspecError, ValueError):
                return _decode(entry, shape)
        loaded = parse()
        self._keep_loaded(key, None, raw, loaded)
        return loaded

    def _parse(self, path: Path, key: bytes, parse: Parse[T]) -> Loaded[T]:
        """Read the file itself, and keep what was read."""
        now_ns = self._now_ns()
        try:
            raw, stamp = _take(path)
        except OSError:
            return parse(None)
        if len(raw) > _FILE_LIMIT:
            return parse(None)
        loaded = parse(raw)
        if stamp is not None and max(stamp[3:]) > now_ns - _SAFE_AGE_NS:
            stamp = None  # it could be written again and look the same
        self._keep_loaded(key, stamp, b"" if stamp is not None else raw, loaded)
        return loaded

    def _keep_loaded(self, key: bytes, stamp: Stamp | None, raw: bytes, loaded: Loaded[T]) -> None:
        try:
            encoded = msgspec.msgpack.encode(loaded, enc_hook=_encode_path)
        except (msgspec.MsgspecError, ValueError, OverflowError):  # half a character, a number beyond 64 bits
            return
        with suppress(OSError, msgspec.MsgspecError):
            self._keep(key, _Entry(self._home, stamp, raw, msgspec.Raw(encoded)))

    def _entries(self) -> dict[bytes, _Entry]:
        """Return what is kept, nothing where the file is not to be trusted."""
        try:
            data = _read_own(self.file)
        except (OSError, ValueError):
            return {}
        body = data[len(_MAGIC) + _CHECKSUM_BYTES :]
        if data[: -len(body) or None] != _MAGIC + _checksum(body):
            return {}
        try:
            kept = msgspec.msgpack.decode(body, type=prepare(_Kept))
        except (msgspec.MsgspecError, ValueError):
            return {}
        return kept.entries if kept.program == self._program else {}

    def _keep(self, key: bytes, entry: _Entry) -> None:
        """Write the snapshot anew with one more entry; of two that write at once, one is lost, and read again later."""
        entries = self._entries()
        entries.pop(key, None)
        if len(entries) >= self._limit:
            there = [other for other in entries if os.path.lexists(other.partition(b":")[2])]
            entries = {other: entries[other] for other in there[-self._limit // 2 :]}
        entries[key] = entry
        body = msgspec.msgpack.encode(_Kept(self._program, entries))
        if len(body) <= _SNAPSHOT_LIMIT:
            _replace(self.file, _MAGIC + _checksum(body) + body)


def _decode(entry: _Entry, shape: object) -> Loaded[Any]:
    loaded: Loaded[Any] = msgspec.msgpack.decode(entry.loaded, type=prepare(shape), dec_hook=_decode_path)
    return loaded


def _take(path: Path) -> tuple[bytes, Stamp | None]:
    """Return a file's bytes and what it is known by; None where it changed meanwhile."""
    with open_regular(path, buffering=0) as file:
        before = _stamp(os.fstat(file.fileno()))
        raw = file.read(_FILE_LIMIT + 1)
        after = os.fstat(file.fileno())
    return raw, before if before == _stamp(after) and after.st_size == len(raw) else None


def _is_of(entry: _Entry, path: Path, status: os.stat_result) -> bool:
    if entry.stamp is not None:
        return entry.stamp == _stamp(status)
    try:
        return read_regular(path, _FILE_LIMIT) == entry.raw
    except OSError:
        return False


def _stamp(status: os.stat_result) -> Stamp:
    # The time of change as well: `touch -r` and `cp -p` set the other one back.
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _read_own(path: Path) -> bytes:
    """Read a file that only we can have written. Raises OSError or ValueError where it is not that."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)  # a pipe must not hold us
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o077:
            raise ValueError(f"{path} is not a file of our own")
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(min(status.st_size, _SNAPSHOT_LIMIT))  # memory is taken for as much as it is told to read
    finally:
        os.close(descriptor)


def _replace(path: Path, data: bytes) -> None:
    """Put a file in place in one step; not synced, since a torn one is found by its checksum."""
    make_folder(path.parent)
    _remove_left_overs(path.parent)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.{os.urandom(4).hex()}{_SUFFIX}")
    flags = os.O_WRONLY | os.O_EXCL | os.O_NOFOLLOW
    try:
        with os.fdopen(open_private(temporary, flags), "wb") as file:
            file.write(data)
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def _remove_left_overs(folder: Path) -> None:
    with os.scandir(folder) as found:
        for item in found:
            if item.name.endswith(_SUFFIX) and time.time() - item.stat(follow_symlinks=False).st_mtime > _LEFT_OVER_S:
                Path(item.path).unlink(missing_ok=True)


def _checksum(body: bytes) -> bytes:
    return zlib.crc32(body).to_bytes(_CHECKSUM_BYTES, "big")


@cache  # what runs stays what it was when it began, whatever becomes of its sources
def identify_program(root: Path = Path(__file__).parent.parent) -> str:
    """Return what tells this program from every other that could have written the snapshot.

    The version, and the sources of what is kept and of what makes it: in a checkout they change under one version.
    root: the folder of the package.
    """
    checksum = 0
    with suppress(OSError):
        for name in _SOURCES:
            with os.scandir(root / name) as found:
                sources = [(item.name, item.stat()) for item in found if item.name.endswith(".py")]
            marks = sorted((source, status.st_size, status.st_mtime_ns) for source, status in sources)
            checksum = zlib.crc32(repr(marks).encode(), checksum)
    return f"{__version__} {checksum:08x} {sys.hexversion:x}"


def _encode_path(value: object) -> bytes:
    if isinstance(value, Path):
        return os.fsencode(value)  # names that are no texts keep their bytes
    raise NotImplementedError(f"{type(value).__name__} is not kept")


def _decode_path(kind: type, value: Any) -> Path:  # noqa: ANN401 - what msgspec hands over
    if kind is Path:
        return Path(os.fsdecode(value))
    raise NotImplementedError(f"{kind.__name__} is not kept")
