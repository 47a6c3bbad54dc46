"""What an extension of the tier `process` reaches: the sandbox around it, as words of bubblewrap. Pure.

| reaches                     | without a right              | with one                                         |
|-----------------------------|------------------------------|--------------------------------------------------|
| the system's programs       | reads                        |                                                  |
| its own folder              | reads                        |                                                  |
| /tmp                        | 64 MiB of memory, of its own |                                                  |
| home, folder of the session | nothing                      | file_read: reads; file_write: reads and writes   |
| logins, keys, our files     | nothing                      | nothing                                          |
| network                     | nothing                      | network: all of it                               |
| commands outside            | nothing                      | execute_command: asks us to run them             |
| environment                 | PATH, HOME, LANG             | read_environment: all variables                  |
| other processes             | nothing                      | nothing                                          |

Of the home itself what was there at the start is mounted entry by entry: a file that was covered would be seen as soon
as another one is put in its place.
Source: bubblewrap 0.8.0, seen 2026-11.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from oulipoly_engine.core.extensions.manifest import Permission
from oulipoly_engine.records import Record

INSTALL = "install bubblewrap, for example by `apt install bubblewrap` or `dnf install bubblewrap`"
SCRATCH = "/tmp"  # noqa: S108 - in the sandbox, where nobody else is
_SCRATCH_BYTES = 64 << 20
# Below the home, besides the logins of the CLIs.
KEYS = (
    *(".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", ".git-credentials", ".npmrc", ".pypirc"),
    *(".config/gh", ".config/gcloud", ".password-store", ".local/share/keyrings", ".mozilla", ".config/google-chrome"),
)
_PLAIN = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": SCRATCH, "TMPDIR": SCRATCH, "LANG": "C.UTF-8"}
_SYSTEM = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/etc/alternatives"),
    *("/etc/ld.so.cache", "/etc/localtime", "/etc/ssl", "/etc/ca-certificates", "/etc/pki"),
)
_FOR_NETWORK = ("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf")
# KiB of address space, seconds of processor time in all, descriptors, processes, no core file.
_FILES = frozenset({Permission.FILE_READ, Permission.FILE_WRITE})
_LIMITS = "ulimit -c 0; ulimit -v 2097152; ulimit -t 300; ulimit -n 256; ulimit -u 64 2>/dev/null || ulimit -p 64"
_RUN = f'{_LIMITS}; exec "$@"'


class Box(Record):
    """One sandbox."""

    granted: frozenset[str]  # of Permission
    place: str  # its own folder, or its file
    start: str  # the folder in which its program starts
    reads: tuple[str, ...] = ()  # what its program needs besides the system's
    files: tuple[str, ...] = ()  # what file_read and file_write are about
    links: tuple[tuple[str, str], ...] = ()  # paths among those that are links, and where they lead
    home: str = ""  # around them; what else lies in it, or comes there later, is not seen
    hidden: tuple[tuple[str, bool], ...] = ()  # inside those, what it never sees; whether that is a folder


def sandbox_words(box: Box, argv: Sequence[str]) -> tuple[str, ...]:
    """Return the words that start a program in a sandbox."""
    return ("bwrap", *_words(box), "--", "/bin/sh", "-c", _RUN, "sh", *argv)


def _words(box: Box) -> Iterator[str]:
    has_network = Permission.NETWORK in box.granted
    yield from ("--unshare-all", "--unshare-user", "--disable-userns", "--cap-drop", "ALL")
    yield from ("--die-with-parent", "--new-session", *(("--share-net",) if has_network else ()))
    for path in (*_SYSTEM, *(_FOR_NETWORK if has_network else ())):
        yield from ("--ro-bind-try", path, path)
    yield from ("--proc", "/proc", "--dev", "/dev")
    yield from ("--size", str(_SCRATCH_BYTES), "--tmpfs", SCRATCH)
    yield from _bind_files(box)
    for path in (*box.reads, box.place):
        yield from ("--ro-bind", path, path)
    for path in ("/dev", *_list_covered(box), "/"):  # once nothing more is to be mounted in them
        yield from ("--remount-ro", path)
    yield from ("--chdir", box.start)


def _bind_files(box: Box) -> Iterator[str]:
    if Permission.FILE_WRITE in box.granted:
        how = "--bind-try"
    elif Permission.FILE_READ in box.granted:
        how = "--ro-bind-try"
    else:
        return
    if box.home:  # not as a whole: what covers a file is gone once another one is put in its place
        yield from ("--tmpfs", box.home)
    for path in box.files:
        yield from (how, path, path)
    for path, target in box.links:
        yield from ("--symlink", target, path)
    for path, is_folder in box.hidden:
        yield from ("--tmpfs", path) if is_folder else ("--ro-bind", "/dev/null", path)


def _list_covered(box: Box) -> tuple[str, ...]:
    if not _FILES & box.granted:
        return ()
    covered = (path for path, is_folder in box.hidden if is_folder)
    return (*covered, *((box.home,) if box.home else ()))


def describe_reach(granted: frozenset[str]) -> str:
    """Return in a line what an extension in a sandbox can do."""
    files = "nothing of yours"
    if Permission.FILE_WRITE in granted:
        files = "your files, but for logins and keys, and can write them"
    elif Permission.FILE_READ in granted:
        files = "your files, but for logins and keys"
    more = [
        text
        for right, text in (
            (Permission.NETWORK, "use the network"),
            (Permission.EXECUTE_COMMAND, "have commands run outside its sandbox, which may do what you may"),
            (Permission.READ_ENVIRONMENT, "read environment variables"),
        )
        if right in granted
    ]
    return "; ".join((f"can read: {files}", *(f"can {text}" for text in more)))


UNCONFINED = "can read: all that you can read, and do what you can do: in-process Python is not a sandbox"


def sandbox_environment(granted: frozenset[str], inherited: Mapping[str, str], home: str) -> dict[str, str]:
    """Return the environment of a program in a sandbox. home: the user's, which is its own once it may read there."""
    base = inherited if Permission.READ_ENVIRONMENT in granted else _PLAIN
    has_files = bool(_FILES & granted)
    return {**base, "HOME": home if has_files else SCRATCH, "TMPDIR": SCRATCH}
