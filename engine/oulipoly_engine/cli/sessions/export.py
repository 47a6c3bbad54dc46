"""`session export`: a session's entries as canonical JSON lines, as a document for people, or as a session file.

`session import`: another tool's session file as a session of ours.
"""

from __future__ import annotations

from pathlib import Path

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser, path
from oulipoly_engine.cli.base.telling import tell
from oulipoly_engine.cli.sessions import arguments as person
from oulipoly_engine.core.sessions.resolve import session_uuid
from oulipoly_engine.core.text.columns import plain
from oulipoly_engine.errors import FormatInvalid, UsageInvalid
from oulipoly_engine.facade import output
from oulipoly_engine.facade.sessions.values import CANONICAL, SESSION_FILES, ExportOptions, write_file
from oulipoly_engine.records import asdict

_FORMATS = (CANONICAL, "markdown", "html", *SESSION_FILES)
_WITH = ("tools", "thinking", "all")


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Print a whole session, or none of it and an error; or take a file in."""
    return _import(context, name, arguments) if name == "session import" else _export(context, name, arguments)


def _import(context: Context, name: str, arguments: list[str]) -> int:
    parser = Parser(
        prog=f"{context.program} {name}",
        command=name,
        more="Versions 0 to 3, as oxi and pi write them, with all branches and labels. The file stays as it is.",
    )
    parser.add_argument("file", type=path, metavar="FILE")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse(arguments)
    done = context.engine.sessions.files.import_file(options.file)
    line = f"{done.chain_id}  {done.new_entries} of {done.entries} entries are new"
    return tell(
        options, asdict(done), line, notes=[plain(f"{options.file}: {problem}") for problem in done.problems[:20]]
    )


@person.for_scripts
def _export(context: Context, name: str, arguments: list[str]) -> int:
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
