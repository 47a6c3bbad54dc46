#!/usr/bin/env python3
"""Find a session's transcript, or the folder that it works in; one file under six names.

    claude-code-locate-transcript ~/.claude/projects     codex-locate-transcript ~/.codex/sessions
    claude-code-cwd ~/.claude/projects                   codex-cwd ~/.codex/sessions
    gemini-locate-transcript ~/.gemini/tmp               gemini-cwd ~/.gemini/tmp

The name it is called by says what to do; `places.py NAME FOLDER` does the same. The session's id comes from the
environment's `SESSION_ID`, or as a second argument. A copy of this file under one of the names works alone: standard
library only, Python 3.11 and up.

stdout: a locator prints the transcript's absolute path on one line. The others print one JSON line
`{"found": true, "cwd": "/abs"}` or `{"found": false, "error"?: "<slug>"}`; without `error`, no transcript was found.
stderr: what could not be read.
Exits: 0; 1 called wrongly, or (locators) nothing was found.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

_DEEPEST = 16  # folders below the root; os.walk of Python 3.11 calls itself for each
_LONGEST_LINE = 16 << 20  # of a first line; a session_meta holds the instructions, some 100 kB
_RECORDS_READ = 2_000  # for the folder of a Claude transcript; the first message has it
_CHUNK = 1 << 20
_ESCAPED = re.compile(r"[^A-Za-z0-9-]")
_LONGEST_NAME = 200  # characters; Claude Code cuts longer folder names there and adds a hash

Json = Mapping[str, object]


class PlaceUnknown(Exception):
    """The session's folder cannot be told; the message is the slug of the reason."""


class Outcome(NamedTuple):
    """What a run of the script printed and returned."""

    exit_code: int
    stdout: str = ""
    stderr: str = ""


class Folder:
    """The transcripts below one folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.notes: list[str] = []  # what could not be read

    def list_named(self, prefix: str, suffix: str) -> list[Path]:
        """Return the transcripts whose names begin and end so, the one changed last first."""
        found = []
        root = self.root.absolute()
        for folder, folders, names in os.walk(root, onerror=self._note):  # follows no link to a folder
            if len(Path(folder).parts) - len(root.parts) >= _DEEPEST:
                folders.clear()
            for name in names:
                if name.startswith(prefix) and name.endswith(suffix):
                    path = Path(folder, name)
                    with suppress(OSError):  # gone meanwhile
                        status = path.lstat()
                        if stat.S_ISREG(status.st_mode):
                            found.append((-status.st_mtime_ns, path))
                        else:  # a link may lead anywhere, and a pipe waits for ever
                            self._note(_irregular(path, status))
        return [path for _, path in sorted(found)]

    def lines(self, path: Path, mark: bytes, most: int) -> Iterator[bytes]:
        """Yield those of a file's first lines that hold a mark."""
        try:
            with _open(path) as file:
                for _ in range(most):
                    line = file.readline(_LONGEST_LINE)
                    if not line:
                        return
                    if mark in line:
                        yield line
                    while not line.endswith(b"\n") and line:  # what is left of a longer one is not a line of its own
                        line = file.readline(_CHUNK)
        except OSError as error:
            self._note(error)

    def records(self, path: Path, mark: bytes, most: int) -> Iterator[Json]:
        """Yield the objects among a file's first lines that hold a mark."""
        yield from filter(None, map(_record, self.lines(path, mark, most)))

    def holds(self, path: Path, text: bytes) -> bool:
        """Tell whether a file contains some bytes."""
        rest = b""
        try:
            with _open(path) as file:
                while chunk := file.read(_CHUNK):
                    if text in rest + chunk:
                        return True
                    rest = chunk[-len(text) :]
        except OSError as error:
            self._note(error)
        return False

    def _note(self, error: OSError) -> None:
        self.notes.append(f"{error.filename}: {error.strerror or type(error).__name__}")


def locate_claude(folder: Folder, session_id: str) -> Path | None:
    """Return the file of that name, whatever it says inside; else one with a record of the session.

    A sub-agent's file carries its parent's id and is never the session itself: whoever shows, resumes or replaces it
    would take the part for the whole.
    """
    named = folder.list_named(f"{session_id}.jsonl", "")
    exact = next((path for path in named if path.name == f"{session_id}.jsonl"), None)
    if exact is not None:
        return exact
    wanted = session_id.encode()
    others = [path for path in folder.list_named("", ".jsonl") if "subagents" not in path.parts]
    return next((path for path in others if folder.holds(path, wanted) and _is_of(folder, path, session_id)), None)


def locate_codex(folder: Folder, session_id: str) -> Path | None:
    """Return the rollout whose name ends in the id; else the one whose first line names it."""
    named = folder.list_named("rollout-", f"-{session_id}.jsonl")
    if named:
        return named[0]
    return next(
        (path for path in folder.list_named("rollout-", ".jsonl") if _meta(folder, path).get("id") == session_id), None
    )


def claude_cwd(folder: Folder, session_id: str) -> str | None:
    """Return the folder that a session was started in; None if there is no such session.

    A record's `cwd` is taken where it fits the name of the folder that holds the transcript: the CLI looks the session
    up by that name, and a moved transcript still names its old place. Else the name is decoded.
    Raises PlaceUnknown.
    """
    path = locate_claude(folder, session_id)
    if path is None:
        return None
    name = _project_name(folder, path)
    recorded = dict.fromkeys(_read_recorded(folder, path))
    fitting = [cwd for cwd in recorded if _fits(cwd, name)]
    if fitting:
        return fitting[0]
    if recorded and not name.startswith("-"):  # no name that Claude Code would give
        return next(iter(recorded))
    return decode_project_dir(name)


def codex_cwd(folder: Folder, session_id: str) -> str | None:
    """Return the folder that a rollout's first line names; None if there is no such session.

    Raises PlaceUnknown.
    """
    path = locate_codex(folder, session_id)
    if path is None:
        return None
    meta = _meta(folder, path)
    if not meta:
        raise PlaceUnknown("codex_missing_session_meta")
    cwd = meta.get("cwd")
    if not isinstance(cwd, str) or not cwd:
        raise PlaceUnknown("codex_missing_cwd")
    if not cwd.startswith("/"):
        raise PlaceUnknown("codex_cwd_not_absolute")
    if not _is_folder(cwd):
        raise PlaceUnknown("codex_cwd_missing")
    return cwd


def locate_gemini(folder: Folder, session_id: str) -> Path | None:
    """Return the log whose first line names the session; file names hold eight characters of it.

    Of several, one that was gone on with under another name among them, the one changed last.
    """
    named = folder.list_named("session-", f"-{session_id[:8]}.jsonl")
    return next((path for path in named if _gemini_id(folder, path) == session_id), None)


def gemini_cwd(folder: Folder, session_id: str) -> str | None:
    """Return the folder that `projects.json`, beside the logs' root, gives to a log's project.

    None if there is no such session. Raises PlaceUnknown. Source: gemini-cli 0.61, seen 2026-11.
    """
    path = locate_gemini(folder, session_id)
    if path is None:
        return None
    cwd = find_gemini_workspace(folder, path)
    if not _is_folder(cwd):
        raise PlaceUnknown("gemini_cwd_missing")
    return cwd


def find_gemini_workspace(folder: Folder, path: Path) -> str:
    """Return the folder of a log's project, whether it is there or not. Raises PlaceUnknown."""
    name = _project_name(folder, path)
    path = folder.root.absolute().parent / "projects.json"
    try:
        listed = json.loads(path.read_bytes() if path.is_file() else b"")["projects"]
        found = [str(cwd) for cwd, project in listed.items() if project == name]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise PlaceUnknown("gemini_no_projects_file") from None
    if len(found) != 1 or not found[0].startswith("/"):
        raise PlaceUnknown("gemini_project_unknown")
    return found[0]


def encode_project_dir(path: str) -> str:
    """Return the name of the folder in which Claude Code keeps a working directory's sessions.

    Every character but ASCII letters, digits and `-` becomes a `-`, one for each.
    """
    return _ESCAPED.sub("-", path)


def decode_project_dir(name: str) -> str:
    """Return the one existing folder that such a name can stand for.

    Walks down from `/` and follows only what exists, so the many ways to read the dashes are never all tried.
    Raises PlaceUnknown when none or several exist.
    """
    found = {os.path.realpath(path): path for path in _decode("/", name[1:])} if name.startswith("-") else {}
    if len(found) > 1:
        raise PlaceUnknown("ambiguous_path_hash")
    if not found:
        raise PlaceUnknown("no_existing_path_hash_decomposition")
    return next(iter(found.values()))


def _decode(parent: str, rest: str) -> Iterator[str]:
    for name in _children(parent, rest):
        encoded = encode_project_dir(name)
        path = os.path.join(parent, name)  # noqa: PTH118 - beside realpath, as text
        if rest == encoded and _is_folder(path):
            yield path
        elif rest.startswith(encoded + "-") and _is_folder(path):
            yield from _decode(path, rest[len(encoded) + 1 :])


def _children(parent: str, rest: str) -> Sequence[str]:
    """Return the names below a folder; where it may be passed but not listed, the literal readings of the rest."""
    try:
        return os.listdir(parent)  # noqa: PTH208 - names are wanted
    except OSError:
        parts = rest.split("-")
        return ["-".join(parts[:count]) for count in range(1, len(parts) + 1)]


def _fits(cwd: str, name: str) -> bool:
    if not _is_folder(cwd):
        return False
    # Before 2.1 the path was escaped as it was typed, since then with its links resolved.
    encoded = {encode_project_dir(cwd), encode_project_dir(os.path.realpath(cwd))}
    return name in encoded or any(
        len(long) > _LONGEST_NAME and name.startswith(f"{long[:_LONGEST_NAME]}-") for long in encoded
    )


def _project_name(folder: Folder, path: Path) -> str:
    """Return the name of the project's folder: the first one below the root, or the root itself."""
    below = path.relative_to(folder.root.absolute()).parts
    return below[0] if len(below) > 1 else path.parent.name


def _read_recorded(folder: Folder, path: Path) -> Iterator[str]:
    for record in folder.records(path, b'"cwd"', _RECORDS_READ):
        cwd = record.get("cwd")
        if isinstance(cwd, str) and cwd.startswith("/") and _is_folder(cwd):
            yield cwd


def _is_of(folder: Folder, path: Path, session_id: str) -> bool:
    mark = session_id.encode()
    return any(record.get("sessionId") == session_id for record in folder.records(path, mark, sys.maxsize))


def _meta(folder: Folder, path: Path) -> Json:
    record = next(folder.records(path, b"session_meta", 1), {})
    payload = record.get("payload")
    return payload if record.get("type") == "session_meta" and isinstance(payload, dict) else {}


def _gemini_id(folder: Folder, path: Path) -> object:
    return next(folder.records(path, b"sessionId", 1), {}).get("sessionId")


def _open(path: Path) -> BinaryIO:
    """Open a transcript: a file of its own, no link and nothing that has no end. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise _irregular(path, status)
    return open(descriptor, "rb")  # noqa: PTH123 - a descriptor, which the caller closes


def _irregular(path: Path, status: os.stat_result) -> OSError:
    kind = "a link" if stat.S_ISLNK(status.st_mode) else "something else"
    return OSError(errno.EINVAL, f"it is {kind}, not a regular file", str(path))


def _is_folder(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)  # noqa: PTH116 - text that may hold anything
    except (OSError, ValueError):
        return False


def _record(line: bytes) -> Json | None:
    try:
        value = json.loads(line.decode("utf-8", "replace").lstrip("\ufeff").strip("\0"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


LOCATORS: Mapping[str, Callable[[Folder, str], Path | None]] = {
    "claude-code-locate-transcript": locate_claude,
    "codex-locate-transcript": locate_codex,
    "gemini-locate-transcript": locate_gemini,
}
CWDS: Mapping[str, Callable[[Folder, str], str | None]] = {
    "claude-code-cwd": claude_cwd,
    "codex-cwd": codex_cwd,
    "gemini-cwd": gemini_cwd,
}


def run(arguments: Sequence[str], environ: Mapping[str, str]) -> Outcome:
    """Run `(name, folder[, session id])` as the script would, without touching the process's streams."""
    names = (*LOCATORS, *CWDS)
    name, *rest = arguments or ("",)
    session_id = rest[1] if len(rest) == 2 else environ.get("SESSION_ID", "")
    if name not in names or not 1 <= len(rest) <= 2 or not rest[0]:
        return Outcome(1, stderr=f"usage: {' | '.join(names)} FOLDER [SESSION_ID]\n")
    if not session_id or "/" in session_id or "\0" in session_id:
        return Outcome(1, stderr=f"{name}: give the session's id in SESSION_ID or as the second argument\n")
    folder = Folder(Path(rest[0]))
    if name in LOCATORS:
        path = LOCATORS[name](folder, session_id)
        if path is None:
            folder.notes.append(f"no transcript of session {session_id} below {folder.root}")
        return Outcome(int(path is None), "" if path is None else f"{path}\n", _tell(name, folder))
    answer = _cwd_answer(CWDS[name], folder, session_id)
    return Outcome(0, json.dumps(answer, separators=(",", ":")) + "\n", _tell(name, folder))


def _cwd_answer(find: Callable[[Folder, str], str | None], folder: Folder, session_id: str) -> dict[str, object]:
    try:
        cwd = find(folder, session_id)
    except PlaceUnknown as reason:
        return {"found": False, "error": str(reason)}
    return {"found": False} if cwd is None else {"found": True, "cwd": cwd}


def _tell(name: str, folder: Folder) -> str:
    return "".join(f"{name}: {note}\n" for note in folder.notes)


def main(argv: Sequence[str] | None = None) -> int:
    """Run under the name that we were called by; the first argument may name the adapter instead."""
    called, *arguments = sys.argv if argv is None else argv
    name = Path(called).name
    known = name in LOCATORS or name in CWDS
    outcome = run((name, *arguments) if known else arguments, os.environ)
    sys.stdout.buffer.write(os.fsencode(outcome.stdout))
    sys.stderr.write(outcome.stderr.encode("utf-8", "backslashreplace").decode())
    return outcome.exit_code


if __name__ == "__main__":
    sys.exit(main())
