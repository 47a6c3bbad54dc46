"""One-shots for a face that waits for them: a prompt to a model's pool, or an answer to a session."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine import stopping
from oulipoly_engine.core.runs import markers
from oulipoly_engine.errors import AccountUnusable
from oulipoly_engine.facade.base.home import Home, Part
from oulipoly_engine.process.signals import interruptible
from oulipoly_engine.records import Record
from oulipoly_engine.service.runs.attempt import Face
from oulipoly_engine.service.runs.invoke import PROMPT_RESOLUTION, DispatchFailed, Invoked, Invoker, Request
from oulipoly_engine.service.runs.run_text import list_files
from oulipoly_engine.store.base.db import Store

if TYPE_CHECKING:
    from oulipoly_engine.core.accounts.accounts import Agent, Model
    from oulipoly_engine.core.sessions.resolve import Chain, ResolvedSession
    from oulipoly_engine.service.runs.resume import ResumeRequest
    from oulipoly_engine.store.archive.copies import KeptCopy

_SHOWN_FAILURE = 300  # characters
_MOST_UNREAD = 100  # runs whose texts wait to be entered

__all__ = ["PROMPT_RESOLUTION", "DispatchFailed", "Invoked", "Request"]


class Answered(Record):
    """What came of a prompt whose answer is wanted as text."""

    account: str  # "": none could serve
    text: str
    failure: str | None = None  # a sentence; None: it was answered
    is_cut: bool = False  # the answer was longer than wanted, so its CLI was stopped
    timed_out: bool = False


class OneShots(Part):
    """The one-shots of one user."""

    @contextmanager
    def open(self, face: Face) -> Iterator[OneShotRunner]:
        """Open the state file before anything else, since nothing may run that leaves no record, and lend a runner.

        face: where what the user sees goes. Raises StoreUnusable and ConfigInvalid.
        """
        with self._home.lend_store() as store:
            runner = OneShotRunner(self._home, store, face)
            runner.settle_telemetry()
            try:
                yield runner
            finally:
                runner.settle_telemetry()

    def ask(self, request: Request, longest: int) -> Answered:
        """Send a prompt and return the answer; nothing is shown. longest: bytes of it.

        Raises StoreUnusable, ConfigInvalid, Interrupted, and Stopped where the user of this thread's work stops it.
        """
        listener = _Listener(longest)
        try:
            with self.open(listener) as runner, interruptible() as guard:
                done = runner.run(request, asks_diagnosis=False)
                guard.check()
                stopping.check()
                runner.follow_up(done)
        except DispatchFailed as error:
            return Answered("", "", error.message)
        account, text = listener.account, listener.text.decode("utf-8", "replace")
        if listener.is_cut:
            return Answered(account, text, f"its answer is longer than {longest} bytes", is_cut=True)
        if done.result.success:
            return Answered(account, text)
        timed_out = done.result.terminal_reason == "timeout"
        failure = done.error.message if done.error is not None else listener.failure or "it says nothing"
        return Answered(account, text, "it did not answer in time" if timed_out else failure, timed_out=timed_out)

    def sessions_meant(self, text: str) -> tuple[Chain, ...]:
        """Return the sessions that an id may mean, the last used first. Raises SessionNotFound and SessionAmbiguous."""
        from oulipoly_engine.service.sessions.locate import check_id, find_typed  # noqa: PLC0415 - with the next: no run needs it
        from oulipoly_engine.store.sessions import chains  # noqa: PLC0415 - see above

        check_id(text)
        with self._home.lend_store_to_read() as store:
            found = chains.find_owning_chains(store, text.lower())
            found = found or chains.find_owning_chains(store, find_typed(store, text, self._home.now()).chain_id)
        return tuple(sorted(found, key=lambda one: one.last_used_at, reverse=True))


class _Listener:
    """Takes what the CLI says, and of what is said about the run only what names the account and a failure."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self.text = b""
        self.account = ""
        self._error = b""
        self._diagnosis = ""
        self.is_cut = False

    @property
    def failure(self) -> str:
        """Return why it failed, as far as anybody has said so."""
        said = " ".join(self._error.decode("utf-8", "replace").split())
        return (self._diagnosis or said)[:_SHOWN_FAILURE]

    def stdout(self, data: bytes | memoryview) -> None:
        """Keep the answer, and leave when it gets too long."""
        self.text += bytes(data)
        if len(self.text) > self._longest:
            self.is_cut = True
            raise BrokenPipeError

    def stderr(self, data: bytes | memoryview) -> None:
        """Keep the end."""
        self._error = (self._error + bytes(data))[-4096:]

    def note(self, line: str) -> None:
        """Keep what names the account, and the diagnosis of a failure."""
        if line.startswith(markers.INVOCATION):
            self.account = str(json.loads(line.removeprefix(markers.INVOCATION)).get("source", ""))
            self.text = b""  # of an account before it
        elif line.startswith("[diagnostics] "):
            self._diagnosis = line.removeprefix("[diagnostics] ")


class OneShotRunner:
    """Runs one prompt after the other while the state file is open; accounts and settings are read once."""

    def __init__(self, home: Home, store: Store, face: Face) -> None:
        self._home, self._store, self._face = home, store, face
        self._files = home.checked_files
        self._accounts, self._settings = self._files.accounts(), self._files.settings()
        self._invoker: Invoker | None = None
        self._resumed: ResolvedSession | None = None

    def settle_telemetry(self) -> None:
        """Have telemetry be told of runs, or not, as the settings say."""
        self._home.settle_telemetry(self._store, is_on=self._settings.telemetry)

    def model(self, name: str, agent: str | None = None) -> Model:
        """Return a model. agent: who names it. Raises ModelUnknown or ConfigInvalid."""
        return self._files.model(name, self._accounts, agent)

    def agent(self, name: str) -> Agent:
        """Return an agent. Raises AgentUnknown or AgentFileInvalid."""
        return self._files.agent(name)

    def agent_file(self, path: Path) -> Agent:
        """Return the agent in a file anywhere. Raises AgentFileInvalid."""
        return self._files.agent_file(path)

    def run(self, request: Request, *, asks_diagnosis: bool = True) -> Invoked:
        """Run a prompt on a pool. asks_diagnosis: the diagnostics model may be asked why it failed.

        Raises DispatchFailed when no account could serve.
        """
        self._invoker = self._new_invoker(asks_diagnosis=asks_diagnosis)
        return self._invoker.invoke(request)

    def resume(
        self,
        wish: ResumeRequest,
        prompt: str,
        here: Path,
        parent: markers.ParentRef | None = None,
        timeout_s: float | None = None,
        *,
        is_shown: bool,
    ) -> Invoked:
        """Give a session an answer. here: our folder, for a session whose own cannot be told.

        is_shown: a person sees our notes. Raises RequestRefused with what is wrong, and DispatchFailed.
        """
        from oulipoly_engine.facade.base import upkeep  # noqa: PLC0415 - with the next
        from oulipoly_engine.service.runs.resume import ResumeChoice  # noqa: PLC0415 - 30 ms, only to resume

        home, store, files = self._home, self._store, self._files
        wiring, scripts = home.wiring, files.scripts()
        mover = upkeep.mover(home, store, wiring.locator(self._accounts, scripts))
        fresh = wiring.freshness(store, self._accounts, scripts, home.note, home.listeners)
        resumer = wiring.resumer(
            store, self._accounts, files.models, self._settings, mover, fresh, note=home.note, is_shown=is_shown
        )
        with interruptible() as guard:
            guard.arm()
            settled = resumer.settle(wish, here)
            guard.disarm()
            self._resumed = settled.session
            self._invoker = self._new_invoker(asks_diagnosis=True)
            request = Request(settled.model, prompt, settled.working_directory, parent=parent, timeout_s=timeout_s)
            return self._invoker.invoke(request, ResumeChoice(resumer, settled))

    def kept_copy(self) -> KeptCopy | None:
        """Return the kept copy of the resumed session's transcript if its CLI has deleted that."""
        from oulipoly_engine.service.reading.source import find_copy_of_deleted  # noqa: PLC0415 - only where something is missing

        return None if self._resumed is None else find_copy_of_deleted(self._store, self._resumed)

    def follow_up(self, invoked: Invoked) -> None:
        """Store and keep what runs have left, and the transcripts of the run's account, once its answer is out."""
        home = self._home
        if len(list_files(home.paths.results)) > _MOST_UNREAD:
            from oulipoly_engine.facade.base import upkeep  # noqa: PLC0415 - one run in a hundred, where nobody looks

            upkeep.enter_runs(home, self._store)
        fresh = None if self._invoker is None else self._invoker.freshness
        if fresh is None or invoked.result.provider_name not in fresh.scripts:
            return
        from oulipoly_engine.facade.base import upkeep  # noqa: PLC0415 - only where a turn script reads transcripts

        upkeep.follow_up(home, self._store, fresh, invoked.result)

    def _new_invoker(self, *, asks_diagnosis: bool) -> Invoker:
        store, accounts, wiring = self._store, self._accounts, self._home.wiring
        fresh = wiring.freshness(store, accounts, self._files.scripts(), self._face.note, self._home.listeners)
        ask = self._asker() if asks_diagnosis else None
        hand_over = self._home.hand_over(store, self._settings)
        return wiring.invoker(store, accounts, self._settings, self._face, fresh, ask, hand_over)

    def _asker(self) -> Callable[[str], str] | None:
        """Return what asks the diagnostics model; None where none is configured."""
        name = self._settings.diagnostics_model
        if name is None:
            return None

        def ask(text: str) -> str:
            from oulipoly_engine.service.runs.diagnosis import ask_account  # noqa: PLC0415 - only after a failure

            member = self._files.quiet().model(name, self._accounts).members[0]
            account = self._accounts.get(member.account)
            if account is None:
                raise AccountUnusable(f"its account {member.account!r} is not in providers.toml")
            return ask_account(account, member, text)

        return ask
