"""`session name`, `note`, `pin`, `unpin`: what a person says of a conversation."""

from __future__ import annotations

from oulipoly_engine.cli import output
from oulipoly_engine.cli.context import Context
from oulipoly_engine.cli.parser import Parser
from oulipoly_engine.cli.sessions import access
from oulipoly_engine.cli.sessions import arguments as person
from oulipoly_engine.core.text.columns import plain
from oulipoly_engine.errors import UsageInvalid
from oulipoly_engine.store.sessions import notes
from oulipoly_engine.store.sessions.sessions import conversations

_DESCRIPTIONS = {
    "name": "give a conversation a name; an empty TEXT takes it away",
    "note": "keep a note with a conversation; an empty TEXT takes it away",
    "pin": "keep a conversation at the top of the list",
    "unpin": "let a conversation take its place in the list again",
}
_LONGEST = {"name": 200, "note": 10_000}  # characters


@person.for_people
def run(context: Context, program: str, command: str, arguments: list[str]) -> int:
    """Change what is said of one conversation, and print it."""
    parser = Parser(prog=program, description=f"{command}: {_DESCRIPTIONS[command]}.")
    parser.add_argument("session", metavar="ID", help="a session's or a chain's id, or its first 4 characters and more")
    if command in _LONGEST:
        parser.add_argument("text", nargs="+", metavar="TEXT")
    options = parser.parse(arguments)
    text = _checked(command, " ".join(options.text)) if command in _LONGEST else None
    store = access.store_with(context, options.session)
    now = context.clock.now()
    chain_id = person.find(store, options.session, now).chain_id
    if command == "name":
        notes.rename(store, chain_id, text, now)
    elif command == "note":
        notes.annotate(store, chain_id, text, now)
    elif command == "pin":
        notes.pin(store, chain_id, now)
    else:
        notes.unpin(store, chain_id, now)
    (one,) = conversations(store, (chain_id,))
    said = [
        plain(one.title or "(no name)"),
        "pinned" if one.pinned_at is not None else "",
        "" if one.note is None else f"note: {plain(one.note)}",
    ]
    output.write_line(f"{chain_id}  {'  '.join(part for part in said if part)}")
    return 0


def _checked(command: str, text: str) -> str | None:
    """Return a text that can be kept and shown, None for an empty one. Raises UsageInvalid."""
    text = text.strip()
    if len(text) > _LONGEST[command]:
        message = f"a {command} may have {_LONGEST[command]} characters, not {len(text)}"
        raise UsageInvalid(message)
    try:
        text.encode()
    except UnicodeEncodeError:
        message = f"the {command} holds bytes that are no UTF-8: type it again"
        raise UsageInvalid(message) from None
    return (plain(text) if command == "name" else text.replace("\0", " ")) or None
