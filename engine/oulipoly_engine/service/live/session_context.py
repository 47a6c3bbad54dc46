"""How full the context of one live session is: told when it is almost full, and when it is to be compacted."""

from __future__ import annotations

from collections.abc import Callable

from oulipoly_engine.core.live import events as ev
from oulipoly_engine.core.sessions import compaction
from oulipoly_engine.core.sessions.compaction import Rules, Verdict
from oulipoly_engine.drivers.base import Driver
from oulipoly_engine.service.live.forks import ContextSize, guess_context
from oulipoly_engine.service.live.turn.session_record import SessionRecord
from oulipoly_engine.store.base.db import Store


class Context:
    """The context of a session, judged after each turn."""

    def __init__(
        self, store: Store, record: SessionRecord, driver: Driver, rules: Rules, say: Callable[[ev.AnyEvent], None]
    ) -> None:
        """say: takes what has happened."""
        self._store = store
        self._record = record
        self._driver = driver
        self._say = say
        self.rules = rules
        self.has_overflowed = False  # a turn has failed because its context was too long
        self._verdict = Verdict.NOTHING  # that was told last
        self._size = ContextSize()

    def judge(self, usage: ev.Usage, *, is_overflow: bool) -> None:
        """Tell when the context is almost full. Where the CLI does not count, its length is guessed."""
        window = usage.window or self.rules.window
        if not self.rules.is_enabled or not (window or is_overflow):
            return
        if self._record.session.opening.compaction not in ("idle", "paused"):  # later releases may know more
            return
        self.has_overflowed = is_overflow
        if is_overflow:
            verdict = Verdict.COMPACT
            text = "the context is too long for the CLI"
        else:
            tokens = usage.context or self._guess()
            verdict = compaction.judge(tokens, window, self.rules)
            text = f"about {tokens / window:.0%} of the context is used"
        is_told = verdict is self._verdict and not is_overflow  # also after a compaction that nobody wanted
        self._verdict = verdict
        if is_told or verdict is Verdict.NOTHING:
            return
        code = "context_almost_full"
        if verdict is Verdict.COMPACT and not self._driver.capabilities.compaction:
            state = compaction.next_state(self._record.session.opening.compaction, "fill")
            self._record.change_opening(compaction=state)
            code = "compaction_due" if state == "due" else code
            way = "`/compact` compacts it" if state == "paused" else "it is compacted before the next message"
            text = f"{text}: {way}"
        self._say(ev.Notice(text, "warning", code))

    def _guess(self) -> int:
        if self._driver.capabilities.compaction:  # it compacts when it has to
            return 0
        self._size = guess_context(self._store, self._record.session, self._size)
        return self._size.tokens
