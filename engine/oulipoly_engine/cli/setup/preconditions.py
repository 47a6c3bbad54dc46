"""Before any command: put right what a killed one has left, and say how to begin where nothing is configured.

Costs one look each into folders that are mostly not there; all else is imported only when something lies in them.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from oulipoly_engine.cli.base import commands

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oulipoly_engine.cli.base.commands import Subcommand
    from oulipoly_engine.cli.base.context import Context

_HELP = {"-h", "--help"}


def heal(context: Context, command: Subcommand | None) -> int | None:
    """Finish or forget what a replacement, or a chat with --no-session, has left that was killed; say so on stderr.

    Returns an exit code when that is not possible, told as JSON (contract 2.7): no command works on half a state.
    """
    if command is not None and command.keeps_off:
        return None
    if not _has_remains(f"{context.paths.data}/replace_journal") and not _list_names(
        str(context.paths.unkept_sessions)
    ):
        return None
    from oulipoly_engine.errors import RunnerError
    from oulipoly_engine.facade import diagnostics

    try:
        for text in context.engine.recovery.settle_sessions():
            diagnostics.note(f"Note: {text}")
    except RunnerError as error:
        return diagnostics.fail_json(error)
    return None


def _has_remains(folder: str) -> bool:
    """Return whether anything of ours lies there but what is kept for a person to look at.

    What is not ours stays, so to look at it at every start would be in vain.
    """
    try:
        names = [name for name in os.listdir(folder) if _is_ours(name)]  # noqa: PTH208 - pathlib's takes ten times as long
    except OSError:
        return False
    if not names:
        return False
    kept = _list_names(f"{folder}/quarantine")
    return any(not _is_kept(name, kept) for name in names)


def _is_ours(name: str) -> bool:
    if name.startswith(".session-"):
        return name.endswith(".tmp")
    return name == "staging" or (name.startswith("session-") and name.endswith((".pending", ".canonical.jsonl")))


def _is_kept(name: str, quarantined: frozenset[str]) -> bool:
    return name.endswith(".canonical.jsonl") and name.removesuffix(".canonical.jsonl") in quarantined


def _list_names(folder: str) -> frozenset[str]:
    try:
        return frozenset(name.partition(".")[0] for name in os.listdir(folder))  # noqa: PTH208 - as above
    except OSError:
        return frozenset()


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
    if command is None and arguments and (near := commands.nearest_to(arguments[0])):
        message += f"; or did you mean the command `{near}`?"
    raise NotConfigured(message)


def _has_models(folder: str | os.PathLike[str]) -> bool:
    try:
        return any(name.endswith(".toml") for name in os.listdir(folder))  # noqa: PTH208 - ten times as fast
    except OSError:
        return False
