"""A follower for an app: its modules are loaded, and it begins, once the first screen has had its time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from oulipoly_engine.clock import Clock
from oulipoly_engine.core.accounts.accounts import SessionScripts
from oulipoly_engine.events import ConfigurationChanged, Listeners
from oulipoly_engine.paths import Paths
from oulipoly_engine.process.command import inherited_environment
from oulipoly_engine.records import Record, field
from oulipoly_engine.service.accounts.configuration import Configured
from oulipoly_engine.service.following.notices import Notices
from oulipoly_engine.store.base.db import Store

if TYPE_CHECKING:
    from oulipoly_engine.service.following.follow import Following
    from oulipoly_engine.service.transcripts.ingest import Ingester

_BEGIN_AFTER_S = 1.0
_CLOSING_PATIENCE_S = 3.0


class Sources(Record):
    """Whose transcripts are followed, and who is told."""

    store: Callable[[], Store]  # opens it where it is not open yet; raises RunnerError
    read_configuration: Callable[[], Configured]
    paths: Paths
    ingester: Callable[[Store, Mapping[str, SessionScripts], Listeners], Ingester]
    listeners: Listeners
    clock: Clock
    notices: Notices = field(default_factory=Notices)  # of who shows a transcript


class LateFollower:
    """Follows what a configuration names, whenever that changes, until it is closed."""

    def __init__(self, sources: Sources, begin_after_s: float = _BEGIN_AFTER_S) -> None:
        self._sources = sources
        self._begin_after_s = begin_after_s
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="follow-start", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the follower."""
        self._ended.set()
        self._thread.join(_CLOSING_PATIENCE_S)

    def _run(self) -> None:
        if self._ended.wait(self._begin_after_s):
            return
        from oulipoly_engine.service.following.follow import Follower  # noqa: PLC0415 - 30 ms, which no first frame waits for

        follower = Follower(self._begin, self._sources.clock)
        unsubscribe = self._sources.listeners.subscribe(
            lambda event: follower.renew() if isinstance(event, ConfigurationChanged) else None
        )
        self._ended.wait()
        unsubscribe()
        follower.close()

    def _begin(self) -> Following:
        from oulipoly_engine.service.following.follow import Following  # noqa: PLC0415 - as above
        from oulipoly_engine.service.following.plan import plan  # noqa: PLC0415 - as above

        sources, configured = self._sources, self._sources.read_configuration()
        store, home = sources.store(), sources.paths.home
        followed = plan(configured.accounts, configured.scripts, home, inherited_environment())
        return Following(
            store, sources.ingester(store, configured.scripts, sources.listeners), followed, sources.notices
        )
