"""Whether a process still lives."""

from __future__ import annotations

import os


def is_alive(pid: int) -> bool:
    """Tell whether any process has that number; a number may have been given to another one since."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's, so not the one that ran as us
        return False
    return True
