"""What a runtime's program is started with: its path, its environment, its homes."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from oulipoly_engine.core.accounts.accounts import Account
from oulipoly_engine.core.live.runtimes import Runtime, proxy_environment
from oulipoly_engine.core.live.wires.table import WIRES
from oulipoly_engine.service import shadow_home
from oulipoly_engine.service.accounts.environment import read_environment


def find_program(runtime: Runtime, environ: Mapping[str, str]) -> str | None:
    """Return the path of a runtime's program; None where nothing there can be started."""
    return shutil.which(runtime.program, path=environ.get("PATH")) if runtime.program else None


def launch_environment(
    runtime: Runtime, account: Account | None, inherited: Mapping[str, str], patience_s: float | None = None
) -> dict[str, str]:
    """Return the whole environment of a runtime's program.

    account: whose login it uses. patience_s: with a locked keyring, as `read_environment` has it. Raises
    AccountUnusable where the account's key cannot be read.
    """
    own = dict(inherited) if account is None else read_environment(inherited, account, patience_s)
    own |= {**proxy_environment(runtime.proxy), **runtime.environment}
    return {name: value for name, value in own.items() if name not in runtime.unset_environment}


def prepare_homes(runtime: Runtime) -> None:
    """Bring a runtime's shadow home up to date, where it has one. Raises ShadowHomeRefused."""
    parts = WIRES[runtime.kind].shadow
    if runtime.shadow_home and parts is not None:
        shadow_home.prepare(parts, Path(runtime.home), Path(runtime.shadow_home))
