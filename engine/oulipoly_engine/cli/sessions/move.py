"""`session move`: a session goes to another account, with a JSON receipt."""

from __future__ import annotations

from pathlib import Path

from oulipoly_engine.cli import diagnostics, output, wiring
from oulipoly_engine.cli.context import Context
from oulipoly_engine.cli.parser import Parser
from oulipoly_engine.cli.sessions import access
from oulipoly_engine.core.sessions.move import MoveReason
from oulipoly_engine.errors import MoveRefused, StorageUnsupported
from oulipoly_engine.process.signals import interruptible
from oulipoly_engine.service.sessions import move
from oulipoly_engine.service.sessions.locate import find_typed


def run(context: Context, program: str, command: str, arguments: list[str]) -> int:
    """Move a session, or say what moving it would do."""
    parser = Parser(
        prog=program,
        description=f"{command}: copy a session's transcript to another account and let the session go on there. The "
        "former copy stays where it is.",
    )
    parser.add_argument("session", metavar="ID", help="id of the session or of its chain; the beginning is enough")
    parser.add_argument("account", metavar="ACCOUNT", help="where it shall go; of the same CLI")
    parser.add_argument("-p", "--project", type=Path, help="folder that it shall go on in; default: where it has been")
    parser.add_argument("--dry-run", action="store_true", help="find out whether and how, and change nothing")
    parser.add_argument("--json", action="store_true", help="accepted for symmetry; the output is always JSON")
    options = parser.parse(arguments)
    store = access.store_with(context, options.session)
    try:
        session = find_typed(store, options.session, context.clock.now())
        mover = wiring.mover(context, store, access.locator(context))
        try:
            plan = mover.plan(session, options.account, MoveReason.MANUAL, options.project)
        except (MoveRefused, StorageUnsupported) as error:
            access.tell_kept_copy(context, store, session, error)
            raise
        with interruptible() as guard:
            moved = None if options.dry_run else mover.carry_out(plan)
            output.write_json(move.receipt(plan, moved), pretty=False)
            if moved is not None:
                wiring.read_placed(context, store, [options.account])
                if moved.kept is not None:
                    diagnostics.note(f"Note: what {options.account} had of it before is kept as {moved.kept}")
            guard.check()
    finally:
        store.close()
    return 0
