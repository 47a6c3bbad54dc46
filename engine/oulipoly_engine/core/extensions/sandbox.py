"""What an extension of the tier `process` reaches: the sealed box around it. Pure.

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
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from oulipoly_engine.core.boxes.box import SCRATCH, Access, Box, Level, Limits, Mount, Network
from oulipoly_engine.core.extensions.manifest import Permission

# Below the home, besides the logins of the CLIs.
KEYS = (
    *(".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", ".git-credentials", ".npmrc", ".pypirc"),
    *(".config/gh", ".config/gcloud", ".password-store", ".local/share/keyrings", ".mozilla", ".config/google-chrome"),
)
_PLAIN = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": SCRATCH, "TMPDIR": SCRATCH, "LANG": "C.UTF-8"}
_FILES = frozenset({Permission.FILE_READ, Permission.FILE_WRITE})
_LIMITS = Limits(memory_bytes=2 << 30, processes=64, processor_s=300, descriptors=256)


def make_box(
    granted: frozenset[str],
    place: str,
    start: str,
    *,
    reads: Iterable[str] = (),
    home: str = "",
    files: Iterable[str] = (),
    links: Iterable[tuple[str, str]] = (),
    hidden: Iterable[str] = (),
) -> Box:
    """Return the sandbox of an extension.

    granted: of Permission. place: its own folder, or its file; start: the folder in which its program starts.
    reads: what its program needs besides the system's. home: of it, only `files` are seen, those that are there now;
    links: paths among those that are links, and where they lead; hidden: folders inside those that it never sees.
    """
    mounts: list[Mount] = []
    if _FILES & granted:
        access = Access.WRITE if Permission.FILE_WRITE in granted else Access.READ
        if home:  # not as a whole: what covers a file is gone once another one is put in its place
            mounts.append(Mount(home, Access.EMPTY))
        mounts += (Mount(path, access, is_optional=True) for path in files)
        mounts += (Mount(path, Access.LINK, target) for path, target in links)
        mounts += (Mount(path, Access.EMPTY) for path in hidden)
    mounts += (Mount(path, Access.READ) for path in (*reads, place))
    network = Network.SHARED if Permission.NETWORK in granted else Network.NONE
    return Box(Level.SEALED, tuple(mounts), network, limits=_LIMITS, folder=start)


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
