"""How a turn has ended or stands, for people and for scripts; and what is told while it is waited for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from oulipoly_engine.cli.live.follow import describe
from oulipoly_engine.core.live import events as ev
from oulipoly_engine.core.live import failures
from oulipoly_engine.core.live.sessions import LiveSession
from oulipoly_engine.core.text.columns import plain
from oulipoly_engine.facade import diagnostics, output

if TYPE_CHECKING:
    from oulipoly_engine.facade.live.turn_results import TurnResult

_UNFINISHED = 75  # EX_TEMPFAIL: the message was taken, and must not be sent again
_EXIT_CODES = {
    "completed": 0,
    "interrupted": 130,
    "queued": _UNFINISHED,
    "blocked": _UNFINISHED,
    "waiting_approval": _UNFINISHED,
}


def watch(*, until_asked: bool, stop: str = "") -> Callable[[ev.Numbered], bool]:
    """Return what tells on stderr why nothing comes of a turn.

    until_asked: a request ends the wait for it. stop: what ends the turn here.
    """

    def look(numbered: ev.Numbered) -> bool:
        event = numbered.event
        is_request = isinstance(event, ev.RequestOpened) and event.kind != "other"
        is_silence = isinstance(event, ev.Notice) and event.code == "silent"
        if is_request or is_silence or isinstance(event, ev.TurnRetrying):
            diagnostics.note(describe(event, stop))
        return is_request and until_asked

    return look


def tell_result(
    program: str,
    result: TurnResult,
    session: LiveSession,
    told: Mapping[str, Any],
    *,
    as_json: bool,
    can_go_on: bool = True,
) -> int:
    """Print how a turn has ended or stands, and return the exit code. can_go_on: False: the session is not kept."""
    if as_json:
        output.write_json({**told, **result_json(program, result, session)})
    elif result.reply is not None:
        output.write_block(result.reply.rstrip("\n") + "\n")
    if result.status != "completed" and not as_json:
        step = next_step(program, result, session) if can_go_on else ""
        message = plain(result.message)
        diagnostics.note(f"the turn is {result.status}" + (f": {message}" if message else ""))
        if step:
            diagnostics.note(f"next: {step}")
    return exit_code(result)


def exit_code(result: TurnResult) -> int:
    """Return the exit code of a command that has waited for a turn."""
    return _EXIT_CODES.get(result.status, 1)


def result_json(program: str, result: TurnResult, session: LiveSession) -> dict[str, Any]:
    """Return how a turn has ended or stands as scripts get it."""
    step = next_step(program, result, session)
    document = {"turn_id": result.turn_id, "status": result.status, "reply": result.reply}
    return {**document, "message": plain(result.message) or None, "code": result.code or None, "next": step or None}


def next_step(program: str, result: TurnResult, session: LiveSession) -> str:
    """Return the command that goes on from where a turn stands; empty: nothing is left to do."""
    is_login_wanted = result.code in (failures.NEEDS_AUTH, failures.UNAUTHORIZED)
    match result.status:
        case "waiting_approval":
            return f"{program} requests show {result.request_id}"
        case "blocked":
            return f"{program} turn resume {result.turn_id}"
        case "queued" | "failed" if is_login_wanted:
            return f"{program} runtime login {session.runtime_id}"
        case "queued":
            return f"{program} session queue {session.session_id}"
        case "starting" | "running":
            return f"{program} session follow {session.session_id} --until-idle"
        case "failed" if result.code == failures.USAGE_LIMIT:
            return f"{program} session fork {session.session_id} --to RUNTIME"
        case "completed":
            return ""
        case _:
            return f"{program} session send {session.session_id} TEXT --wait"
