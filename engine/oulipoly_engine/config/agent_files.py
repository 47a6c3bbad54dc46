"""Agent files: a `---` line, YAML, a `---` line, and the instructions."""

from __future__ import annotations

from pathlib import Path

from oulipoly_engine.config import snapshot
from oulipoly_engine.config.base import text_file
from oulipoly_engine.config.base.problem import Loaded
from oulipoly_engine.config.model_files import is_name
from oulipoly_engine.core.accounts.accounts import Agent
from oulipoly_engine.paths import Paths


def names(folder: Path) -> tuple[str, ...]:
    """Return the names of the agents in a folder, sorted; a missing folder has none."""
    try:
        return tuple(sorted(path.stem for path in folder.glob("*.md") if is_name(path.stem) and path.is_file()))
    except OSError:
        return ()


def read(path: Path, paths: Paths | None) -> Loaded[Agent | None]:
    """Return the agent of a file, None when it has an error, and all problems of the file.

    paths: whose snapshot may have it; None: read the file itself.
    """

    def parse(raw: bytes | None) -> Loaded[Agent | None]:
        from oulipoly_engine.config.parse import agents  # noqa: PLC0415 - 100 ms, only a changed file needs it

        return agents.parse(path, raw)

    return parse(None) if paths is None else snapshot.read(paths, path, "agent", Loaded[Agent | None], parse)


def line_of(path: Path, key: str) -> int | None:
    """Return the line of a frontmatter key in a file that was read before."""
    from oulipoly_engine.config.parse.agents import find_line  # noqa: PLC0415 - 100 ms, only a fault needs its line

    text = text_file.read_text(path)
    return find_line(text, key) if isinstance(text, str) else None
