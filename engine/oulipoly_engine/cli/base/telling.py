"""What commands print that have a JSON form with a version: the document for scripts, or lines for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oulipoly_engine.facade import diagnostics, output

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable, Mapping

SCHEMA_VERSION = 1


def tell(options: Namespace, document: Mapping[str, object], *lines: str, notes: Iterable[str] = ()) -> int:
    """Print a document with `--json`, else lines, and notes on stderr. Returns the exit code, 0."""
    if options.json:
        output.write_json({"schema_version": SCHEMA_VERSION, **document})
        return 0
    output.write_lines(lines)
    for note in notes:
        diagnostics.note(note)
    return 0
