"""Read extension.toml, or the block of one in a Python file, into a manifest."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from oulipoly_engine.config.base.problem import Level, Loaded, Problem
from oulipoly_engine.config.schema.extension_manifest import ManifestTable
from oulipoly_engine.config.schema.faults import check
from oulipoly_engine.config.toml import toml_file
from oulipoly_engine.core.extensions.manifest import Manifest
from oulipoly_engine.records import prepare

# A file of its own declares itself as scripts declare what they need (PEP 723).
_BLOCK = re.compile(r"^# /// extension$\s(?P<lines>(?:^#(?: .*)?$\s)+?)^# ///$", re.MULTILINE)


def parse(path: Path, raw: bytes | None) -> Loaded[Manifest | None]:
    """Return what a file declares; None: it is not usable, and the problems say why."""
    file = toml_file.read(path, raw) if path.suffix == ".toml" else _read_block(path, raw)
    if file.failure is not None:
        return Loaded(None, (file.failure,))
    table, faults = check(ManifestTable, file.data)
    problems = file.problems(faults)
    if table is None:
        return Loaded(None, problems)
    return Loaded(msgspec.convert(table.model_dump(), prepare(Manifest)), problems)


def _read_block(path: Path, raw: bytes | None) -> toml_file.TomlFile:
    text = (path.read_bytes() if raw is None else raw).decode("utf-8", "replace")
    block = _BLOCK.search(text)
    if block is None:
        fix = 'write `# /// extension`, `# name = "…"` and `# ///` at its beginning, or put it in a folder'
        return toml_file.TomlFile(path, failure=Problem(Level.ERROR, path, 1, "", "it declares no extension", fix))
    lines = (line.removeprefix("#").removeprefix(" ") for line in block["lines"].splitlines())
    return toml_file.parse(path, "\n" * text.count("\n", 0, block.start("lines")) + "\n".join(lines))
