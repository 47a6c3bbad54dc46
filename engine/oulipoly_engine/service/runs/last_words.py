"""What failed runs were asked and said last, in files of their own: for whoever looks why one failed.

A file holds no secrets that we know, and is gone after some hundred further failures.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING

from oulipoly_engine.private_files import make_folder, write_private

if TYPE_CHECKING:
    from pathlib import Path

    from oulipoly_engine.core.runs.trace import LastWords

_FOLDER = "failed"  # beside the result files
_LINES = 20
_LINE_LENGTH = 500  # characters
_PROMPT_LENGTH = 16_000  # characters
_MOST_KEPT = 200  # failures


def write(folder: Path, uuid: str, prompt: str, output: bytes) -> None:
    """Keep what a run was asked, and its last lines. folder: that of the result files. Raises OSError."""
    from oulipoly_engine.core.text.columns import plain  # noqa: PLC0415 - most runs succeed
    from oulipoly_engine.core.text.redact import redact  # noqa: PLC0415 - as above

    text = redact(output.decode("utf-8", "replace"))
    lines = [plain(line)[:_LINE_LENGTH] for line in text.splitlines() if line.strip()]
    asked = redact(prompt)[:_PROMPT_LENGTH]
    document = {"prompt": asked, "is_whole": asked == prompt, "output": lines[-_LINES:]}
    own_folder = folder / _FOLDER
    make_folder(own_folder)
    write_private(own_folder / f"{uuid}.json", json.dumps(document).encode())
    _forget_oldest(own_folder)


def find(folder: Path, uuid: str) -> LastWords | None:
    """Return what is kept of a run; None where nothing is, or nothing that can be read."""
    from oulipoly_engine.core.runs.trace import LastWords  # noqa: PLC0415 - runs write, and need nothing of a trace

    try:
        document = json.loads((folder / _FOLDER / f"{uuid}.json").read_bytes())
        return LastWords(str(document["prompt"]), bool(document["is_whole"]), tuple(map(str, document["output"])))
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _forget_oldest(own_folder: Path) -> None:
    kept = list(own_folder.iterdir())
    if len(kept) <= _MOST_KEPT:
        return
    with suppress(OSError):  # another process forgets the same ones
        kept.sort(key=lambda path: path.stat().st_mtime)
        for path in kept[:-_MOST_KEPT]:
            path.unlink(missing_ok=True)
