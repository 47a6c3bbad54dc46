"""Git as a program: one call, with a time limit, a limit of output, and nothing of the caller's own environment."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from tempfile import TemporaryDirectory

from oulipoly_engine.core.text.redact import redact
from oulipoly_engine.errors import RequestRefused
from oulipoly_engine.private_files import write_private
from oulipoly_engine.process.script import EXEC, ScriptResult, run_script
from oulipoly_engine.records import Record

_TIMEOUT_S = 30.0
_OUTPUT_LIMIT = 16 << 20  # bytes
# What locks an index or a reference. Git makes a lock file first and then remembers to remove it: a signal in between
# leaves the file, and every later order is refused. Most are over before the patience is, all others past that moment.
_LOCKING = """
add apply checkout checkout-index commit read-tree reset restore submodule symbolic-ref update-index update-ref worktree
write-tree
"""
_LOCK_PATIENCE_S = 2.0
# These read, or write one object or reference, are over at once, and run nothing of others: they need no shells beside
# them that stop them if we are killed, which take longer than they do.
_SHORT = """
check-ignore commit-tree config for-each-ref ls-files ls-tree merge-base rev-list rev-parse show-ref symbolic-ref
update-ref write-tree
"""
_NO_PROGRAM = 127  # the shell's exit code
# What an agent may have written into the repository's configuration must not run because somebody looks.
_SAFE = (
    *("-c", "core.fsmonitor=false", "-c", "core.pager=cat", "-c", "protocol.ext.allow=never", "-c", "color.ui=false"),
    # What git begins by itself in the background would hold our locks for as long as it works.
    *("-c", "gc.auto=0", "-c", "maintenance.auto=false"),
)
# A large file is read in pieces, and no time is spent to make it small: git does that when it packs.
STREAMED = ("-c", "core.bigFileThreshold=16m", "-c", "core.compression=0")
_FED = 'input=$1; shift; exec "$@" <"$input"'  # the line that gives a command a file as its stdin
PEOPLE = tuple(f"GIT_{who}_{what}" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL", "DATE"))
_CALLERS = frozenset(("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", *PEOPLE))
# Source: `git rev-parse --local-env-vars` of git 2.39.
_OF_ONE_REPOSITORY = """
GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_CONFIG GIT_CONFIG_PARAMETERS GIT_CONFIG_COUNT GIT_OBJECT_DIRECTORY GIT_DIR
GIT_WORK_TREE GIT_IMPLICIT_WORK_TREE GIT_GRAFT_FILE GIT_INDEX_FILE GIT_NO_REPLACE_OBJECTS GIT_REPLACE_REF_BASE
GIT_PREFIX GIT_INTERNAL_SUPER_PREFIX GIT_SHALLOW_FILE GIT_COMMON_DIR
"""
_LOCK_FILE = re.compile(r"Unable to create '(.*\.lock)'")
_PLAIN = frozenset(range(33, 127)).difference(b'"\\')
_NO_HOOKS = ("-c", "core.hooksPath=/dev/null")


# A lock's descriptor that every git of this thread holds as well: one that outlives us keeps others out until it ends.
_held: ContextVar[tuple[int, ...]] = ContextVar("held", default=())


@contextmanager
def hold_in_children(descriptor: int) -> Iterator[None]:
    """Have every git that is started in the block, by this thread, hold a descriptor."""
    token = _held.set((*_held.get(), descriptor))
    try:
        yield
    finally:
        _held.reset(token)


class GitFailed(RequestRefused, slug="git-failed"):
    """Git refused; the message is what it said."""


class Git(Record):
    """Git in one folder."""

    folder: Path
    env: Mapping[str, str] = {}  # beside the caller's own, without git's own variables
    keeps: object = None  # what env names, and which goes when nobody has it any more

    def run(
        self,
        *words: str,
        env: Mapping[str, str] | None = None,
        timeout_s: float = _TIMEOUT_S,
        output_limit: int = _OUTPUT_LIMIT,
        hooks: bool = False,
        stdin: bytes | None = None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> ScriptResult:
        """Run `git WORDS` and return how it ended, whatever that was.

        hooks: the repository's own may run. stdin: what it reads there.

        It is stopped if we are killed, what locks an index a little later. Only what is short works on to its end.
        """
        verb = verb_of(words)
        argv = ("git", *_SAFE, *(() if hooks else _NO_HOOKS), "-C", str(self.folder), *words)
        given = clean_environment() | dict(self.env) | dict(env or {})
        with _feed(argv, stdin) as (line, arguments):
            return run_script(
                line,
                given,
                arguments=arguments,
                timeout_s=timeout_s,
                output_limit=output_limit,
                cancelled=cancelled,
                keeps=_held.get(),
                ends_with_us=verb not in _SHORT.split(),
                patience_s=_LOCK_PATIENCE_S if verb in _LOCKING.split() else 0.0,
            )

    def check(self, *words: str, **options: object) -> bytes:
        """Run `git WORDS` and return what it printed. Raises GitFailed with what to do, where we know it."""
        result = self.run(*words, **options)  # type: ignore[arg-type]
        if not result.succeeded:
            raise explain(result, verb_of(words))
        return result.stdout

    def text(self, *words: str, **options: object) -> str:
        """Run `git WORDS` and return the one line, or the lines, that it printed, without the last line's end."""
        return os.fsdecode(self.check(*words, **options)).rstrip("\n")


@contextmanager
def _feed(argv: tuple[str, ...], stdin: bytes | None) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the shell line that starts a command with what it reads, and the line's arguments."""
    if stdin is None:
        yield EXEC, argv
        return
    with TemporaryDirectory(prefix="agent-runner-", ignore_cleanup_errors=True) as folder:
        file = Path(folder, "stdin")
        write_private(file, stdin)
        yield _FED, (str(file), *argv)


def is_missing(result: ScriptResult) -> bool:
    """Tell whether a call failed because there is no git, with a shell before it or without."""
    return result.exit_code == _NO_PROGRAM or (result.problem or "").startswith("could not be started")


def join_names(names: Iterable[str]) -> bytes:
    """Return names as git reads them with `-z`."""
    return b"".join(os.fsencode(name) + b"\0" for name in names)


def verb_of(words: tuple[str, ...]) -> str:
    """Return git's verb among the words of a call, behind options and settings."""
    return next((word for word in words if word[:1] != "-" and "=" not in word), "")


def quote_paths(paths: Iterable[str]) -> bytes:
    """Return paths as git reads them from lines, whatever bytes they have."""
    return b"".join(b'"%s"\n' % b"".join(map(_quote, os.fsencode(path))) for path in paths)


def _quote(byte: int) -> bytes:
    return b"%c" % byte if byte in _PLAIN else b"\\%03o" % byte


def explain(result: ScriptResult, what: str) -> GitFailed:
    """Return the error that says why a call failed."""
    said = result.stderr.decode("utf-8", "replace")
    if "No space left on device" in said or "Disk quota exceeded" in said:
        return GitFailed(f"git {what}: the disk is full: make room, and try again")
    lock = _LOCK_FILE.search(said)
    if lock:
        return GitFailed(
            f"git {what}: {lock[1]} is there: another git is at work, which you can wait for; "
            "where none is, a killed one has left that file: delete it"
        )
    return GitFailed(f"git {what}: {describe_failure(result)}")


def describe_failure(result: ScriptResult) -> str:
    """Return why a call failed, in git's own words where it said any."""
    said = redact(result.stderr.decode("utf-8", "replace")).strip().splitlines()
    lines = [line.removeprefix("fatal: ").removeprefix("error: ") for line in said if line.strip()]
    return lines[-1] if lines else result.outcome


def without_repository(env: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without what names a repository, as git leaves it to its hooks: none but a folder's own."""
    return {key: value for key, value in env.items() if key not in _OF_ONE_REPOSITORY.split()}


def clean_environment() -> dict[str, str]:
    """Return our environment without git's own variables, which would name another repository or a program.

    Who the caller is stays, and where the caller's own settings lie: a commit is theirs.
    """
    kept = {key: value for key, value in os.environ.items() if not key.startswith("GIT_") or key in _CALLERS}
    return kept | {"LC_ALL": "C.UTF-8", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"}
