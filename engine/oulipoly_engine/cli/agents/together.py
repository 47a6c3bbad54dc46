"""`agent link|unlink|links`, `note …`, `token …`: what running agents may do together, and what each keeps."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping
from typing import Any

from oulipoly_engine.cli.base import stdio
from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser
from oulipoly_engine.cli.base.questions import parse_agreed
from oulipoly_engine.cli.base.telling import tell
from oulipoly_engine.clock import to_text
from oulipoly_engine.core.agents.capabilities import Note
from oulipoly_engine.core.agents.tokens import AgentToken
from oulipoly_engine.core.text.columns import plain, table
from oulipoly_engine.facade import diagnostics
from oulipoly_engine.facade.agents.together import AgentLink

_MORE = {
    "agent link": "FROM gets the answer's text and nothing else. It needs the capability agent-prompt.",
    "token create": "It is printed once. REST takes it as a bearer's, `ext serve --agent` from RUNNER_AGENT_TOKEN.",
}
_LINKS = ("FROM", "MAY PROMPT", "SINCE")
_NOTES = ("KEY", "CHARACTERS", "PINNED")
_TOKENS = ("ID", "AGENT", "ISSUER", "EXPIRES", "STATE", "CAPABILITIES")


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Serve one of the verbs."""
    parser = Parser(prog=f"{context.program} {name}", command=name, more=_MORE.get(name, ""))
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    add, serve = _VERBS[name]
    add(parser)
    return serve(context, parse_agreed(parser, name, arguments))


# Links ---------------------------------------------------------------------------------------------------------------
def _add_ends(parser: Parser) -> None:
    parser.add_argument("source", metavar="FROM", help="the agent that asks: its name or id")
    parser.add_argument("target", metavar="TO", help="the agent that is asked")


def _link(context: Context, options: Namespace) -> int:
    link = context.engine.together.link(options.source, options.target)
    note = f"{plain(link.source.name)} may prompt {plain(link.target.name)}"
    needs = "agent-prompt" not in link.source.plan.capabilities
    hint = f"{plain(link.source.name)} has not the capability agent-prompt: run it with `--capability agent-prompt`"
    return tell(options, _link_json(link), note, notes=[hint] if needs else [])


def _unlink(context: Context, options: Namespace) -> int:
    link = context.engine.together.unlink(options.source, options.target)
    return tell(options, _link_json(link), f"{plain(link.source.name)} may not prompt {plain(link.target.name)}")


def _links(context: Context, options: Namespace) -> int:
    links = context.engine.together.list_links(options.name)
    rows = [(link.source.name, link.target.name, f"{link.allowed_at.astimezone():%Y-%m-%d %H:%M}") for link in links]
    return _tell_rows(
        options,
        {"links": [_link_json(link) for link in links]},
        (_LINKS, *rows),
        f"no agent may prompt another: `{context.program} agent link FROM TO` allows it",
    )


def _link_json(link: AgentLink) -> dict[str, Any]:
    ends = {"from": link.source.name, "to": link.target.name}
    ids = {"from_id": link.source.agent_id, "to_id": link.target.agent_id}
    return {**ends, **ids, "allowed_at": to_text(link.allowed_at)}


# Notes ---------------------------------------------------------------------------------------------------------------
def _add_name(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME", help="the agent's name or id")


def _add_note(parser: Parser) -> None:
    _add_name(parser)
    parser.add_argument("key", metavar="KEY", help="the note's name")


def _add_text(parser: Parser) -> None:
    _add_note(parser)
    parser.add_argument("text", metavar="TEXT", nargs="*", help="what is kept; `-` or nothing: stdin")


def _list_notes(context: Context, options: Namespace) -> int:
    notes = context.engine.together.list_notes(options.name)
    rows = [(note.key, str(len(note.text)), "yes" if note.is_pinned else "-") for note in notes]
    none = f"{plain(options.name)} has no notes"
    return _tell_rows(options, {"notes": [_note_json(note) for note in notes]}, (_NOTES, *rows), none)


def _get_note(context: Context, options: Namespace) -> int:
    note = context.engine.together.read_note(options.name, options.key)
    return tell(options, _note_json(note) | {"text": note.text}, *note.text.splitlines())


def _set_note(context: Context, options: Namespace) -> int:
    text = " ".join(options.text)
    text = stdio.read_patiently(diagnostics.note) if text in ("", "-") else text
    note = context.engine.together.save_note(options.name, options.key, text)
    secrets = ["what looks like a secret was taken out"] if note.text != text else []
    return tell(options, _note_json(note), f"{plain(options.key)} is kept", notes=secrets)


def _remove_note(context: Context, options: Namespace) -> int:
    context.engine.together.delete_note(options.name, options.key)
    return tell(options, {"key": options.key}, f"{plain(options.key)} is removed")


def _pin(context: Context, options: Namespace) -> int:
    note = context.engine.together.pin_note(options.name, options.key, is_pinned=True)
    return tell(options, _note_json(note), f"{plain(note.key)} is pinned into the context of its next sessions")


def _unpin(context: Context, options: Namespace) -> int:
    note = context.engine.together.pin_note(options.name, options.key, is_pinned=False)
    return tell(options, _note_json(note), f"{plain(note.key)} is unpinned from the context of its next sessions")


def _note_json(note: Note) -> dict[str, Any]:
    return {"key": note.key, "characters": len(note.text), "pinned": note.is_pinned}


# Tokens --------------------------------------------------------------------------------------------------------------
def _add_create(parser: Parser) -> None:
    _add_name(parser)
    parser.add_argument("--capability", action="append", default=[], metavar="NAME", help="give this one alone")


def _add_filter(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", default="", help="those of this agent")


def _add_token(parser: Parser) -> None:
    parser.add_argument("token", metavar="ID", help="the token's id; its beginning is enough")


def _create_token(context: Context, options: Namespace) -> int:
    token, text = context.engine.together.make_token(options.name, options.capability)
    note = f"token {token.token_id}, until {token.expires_at:%Y-%m-%d}; it is not shown again"
    return tell(options, _token_json(token, options.name) | {"token": text}, text, notes=[note])


def _list_tokens(context: Context, options: Namespace) -> int:
    listed = context.engine.together.list_tokens(options.name)
    rows = [_token_row(token, name) for token, name in listed]
    document = {"tokens": [_token_json(token, name) for token, name in listed]}
    return _tell_rows(options, document, (_TOKENS, *rows), "no tokens were made")


def _revoke_token(context: Context, options: Namespace) -> int:
    token, name = context.engine.together.revoke_token(options.token)
    return tell(options, _token_json(token, name), f"the token {token.token_id} of {plain(name)} is revoked")


def _token_row(token: AgentToken, name: str) -> tuple[str, ...]:
    state = "-" if token.revoked_at is None else "revoked"
    expires = f"{token.expires_at:%Y-%m-%d}"
    return (token.token_id[:8], name, token.issuer, expires, state, ", ".join(token.capabilities))


def _token_json(token: AgentToken, name: str) -> dict[str, Any]:
    return {
        "token_id": token.token_id,
        "agent": name,
        "agent_id": token.agent_id,
        "issuer": token.issuer,
        "issued_at": to_text(token.issued_at),
        "expires_at": to_text(token.expires_at),
        "revoked_at": None if token.revoked_at is None else to_text(token.revoked_at),
        "capabilities": list(token.capabilities),
        "links": list(token.links),
    }


def _tell_rows(options: Namespace, document: Mapping[str, Any], rows: tuple[tuple[str, ...], ...], none: str) -> int:
    """Print a list as JSON, as a table below its headings, or that there is nothing."""
    lines = table([tuple(map(plain, row)) for row in rows]) if len(rows) > 1 else ()
    return tell(options, document, *lines, notes=() if lines else [none])


_VERBS: Mapping[str, tuple[Callable[[Parser], None], Callable[[Context, Namespace], int]]] = {
    "agent link": (_add_ends, _link),
    "agent unlink": (_add_ends, _unlink),
    "agent links": (_add_filter, _links),
    "note ls": (_add_name, _list_notes),
    "note get": (_add_note, _get_note),
    "note set": (_add_text, _set_note),
    "note rm": (_add_note, _remove_note),
    "note pin": (_add_note, _pin),
    "note unpin": (_add_note, _unpin),
    "token create": (_add_create, _create_token),
    "token ls": (_add_filter, _list_tokens),
    "token revoke": (_add_token, _revoke_token),
}
