"""What lies in the place of a state file: whether it is a file, and whether a log lies beside it. Without peewee."""

from __future__ import annotations

import os
from pathlib import Path

from oulipoly_engine.errors import StoreUnusable
from oulipoly_engine.regular_files import check_regular

# Without a log the file is the whole; `immutable` takes no locks and looks for no other file.
ALONE = "mode=ro&immutable=1"


def refuse_other_kinds(path: Path) -> None:
    """Raise StoreUnusable for what is not a file in place of the state file or of what SQLite keeps beside it.

    To open a FIFO would wait for ever.
    """
    for side in ("", "-wal", "-shm", "-journal"):
        place = f"{path}{side}"
        try:
            check_regular(os.stat(place), place)  # noqa: PTH116 - pathlib's takes five times as long
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, ValueError) as error:
            reason = reason_of(error)
            message = f"the state file {place} cannot be used: {reason}; move it away, or set OULIPOLY_DATA_DIR"
            raise StoreUnusable(message) from error


def reason_of(error: OSError | ValueError) -> str:
    """Return what the system says was wrong."""
    return getattr(error, "strerror", None) or str(error)


def read_only_uri(path: Path) -> str:
    """Return a URI that reads a state file and makes no side files, as far as a log allows: it needs `-shm` beside it.

    A plain read-only connection would make it also where there is no log, and an immutable one would miss a log.
    """
    return f"{path.absolute().as_uri()}?{'mode=ro' if has_log(path) else ALONE}"


def has_log(path: Path) -> bool:
    """Return whether changes lie beside a database that are not in it yet."""
    try:
        return os.stat(f"{path}-wal").st_size > 0  # noqa: PTH116 - 2 us instead of 10
    except OSError:
        return False
