"""Before any command that needs a configuration: say how to begin where there is none."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from oulipoly_engine.cli.base import commands

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oulipoly_engine.cli.base.commands import Subcommand
    from oulipoly_engine.cli.base.context import Context

_HELP = {"-h", "--help"}


def require_configuration(context: Context, command: Subcommand | None = None, arguments: Sequence[str] = ()) -> None:
    """Raise NotConfigured for a command that needs what is not there.

    command: None: a prompt, or an option's work. arguments: behind the command; without one, an agent's name and words.
    """
    paths = context.paths
    if context.models_dir is not None or os.path.lexists(paths.providers) or _has_models(paths.models):
        return
    # ruff: noqa: PLC0415 - with everything but a first start
    from oulipoly_engine.core.commands.needs import Need
    from oulipoly_engine.core.commands.table import find
    from oulipoly_engine.errors import NotConfigured

    needs = (Need.ACCOUNTS,) if command is None else find(command.name).needs
    if not {Need.ACCOUNTS, Need.RECORDS} & {*needs} or _HELP & set(arguments):
        return
    if Need.RECORDS in needs and context.engine.state_file.has_records():
        return

    name = context.command
    message = (
        f"nothing is configured yet in {paths.config}: `{name} account add` adds a login of yours, `{name} demo` shows "
        "everything with made-up accounts"
    )
    near = commands.nearest_to(arguments[0]) if command is None and arguments else None
    if near:
        message += f"; or did you mean the command `{near}`?"
    raise NotConfigured(message)


def _has_models(folder: str | os.PathLike[str]) -> bool:
    try:
        return any(name.endswith(".toml") for name in os.listdir(folder))  # noqa: PTH208 - ten times as fast
    except OSError:
        return False
