"""The repository's own commands, run in a worktree; what they print is kept in a file, without secrets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from oulipoly_engine.core.runs.markers import without_channel
from oulipoly_engine.core.text.redact import redact
from oulipoly_engine.core.worktrees.worktree_refusals import SetupFailed
from oulipoly_engine.core.worktrees.worktrees import Worktree
from oulipoly_engine.private_files import make_folder, write_private
from oulipoly_engine.process.script import run_script
from oulipoly_engine.service.worktrees.base.git import clean_environment
from oulipoly_engine.service.worktrees.setup.ports import worktree_environment

_OUTPUT_LIMIT = 16 << 20
_TOLD = 3  # lines of what a command that failed has printed


def run_commands(worktree: Worktree, lines: Sequence[str], timeout_s: float, log: Path) -> None:
    """Run shell lines one after the other in a worktree. Raises SetupFailed at the first that fails."""
    env = without_channel(clean_environment()) | worktree_environment(worktree)
    printed: list[str] = []
    if lines:
        make_folder(log.parent)
    for line in lines:
        result = run_script(line, env, timeout_s=timeout_s, cwd=Path(worktree.path), output_limit=_OUTPUT_LIMIT)
        said = (result.stdout + result.stderr).decode("utf-8", "replace")
        printed += [f"$ {line}", said.rstrip("\n"), f"({result.outcome})"]
        write_private(log, redact("\n".join(printed) + "\n").encode("utf-8", "backslashreplace"))
        if not result.succeeded:
            last = "; ".join(said.strip().splitlines()[-_TOLD:])
            problem = redact(f"`{line}` {result.outcome}{f': {last}' if last else ''}")
            raise SetupFailed(f"{problem} (all it printed: {log})")
