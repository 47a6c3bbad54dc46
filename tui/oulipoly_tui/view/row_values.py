"""What rows have for the user's own commands, by the names of placeholders; the same in every face. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oulipoly_engine.facade.sessions.types import ListedSession
    from oulipoly_engine.facade.terminals.terminals import Terminal
    from oulipoly_tui.view.transcript.transcript import Target


def of_account(account: str, model: str = "") -> Mapping[str, str]:
    """Return what an account has. model: that of the pool whose row it is; empty: the row is of no pool."""
    return _filled({"account": account, "model": model, "pool": model})


def of_session(listed: ListedSession, target: Target, pool: str | None = None) -> Mapping[str, str]:
    """Return what a session has. target: the part and the file of it that are meant. pool: the model that is in use."""
    one = listed.session
    model = "" if one.model.startswith("<") else one.model
    return _filled({**_of_target(target), "model": model, "pool": pool, "cli": listed.kind, "cwd": one.workspace})


def of_transcript(target: Target) -> Mapping[str, str]:
    """Return what a transcript that is shown has."""
    return _filled(_of_target(target))


def of_terminal(terminal: Terminal, title: str | None) -> Mapping[str, str]:
    """Return what a terminal has. title: that of its session; None: nobody knows it."""
    one = terminal
    values = {"terminal": one.id, "cwd": one.cwd, "account": one.account, "model": one.model, "pool": one.model}
    return _filled({**values, "native_id": one.session_id, "title": title})


def _of_target(target: Target) -> Mapping[str, str | None]:
    return {
        "session": target.chain_id,
        "native_id": target.session_id,
        "account": target.account,
        "transcript": target.path,
        "title": target.title,
    }


def _filled(values: Mapping[str, str | None]) -> Mapping[str, str]:
    return {name: text for name, text in values.items() if text}
