"""`session import`: another tool's session file becomes a session of ours."""

from __future__ import annotations

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser, path
from oulipoly_engine.cli.base.telling import tell
from oulipoly_engine.core.text.columns import plain
from oulipoly_engine.records import asdict


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Take a file in, and print under which id."""
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
    return tell(options, asdict(done), line, notes=[plain(problem) for problem in done.problems[:20]])
