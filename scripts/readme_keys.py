"""Write the table of keys into the README, so that it says what the app does."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "engine"), str(ROOT / "tui")]

from oulipoly_tui.keys.keymap import TABLE, format_keys  # noqa: E402
from oulipoly_tui.view.frame.help import place_title  # noqa: E402

README = ROOT / "README.md"
_BEGIN, _END = "<!-- keys: scripts/readme_keys.py -->\n", "<!-- end of the keys -->\n"


def section() -> str:
    """Return the keys by where they work, in the table's order."""
    parts = []
    for place in dict.fromkeys(row.where for row in TABLE):
        keys = (row for row in TABLE if row.where == place)
        rows = "".join(f"| {_cell(format_keys(row.keys))} | {row.description} | `{row.id}` |\n" for row in keys)
        parts.append(f"\n**{place_title(place)}**\n\n| key | does | name in `[keys]` |\n|---|---|---|\n{rows}")
    return "".join(parts)


def updated(text: str) -> str:
    """Return the README with the table as it is now."""
    before, _, rest = text.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not end:
        message = f"{README} has no place for the keys: {_BEGIN.strip()} … {_END.strip()}"
        raise SystemExit(message)
    return f"{before}{_BEGIN}{section()}\n{_END}{after}"


def main(arguments: list[str] | None = None) -> int:
    """Write, or compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare with what is kept")
    options = parser.parse_args(arguments)
    kept = README.read_text(encoding="utf-8")
    now = updated(kept)
    if options.check:
        return int(kept != now)
    README.write_text(now, encoding="utf-8")
    return 0


def _cell(keys: str) -> str:
    return " ".join("``` ` ```" if key == "`" else f"`{key}`" for key in keys.replace("|", "\\|").split())


if __name__ == "__main__":
    sys.exit(main())
