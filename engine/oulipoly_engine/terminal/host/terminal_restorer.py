"""Restore the real terminal if we are killed, which only another process can do then.

That one is a small shell: it is told what to write, keeps the last that it was told, and writes it when our end of the
pipe is closed, whoever closed it. Told nothing last, it writes nothing.
"""

from __future__ import annotations

import contextlib
import subprocess
from types import TracebackType
from typing import IO, Self

_PATIENCE_S = 2.0  # for the shell to end once it has nothing to do
# `%b` reads the octal numbers; every signal that a closed window or a key sends to us is none of its business.
_SCRIPT = "trap '' HUP INT QUIT TERM TSTP; w=; while IFS= read -r line; do w=$line; done; printf %b \"$w\""


class TerminalRestorer:
    """A shell that writes bytes to the terminal when our process has ended."""

    def __init__(self) -> None:
        """Start it. Without a shell nothing is written, which is how it would be without this."""
        self._shell: subprocess.Popen[bytes] | None = None
        with contextlib.suppress(OSError):
            self._shell = subprocess.Popen(  # noqa: S603 - our own few words
                ("/bin/sh", "-c", _SCRIPT),
                stdin=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd="/",
                start_new_session=True,  # a signal to our group is not for it
            )

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Have it write nothing, and end it."""
        self.set_bytes(b"")
        if self._shell is None:
            return
        with contextlib.suppress(OSError):
            self._pipe.close()
        try:
            self._shell.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._shell.kill()
            self._shell.wait()

    def set_bytes(self, data: bytes) -> None:
        """Set the bytes to write, in place of earlier ones; empty: nothing is written."""
        if self._shell is not None:
            with contextlib.suppress(OSError):
                self._pipe.write(b"".join(b"\\0%03o" % byte for byte in data) + b"\n")
                self._pipe.flush()

    @property
    def _pipe(self) -> IO[bytes]:
        assert self._shell is not None  # noqa: S101 - asked only with a shell
        assert self._shell.stdin is not None  # noqa: S101 - started with a pipe
        return self._shell.stdin
