"""What is asked and ordered about runtimes: the CLIs that live sessions are opened on. Every method blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine.core.accounts.clis.cli import LoginCommand
from oulipoly_engine.core.live.events import ModelInfo
from oulipoly_engine.core.live.launch.catalogue import SESSIONS_LOST, SESSIONS_LOST_CODE, Catalogue, describe_left_out
from oulipoly_engine.core.live.runtime_status import (
    AnyStatus,
    Diagnostic,
    Disabled,
    Ready,
    RuntimeSummary,
    describe_cause,
    describe_status,
    summarize,
)
from oulipoly_engine.core.live.runtimes import Runtime
from oulipoly_engine.core.text.nearest import nearest
from oulipoly_engine.errors import LoginFailed, ProgramMissing, RequestRefused, RuntimeUnknown, RuntimeUnusable
from oulipoly_engine.facade.base.home import Home
from oulipoly_engine.facade.live.catalogue import catalogue_of
from oulipoly_engine.process.command import Command, inherited_environment
from oulipoly_engine.records import asdict
from oulipoly_engine.service.live.runtimes.programs import find_program, launch_environment

if TYPE_CHECKING:
    from oulipoly_engine.store.live.probes import KeptProbe

# ruff: noqa: PLC0415 - a list of runtimes starts nothing and needs no terminal

_LONGEST_SAID = 200  # characters


class Runtimes:
    """The runtimes of one user."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._assumed: dict[str, Mapping[str, bool]] = {}

    def catalogue(self) -> Catalogue:
        """Return the runtimes of accounts and of config.toml; what is wrong with entries of it is told."""
        return catalogue_of(self._home)

    def find(self, name: str) -> Runtime:
        """Return a runtime by its id. Raises RuntimeUnknown, which names the nearest one."""
        return self._find(self.catalogue(), name)

    def summaries(self) -> tuple[RuntimeSummary, ...]:
        """Return how every runtime stood when it was last asked; none is started."""
        catalogue = self.catalogue()
        return self._summarize(catalogue, catalogue.runtimes)

    def summary(self, name: str) -> RuntimeSummary:
        """Return how a runtime stood when it was last asked. Raises RuntimeUnknown."""
        catalogue = self.catalogue()
        return self._summarize(catalogue, (self._find(catalogue, name),))[0]

    def refresh(self, names: Sequence[str] = ()) -> tuple[RuntimeSummary, ...]:
        """Start runtimes, side by side, let each say who it is, and keep that; by default all that are enabled.

        Raises RuntimeUnknown.
        """
        from oulipoly_engine.process.thread_pool import do_side_by_side

        self._home.refuse_if_read_only("ask a runtime")
        catalogue = self.catalogue()
        asked = tuple(self._find(catalogue, name) for name in names) or catalogue.runtimes
        jobs = [partial(self._probe, catalogue, runtime) for runtime in asked if runtime.is_enabled]
        for runtime, kept in do_side_by_side(jobs):
            self._keep(runtime, kept)
        return self._summarize(catalogue, asked)

    def statuses(self, asked: Set[str] = frozenset()) -> Mapping[str, AnyStatus]:
        """Return how the runtimes stand, by their ids; those of `asked` that there are say so themselves, now."""
        known = {one.runtime.id: one.status for one in self.summaries()}
        names = sorted(asked & known.keys())
        return known | {one.runtime.id: one.status for one in self.refresh(names)} if names else known

    def models(self, name: str) -> tuple[ModelInfo, ...]:
        """Return the models of a runtime, which is asked for them where it never was.

        Raises RuntimeUnknown, and RuntimeUnusable where there are none.
        """
        summary = self.summary(name)
        if not any(not model.is_custom for model in summary.models) and not isinstance(summary.status, Disabled):
            (summary,) = self.refresh((name,))
        if summary.models:
            return summary.models
        cause = describe_cause(summary.status)
        why = "it tells of none" if isinstance(summary.status, Ready) else describe_status(summary.status)
        raise RuntimeUnusable(f"the runtime {name!r} has no models: {why}{': ' + cause if cause else ''}")

    def log_in(self, name: str) -> RuntimeSummary:
        """Run the login of a runtime's CLI in this process's terminal, and ask the runtime again.

        Raises RuntimeUnknown, RequestRefused where it does not end well, Interrupted where a signal ended it.
        """
        from oulipoly_engine.facade.accounts.logins import run_login

        self._home.refuse_if_read_only("log in")
        catalogue = self.catalogue()
        runtime = self._find(catalogue, name)
        login = catalogue.clis[runtime.id].login if runtime.id in catalogue.clis else None
        run_login(self._command(runtime, login, "log in to"), runtime.name)
        return self.refresh((runtime.id,))[0]

    def log_out(self, name: str) -> RuntimeSummary:
        """Run the logout of a runtime's CLI, and ask the runtime again. Raises as `log_in`."""
        from oulipoly_engine.facade.accounts.logins import run_login
        from oulipoly_engine.process.script import EXEC, run_script

        self._home.refuse_if_read_only("log out")
        catalogue = self.catalogue()
        runtime = self._find(catalogue, name)
        logout = catalogue.clis[runtime.id].logout if runtime.id in catalogue.clis else None
        command = self._command(runtime, logout, "log out of")
        if logout is not None and logout.hint:
            run_login(command, runtime.name, "logout")
        else:
            done = run_script(EXEC, command.env, timeout_s=runtime.startup_s, arguments=command.argv)
            if not done.succeeded:
                said = done.stderr.decode("utf-8", "replace").strip().partition("\n")[0][:_LONGEST_SAID]
                why = done.problem or f"ended with exit code {done.exit_code}"
                raise LoginFailed(f"the logout of {runtime.name} {why}{': ' + said if said else ''}")
        return self.refresh((runtime.id,))[0]

    # Parts -----------------------------------------------------------------------------------------------------------
    def _find(self, catalogue: Catalogue, name: str) -> Runtime:
        found = catalogue.find(name)
        if found is not None:
            return found
        known = [one.id for one in catalogue.runtimes]
        near = nearest(name, known)
        listed = f"there are {', '.join(known[:8])}" if known else "there is none"
        way_out = f"did you mean {near[0]!r}?" if near else listed
        raise RuntimeUnknown(f"there is no runtime {name[:80]!r}: {way_out}")

    def _command(self, runtime: Runtime, login: LoginCommand | None, what: str) -> Command:
        """Return what logs somebody in or out. Raises RequestRefused where nobody knows how."""
        from oulipoly_engine.service.live.runtimes.programs import prepare_homes

        account = self._home.quiet_files.accounts().get(runtime.account)
        if account is not None and account.keyring is not None:
            message = f"{runtime.account} uses an API key in the keyring: `agents account login` gives it a new one"
            raise RequestRefused(message)
        if login is None:
            message = f"this program does not know how to {what} {runtime.name}: start {runtime.program} itself"
            raise RequestRefused(message)
        environ = launch_environment(runtime, account, inherited_environment())
        program = find_program(runtime, environ)
        if program is None:
            raise ProgramMissing(f"there is no program {runtime.program!r}: install it, or correct {runtime.named_in}")
        prepare_homes(runtime)
        return Command((program, *login.words), environ, Path.cwd(), is_configured=False)

    def _probe(self, catalogue: Catalogue, runtime: Runtime) -> tuple[Runtime, KeptProbe]:
        """Start a runtime. Never raises for what its program does."""
        from oulipoly_engine.service.live.runtimes.refresh import probe_runtime
        from oulipoly_engine.store.live.probes import KeptProbe

        account = self._home.quiet_files.accounts().get(runtime.account)
        cli, environ = catalogue.clis.get(runtime.id), inherited_environment()
        program, probe = probe_runtime(runtime, cli, account, environ, self._home.paths.home)
        return runtime, KeptProbe(probe, program or "")

    def _keep(self, runtime: Runtime, kept: KeptProbe) -> None:
        from oulipoly_engine.store.live import probes

        with self._home.lend_store() as store:
            probes.save(store, runtime.id, kept, self._home.now())

    def _summarize(self, catalogue: Catalogue, runtimes: Sequence[Runtime]) -> tuple[RuntimeSummary, ...]:
        from oulipoly_engine.store.live import probes

        kept: Mapping[str, KeptProbe] = {}
        if runtimes and self._home.paths.state_db.exists():
            with self._home.lend_store_to_read() as store:
                kept = probes.read_all(store)
        return tuple(
            self._summarize_one(runtime, kept.get(runtime.id), tuple(_list_notes(catalogue, runtime)))
            for runtime in runtimes
        )

    def _summarize_one(self, runtime: Runtime, last: KeptProbe | None, notes: Sequence[Diagnostic]) -> RuntimeSummary:
        program = find_program(runtime, {**inherited_environment(), **runtime.environment})
        if last is not None and last.program not in (program or "", ""):  # another program is in its place
            last = None
        return summarize(
            runtime,
            program,
            None if last is None else last.probe,
            probed_at="" if last is None else last.at,
            assumed=self._assume(runtime),
            notes=notes,
        )

    def _assume(self, runtime: Runtime) -> Mapping[str, bool]:
        """Return what the driver can do with a CLI that has not said anything yet."""
        from oulipoly_engine.drivers.base import Opening
        from oulipoly_engine.drivers.table import driver_of

        if runtime.kind not in self._assumed:
            with suppress(ModuleNotFoundError):
                driver = driver_of(runtime.kind)(Opening(cwd="/", new_id=""))
                self._assumed[runtime.kind] = asdict(driver.capabilities)
        return self._assumed.get(runtime.kind, {})


def _list_notes(catalogue: Catalogue, runtime: Runtime) -> Iterator[Diagnostic]:
    """Yield what is to be known of a runtime before it is used."""
    left_out, cli = catalogue.left_out.get(runtime.id, ()), catalogue.clis.get(runtime.id)
    if left_out:
        yield Diagnostic("info", "cli_runtime.arguments_left_out", describe_left_out(left_out))
    if cli is not None and cli.live is not None and cli.live.loses_sessions:
        yield Diagnostic("info", SESSIONS_LOST_CODE, SESSIONS_LOST)
