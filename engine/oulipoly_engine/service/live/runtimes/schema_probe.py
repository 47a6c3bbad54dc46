"""Which methods the installed codex has: it writes the schema of its protocol when it is asked to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from oulipoly_engine.core.live.drift import describe_lost_methods, read_methods
from oulipoly_engine.core.live.runtime_status import Diagnostic
from oulipoly_engine.process.script import EXEC, run_script
from oulipoly_engine.regular_files import read_regular

_MOST_FILES, _LONGEST = 1000, 4 << 20  # 0.169 writes 300 files; bytes of one
_PATIENCE_S = 15.0


def find_lost_methods(program: str, environ: Mapping[str, str]) -> Diagnostic | None:
    """Say which methods of codex's protocol the installed version lacks; None: none, or it does not tell."""
    with TemporaryDirectory(prefix="codex-schema-") as folder:
        words = (program, "app-server", "generate-json-schema", "--experimental", "--out", folder)
        done = run_script(EXEC, environ, timeout_s=_PATIENCE_S, arguments=words, output_limit=1 << 20)
        return describe_lost_methods(read_methods(_read(Path(folder)))) if done.succeeded else None


def _read(folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*.json"))[:_MOST_FILES]:
        with suppress(OSError):
            yield read_regular(path, _LONGEST).decode("utf-8", "replace")
