"""Where a model may have files written: below our configuration's folder and ~/.local/bin. Pure.

What links make of a path is for whoever looks at the disk; here a path is only its text.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import PurePosixPath

from oulipoly_engine.core.accounts.clis.cli import Cli
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
        raise RequestRefused("the path is empty, too long, or has signs that no file name should have")
    path = PurePosixPath(text)
    if text.startswith("~/"):
        path = home / text[2:]
    elif not path.is_absolute():
        path = config / path
    programs = home / PROGRAMS
    if ".." in path.parts or (text.startswith("~") and not text.startswith("~/")):
        raise RequestRefused(f"{text[:200]!r} is refused: write whole paths, without `..`")
    for root in (config, programs):
        if path.is_relative_to(root) and path != root:
            _check_below(path.relative_to(root), text)
            return Target(root, path, root == programs)
    raise RequestRefused(f"{text[:200]!r} is refused: files may be written below {config}/ and {programs}/ alone")


def check_account_file(target: Target, cli: Cli) -> None:
    """Refuse a file that has neither accounts nor a pool, for a set-up of one CLI alone. Raises RequestRefused."""
    path = target.path.relative_to(target.root)
    is_pool = path.parent == PurePosixPath("models") and path.suffix == ".toml"
    if not (target.is_program or is_pool or path == PurePosixPath("providers.toml")):
        raise RequestRefused(
            f"{str(target.path)[:200]!r} is refused: this set-up is about {cli.title} alone, so it writes "
            f"providers.toml, models/NAME.toml and programs below ~/{PROGRAMS}/"
        )


def _check_below(path: PurePosixPath, text: str) -> None:
    name = path.name.lower()
    if name in _CREDENTIALS or _SECRET_NAME.fullmatch(name):
        raise RequestRefused(f"{text[:200]!r} is refused: files with logins and keys are never written here")
    if len(path.parts) > _DEEPEST or text.endswith("/"):
        raise RequestRefused(f"{text[:200]!r} is refused: it names no file, or one too deep in folders")


# Settings that say what is run, or with what: arguments and variables make another program of it.
_RUNS = re.compile(r"(?:\w+_)?(?:command|script|locator|args|flag)|subcommand|(?:unset_)?environment")
_NO_PROGRAMS = (".toml", ".md")
_MOST_NAMED = 5
_MOST_PARTS = 64  # of a key, with which no file of ours loads


def file_warning(target: Target, before: str | None, after: str, other: str | None) -> str:
    """Return what to think of before a file is written. other: a program of that name elsewhere on the PATH."""
    if target.is_program:
        place = f"; it takes the place of {other} in your shell" if other is not None else ""
        return f"this is a program: it does what it says whenever it is started{place}"
    if target.path.suffix not in _NO_PROGRAMS:
        return "where a setting names this file as a script, it is run with all your rights"
    names = list(dict.fromkeys(name for name, _ in _what_runs(after) - _what_runs(before or "")))
    if target.path.suffix != ".toml" or not names:
        return ""
    shown = ", ".join(sorted(names)[:_MOST_NAMED]) + f" and {len(names) - _MOST_NAMED} more" * (
        len(names) > _MOST_NAMED
    )
    return f"programs are run as it says in {shown}: scripts for quota and sessions without being asked for"


def _what_runs(text: str) -> set[tuple[str, str]]:
    """Return the settings of a TOML text that say what is run, as (name, value); of any other text the text itself."""
    try:
        return {(name, value) for name, value, is_run in _leaves(tomllib.loads(text)) if is_run}
    except (tomllib.TOMLDecodeError, RecursionError):
        return {("it", text)}


def _leaves(value: object, name: str = "", *, is_run: bool = False) -> Iterator[tuple[str, str, bool]]:
    if name.count(".") > _MOST_PARTS:
        raise RecursionError
    if isinstance(value, dict):
        for key, one in value.items():
            below = f"{name}.{key}" if name else key
            yield from _leaves(one, below, is_run=is_run or _RUNS.fullmatch(key) is not None)
    elif isinstance(value, list) and any(isinstance(one, dict) for one in value):
        for number, one in enumerate(value, start=1):
            yield from _leaves(one, f"{name}[{number}]", is_run=is_run)
    else:
        yield name, repr(value), is_run
