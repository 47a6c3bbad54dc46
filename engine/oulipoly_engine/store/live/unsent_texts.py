"""Messages that hold a secret, as they were written, until their CLI has them: a private file each.

The state file has every message without its secrets: viewers, copies and backups read it. What the CLI is to get must
outlast a host that is killed, and stands here for that long.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from oulipoly_engine.core.text.redact import redact
from oulipoly_engine.errors import StoreUnusable
from oulipoly_engine.private_files import make_folder, open_private
from oulipoly_engine.store.base.db import Store


def keep(store: Store, message_id: str, text: str) -> str:
    """Return a message without its secrets, which are kept beside the state file where it has any.

    Raises StoreUnusable where they cannot be kept.
    """
    clean = redact(text)
    if clean == text:
        drop(store, message_id)
        return clean
    path = _path(store, message_id)
    fresh = path.with_suffix(".new")
    try:
        make_folder(path.parent)
        with os.fdopen(open_private(fresh, os.O_WRONLY | os.O_TRUNC), "wb") as file:
            file.write(text.encode("utf-8", "surrogatepass"))
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    except OSError as error:
        raise StoreUnusable(f"the message cannot be kept: {error}") from error
    return clean


def read(store: Store, message_id: str, clean: str) -> str:
    """Return a message as it was written. clean: as the state file has it, for those that hold no secret."""
    try:
        return _path(store, message_id).read_bytes().decode("utf-8", "surrogatepass")
    except OSError:
        return clean


def drop(store: Store, message_id: str) -> None:
    """Forget what a message has said: its CLI has it, or nobody wants it any more."""
    with suppress(OSError):
        _path(store, message_id).unlink()


def keep_only(store: Store, message_ids: Iterable[str]) -> None:
    """Forget all messages but these: a process that was killed may have left some."""
    wanted = {_path(store, identity).name for identity in message_ids}
    with suppress(OSError), os.scandir(_folder(store)) as entries:
        for entry in entries:
            if entry.name not in wanted:
                Path(entry).unlink(missing_ok=True)


def _folder(store: Store) -> Path:
    return store.path.with_name(f"{store.path.name}-unsent")


def _path(store: Store, message_id: str) -> Path:
    # An id may come from outside, and is the name of a file here.
    return _folder(store) / hashlib.sha256(message_id.encode("utf-8", "surrogatepass")).hexdigest()
