"""What is asked about recorded invocations: the tree below one."""

from __future__ import annotations

from functools import cache

from oulipoly_engine.core.runs.trace import DEFAULT_MAX_DEPTH, Node
from oulipoly_engine.facade.base import upkeep
from oulipoly_engine.facade.base.home import Part
from oulipoly_engine.service.runs.trace import Tracer


class Trace(Part):
    """The recorded invocations of one user."""

    def tree(self, invocation: str, *, max_depth: int = DEFAULT_MAX_DEPTH, inline_transcript: bool = False) -> Node:
        """Return an invocation with everything that it started, so many levels deep. Raises InvocationNotFound.

        inline_transcript: with the stored text of each session.
        """
        home = self._home
        with home.lend_store_to_read() as store:
            upkeep.enter_runs(home, store)
            tracer = Tracer(
                store,
                cache(lambda: home.checked_files.quiet().scripts()),  # read only where a session is to be located
                home.paths.data / "sessions",
                home=home.paths.home,
                max_depth=max_depth,
                inline_transcript=inline_transcript,
                results=home.paths.results,
            )
            return tracer.trace(invocation)
