"""A folder of hosts: for each a socket, a small file that describes what it holds, and a lock that the host holds.

The kernel lets go of the lock when the last process of a host has died, however it died: that, and not the socket or a
process number, tells a living host from what a dead one has left.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import socket
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import msgspec

from oulipoly_engine.errors import RunnerError
from oulipoly_engine.paths import is_stand_in
from oulipoly_engine.private_files import make_folder, open_private, write_private
from oulipoly_engine.records import Record, prepare
from oulipoly_engine.regular_files import read_regular

Listener = socket.socket  # for the class whose own member has the same name
_TRIES = 100
_OURS = re.compile(r"([0-9a-f]{6,12})\.(?:sock|sock\.new|json|json\.new|tools|lock)")


class RuntimeFolderUnsafe(RunnerError):
    """The folder of sockets is somebody else's, or cannot be made."""


class Described(Protocol):
    """What every description says."""

    @property
    def id(self) -> str:
        """Return its host's id."""

    @property
    def started_at(self) -> str:
        """Return when it began: RFC 3339, UTC."""

    @property
    def is_running(self) -> bool:
        """Return whether what its host holds still runs."""


T = TypeVar("T", bound=Described)


class Survey(Record, Generic[T]):
    """What a look at the folder found."""

    living: tuple[T, ...]  # oldest first; their hosts live
    lost: tuple[T, ...] = ()  # whose hosts died without tidying up; their files are gone now
    orphaned: tuple[T, ...] = ()  # whose hosts died, but not their children; their files stay until these have
    stale_sockets: int = 0  # removed


def ensure(folder: Path) -> None:
    """Make the folder if need be, for its owner only. Raises RuntimeFolderUnsafe."""
    for left in reversed(range(_TRIES)):
        try:
            _ensure(folder)
        except (FileNotFoundError, FileExistsError) as error:
            # Its last host may have taken it away between two of our steps.
            if not (left and is_stand_in(folder)):
                raise _unusable(folder, error) from error
        except OSError as error:
            raise _unusable(folder, error) from error
        else:
            return


def _ensure(folder: Path) -> None:
    make_folder(folder)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        message = f"the runtime folder {folder} belongs to somebody else: remove it, or set XDG_RUNTIME_DIR"
        raise RuntimeFolderUnsafe(message)
    if stat.S_IMODE(found.st_mode) & 0o077:
        folder.chmod(0o700)
    _check_locks(folder)


def _check_locks(folder: Path) -> None:
    """Raise OSError where the file system has no locks: each host would take its own name for somebody else's."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    finally:
        os.close(descriptor)


def _drop_if_empty(folder: Path) -> None:
    """Take away a folder in /tmp that nobody uses any more; whose host comes into it meanwhile makes it anew."""
    if is_stand_in(folder):
        with contextlib.suppress(OSError):
            folder.rmdir()


def _unusable(folder: Path, error: OSError) -> RuntimeFolderUnsafe:
    why = error.strerror or error
    return RuntimeFolderUnsafe(f"cannot use the runtime folder {folder}: {why}; set XDG_RUNTIME_DIR to another")


class HostFiles(Record, frozen=False):
    """One host's files."""

    folder: Path
    id: str

    @property
    def socket(self) -> Path:
        """Return the socket that its host listens on."""
        return self.folder / f"{self.id}.sock"

    @property
    def lock(self) -> Path:
        """Return the file that its host holds locked."""
        return self.folder / f"{self.id}.lock"

    @property
    def description(self) -> Path:
        """Return the file that describes it."""
        return self.folder / f"{self.id}.json"

    def locate(self, kind: str) -> str:
        """Return the path of one of these files by what its name ends with, in an eighth of the time of a Path."""
        return f"{self.folder}/{self.id}.{kind}"

    def describe(self, description: Record) -> None:
        """Write the description, whole or not at all. Raises OSError."""
        new = self.description.with_suffix(".json.new")
        write_private(new, msgspec.json.encode(description))
        new.replace(self.description)

    def listen(self) -> Listener:
        """Return a listening socket at this place. Raises OSError."""
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        new = self.folder / f"{self.id}.sock.new"
        try:
            listener.bind(str(new))
            new.chmod(0o600)
            listener.listen(64)
            listener.setblocking(False)
            # Under its own name only now: a socket that does not listen yet would be taken for a dead one's.
            new.replace(self.socket)
        except OSError:
            listener.close()
            raise
        return listener

    def remove(self) -> None:
        """Take the files away, the lock last; with the last host's, a folder that only stands in for another."""
        for path in (
            self.socket,
            *(self.folder / f"{self.id}.{kind}" for kind in ("sock.new", "tools")),
            self.description,
            self.lock,
        ):
            with contextlib.suppress(OSError):
                path.unlink()
        _drop_if_empty(self.folder)


def claim(folder: Path) -> tuple[HostFiles, int]:
    """Take a new id in the folder; returns its place and the locked descriptor that makes it ours while it is open.

    Raises RuntimeFolderUnsafe, or OSError when nothing can be written there.
    """
    import secrets  # noqa: PLC0415 - 7 ms, only a new host needs a name

    for _ in range(_TRIES):
        ensure(folder)
        place = HostFiles(folder, secrets.token_hex(3))
        with contextlib.suppress(FileExistsError, FileNotFoundError):
            descriptor = open_private(place.lock, os.O_RDWR | os.O_EXCL)
            if _lock(descriptor) and os.fstat(descriptor).st_nlink:
                return place, descriptor
            os.close(descriptor)  # somebody who tidies up was quicker, and removes it
    raise RuntimeFolderUnsafe(f"the runtime folder {folder} has no free id left")


def claim_name(folder: Path, name: str) -> tuple[HostFiles, int] | None:
    """Take an id that is given, 6 to 12 hexadecimal digits; None: a living host has it. Raises as `claim` does."""
    for _ in range(_TRIES):
        ensure(folder)
        place = HostFiles(folder, name)
        descriptor = open_private(place.lock, os.O_RDWR)
        if not _lock(descriptor):
            os.close(descriptor)
            return None
        if os.fstat(descriptor).st_nlink:
            return place, descriptor
        os.close(descriptor)  # who tidied up has removed it meanwhile
    raise RuntimeFolderUnsafe(f"the runtime folder {folder} is tidied up again and again")


class Held(Record):
    """What descriptions of terminals and of live sessions have in common, and what a terminal's tells besides."""

    id: str
    started_at: str
    session_id: str | None = None
    account: str | None = None
    exit_code: int | None = None  # None: what it holds still runs
    model: str | None = None
    label: str = ""
    cwd: str | None = None

    @property
    def is_running(self) -> bool:
        """Return whether what it holds still runs."""
        return self.exit_code is None


def list_running(folder: Path) -> tuple[Held, ...]:
    """Return what runs in living hosts: as their descriptions have it, nothing tidied up.

    A folder that cannot be read has none.
    """
    try:
        names = os.listdir(folder)  # noqa: PTH208 - names are enough, and there may be thousands
    except OSError:
        return ()
    identities = {match[1] for name in names if (match := _OURS.fullmatch(name))}
    places = [HostFiles(folder, identity) for identity in identities]
    held = [read(place, Held) for place in places if is_held(place)]
    return tuple(each for each in held if each and each.is_running)


def is_held(place: HostFiles) -> bool:
    """Tell whether a host has this place, or is about to take it."""
    try:
        descriptor = os.open(place.locate("lock"), os.O_RDWR | os.O_CLOEXEC)  # not made: its host may be gone by now
    except OSError as error:
        return not isinstance(error, FileNotFoundError)
    try:
        return not _lock(descriptor) or _has_listener(place.socket)
    finally:
        os.close(descriptor)


def survey(folder: Path, kind: type[T], runs_on: Callable[[T], bool] = lambda _: False) -> Survey[T]:
    """List what living hosts hold and remove what dead ones have left; never touches what a living one holds.

    kind: of the descriptions. runs_on: tells of one without a host whether its child has outlived that.
    Raises RuntimeFolderUnsafe when the folder cannot be read, or is somebody else's.
    """
    try:
        names = os.listdir(folder)  # noqa: PTH208 - names are enough, and there may be thousands
    except FileNotFoundError:
        return Survey(())
    except OSError as error:
        raise _unusable(folder, error) from error
    ensure(folder)
    living: list[T] = []
    lost: list[T] = []
    orphaned: list[T] = []
    stale = 0
    for identity in sorted({found[1] for name in names if (found := _OURS.fullmatch(name))}):
        place = HostFiles(folder, identity)
        held = read(place, kind)
        with _lock_if_free(place) as is_dead:
            if not is_dead:
                if held is not None:
                    living.append(held)
                continue
            if held is not None and held.is_running and runs_on(held):
                orphaned.append(held)
                continue
            stale += place.socket.exists()
            place.remove()
            # One whose child had ended owed nobody anything more.
            if held is not None and held.is_running:
                lost.append(held)
    _drop_if_empty(folder)
    oldest_first = tuple(sorted(living, key=lambda one: (one.started_at, one.id)))
    return Survey(oldest_first, tuple(lost), tuple(orphaned), stale)


def read(place: HostFiles, kind: type[T]) -> T | None:
    """Return a description; None when there is none that can be read, or it is another host's."""
    try:
        held = msgspec.json.decode(read_regular(place.locate("json")), type=prepare(kind))
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return held if held.id == place.id else None


@contextlib.contextmanager
def _lock_if_free(place: HostFiles) -> Iterator[bool]:
    """Hold a host's lock for the block if nobody does; yields whether nobody did."""
    try:
        descriptor = open_private(place.lock, os.O_RDWR)
    except OSError:
        yield False
        return
    try:
        yield _lock(descriptor) and not _has_listener(place.socket)
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _has_listener(path: Path) -> bool:
    """Tell whether anybody listens at a socket; the lock said no, so this only guards against a lost lock file."""
    if not path.exists():
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except OSError:
            return True
    return True
