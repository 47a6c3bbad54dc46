"""`session name`, `note`, `pin`, `unpin`: what a person says of a session."""

from __future__ import annotations

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser
from oulipoly_engine.core.text.columns import plain
from oulipoly_engine.facade import output


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Change what is said of one session, and print it."""
    takes_text = name in ("session name", "session note")
    parser = Parser(
        prog=f"{context.program} {name}", command=name, more="An empty TEXT takes it away." if takes_text else ""
    )
    parser.add_argument("session", metavar="ID", help="the session's id; its first 4 characters are enough")
    if takes_text:
        parser.add_argument("text", nargs="+", metavar="TEXT")
    options = parser.parse(arguments)
    sessions = context.engine.sessions
    if name == "session name":
        sessions.notes.rename(options.session, " ".join(options.text))
    elif name == "session note":
        sessions.notes.annotate(options.session, " ".join(options.text))
    else:
        sessions.notes.pin([options.session], on=name == "session pin")
    one = sessions.catalogue.find(options.session)
    said = [
        plain(one.title or "(no name)"),
        "pinned" if one.pinned_at is not None else "",
        "" if one.note is None else f"note: {plain(one.note)}",
    ]
    output.write_line(f"{one.chain_id}  {'  '.join(part for part in said if part)}")
    return 0
