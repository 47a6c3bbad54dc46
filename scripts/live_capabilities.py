"""Write docs/live-capabilities.md from what the suite of the real CLIs has seen them do in live sessions."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SEEN, PAGE = ROOT / "tests" / "real_cli" / "capabilities.json", ROOT / "docs" / "live-capabilities.md"
_CLIS = {
    "claude": ("Claude Code", "stream-JSON"),
    "codex": ("Codex", "app-server"),
    "opencode": ("opencode", "ACP"),
    "gemini": ("Gemini CLI", "ACP"),
}
_ROWS = {
    "turns": "several turns in one process",
    "command_approve": "a command waits, and runs when it is approved",
    "command_deny": "a command that is denied does not run",
    "file_change": "a change of a file waits, with its diff in view",
    "question": "the agent asks a question, and gets the answer",
    "interrupt": "an interrupt ends the turn; no command is left after `close`",
    "steer": "a message reaches the running turn",
    "set_model": "later turns are done by another model",
    "compact": "what it remembers is shortened",
    "review": "changes are reviewed",
    "resume": "a turn goes on after its host or its CLI was killed",
    "fork": "a fork at the end, by the CLI itself",
    "fork_at_turn": "a fork at an earlier turn, by the CLI itself",
    "active_writer": "a session that another process holds is told as such",
    "error_login": "a login that is refused is told as such",
    "error_spent": "a plan that is used up is told as such",
    "error_server": "trouble of the vendor's server is told as such",
}
_HEAD = """\
# What live sessions can do with each CLI

Seen with the real CLIs against a model API on the same machine, by `scripts/test-real-clis --record-capabilities`.
[Live sessions](live-sessions.md) tells how they are used, [runtimes](runtimes.md) how a CLI becomes one.

"""


def page(seen: Mapping[str, Any]) -> str:
    """Return the page. seen: by CLI, its version and what it was seen to do."""
    notes: dict[str, int] = {}
    named = [f"{_CLIS[cli][0]} {seen.get(cli, {}).get('version', '')}".strip() for cli in _CLIS]
    lines = [f"| | {' | '.join(named)} |", f"|---|{'---|' * len(_CLIS)}"]
    lines.append(f"| driven by | {' | '.join(protocol for _, protocol in _CLIS.values())} |")
    for capability, title in _ROWS.items():
        found = [seen.get(cli, {}).get("seen", {}).get(capability) for cli in _CLIS]
        lines.append(f"| {title} | {' | '.join(_cell(one, notes) for one in found)} |")
    return _HEAD + "\n".join([*lines, "", *_foot(notes)]) + "\n"


def _cell(found: Mapping[str, str] | None, notes: dict[str, int]) -> str:
    if found is None:
        return "not tried"
    if not found["how"]:
        return found["outcome"]
    number = notes.setdefault(found["how"], len(notes) + 1)
    return f"{found['outcome']} ({number})"


def _foot(notes: Mapping[str, int]) -> Iterator[str]:
    for text, number in notes.items():
        yield f"{number}. {text[:1].upper()}{text[1:]}."


def main(arguments: list[str] | None = None) -> int:
    """Write, or compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare with what is kept")
    options = parser.parse_args(arguments)
    now = page(json.loads(SEEN.read_text(encoding="utf-8")))
    if options.check:
        return int(not PAGE.exists() or PAGE.read_text(encoding="utf-8") != now)
    PAGE.write_text(now, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
