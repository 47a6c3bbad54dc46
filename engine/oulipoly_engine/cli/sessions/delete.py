"""`session delete`, `undelete`: out of every list and into the archive, and back."""

from __future__ import annotations

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser
from oulipoly_engine.cli.base.questions import Questions
from oulipoly_engine.cli.base.telling import tell
from oulipoly_engine.core.text.columns import plain
from oulipoly_engine.errors import Declined


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Delete a session, or put one back, and print which files went or came."""
    is_back = name == "session undelete"
    parser = Parser(prog=f"{context.program} {name}", command=name)
    parser.add_argument("session", metavar="ID", help="the session's id; its beginning is enough")
    if not is_back:
        parser.add_argument("-y", "--yes", action="store_true", help="do it without a question")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse(arguments)
    archive = context.engine.sessions.archive
    if is_back:
        done = archive.undelete(options.session)
    else:
        session = context.engine.sessions.catalogue.find(options.session)
        question = f"Delete session {session.chain_id[:8]}, {plain(session.title or 'without a name')}?"
        if not options.json and not Questions(is_agreed=options.yes).confirm(question):
            raise Declined("nothing was deleted")
        done = archive.delete(session.chain_id)
    document = {"chain_id": done.chain_id, "files": [str(file) for file in done.files]}
    line = f"{done.chain_id}  is back" if is_back else f"{done.chain_id}  is deleted: `session undelete` undoes that"
    return tell(options, document, line)
