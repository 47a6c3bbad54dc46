"""`trace`: an invocation's tree, as text or JSON."""

from __future__ import annotations

from oulipoly_engine.cli.context import Context
from oulipoly_engine.cli.parser import Parser
from oulipoly_engine.core.balance.decision_text import why_lines
from oulipoly_engine.core.runs import trace as tree
from oulipoly_engine.facade import output


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Print the tree of an invocation."""
    parser = Parser(prog=f"{context.program} {name}", description="Show a run and everything it started.")
    parser.add_argument(
        "invocation", metavar="RUN", help="the id that OULIPOLY_INVOCATION shows, or that of a live session or its turn"
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print one JSON document")
    form.add_argument("--transcript", action="store_true", help="append the session's stored text")
    parser.add_argument("--why", action="store_true", help="below each line, why its account was chosen")
    parser.add_argument("--inline-transcript", action="store_true", help="with --json: stored turns in each node")
    parser.add_argument("--max-depth", type=int, default=tree.DEFAULT_MAX_DEPTH, metavar="N", help="default 64")
    options = parser.parse(arguments)
    if options.inline_transcript and not options.json:
        parser.error("--inline-transcript needs --json")
    if options.max_depth < 0:
        parser.error("--max-depth must not be negative")
    root = context.engine.trace.tree(
        options.invocation,
        max_depth=options.max_depth,
        inline_transcript=options.inline_transcript or options.transcript,
    )
    now = context.clock.now()
    if options.json:
        output.write_json(tree.to_json(root, now))
        return 0
    why = _decisions(root) if options.why else {}
    for line in tree.to_lines(root, now, why):
        output.write_line(line)
    if options.transcript:
        for text in tree.transcript_lines(root):
            output.write_block(f"{text}\n")
    return 0


def _decisions(node: tree.Node) -> dict[str, tuple[str, ...]]:
    found = {} if node.decision is None else {node.invocation.uuid: tuple(why_lines(node.decision))}
    for child in node.children:
        found |= _decisions(child)
    return found
