"""Be the pip of another Python for this one, and look at no file of an index whose hash the lock does not have.

    PYTHON scripts/locked_pip.py FOLDER_OF_PIP install --requirement LOCK ...

An index names some 30,000 files for a lock of a hundred packages: pip reads the version of each, and holds it against
each of 900 tags, before it asks for the hash. That was more than half of what an installation asks of the processor.
What it installs pip checks as ever. Where it is built otherwise, or an index names no hashes, all files are looked at.
"""

from __future__ import annotations

import importlib.util
import itertools
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any


def load_pip(folder: str) -> None:
    """Have `import pip` mean the one in a folder."""
    spec = importlib.util.spec_from_file_location("pip", f"{folder}/__init__.py", submodule_search_locations=[folder])
    if spec is None or spec.loader is None:
        raise SystemExit(f"there is no pip in {folder}")
    module = importlib.util.module_from_spec(spec)
    sys.modules["pip"] = module
    spec.loader.exec_module(module)


def read_hashes(arguments: list[str]) -> set[str]:
    """Return the hashes of all locks that are named."""
    files = [value for name, value in itertools.pairwise(arguments) if name == "--requirement"]
    return {known for file in files for known in re.findall(r"sha256:([0-9a-f]{64})", Path(file).read_text())}


def look_only_at(hashes: set[str]) -> None:
    """Leave out what an index says has another hash."""
    from pip._internal.models.link import Link  # noqa: PLC0415 - pip is there only now

    read_link = Link.from_json

    def read_locked_link(file: dict[str, Any], page_url: str) -> object:
        known = file.get("hashes", {}).get("sha256")
        if known is not None and known not in hashes:
            return None
        return read_link(file, page_url)

    Link.from_json = staticmethod(read_locked_link)


def main() -> int:
    """Run pip; returns its exit code."""
    folder, *arguments = sys.argv[1:]
    load_pip(folder)
    if hashes := read_hashes(arguments):
        with suppress(ImportError, AttributeError):
            look_only_at(hashes)
    from pip._internal.cli.main import main as run_pip  # noqa: PLC0415 - the same

    return run_pip(arguments)


if __name__ == "__main__":
    sys.exit(main())
