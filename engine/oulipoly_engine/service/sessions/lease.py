"""Leases: the right to change a session, given to one holder at a time, with a token and an end.

Every decision is made under `sentinel.lock`, which the kernel takes back from a holder that dies; the lease itself is a
file that is written whole or not at all, so a decision finds the old state or the new one. Leases are advisory: they
bind those who ask, never the CLI. One that is held for a block ends with the process that holds it, so that a killed
one keeps nobody waiting; one that was given out lasts until it is released. Both end by the calendar: set forward, it
ends them early; set back, it makes them last longer, for nobody can tell then how long ago they began.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import TypeVar

from oulipoly_engine.clock import Clock, to_text
from oulipoly_engine.core.sessions import lease as lease_file
from oulipoly_engine.core.sessions.lease import DEFAULT_TTL_MS, MAXIMUM_TTL_MS, HeldLease, Owner, ReleaseMark
from oulipoly_engine.errors import LeaseGone, LeaseTokenInvalid, RunnerError, SessionBusy, TtlInvalid
from oulipoly_engine.private_files import make_folder, open_private, sync_folder
from oulipoly_engine.process.liveness import has_ended, here, start_ticks
from oulipoly_engine.process.lock import hold_lock
from oulipoly_engine.records import Record
from oulipoly_engine.regular_files import read_regular

T = TypeVar("T")

_PATIENCE_S = 10.0  # for the sentinel; a decision takes a millisecond


class Lease(Record):
    """A lease as its holder gets it."""

    session_id: str
    token: str  # the only copy: the file keeps a hash
    expires_at: datetime
    path: Path


class Release(Record):
    """The end of a lease."""

    session_id: str
    token: str
    released_at: datetime
    was_released: bool  # already, by an earlier call with the same token


class Leases(Record):
    """The leases in one folder."""

    folder: Path
    clock: Clock

    def acquire(self, session_id: str, account: str, ttl_ms: int = DEFAULT_TTL_MS) -> Lease:
        """Take the lease of a session, in place of one that has expired or whose process has died.

        It outlives this process. Raises TtlInvalid, SessionBusy (a live lease), and RunnerError for one that cannot be
        read or written.
        """
        return self._take(session_id, account, ttl_ms, None)

    def _take(self, session_id: str, account: str, ttl_ms: int, owner: Owner | None) -> Lease:
        if not 1 <= ttl_ms <= MAXIMUM_TTL_MS:
            raise TtlInvalid(f"a lease lasts 1 to {MAXIMUM_TTL_MS} ms, not {ttl_ms}")
        path = self.path(session_id)
        with self._hold_sentinel():
            now = self.clock.now()
            held = _read(path, session_id, lease_file.read_lease)
            if held is not None and held.is_live(now) and not _is_left_behind(held):
                raise busy(held, path)
            token = f"{lease_file.TOKEN_PREFIX}{secrets.token_hex(16)}"
            lease = Lease(session_id, token, now + timedelta(milliseconds=ttl_ms), path)
            mine = HeldLease(session_id, account, lease_file.hash_of(token), now, lease.expires_at, os.getpid(), owner)
            _write(path, mine.to_bytes())
            self._mark_path(session_id).unlink(missing_ok=True)
            return lease

    def release(self, session_id: str, token: str) -> Release:
        """End the lease that a token was given for, an expired one too; doing it again is not an error.

        Raises LeaseTokenInvalid (wrong shape, or another lease's), LeaseGone, and RunnerError for an unreadable lease.
        """
        if not lease_file.is_token(token):
            raise LeaseTokenInvalid(
                "that is not a token of a lease: it is pause_ and 32 hexadecimal digits, as pause-handshake printed it"
            )
        if not self.folder.is_dir():  # nothing was ever leased, and a refusal creates nothing
            raise _describe_gone(session_id)
        with self._hold_sentinel():
            held = _read(self.path(session_id), session_id, lease_file.read_lease)
            if held is not None:
                _check(token, held.token_hash, session_id)
                return self._end(held, token)
            mark = _read(self._mark_path(session_id), session_id, lease_file.read_mark)
            if mark is None:
                raise _describe_gone(session_id)
            _check(token, mark.token_hash, session_id)
            return Release(session_id, token, mark.released_at, was_released=True)

    def live(self, session_id: str) -> HeldLease | None:
        """Return the lease that holds a session now; None when there is none, it has expired or its process has died.

        Raises RunnerError for an unreadable one.
        """
        with _translate_errors(self.path(session_id)):
            held = _read(self.path(session_id), session_id, lease_file.read_lease)
        if held is None or not held.is_live(self.clock.now()) or _is_left_behind(held):
            return None
        return held

    @contextmanager
    def hold(self, session_id: str, account: str, ttl_ms: int = DEFAULT_TTL_MS) -> Iterator[Lease]:
        """Hold a session for the block, or until this process dies.

        If the lease expires meanwhile and goes to another, that one keeps it. What became of the block is what is
        told: a lease that cannot be released ends by itself.
        """
        lease = self._take(session_id, account, ttl_ms, _this_process())
        try:
            yield lease
        finally:
            with contextlib.suppress(RunnerError):
                self._let_go(lease)

    def _let_go(self, lease: Lease) -> None:
        """Remove a lease of ours. Nobody else knows its token, so no mark has to tell whether it was released."""
        self.end_of_dead(lease.session_id, lambda held: lease_file.fits(lease.token, held.token_hash))

    def end_of_dead(self, session_id: str, is_dead: Callable[[HeldLease], bool]) -> bool:
        """Remove a lease whose token nobody has, if it is of a holder that has died; return whether there was one."""
        if not self.path(session_id).exists():
            return False
        with self._hold_sentinel():
            held = _read(self.path(session_id), session_id, lease_file.read_lease)
            if held is None or not is_dead(held):
                return False
            self.path(session_id).unlink()
            return True

    def path(self, session_id: str) -> Path:
        """Return the file of a session's lease."""
        return self.folder / f"session-{session_id}.lock"

    def _mark_path(self, session_id: str) -> Path:
        return self.folder / f"session-{session_id}.released"

    def _end(self, held: HeldLease, token: str) -> Release:
        """Mark a lease as released, then remove it: killed in between, the same call just does it again."""
        now = self.clock.now()
        _write(self._mark_path(held.session_id), ReleaseMark(held.session_id, held.token_hash, now).to_bytes())
        self.path(held.session_id).unlink()
        sync_folder(self.folder)
        return Release(held.session_id, token, now, was_released=False)

    @contextmanager
    def _hold_sentinel(self) -> Iterator[None]:
        """Hold the sentinel for the block."""
        sentinel = self.folder / "sentinel.lock"
        with _translate_errors(sentinel):
            make_folder(self.folder)
            if self.folder.stat().st_mode & 0o077:
                self.folder.chmod(0o700)
            with hold_lock(sentinel, _PATIENCE_S) as is_ours:
                if not is_ours:
                    raise RunnerError(f"{sentinel} stayed locked by another process for {_PATIENCE_S:.0f} s: try again")
                yield


def _read(path: Path, session_id: str, parse: Callable[[bytes, str], T]) -> T | None:
    """Read a file of ours, None when there is none. One that is not as we write it is refused, never guessed at."""
    try:
        return parse(read_regular(path), session_id)
    except FileNotFoundError:
        return None
    except ValueError as error:
        message = f"the lease file {path} cannot be understood: {error}; look at it, and remove it if nobody holds it"
        raise RunnerError(message) from error


def _write(path: Path, content: bytes) -> None:
    """Write a file whole or not at all. Its temporary name is fixed: under the sentinel a leftover is nobody's."""
    temporary = path.with_name(f"{path.name}.tmp")
    temporary.unlink(missing_ok=True)
    try:
        descriptor = open_private(temporary, os.O_WRONLY | os.O_EXCL)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.rename(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def _this_process() -> Owner | None:
    ticks, place = start_ticks(os.getpid()), here()
    return None if ticks is None or place is None else Owner(ticks, place)


def _is_left_behind(held: HeldLease) -> bool:
    """Return whether a lease was to end with its process, and that has died; one elsewhere may still live."""
    owner = held.owner
    return owner is not None and owner.place == here() and has_ended(held.owner_pid, owner.start_ticks)


def _check(token: str, token_hash: str, session_id: str) -> None:
    if not lease_file.fits(token, token_hash):
        message = f"the token does not belong to the lease of session {session_id}, which is kept as it is"
        raise LeaseTokenInvalid(message)


def _describe_gone(session_id: str) -> LeaseGone:
    return LeaseGone(f"session {session_id} has no lease to release")


def busy(held: HeldLease, path: Path) -> SessionBusy:
    """Return the refusal for a session that somebody holds: until when, who, and what to do."""
    until = to_text(held.expires_at)
    message = (
        f"session {held.session_id} is held until {until} by process {held.owner_pid} ({path}): wait, or release it "
        "with its token"
    )
    return SessionBusy(message, token=held.token_hash, expires_at=until)


@contextmanager
def _translate_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        message = f"leases cannot be kept in {path.parent}: {error.strerror or error} ({error.filename or path})"
        raise RunnerError(message) from error
