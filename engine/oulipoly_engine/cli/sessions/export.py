"""`session export`: a session's entries as canonical JSON lines, or as a document for people."""

from __future__ import annotations

from pathlib import Path

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser, path
from oulipoly_engine.cli.sessions import arguments as person
from oulipoly_engine.core.sessions.resolve import session_uuid
from oulipoly_engine.errors import FormatInvalid, UsageInvalid
from oulipoly_engine.facade import output
from oulipoly_engine.facade.sessions.values import CANONICAL, SESSION_FILES, ExportOptions, write_file

_FORMATS = (CANONICAL, "markdown", "html", *SESSION_FILES)
_WITH = ("tools", "thinking", "all")


@person.for_scripts
def run(context: Context, name: str, arguments: list[str]) -> int:
    """Print a whole session, or none of it and an error."""
    parser = Parser(prog=f"{context.program} {name}", command=name)
    parser.add_argument(
        "session", metavar="ID", help=f"the session's whole id; for others than {CANONICAL} its beginning is enough"
    )
    parser.add_argument("--format", default=CANONICAL, help=f"{', '.join(_FORMATS)}; the first is the default")
    parser.add_argument(
        "--output", type=path, metavar="FILE", help="write there, whole or not at all, instead of to stdout"
    )
    parser.add_argument("--force", action="store_true", help="with --output: replace a file that is there")
    people = parser.add_argument_group("markdown and html")
    people.add_argument("--no-redact", action="store_true", help="leave secrets in")
    people.add_argument(
        "--with", action="append", default=[], choices=_WITH, dest="more", help="show, folded, what is left out else"
    )
    options = parser.parse(arguments)
    if options.format not in _FORMATS:
        session_uuid(options.session)
        raise FormatInvalid(f"there is no format {options.format!r}: {' or '.join(_FORMATS)}")
    if options.force and options.output in (None, Path("-")):
        raise UsageInvalid("--force goes with --output FILE")
    is_canonical, text = options.format == CANONICAL, options.session
    if is_canonical:
        text = session_uuid(options.session)
        if options.no_redact or options.more:
            raise UsageInvalid(f"--no-redact and --with go with --format markdown or html: {CANONICAL} is always whole")
    wish = ExportOptions(
        options.format,
        redacting=not options.no_redact,
        tools="tools" in options.more,
        thinking="thinking" in options.more,
        everything="all" in options.more,
    )
    with context.engine.sessions.files.blocks(text, wish, is_exact=is_canonical) as blocks:
        if options.output in (None, Path("-")):
            for block in blocks:
                output.write_bytes(block)
        else:
            write_file(options.output, blocks, force=options.force)
    return 0
