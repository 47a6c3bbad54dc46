"""What is wrong with the state file, our folders and the disk. Pure: it judges what `service/checks` saw."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from oulipoly_engine.core.checks.disks import SeenDisk, of_disk
from oulipoly_engine.core.checks.finding import Area, Finding, Severity, in_shell, tell_well
from oulipoly_engine.core.text.columns import size_text
from oulipoly_engine.errors import RunnerError, SchemaIncompatible, StoreDamaged, StoreLocked, StoreNotWritable
from oulipoly_engine.records import Record

_OTHERS, _OTHERS_WRITE = 0o077, 0o022


class SeenState(Record):
    """The state file as it was found."""

    path: str
    size_bytes: int | None  # None: there is none
    version: int = 0
    is_whole: bool = True  # it was read to its end; false: there was not time enough


class SeenPlace(Record):
    """A folder or file of ours."""

    path: str
    state: str  # "there", "missing", "no folder", "broken link", "unreadable"
    mode: int = 0o700
    is_ours: bool = True
    can_write: bool = True
    is_private: bool = True  # nobody else may read it; false: others may read, but not write
    is_folder: bool = True
    can_lock: bool = True  # false: its file system has no locks


def judge_state_file(seen: SeenState) -> Finding:
    """Tell what was seen of a state file that is well."""
    if seen.size_bytes is None:
        return tell_well(Area.STATE, f"{seen.path} is not there yet: the first run makes it")
    looked = "checked" if seen.is_whole else "not read to its end, which takes too long"
    return tell_well(Area.STATE, f"{seen.path}: {size_text(seen.size_bytes)}, schema {seen.version}, {looked}")


def judge_state_error(path: str, error: RunnerError) -> Finding:
    """Say why a state file cannot be used, and what mends it."""
    follows = "no session, quota or run that is stored can be read"
    severity = Severity.ERROR
    match error:
        case StoreDamaged():
            fix = "set it aside and begin a fresh one; sessions are read again from the CLIs' own files"
            command = "agents state rebuild --yes"
        case SchemaIncompatible():
            fix, command = (
                "update agent-runner, or set the file aside and begin a fresh one",
                "agents state rebuild --yes",
            )
        case StoreNotWritable():
            follows = "what is stored can be shown, but nothing is kept and nothing can run"
            fix, command = "mend the rights of the file and its folder", in_shell("chmod", "u+rw", path)
            if "full" in error.message:
                fix, command = "free some space", in_shell("df", "-h", path)
        case StoreLocked():
            severity = Severity.WARNING
            fix, command = "look which process holds it, and end that", in_shell("lsof", path)
        case _:
            fix, command = "look at what is there, and move it away", in_shell("mv", path, f"{path}.old")
    return Finding(Area.STATE, severity, "", error.message, follows, fix, command)


def judge_places(seen: Sequence[SeenPlace]) -> Iterator[Finding]:
    """Say which of our folders and files others can get at, or we cannot."""
    well = 0
    for one in seen:
        found = _judge_place(one)
        well += found is None and one.state == "there"
        if found is not None:
            yield found
    yield tell_well(
        Area.FOLDERS, f"{well} folders and files are yours alone" if well else "nothing of ours is there yet"
    )


def _judge_place(one: SeenPlace) -> Finding | None:
    path = one.path
    cannot = "what belongs there can neither be read nor kept"
    if one.state in ("no folder", "broken link"):
        what = "is a file, where a folder is needed" if one.state == "no folder" else "is a link to nothing"
        return _fail(path, what, cannot, "move it away", in_shell("mv", path, f"{path}.old"))
    if one.state == "unreadable":
        return _fail(
            path, "cannot be reached", cannot, "mend the rights of the folders above", in_shell("ls", "-ld", path)
        )
    if one.state == "missing":
        return None
    if not one.is_ours:
        fix, command = (
            "make it yours, or choose another by OULIPOLY_DATA_DIR",
            f'sudo chown -R "$USER" {in_shell(path)}',
        )
        return _fail(path, "belongs to another user", f"{cannot}, or its owner can change it", fix, command)
    wanted = 0o700 if one.is_folder else 0o600
    if one.mode & wanted != wanted or not one.can_write:
        command = in_shell("chmod", "u+rwx" if one.is_folder else "u+rw", path)
        return _fail(path, "cannot be read and written by you", cannot, "mend its rights", command)
    if not one.can_lock:
        follows = "what two processes must not do at once is refused: moves, renames, scans, readings of quota"
        fix = "keep it on a file system with locks, a local disk for example"
        command = 'export OULIPOLY_DATA_DIR="$HOME/.local/share/oulipoly-agent-runner"'
        return _fail(path, "is on a file system without locks", follows, fix, command)
    loose = one.mode & (_OTHERS if one.is_private else _OTHERS_WRITE)
    if not loose:
        return None
    shown = f"(mode {one.mode & 0o777:04o})"
    if one.is_private:
        what, follows = f"can be reached by other users {shown}", "others can read prompts, answers and records"
    else:
        what, follows = f"can be written by other users {shown}", "others can choose what your runs start"
    command = in_shell("chmod", "go-rwx" if one.is_private else "go-w", path)
    return Finding(Area.FOLDERS, Severity.WARNING, path, what, follows, "take the rights of others away", command)


def judge_disks(seen: Sequence[SeenDisk]) -> Iterator[Finding]:
    """Say where room is scarce."""
    for disk in seen:
        alert = of_disk(disk)
        if alert is None:
            yield tell_well(Area.DISK, disk.text)
        else:
            severity, command = Severity(alert.severity.value), in_shell("df", "-h", disk.path)
            yield Finding(Area.DISK, severity, "", alert.head, alert.rest, alert.fix, command)


def _fail(path: str, cause: str, consequence: str, fix: str, command: str) -> Finding:
    return Finding(Area.FOLDERS, Severity.ERROR, path, cause, consequence, fix, command)
