"""Replace this process by another program, so that signals, exit code and the terminal are that program's own."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import NoReturn


def replace_process(argv: Sequence[str], env: Mapping[str, str]) -> NoReturn:
    """Flush our streams and run `argv` in our place; never returns."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os.execve(argv[0], list(argv), dict(env))  # noqa: S606 - no shell is wanted
