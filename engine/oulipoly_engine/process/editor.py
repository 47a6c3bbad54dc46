"""Open a file in the user's editor: `$VISUAL`, else `$EDITOR`, else `vi`."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from pathlib import Path


def edit(path: Path) -> str | None:
    """Wait until the user leaves the editor; return what is wrong when there is none to start."""
    line = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        argv = [*shlex.split(line), str(path)]
    except ValueError:
        return f"the editor {line!r} cannot be understood: set EDITOR to a program"
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # the editor answers it
    try:
        subprocess.run(argv, check=False)  # noqa: S603 - the user's own editor
    except OSError as error:
        return f"the editor {line!r} cannot be started ({error.strerror or error}): set EDITOR to a program"
    finally:
        signal.signal(signal.SIGINT, before)
    return None
