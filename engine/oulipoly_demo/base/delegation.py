"""What a demo agent does beside answering: it asks another agent for a file, and returns one to its own caller.

By our commands, in processes of their own, as a real agent does: the runs and what they return are real.
"""

from __future__ import annotations

import json
import subprocess
import sys

_AGENTS = (sys.executable, "-m", "oulipoly_tui")
_MESSENGER = (
    sys.executable,
    "-c",
    "from oulipoly_engine.cli.artifacts.messenger import main; raise SystemExit(main())",
)
_RESULT = b"OULIPOLY_RESULT="


def ask(agent: str, question: str) -> str:
    """Start an agent and return the file that it hands back, or a sentence where it hands back none."""
    asked = (*_AGENTS, "--result-on-stderr", agent, f"{question} [[return:{agent}.md]]")
    done = subprocess.run(asked, stdin=subprocess.DEVNULL, capture_output=True, check=False)  # noqa: S603 - no shell
    last = next((line for line in reversed(done.stderr.splitlines()) if line.startswith(_RESULT)), _RESULT + b"{}")
    returned = json.loads(last.removeprefix(_RESULT)).get("returned_artifacts", [])
    if not returned:
        return f"{agent} has returned nothing (exit code {done.returncode})."
    return _call(b"", "show", "--version-id", returned[0]["version_id"])


def hand_back(name: str, text: str) -> str:
    """Return a text to whoever started us, and what the messenger says of it."""
    verdict = next((line for line in reversed(text.splitlines()) if line.strip()), "")
    return _call(text.encode(), "return", "--name", name, "--content-stdin", "--verdict-line", verdict).strip()


def _call(given: bytes, *words: str) -> str:
    done = subprocess.run((*_MESSENGER, *words), input=given, capture_output=True, check=False)  # noqa: S603 - as above
    return (done.stdout or done.stderr).decode("utf-8", "replace")
