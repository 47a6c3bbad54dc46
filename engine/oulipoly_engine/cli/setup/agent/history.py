"""`setup history`: how set-ups by a model went."""

from __future__ import annotations

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser
from oulipoly_engine.clock import to_text
from oulipoly_engine.core.text.quantities import moment
from oulipoly_engine.facade import output


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Run the command."""
    parser = Parser(prog=f"{context.program} {name}", command=name)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse(arguments)
    past = context.engine.setup_agent.history()
    if options.json:
        runs = [
            {
                "began_at": to_text(one.began_at),
                "wish": one.wish,
                "outcome": one.outcome,
                "turns": one.turns,
                "model": one.model,
                "summary": one.summary,
            }
            for one in past
        ]
        output.write_json({"setups": runs})
    elif not past:
        output.write_line("no model has set up anything here yet")
    else:
        for one in past:
            outcome = (one.outcome or "not ended").replace("_", " ")
            turns = f"{one.turns} turn{'s' * (one.turns != 1)}"
            output.write_line(f"{moment(one.began_at)}  {outcome}, {turns}: {one.wish or 'see what is there'}")
            if one.summary:
                output.write_line(f"  {one.summary}")
    return 0
