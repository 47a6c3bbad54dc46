"""What the database's exceptions mean: the one place that turns them into errors that name the file and the way on."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

from oulipoly_engine.errors import (
    RunnerError,
    StoreDamaged,
    StoreLocked,
    StoreNotWritable,
    StoreUnusable,
    UsageInvalid,
)
from oulipoly_engine.store.base import schema

_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_TOOBIG}
_NO_RIGHTS = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH}
_NO_SPACE = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR}
_LOCKED = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_OTHER_SHAPE = ("no such table", "no such column", "has no column named", "no such index", "already exists")


def make_damage(path: Path, what: str) -> StoreDamaged:
    """Return the error of a state file that is damaged. what: where, or how that shows."""
    return StoreDamaged(f"the state file {path} is damaged ({what}); {schema.WAY_OUT}")


def make_refusal(path: Path, why: str) -> StoreNotWritable:
    """Return the error of a state file that may not be written."""
    return StoreNotWritable(
        f"the state file {path} cannot be opened for writing ({why}): check the rights of the file and its folder, or "
        "set OULIPOLY_DATA_DIR to a writable folder"
    )


def translate(path: Path, error: Exception, is_current: Callable[[], bool]) -> RunnerError:
    """Return what one of DATABASE_ERRORS means.

    is_current: tells whether the file says that it has our present schema, so that nothing of it can be missing.
    """
    if isinstance(error, UnicodeEncodeError):
        return UsageInvalid(f"{error.object!a} is not valid text (UTF-8), so nothing stored can have it: correct it")
    if isinstance(error, OverflowError):
        return UsageInvalid(f"a number is larger than a state file can hold ({error}): give a smaller one")
    original = getattr(error, "orig", error)  # what peewee has wrapped
    text = str(original)
    code = getattr(original, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF  # without what is more precise
    is_undecodable = isinstance(original, UnicodeDecodeError) or "Could not decode to UTF-8" in text
    if code in _DAMAGED or is_undecodable or "malformed" in text:
        return make_damage(path, text)
    if code in _NO_RIGHTS:
        return make_refusal(path, text)
    if code in _NO_SPACE:
        return StoreNotWritable(
            f"the disk that holds the state file {path} is full or failing ({text}): free some space"
        )
    if code in _LOCKED:
        return StoreLocked(
            f"the state file {path} stayed locked by another process for {schema.BUSY_TIMEOUT_S:.0f} s: try again, or "
            "end the process that holds it"
        )
    if any(words in text for words in _OTHER_SHAPE):
        if is_current():
            return make_damage(path, text)
        return StoreUnusable(  # deleted or replaced under us: SQLite has made an empty one in its place
            f"the state file {path} was taken away while it was in use ({text}): restore it, or start again, which "
            "makes a fresh one"
        )
    return StoreUnusable(f"the state file {path} cannot be used: {text}; if that stays so, {schema.WAY_OUT}")
