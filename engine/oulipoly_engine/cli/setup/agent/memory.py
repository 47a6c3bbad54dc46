"""`setup memory`: what the set-up agent has noted, and its clearing."""

from __future__ import annotations

import json

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser
from oulipoly_engine.cli.base.questions import Questions
from oulipoly_engine.errors import Declined
from oulipoly_engine.facade import output


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Run the command."""
    parser = Parser(
        prog=f"{context.program} {name}",
        command=name,
        more="No secret is in it.",
    )
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--json", action="store_true", help="print one JSON document")
    choice.add_argument("--clear", action="store_true", help="forget all of it")
    parser.add_argument("-y", "--yes", action="store_true", help="clear without a question")
    options = parser.parse(arguments)
    sync = context.engine.setup_sync
    graph = sync.memory()
    if options.json:
        nodes = [
            {"id": one.id, "type": one.node_type, "label": one.label, "data": one.data, "updated_at": one.updated_at}
            for one in graph.nodes
        ]
        edges = [{"from": one.source, "to": one.target, "type": one.edge_type} for one in graph.edges]
        output.write_json({"nodes": nodes, "edges": edges})
    elif not graph.nodes:
        output.write_line("the set-up agent remembers nothing")
    elif options.clear:
        question = f"Forget the {len(graph.nodes)} things that the set-up agent remembers? They cannot be brought back."
        if not Questions(is_agreed=options.yes).confirm(question):
            raise Declined("nothing was changed")
        output.write_line(f"forgotten: {sync.clear_memory()}")
    else:
        for one in graph.nodes:
            joined = "".join(f"; {edge.edge_type} {edge.target}" for edge in graph.edges if edge.source == one.id)
            output.write_line(f"{one.id}  {json.dumps(dict(one.data), ensure_ascii=False)}{joined}")
    return 0
