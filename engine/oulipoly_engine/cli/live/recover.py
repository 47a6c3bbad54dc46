"""`recover` and `turn resume`: turns that were under way when their session's process ended."""

from __future__ import annotations

from collections.abc import Mapping

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser
from oulipoly_engine.cli.base.telling import SCHEMA_VERSION, tell
from oulipoly_engine.core.live.recovery import Blocked, Recoverable, plan_json
from oulipoly_engine.core.live.runtime_status import AnyStatus
from oulipoly_engine.core.text.columns import plain
from oulipoly_engine.facade import diagnostics, output


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Tell of turns that were left, or have one go on."""
    if name == "turn resume":
        return _resume(context, name, arguments)
    parser = Parser(
        prog=f"{context.program} {name}",
        description="List the turns that were under way when their live session's process ended.",
    )
    parser.add_argument("--json", action="store_true", help="print it as JSON")
    options = parser.parse(arguments)
    plans = context.engine.live.recover(_statuses(context))
    if options.json:
        output.write_json({"schema_version": SCHEMA_VERSION, **plan_json(plans)})
        return 0
    if not plans:
        diagnostics.note("no turn was left")
    for plan in plans:
        turn = plan.turn
        output.write_line(f"{turn.turn_id}  session {turn.session_id[:8]}: {plan.reason}")
        if turn.input:
            output.write_line(f"  message: {plain(turn.input)}")
        if isinstance(plan, Recoverable):
            output.write_line(f"  `{context.program} turn resume {turn.turn_id}` has the agent go on with it")
        elif isinstance(plan, Blocked):
            output.write_lines(f"  {step}" for step in plan.resume_requirements)
    return 0


def _resume(context: Context, name: str, arguments: list[str]) -> int:
    parser = Parser(
        prog=f"{context.program} {name}",
        description="Have the agent go on with a turn that was left: it looks first at what is done already.",
    )
    parser.add_argument("turn", metavar="TURN_ID", help="of `recover`; its beginning is enough")
    parser.add_argument("--json", action="store_true", help="print it as JSON")
    options = parser.parse(arguments)
    result = context.engine.live.resume_turn(options.turn, _statuses(context))
    message = plain(result.message)
    told = {"turn_id": result.turn_id, "status": result.status, "message": message or None}
    tell(options, told, f"{result.turn_id}  {result.status}" + (f": {message}" if message else ""))
    return 1 if result.status in ("blocked", "failed") else 0


def _statuses(context: Context) -> Mapping[str, AnyStatus]:
    """Return how the runtimes stand; those whose turns were left are asked now."""
    left = {turn.runtime_id for turn in context.engine.live.left_turns()}
    return context.engine.runtimes.statuses(left)
