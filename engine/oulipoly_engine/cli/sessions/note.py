"""`session name`, `note`, `pin`, `unpin`: what a person says of a session."""

from __future__ import annotations

from oulipoly_engine.cli.context import Context
from oulipoly_engine.cli.parser import Parser
from oulipoly_engine.cli.sessions import arguments as person
from oulipoly_engine.core.text.columns import plain
from oulipoly_engine.facade import output

_DESCRIPTIONS = {
    "name": "give a conversation a name; an empty TEXT takes it away",
    "note": "keep a note with a conversation; an empty TEXT takes it away",
    "pin": "keep a conversation at the top of the list",
    "unpin": "let a conversation take its place in the list again",
}


@person.for_people
def run(context: Context, program: str, command: str, arguments: list[str]) -> int:
    """Change what is said of one session, and print it."""
    parser = Parser(prog=program, description=f"{command}: {_DESCRIPTIONS[command]}.")
    parser.add_argument("session", metavar="ID", help="a session's or a chain's id, or its first 4 characters and more")
    if command in ("name", "note"):
        parser.add_argument("text", nargs="+", metavar="TEXT")
    options = parser.parse(arguments)
    sessions = context.engine.sessions
    if command == "name":
        sessions.notes.rename(options.session, " ".join(options.text))
    elif command == "note":
        sessions.notes.annotate(options.session, " ".join(options.text))
    else:
        sessions.notes.pin([options.session], on=command == "pin")
    one = sessions.catalogue.find(options.session)
    said = [
        plain(one.title or "(no name)"),
        "pinned" if one.pinned_at is not None else "",
        "" if one.note is None else f"note: {plain(one.note)}",
    ]
    output.write_line(f"{one.chain_id}  {'  '.join(part for part in said if part)}")
    return 0
