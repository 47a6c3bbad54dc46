"""`session export`: a session's turns as canonical JSON lines, or as a document for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine.cli import output
from oulipoly_engine.cli.context import Context
from oulipoly_engine.cli.parser import Parser
from oulipoly_engine.cli.sessions import access
from oulipoly_engine.core.sessions.resolve import session_uuid
from oulipoly_engine.errors import FormatInvalid, RunnerError, UsageInvalid
from oulipoly_engine.service.reading.export import Exporter
from oulipoly_engine.service.sessions.locate import find_session, find_typed

if TYPE_CHECKING:
    from argparse import Namespace

_CANONICAL = "canonical-jsonl"
_FORMATS = (_CANONICAL, "markdown", "html")
_WITH = ("tools", "thinking", "all")


def run(context: Context, program: str, command: str, arguments: list[str]) -> int:
    """Print a whole session, or none of it and an error."""
    parser = Parser(prog=program, description=f"{command}: print a session as canonical JSON lines, or for people.")
    parser.add_argument("session", metavar="ID", help="UUID of the session or of its chain; for people its beginning")
    parser.add_argument("--format", default=_CANONICAL, help=f"{', '.join(_FORMATS)}; the first is the default")
    parser.add_argument("--output", metavar="FILE", help="write there, whole or not at all, instead of to stdout")
    parser.add_argument("--force", action="store_true", help="with --output: replace a file that is there")
    people = parser.add_argument_group("markdown and html")
    people.add_argument("--no-redact", action="store_true", help="leave secrets in")
    people.add_argument(
        "--with", action="append", default=[], choices=_WITH, dest="more", help="show, folded, what is left out else"
    )
    options = parser.parse(arguments)
    if options.format not in _FORMATS:
        session_uuid(options.session)
        message = f"there is no format {options.format!r}: {' or '.join(_FORMATS)}"
        raise FormatInvalid(message)
    if options.force and options.output in (None, "-"):
        message = "--force goes with --output FILE"
        raise UsageInvalid(message)
    blocks = _canonical if options.format == _CANONICAL else _document
    with blocks(context, options) as found:
        _deliver(found, options)
    return 0


@contextmanager
def _canonical(context: Context, options: Namespace) -> Iterator[Iterable[bytes]]:
    session_id = session_uuid(options.session)
    if options.no_redact or options.more:
        message = f"--no-redact and --with go with --format markdown or html: {_CANONICAL} is always whole"
        raise UsageInvalid(message)
    store = access.store_with(context, session_id)
    session = find_session(store, session_id, context.clock.now())
    with Exporter(store, access.locator(context)).exported(session) as export:
        yield export.blocks()


@contextmanager
def _document(context: Context, options: Namespace) -> Iterator[Iterable[bytes]]:
    from oulipoly_engine.core.transcripts.dialogue import EVERYTHING, Wanted  # noqa: PLC0415 - 15 ms with the next two, only here
    from oulipoly_engine.core.transcripts.document_head import Format  # noqa: PLC0415 - see above
    from oulipoly_engine.service.reading.documents import Documents, Style  # noqa: PLC0415 - see above

    wanted = Wanted(tools="tools" in options.more, thinking="thinking" in options.more)
    style = Style(
        Format(options.format), EVERYTHING if "all" in options.more else wanted, redacting=not options.no_redact
    )
    store = access.store_with(context, options.session)
    session = find_typed(store, options.session, context.clock.now())
    documents = Documents(store, access.locator(context), access.archive(context, store))
    with documents.rendered(session, style) as document:
        yield document.blocks()


def _deliver(blocks: Iterable[bytes], options: Namespace) -> None:
    if options.output in (None, "-"):
        for block in blocks:
            output.write_bytes(block)
        return
    from oulipoly_engine.service.transcripts.atomic_file import new_file  # noqa: PLC0415 - only with --output

    path = Path(options.output)
    try:
        with new_file(path, force=options.force) as file:
            file.writelines(blocks)
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror or error}"
        raise RunnerError(message) from error
