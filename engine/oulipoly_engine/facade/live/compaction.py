"""Compaction of live sessions by a model, where their CLI has none of its own.

The session's host lets no turn begin while the model works, and takes the summary; its next process is told that, and
what was said last. Whoever is killed on the way has changed nothing.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from oulipoly_engine.core.live import orders
from oulipoly_engine.core.sessions import compaction
from oulipoly_engine.core.sessions.compaction import Hidden, Plan
from oulipoly_engine.core.sessions.tree_lines import short_id
from oulipoly_engine.core.text.redact import redact
from oulipoly_engine.drivers.base import NotSupported
from oulipoly_engine.errors import RequestRefused, RunnerError
from oulipoly_engine.facade.live import standing
from oulipoly_engine.facade.live.connections import LiveConnections
from oulipoly_engine.host.link import HostGone
from oulipoly_engine.private_files import make_folder
from oulipoly_engine.records import asdict, replace
from oulipoly_engine.service.live import hosts
from oulipoly_engine.service.live.forks import read_messages
from oulipoly_engine.service.live.hosts import LiveClient, OrderRefused
from oulipoly_engine.store.live import live_queue

if TYPE_CHECKING:
    from oulipoly_engine.core.accounts.accounts import Model
    from oulipoly_engine.core.live.sessions import LiveSession

_PURPOSE = "compaction"  # how traces tell these runs from others
_ANSWER_S = 180.0  # of one run
_LONGEST = 64 << 10  # bytes of a summary


class LiveCompactions(LiveConnections):
    """Ways to shorten what live sessions remember."""

    def order(self, identity: str, order: orders.Order, *, starts: bool) -> dict[str, Any]:
        """Have a session do something; one whose CLI cannot compact is compacted by a model. Raises RunnerError."""
        try:
            return super().order(identity, order, starts=starts)
        except OrderRefused as error:
            if not isinstance(order, orders.Compact) or error.slug != NotSupported.slug:
                raise
        return self._compact(self.find(identity))

    def plan_compaction(self, identity: str) -> Plan:
        """Return what a compaction by a model would hide. Raises RequestRefused where there is nothing to hide."""
        session = self.find(identity)
        if "compaction" in (session.opening.capabilities or ()):
            raise RequestRefused("its CLI compacts by itself, and does not tell before what that hides")
        return self._plan(session)

    def _plan(self, session: LiveSession) -> Plan:
        keep_recent = self._home.files.settings().compaction_keep_recent
        with self._home.lend_store() as store:
            former_summary, messages = read_messages(store, session)
            counted = standing.describe(store, self._home, (session,), self._client)[0].usage.get("context")
        plan = compaction.plan(messages, former_summary, counted, keep_recent)
        if not plan.hidden:
            raise RequestRefused(
                f"there is nothing to compact: the session has {len(messages)} messages, and the last "
                f"{keep_recent} stay as they are"
            )
        return plan

    def compact_when_due(self, identity: str) -> None:
        """Compact a session whose context is almost full; where that fails, it goes on as it is."""
        session = self.find(identity)
        if session.opening.compaction == "due" and not self._home.read_only:
            with suppress(RunnerError):  # its host has told why
                self._compact(session, "automatic")

    def _compact(self, session: LiveSession, reason: compaction.Reason = "manual") -> dict[str, Any]:
        self._home.refuse_if_read_only("compact a live session")
        client, _ = self._give(session, orders.BeginCompaction(reason))
        with client:
            try:
                plan = self._plan(self.find(session.session_id))
                instructions = self._home.files.settings().compaction_instructions
                model = self._summary_model(session.model_name)
                summary = self._summarise(plan, model, instructions, client=client)
            except RunnerError as error:
                failed = orders.EndCompaction(failure=error.message, is_automatic=reason != "manual")
                with suppress(RunnerError):
                    client.order(failed)
                raise
            hides = plan.hide(summary)
            try:
                answer = client.order(orders.EndCompaction(summary, hides))
            except HostGone as error:
                hosts.wait_for_end(self._home.paths, session.session_id)
                raise RequestRefused(f"nothing was compacted: {self._why_ended(session.session_id)}") from error
        hosts.wait_for_end(self._home.paths, session.session_id)
        with self._home.lend_store_to_read() as store:
            has_waiting = bool(live_queue.waiting(store, session.session_id))
        if has_waiting:
            self._connect(self.find(session.session_id)).close()
        return answer | asdict(hides) | {"message": describe(plan, hides, session.session_id)}

    def _summary_model(self, of_session: str) -> Model:
        """Return who sums up: a pool whose CLIs may only answer. Raises RequestRefused where none is named."""
        from oulipoly_engine.service.setup.answer_only import answer_only  # noqa: PLC0415 - few sessions are compacted

        files = self._home.files
        name = files.settings().compaction_model or of_session
        if name not in files.model_names():
            raise RequestRefused("name a model to sum up as `compaction_model` in config.toml: the session has none")
        model = files.model(name)
        allowed, others = answer_only(model, files.accounts(), self._home.paths.home, _PURPOSE)
        members = tuple(member for member in allowed.members if member.account not in others)
        if not members:
            raise RequestRefused(
                f"no account of {name!r} has a CLI whose tools can be switched off, and a summary needs none: set "
                "`compaction_model` in config.toml to another model"
            )
        return replace(allowed, members=members)

    def _summarise(
        self, plan: Plan, model: Model, instructions: str, *task: str, client: LiveClient | None = None
    ) -> str:
        from oulipoly_engine.facade.runs.one_shots import OneShots, Request  # noqa: PLC0415 - as above

        folder = self._home.paths.data / "compaction"  # empty: no project's instructions are read
        make_folder(folder)
        summary = plan.former_summary
        for done, batch in enumerate(plan.batches):
            if done and client is not None:
                with suppress(OrderRefused):  # an old host tells nothing
                    client.order(orders.NoteCompaction(done, len(plan.batches)))
            prompt = compaction.write_prompt(batch, summary, instructions, *task)
            answered = OneShots(self._home).ask(Request(model, prompt, folder, timeout_s=_ANSWER_S), _LONGEST)
            answer = compaction.read_summary(answered.text)
            if answered.failure is not None or not answer:
                who = answered.account or "no account"
                raise RequestRefused(f"{who}: {answered.failure or 'it answered nothing'}")
            summary = redact(answer)
        return summary


def describe(plan: Plan, hides: Hidden, session_id: str) -> str:
    """Say what a compaction has hidden, and how it is undone."""
    last = short_id(plan.kept[-1].entry_id)
    return (
        f"{len(plan.hidden)} messages are hidden behind a summary: about {hides.tokens_before:,} tokens before, "
        f"{hides.tokens_after:,} after; `agents session branch {session_id[:8]} {last}` undoes it"
    )
