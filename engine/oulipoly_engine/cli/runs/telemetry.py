"""`telemetry show`, `telemetry clear`: all that telemetry holds, and nothing of it."""

from __future__ import annotations

from typing import Any

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser
from oulipoly_engine.cli.base.questions import Questions
from oulipoly_engine.core.text.columns import plain
from oulipoly_engine.errors import Declined
from oulipoly_engine.facade import diagnostics, output


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Run the command of that name."""
    parser = Parser(prog=f"{context.program} {name}", command=name)
    if name == "telemetry clear":
        parser.add_argument("-y", "--yes", action="store_true", help="do it without a question")
    else:
        parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse(arguments)
    if name == "telemetry clear":
        if not Questions(is_agreed=options.yes).confirm("Remove all that telemetry has kept? It cannot be undone."):
            raise Declined("nothing was removed")
        diagnostics.note(f"{context.engine.telemetry.clear()} events are removed")
        return 0
    kept = context.engine.telemetry.read()
    if options.json:
        files = [str(file) for file in kept.files]
        output.write_json({"enabled": kept.is_on, "files": files, "events": kept.events})
        return 0
    output.write_lines(_describe(event) for event in kept.events)
    where = f"; {', '.join(map(str, kept.files))}" if kept.files else ""
    state = "on" if kept.is_on else f"off: `{context.program} config set telemetry true` switches it on"
    diagnostics.note(f"{len(kept.events)} events; telemetry is {state}{where}; nothing is sent")
    return 0


def _describe(event: dict[str, Any]) -> str:
    rest = (f"{name}={value}" for name, value in event.items() if name not in ("id", "at", "event"))
    return plain(" ".join((str(event.get("at", "")), str(event.get("event", "")), *rest)))
