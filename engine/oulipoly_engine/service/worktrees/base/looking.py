"""Git for a look: it reads a copy of the repository's configuration, in which nothing names a program.

Each git reads the configuration anew, so what was looked through before a call is not what the call has. An agent that
writes it, or its worktree's `.git`, at the right moment would have its own program run because somebody looks. So git
is told which folder is the repository's, and that what all worktrees share is in a folder of ours, where agents that
are kept to their worktree and to /tmp cannot write: the copy, and links to objects and references. Only mere values are
in the copy. The user's own configuration is read as ever: without its filters large files would all seem changed.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
import weakref
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from oulipoly_engine.paths import from_environment
from oulipoly_engine.private_files import make_folder, write_private
from oulipoly_engine.service.worktrees.base.git import Git, GitFailed, explain
from oulipoly_engine.service.worktrees.base.repository import read_link_file

# An object that is missing must not be fetched, by whatever program the configuration names for that.
OFFLINE = {"GIT_ALLOW_PROTOCOL": ""}
# Values alone. With `extensions.worktreeConfig` git would read another file; what that one has is in the copy.
_CORE = """abbrev attributesfile autocrlf checkroundtripencoding checkstat commitgraph compression eol excludesfile
filemode ignorecase ignorestat loosecompression multipackindex precomposeunicode protecthfs protectntfs quotepath
repositoryformatversion safecrlf sharedrepository sparsecheckout sparsecheckoutcone splitindex symlinks trustctime
untrackedcache usereplacerefs whitespace"""
_VALUES = (
    rf"core\.(?:{'|'.join(_CORE.split())})",
    r"extensions\.(?!worktreeconfig$)\w+",
    r"diff\.(?!external$)\w+|diff\..*\.(?:binary|funcname|xfuncname)",
    r"(?:i18n|index|merge|status|user)\.\w+",
    r"branch\..*\.(?:merge|pushremote|rebase|remote)",
    r"remote\.pushdefault|remote\..*\.(?:fetch|partialclonefilter|promisor|pushurl|url)",
    r"submodule\..*\.(?:active|ignore|url)|url\..*\.(?:pushinsteadof|insteadof)",
)
_VALUE = re.compile("|".join(_VALUES), re.DOTALL)
_OF_REPOSITORY = ("local", "worktree")
# Also those that are not there yet: git may pack the references meanwhile.
_LINKED = ("info", "logs", "modules", "objects", "packed-refs", "refs", "reftable", "shallow", "worktrees")
_EXACT = b"* -text -filter -ident -working-tree-encoding\n"
_DAY_S = 86_400


def offline(git: Git) -> Git:
    """Return the same git, which fetches nothing."""
    return Git(git.folder, env=dict(git.env) | OFFLINE)


def for_looking(git: Git) -> Git:
    """Return the same, which starts no program that the repository's own configuration names, now or later.

    Its folder is the top of a worktree, or what worktrees share; another one is not a repository for it. It is for what
    changes no reference. Raises GitFailed where the configuration cannot be read or copied.
    """
    admin, place = find_admin(git)
    shared = read_link_file(admin / "commondir", admin) or admin
    told = git.run("config", "--list", "--show-scope", "-z", env=place)
    if not told.succeeded:
        raise explain(told, "config")
    root = from_environment().data / "looks"
    try:
        copy = _Copy(root, shared, "".join(_lines(told.stdout)))
    except OSError as error:
        raise GitFailed(
            f"git's configuration cannot be copied to {root}, where a look needs it: {error.strerror or error}"
        ) from error
    return Git(git.folder, env={**git.env, **place, "GIT_COMMON_DIR": str(copy.folder)}, keeps=copy)


def for_exact_bytes(quiet: Git) -> Git:
    """Return git of `for_looking` for which files are their bytes: no attribute turns line ends or names a filter."""
    if not isinstance(quiet.keeps, _Copy):
        raise TypeError(f"{quiet.folder} is not looked at by `for_looking`")
    copy = _Copy(quiet.keeps.folder.parent, quiet.keeps.shared, quiet.keeps.configuration, is_exact=True)
    return Git(quiet.folder, env={**quiet.env, "GIT_COMMON_DIR": str(copy.folder)}, keeps=copy)


def find_admin(git: Git) -> tuple[Path, dict[str, str]]:
    """Return the folder that git has for a worktree, and the variables that have it search for none."""
    if "GIT_DIR" in git.env:
        return Path(git.env["GIT_DIR"]), {}
    inside = git.folder / ".git"
    admin = inside if inside.is_dir() else read_link_file(inside, git.folder, "gitdir: ")
    if admin is None:
        return git.folder, {"GIT_DIR": str(git.folder)}
    return admin, {"GIT_DIR": str(admin), "GIT_WORK_TREE": str(git.folder)}


def _lines(told: bytes) -> Iterator[str]:
    """Yield those settings that are copied, as git writes them."""
    words = iter(os.fsdecode(told).split("\0"))
    for scope, entry in zip(words, words, strict=False):
        key, equals, value = entry.partition("\n")
        if scope in _OF_REPOSITORY and _VALUE.fullmatch(key):
            section, _, rest = key.partition(".")
            name, dot, last = rest.rpartition(".")
            yield f'[{section} "{_escape(name)}"]\n' if dot else f"[{section}]\n"
            yield f'{last} = "{_escape(value)}"\n' if equals else f"{last}\n"


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


class _Copy:
    """A folder that stands for what the worktrees of a repository share; it goes with the last who looks."""

    def __init__(self, root: Path, shared: Path, configuration: str, *, is_exact: bool = False) -> None:
        self.shared = shared
        self.configuration = configuration
        make_folder(root)
        sweep(root)
        self.folder = Path(tempfile.mkdtemp(dir=root))
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        write_private(self.folder / "config", os.fsencode(configuration))
        for name in (*_LINKED, *(("lfs",) if (shared / "lfs").is_dir() else ())):
            (self.folder / name).symlink_to(shared / name)
        if is_exact:  # attributes here come before all others
            (self.folder / "info").unlink()
            make_folder(self.folder / "info")
            write_private(self.folder / "info" / "attributes", _EXACT)
            for name in ("exclude", "sparse-checkout"):
                (self.folder / "info" / name).symlink_to(shared / "info" / name)


def sweep(root: Path) -> None:
    """Remove what a kill has left in a folder of ours, which is older than any git of ours."""
    with os.scandir(root) as entries:
        for entry in entries:
            with suppress(OSError):
                if entry.stat(follow_symlinks=False).st_mtime < time.time() - _DAY_S:
                    shutil.rmtree(entry.path)


def list_ignored(git: Git) -> tuple[str, ...]:
    """Return what git ignores in a worktree, whole folders by their names. Raises GitFailed."""
    told = git.check("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
    return tuple(os.fsdecode(name) for name in told.split(b"\0") if name)
