"""`session move`: a session goes to another account."""

from __future__ import annotations

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser, path
from oulipoly_engine.cli.sessions import arguments as person
from oulipoly_engine.cli.sessions.arguments import hint_at_copy
from oulipoly_engine.errors import MoveRefused, SessionNotFound, StorageUnsupported
from oulipoly_engine.facade import diagnostics
from oulipoly_engine.facade.base.own_process import interruptible
from oulipoly_engine.facade.sessions.moves import MoveResult, Plan, move_receipt


@person.for_scripts
def run(context: Context, name: str, arguments: list[str]) -> int:
    """Move a session, or say what moving it would do."""
    parser = Parser(
        prog=f"{context.program} {name}",
        description="Copy a session's transcript to another account and let the session go on there. The "
        "former copy stays where it is. Where the account has a copy of it as another session, the two are joined.",
    )
    parser.add_argument("session", metavar="ID", help="the session's id; its first 4 characters are enough")
    parser.add_argument("account", metavar="ACCOUNT", help="where it shall go; of the same CLI")
    parser.add_argument(
        "-p", "--project", type=path, metavar="DIR", help="folder that it shall go on in; default: where it has been"
    )
    parser.add_argument("--dry-run", action="store_true", help="find out whether and how, and change nothing")
    parser.add_argument("--json", action="store_true", help="print JSON, as without a terminal")
    options = parser.parse(arguments)
    moves = context.engine.sessions.moves
    try:
        try:
            plan = moves.plan(options.session, options.account, options.project)
        except SessionNotFound:  # its CLI may just have begun it
            person.read_new(context)
            plan = moves.plan(options.session, options.account, options.project)
    except (MoveRefused, StorageUnsupported) as error:
        hint_at_copy(context, options.session, error)
        raise
    with interruptible() as guard:
        moved = None if options.dry_run else moves.carry_out(plan)
        person.write_outcome(move_receipt(plan, moved), _lines(plan, moved), arguments)
        if plan.is_done:
            diagnostics.note(f"Note: the session is on {options.account} already, since an earlier move")
        if moved is not None:
            moves.read_moved(options.account)
            if moved.kept is not None:
                diagnostics.note(f"Note: what {options.account} had of it before is kept as {moved.kept}")
        guard.check()
    return 0


def _lines(plan: Plan, moved: MoveResult | None) -> list[str]:
    segment = plan.segment
    verb = "would go on" if moved is None else "goes on"
    return [
        f"session {segment.session_id} {verb} on {segment.to_account}, until now on {segment.from_account}",
        f"its transcript there: {plan.target}",
    ]
