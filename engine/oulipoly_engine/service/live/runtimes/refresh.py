"""Ask a runtime how it stands: its program, its homes, its version, who is logged in, its models."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from oulipoly_engine.core.accounts.accounts import Account
from oulipoly_engine.core.accounts.clis.cli import Cli
from oulipoly_engine.core.live import failures
from oulipoly_engine.core.live.drift import check_version
from oulipoly_engine.core.live.runtime_status import Diagnostic, Probe
from oulipoly_engine.core.live.runtimes import Runtime
from oulipoly_engine.core.live.wires.table import WIRES
from oulipoly_engine.drivers.table import driver_of
from oulipoly_engine.errors import AccountUnusable, ShadowHomeRefused
from oulipoly_engine.records import replace
from oulipoly_engine.service.accounts import logins
from oulipoly_engine.service.live.runtimes.probe import run_probe
from oulipoly_engine.service.live.runtimes.programs import find_program, launch_environment, prepare_homes
from oulipoly_engine.service.live.runtimes.schema_probe import find_lost_methods

_KEYRING_PATIENCE_S = 8.0


def probe_runtime(
    runtime: Runtime, cli: Cli | None, account: Account | None, inherited: Mapping[str, str], home: Path
) -> tuple[str | None, Probe]:
    """Return the path of a runtime's program and what a start of it shows.

    cli: its CLI; None: not known. account: whose login it uses. home: what `~` stands for, where it works.
    """
    try:
        environ = launch_environment(runtime, account, inherited, _KEYRING_PATIENCE_S)
    except AccountUnusable as error:
        return find_program(runtime, inherited), Probe(failures.NEEDS_AUTH, error.message)
    program = find_program(runtime, environ)
    if program is None:
        return None, Probe(failures.MISSING_BINARY, f"there is no program {runtime.program!r}")
    try:
        prepare_homes(runtime)
    except ShadowHomeRefused as error:
        failed = Diagnostic("error", f"{runtime.kind}_probe.shadow_home_failed", error.message)
        return program, Probe("shadow_home_failed", error.message, diagnostics=(failed,))
    probe = run_probe(runtime, driver_of(runtime.kind), program, environ, home)
    if cli is not None and not probe.version and not probe.reason:  # claude tells it with the first turn alone
        probe = replace(probe, version=_ask_version(cli, program, environ))
    probe = check_version(probe, cli)
    if not probe.reason and WIRES[runtime.kind].prints_schema:
        lost = find_lost_methods(program, environ)
        probe = probe if lost is None else replace(probe, diagnostics=(*probe.diagnostics, lost))
    if not probe.reason and not probe.account and account is not None:
        probe = _ask_login(probe, account, inherited, home, refuses_strangers=WIRES[runtime.kind].refuses_strangers)
    return program, probe


def _ask_version(cli: Cli, program: str, environ: Mapping[str, str]) -> str:
    told = logins.read_version(cli, program, environ)
    text = told.text or ""
    return next((word for word in text.split() if word[0].isdecimal()), text)


def _ask_login(
    probe: Probe, account: Account, inherited: Mapping[str, str], home: Path, *, refuses_strangers: bool
) -> Probe:
    """Ask the CLI itself who is logged in, where its protocol does not say so.

    refuses_strangers: it opens no session for somebody who is not logged in, so whoever has one open is; opencode's key
    may stand in its settings, where nobody looks for a login.
    """
    state = logins.read_account_login(account, home, inherited)
    if state is None or state.problem is not None or (state.profile is None and refuses_strangers):
        return probe
    if state.profile is None:
        message = f"nobody is logged in: `agents runtime login {account.name}`"
        return replace(probe, reason=failures.NEEDS_AUTH, message=message)
    return replace(probe, account=state.profile.text)
