"""Which limit of its box a program meets while it runs; the files that it writes are looked at by a thread."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Self

from oulipoly_engine.core.agents.limits import Refusals, explain_disk, explain_end
from oulipoly_engine.core.boxes.box import Box, Level, Limits
from oulipoly_engine.process.boxes.disk import is_beyond
from oulipoly_engine.process.boxes.groups import count_refusals
from oulipoly_engine.process.stop import group_lives, stop_group

_REST_S = 1.0  # between two looks at files, or so many times what the last one has taken
_REST_SHARE = 10


class LimitWatch:
    """Watches one program from its start to its end."""

    def __init__(self, box: Box | None) -> None:
        """box: of the program, which has not been started yet."""
        self._box = box or Box(Level.NONE)
        self._before = count_refusals(self._box.group)
        self._end = threading.Event()
        self.is_beyond = False  # its files have taken more, and it was ended for that
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Look no more."""
        self._end.set()
        if self._thread is not None:
            self._thread.join()

    def begin(self, pid: int) -> None:
        """Look at its files from now on, if they are limited, and end its group once they take more."""
        if self._box.limits.tree_bytes is not None:
            self._thread = threading.Thread(target=self._look, args=(pid, self._box.limits.tree_bytes), daemon=True)
            self._thread.start()

    def explain(self, exit_code: int, stderr: bytes, limits: Limits | None = None) -> str:
        """Say which limit has ended it; empty: none, as far as is known. As `explain_end` takes it.

        limits: of a program without a box.
        """
        limits = limits or self._box.limits
        if self.is_beyond and limits.tree_bytes is not None:
            return explain_disk(limits.tree_bytes, self._box.tree)
        now = count_refusals(self._box.group)
        refusals = Refusals(now.memory - self._before.memory, now.processes - self._before.processes)
        return explain_end(limits, exit_code, stderr, refusals)

    def _look(self, pid: int, most: int) -> None:
        rest_s = _REST_S
        while not self._end.wait(rest_s):
            began = time.monotonic()
            if is_beyond(Path(self._box.tree), most):
                self.is_beyond = True
                stop_group(pid, lambda: not group_lives(pid))
                return
            rest_s = max(_REST_S, _REST_SHARE * (time.monotonic() - began))
