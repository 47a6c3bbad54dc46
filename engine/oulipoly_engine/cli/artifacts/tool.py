"""What the programs that agents use have in common: verbs, options, exit codes, and the store that is meant.

Exit codes (contract: section 14): 0; 64 called wrongly; 65 no such version, or removed; 66 another version came in
between; 70 a bug of ours; 73 the store cannot be used; 74 content cannot be read or written.
"""

from __future__ import annotations

import codecs
import os
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

from oulipoly_engine import __version__, variables
from oulipoly_engine.cli.base import stdio
from oulipoly_engine.cli.base.parser import Parser
from oulipoly_engine.clock import SystemClock
from oulipoly_engine.core.artifacts.addresses import Address
from oulipoly_engine.core.artifacts.versions import Version
from oulipoly_engine.core.runs.markers import parse_parent
from oulipoly_engine.core.text.redact import redact
from oulipoly_engine.errors import ArtifactInputFailed, ArtifactMisused, OutputFailed, RunnerError, UsageInvalid
from oulipoly_engine.facade import artifacts, diagnostics, output
from oulipoly_engine.facade.artifacts import ArtifactStore

MISUSED, BUG = 64, 70


class Verb(NamedTuple):
    """One thing that a program does."""

    summary: str
    configure: Callable[[Parser], None]
    run: Callable[[Namespace], int]


class Tool(NamedTuple):
    """One program."""

    program: str
    summary: str
    verbs: Mapping[str, Verb]


def main(tool: Tool, argv: Sequence[str] | None = None) -> int:
    """Run one command line of a program and return its exit code."""
    stdio.hold_places()
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        return _run(tool, arguments)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        output.abandon()
        return 0
    except UsageInvalid as error:
        diagnostics.fail_as_asked(error, arguments)
        return MISUSED
    except OutputFailed as error:
        diagnostics.fail(error)
        return ArtifactInputFailed.exit_code
    except RunnerError as error:
        return diagnostics.fail_as_asked(error, arguments)
    except Exception as error:  # noqa: BLE001, RUF100 - the contract has a code for it
        diagnostics.note(f"Error: {type(error).__name__}: {error}")
        return BUG


def _run(tool: Tool, arguments: list[str]) -> int:
    if arguments[:1] in (["-h"], ["--help"]):
        width = max(map(len, tool.verbs)) + 2
        lines = "\n".join(f"  {name:<{width}}{verb.summary}" for name, verb in tool.verbs.items())
        output.write_block(f"usage: {tool.program} COMMAND [ARGS...]\n\n{tool.summary}\n\n{lines}\n")
        return 0
    if arguments[:1] == ["--version"]:
        output.write_line(f"{tool.program} {__version__}")
        return 0
    verb = tool.verbs.get(arguments[0]) if arguments else None
    if verb is None:
        word = f"unknown command {arguments[0][:80]!r}" if arguments else "say what to do"
        raise UsageInvalid(f"{word}: {', '.join(tool.verbs)} (see `{tool.program} --help`)")
    parser = Parser(prog=f"{tool.program} {arguments[0]}", description=verb.summary)
    verb.configure(parser)
    return verb.run(parser.parse(arguments[1:]))


def add_store(parser: Parser) -> None:
    """Add the option that says which store is meant."""
    parser.add_argument("--db", type=Path, metavar="FILE", help=f"the store (default: {variables.ARTIFACT_STORE})")


def add_scope(parser: Parser) -> None:
    """Add the option that says whose things are meant."""
    parser.add_argument("--invocation-uuid", metavar="UUID", help=f"default: the one of {variables.PARENT_INVOCATION}")


def add_content(parser: Parser) -> None:
    """Add the options that say where content comes from."""
    parser.add_argument("--content-file", type=Path, metavar="FILE", help="the content")
    parser.add_argument("--content-stdin", action="store_true", help="read the content from stdin")


def add_description(parser: Parser) -> None:
    """Add what is said of a version."""
    parser.add_argument("--format", metavar="TEXT", help="what kind of content it is: text/markdown")
    parser.add_argument("--verdict-line", metavar="TEXT", help="what its maker says of it, in one line")


def number(text: str) -> int:
    """Read a version. Raises UsageInvalid."""
    if not text.isascii() or not text.isdecimal() or not 0 < int(text[:19]) < 1 << 63:
        raise UsageInvalid(f"{text[:40]!r} is not a version: versions count from 1")
    return int(text)


def scope(given: str | None) -> str:
    """Return the UUID of the invocation whose things are meant. Raises ArtifactMisused."""
    found = given if given is not None else own_invocation()
    if not found:
        name = variables.PARENT_INVOCATION
        raise ArtifactMisused(f"no invocation is named: give --invocation-uuid, or run it where {name} is set")
    return found


def own_invocation() -> str | None:
    """Return the UUID of the run that we are in; None: it is none of ours."""
    parent = parse_parent(os.environ.get(variables.PARENT_INVOCATION, ""))
    return None if parent is None else parent.id


@contextmanager
def opened(given: Path | None) -> Iterator[ArtifactStore]:
    """Open the store that is meant. One that a run was told of is made where it is missing, one of --db never.

    Raises ArtifactMisused, ArtifactStoreUnusable.
    """
    clock, told = SystemClock(), os.environ.get(variables.ARTIFACT_STORE)
    if given is None:
        if not told:
            message = f"no store is named: give --db FILE, or run it where {variables.ARTIFACT_STORE} is set"
            raise ArtifactMisused(message)
        artifacts.initialise(Path(told), clock)
    with artifacts.open_store(given or Path(told or ""), clock) as store:
        yield store


@contextmanager
def content(path: Path | None, *, from_stdin: bool, body: str | None = None) -> Iterator[BinaryIO | bytes]:
    """Open the one content that was given. Raises ArtifactMisused, ArtifactInputFailed."""
    if (path is not None) + from_stdin + (body is not None) != 1:
        raise ArtifactMisused("give the content in one way: --content-file FILE or --content-stdin")
    if body is not None:
        yield body.encode("utf-8", "surrogateescape")
    elif path is None:
        if sys.stdin is None:
            raise ArtifactInputFailed("the content cannot be read: stdin is closed")
        yield sys.stdin.buffer
    else:
        try:
            file = stdio.open_file(path)
        except OSError as error:
            message = f"cannot read {path}: {error.strerror or error}: name a file that is there"
            raise ArtifactInputFailed(message) from error
        with file:
            yield file


def write_content(store: ArtifactStore, wish: Address, out: Path | None) -> None:
    """Write a content to a file, or to stdout: as it is, but for what would drive a terminal that shows it."""
    if out is not None:
        store.save(wish, out)
        return
    _, blocks = store.read(wish)
    if not os.isatty(output.STDOUT):
        for block in blocks:
            output.write_bytes(block)
        return
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    for block in blocks:
        output.write_block(decode(block))
    output.write_block(decode(b"", final=True))


def hidden(text: str) -> str:
    """Return a name for a listing, without the secrets in it."""
    return redact(text)


def version_line(one: Version, *more: str) -> None:
    """Print a version as `RUN NAME vN SHA`."""
    place = f"{hidden(one.address.run)} {hidden(one.address.name)}"
    output.write_line(" ".join((place, f"v{one.number}", one.sha256, *more)))


def name_line(one: Version, *more: str) -> None:
    """Print a version as `NAME vN SHA`."""
    output.write_line(" ".join((hidden(one.address.name), f"v{one.number}", one.sha256, *more)))


def show(one: Version, *, as_json: bool) -> None:
    """Print what is known of a version."""
    if as_json:
        output.write_json(one.document(), pretty=False)
    else:
        version_line(one, *(["tombstoned"] if one.removal is not None else []))
