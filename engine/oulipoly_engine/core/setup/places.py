"""Where a model may have files written: below our configuration's folder and ~/.local/bin. Pure.

What links make of a path is for whoever looks at the disk; here a path is only its text.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from oulipoly_engine.core.accounts.clis.table import CLIS
from oulipoly_engine.errors import RequestRefused
from oulipoly_engine.records import Record

PROGRAMS = ".local/bin"  # below the home
_LONGEST = 1024  # characters
_DEEPEST = 6  # folders below a root
# Whatever keeps a login or a key, of the CLIs that are known and of what people name so.
_CREDENTIALS = frozenset(
    name.rpartition("/")[2].lower()
    for cli in CLIS.values()
    for name in (*cli.credentials, *(() if cli.status is None else cli.status.files))
) - {"config.toml", "settings.json"}
_SECRET_NAME = re.compile(
    r"\.env(\..*)?|\.netrc|\.npmrc|api[-_]?keys?(\..*)?|.*\.(pem|key|p12|keyring)|.*(credential|secret|token)s?(\..*)?",
    re.IGNORECASE,
)


class Target(Record):
    """A file that may be written as far as its path says."""

    root: PurePosixPath  # one of the two folders
    path: PurePosixPath  # absolute, normalised
    is_program: bool  # below ~/.local/bin: the user may execute it


def find_target(text: str, config: PurePosixPath, home: PurePosixPath) -> Target:
    """Return the file that a model means. A path without a `/` or `~/` in front is below the configuration.

    config, home: absolute. Raises RequestRefused, which says where files may be.
    """
    if not text or len(text) > _LONGEST or not text.isprintable():
        message = "the path is empty, too long, or has signs that no file name should have"
        raise RequestRefused(message)
    path = PurePosixPath(text)
    if text.startswith("~/"):
        path = home / text[2:]
    elif not path.is_absolute():
        path = config / path
    programs = home / PROGRAMS
    if ".." in path.parts or (text.startswith("~") and not text.startswith("~/")):
        message = f"{text[:200]!r} is refused: write whole paths, without `..`"
        raise RequestRefused(message)
    for root in (config, programs):
        if path.is_relative_to(root) and path != root:
            _check_below(path.relative_to(root), text)
            return Target(root, path, root == programs)
    message = f"{text[:200]!r} is refused: files may be written below {config}/ and {programs}/ alone"
    raise RequestRefused(message)


def _check_below(path: PurePosixPath, text: str) -> None:
    name = path.name.lower()
    if name in _CREDENTIALS or _SECRET_NAME.fullmatch(name):
        message = f"{text[:200]!r} is refused: files with logins and keys are never written here"
        raise RequestRefused(message)
    if len(path.parts) > _DEEPEST or text.endswith("/"):
        message = f"{text[:200]!r} is refused: it names no file, or one too deep in folders"
        raise RequestRefused(message)


_RUNS = re.compile(r"\s*\"?(?:[a-z_]+\.)*(?:[a-z_]*_script|[a-z_]*command|transcript_locator|args)\"?\s*=")


def file_warning(target: Target, before: str | None, after: str, other: str | None) -> str:
    """Return what to think of before a file is written. other: a program of that name elsewhere on the PATH."""
    if target.is_program:
        place = f"; it takes the place of {other} in your shell" if other is not None else ""
        return f"this is a program: it does what it says whenever it is started{place}"
    known = set((before or "").splitlines())
    if target.path.suffix == ".toml" and any(_RUNS.match(line) for line in after.splitlines() if line not in known):
        return "new lines of it name programs that will be run, scripts for quota and sessions without being asked for"
    return ""
