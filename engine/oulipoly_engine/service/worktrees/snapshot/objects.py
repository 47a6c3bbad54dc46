"""Objects of a repository made of files, and files made of them again: byte by byte, past all filters and line ends.

Nothing of the worktree's own index is touched: trees are made by way of indexes in a folder that goes away.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from oulipoly_engine.core.worktrees.refusals import PathRefused
from oulipoly_engine.core.worktrees.worktree_refusals import SalvageFailed
from oulipoly_engine.private_files import make_folder, write_private
from oulipoly_engine.records import Record
from oulipoly_engine.service.worktrees.base import tree_files
from oulipoly_engine.service.worktrees.base.git import STREAMED, Git, explain, join_names, quote_paths
from oulipoly_engine.service.worktrees.base.looking import find_admin, for_exact_bytes, for_looking, sweep
from oulipoly_engine.service.worktrees.base.repository import LONG_S

GITLINK = "160000"
RESTORING = "agent-runner-restoring"  # in git's own folder of a worktree: files on their way, and what a kill left
LARGE = 1 << 28  # bytes of output: a million files
US = {  # who makes commits that are on no branch
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "agent-runner"), ("EMAIL", "agent-runner@localhost"))
}
_LINK = "120000"
_LEFT_OUT = re.compile(rb"^Ignoring path (.*)$", re.MULTILINE)
_OUTWARDS = frozenset(("", ".", "..", ".git"))


class Entry(Record):
    """A file in a tree."""

    mode: str  # git's, six digits
    blob: str
    path: str


class Objects:
    """Makes and reads objects with git. Errors are GitFailed and OSError."""

    def __init__(self, git: Git, folder: Path) -> None:
        self.git = git
        self._folder = folder
        self._count = 0

    def path(self) -> Path:
        """Return the path of a file that is not there yet."""
        self._count += 1
        return self._folder / str(self._count)

    def run(self, *words: str, index: Path | None = None, stdin: bytes | None = None) -> bytes:
        """Run git, on a temporary index where one is named."""
        env = US if index is None else {**US, "GIT_INDEX_FILE": str(index)}
        return self.git.check(*words, env=env, timeout_s=LONG_S, output_limit=LARGE, stdin=stdin)

    def text(self, *words: str, index: Path | None = None, stdin: bytes | None = None) -> str:
        """Run git and return the one line that it printed."""
        return os.fsdecode(self.run(*words, index=index, stdin=stdin)).strip()

    def names(self, *words: str, index: Path | None = None) -> list[str]:
        """Run git and return what it printed between NULs."""
        return os.fsdecode(self.run(*words, index=index)).split("\0")[:-1]

    def copy_index(self) -> tuple[Path, Mapping[str, Sequence[Entry]]]:
        """Return a copy of the worktree's index without what is in conflict, and that: entries `stages/N/name` by name.

        There is no such file where the worktree has no index yet.
        """
        index = self.path()
        source = find_admin(self.git)[0] / "index"
        if source.is_file():
            shutil.copy2(source, index)  # with its time, by which git knows which files it has to read
        conflicts: dict[str, list[Entry]] = {}
        for line in self.names("ls-files", "-u", "-z", index=index):
            words, _, name = line.partition("\t")
            mode, blob, stage = words.split(" ")
            conflicts.setdefault(name, []).append(Entry(mode, blob, f"stages/{stage}/{name}"))
        if conflicts:
            self.remove(index, conflicts)
        return index, conflicts

    def remove(self, index: Path, names: Iterable[str]) -> None:
        """Take files out of a temporary index."""
        self.run("update-index", "--force-remove", "-z", "--stdin", index=index, stdin=join_names(names))

    def add(self, index: Path, names: Sequence[str]) -> tuple[str, ...]:
        """Put files of the worktree, as they are now, into a temporary index. Returns those whose names git refuses."""
        words = (*STREAMED, "update-index", "--add", "--remove", "--replace", "-z", "--stdin")
        return self._update(index, words, names) if names else ()

    def _update(self, index: Path, words: Sequence[str], lines: Iterable[str]) -> tuple[str, ...]:
        # Of a split index, the other half would stay in the repository.
        words = ("-c", "core.splitIndex=false", *words)
        env = {"GIT_INDEX_FILE": str(index)}
        result = self.git.run(*words, env=env, timeout_s=LONG_S, stdin=join_names(lines))
        if not result.succeeded:
            raise explain(result, "update-index")
        return tuple(map(os.fsdecode, _LEFT_OUT.findall(result.stderr)))  # it says so, and exits with 0

    def store_paths(self, root: Path, names: Iterable[str], most: int | None = None) -> tuple[list[Entry], list[str]]:
        """Store files and links below a folder. Returns their entries, and the names of what is not there.

        What is no file and no link is passed over: a socket, a FIFO. most: bytes of a file, which is copied first; git
        itself would follow a link that takes its place.
        """
        files: list[tuple[str, Path, str]] = []  # mode, file with the bytes, name
        missing = []
        for name in names:
            parts = name.split("/")
            try:
                status = tree_files.status_of(root, parts)
            except PathRefused:  # a link, or a file, stands where a folder was
                status = None
            if status is None or stat.S_ISDIR(status.st_mode):
                missing.append(name)  # what is in a folder has names of its own
            elif stat.S_ISLNK(status.st_mode):
                files.append((_LINK, self._copy(tree_files.link_target(root, parts)), name))
            elif stat.S_ISREG(status.st_mode):
                file = root / name if most is None else self._copy(tree_files.read_file(root, parts, most))
                files.append(("100755" if status.st_mode & stat.S_IXUSR else "100644", file, name))
        blobs = self._hash([file for _mode, file, _name in files])
        return [Entry(mode, blob, name) for (mode, _, name), blob in zip(files, blobs, strict=True)], missing

    def _copy(self, content: bytes) -> Path:
        file = self.path()
        write_private(file, content)
        return file

    def _hash(self, files: Sequence[Path]) -> list[str]:
        if not files:
            return []
        paths = quote_paths(map(str, files))
        return self.text(*STREAMED, "hash-object", "-w", "--no-filters", "--stdin-paths", stdin=paths).split("\n")

    def write_tree(self, entries: Iterable[Entry], index: Path | None = None, without: Collection[str] = ()) -> str:
        """Return a tree of entries. index: they are put into that one; without: names that are taken out of it first.

        Raises SalvageFailed for a name that git refuses.
        """
        index = index or self.path()
        if without:
            self.remove(index, without)
        lines = [f"{entry.mode} {entry.blob}\t{entry.path}" for entry in entries]
        refused = self._update(index, ("update-index", "-z", "--index-info"), lines) if lines else ()
        if refused:
            raise SalvageFailed(f"git keeps no file named {refused[0]!r}: rename it, or move it away")
        return self.text("write-tree", index=index)

    def commit(self, tree: str, message: str, *parents: str) -> str:
        """Return a commit that is on no branch. parents: empty ones, and those that are named twice, do not count."""
        named = [word for parent in dict.fromkeys(parents) if parent for word in ("-p", parent)]
        return self.text("commit-tree", tree, *named, stdin=message.encode())

    def list_tree(self, tree: str, names: Collection[str] | None = None) -> list[Entry]:
        """Return the files of a tree. names: of those that count; None: all.

        Raises SalvageFailed where one of them would lead out of the folder that it is for.
        """
        entries = [_tree_entry(line) for line in self.names("ls-tree", "-r", "-z", "--full-tree", tree)]
        entries = [entry for entry in entries if names is None or entry.path in names]
        for entry in entries:
            if not _OUTWARDS.isdisjoint(entry.path.lower().split("/")):  # not made by us, who look at trees by names
                raise SalvageFailed(f"{tree} has a file {entry.path!r}, which would be written elsewhere: look at it")
        return entries

    def differences(self, old: str, new: str) -> Iterator[tuple[Entry, str]]:
        """Yield what one tree has otherwise than another, with git's letter for it; a file that is gone has mode 0."""
        lines = self.names("diff-tree", "-r", "-z", "--no-renames", "--raw", old, new)
        for line, name in zip(lines[::2], lines[1::2], strict=True):
            _, mode, _, blob, letter = line.split(" ")
            yield Entry(mode, blob, name), letter

    def restore(self, root: Path, entries: Sequence[Entry], gone: Iterable[str] = ()) -> None:
        """Write files below a folder in place of those that are there, each at once. gone: names that are removed.

        No link is followed. Raises PathRefused for a link or a file where a folder is to be. After a kill each file is
        the old one or the new one; where the disk has no room for all new ones, nothing has changed.
        """
        index = self.path()
        # Numbers as names first: none of them is a link or a folder on the way to another.
        self.write_tree((Entry(entry.mode, entry.blob, str(place)) for place, entry in enumerate(entries)), index)
        exact = for_exact_bytes(for_looking(self.git))
        git = Git(exact.folder, {**exact.env, "GIT_WORK_TREE": str(self._folder), "GIT_INDEX_FILE": str(index)}, exact)
        with TemporaryDirectory(prefix=".agent-runner-", dir=self._find_place(root)) as beside:
            if entries:
                git.check("checkout-index", "--all", "--quiet", f"--prefix={beside}/", timeout_s=LONG_S)
            for name in gone:
                tree_files.remove_file(root, name.split("/"))
            for place, entry in enumerate(entries):
                tree_files.place_file(root, entry.path.split("/"), Path(beside, str(place)))

    def _find_place(self, root: Path) -> Path:
        """Return a folder on the same disk as another: of git's own where that can be, so that nobody sees it."""
        admin = find_admin(self.git)[0]
        if admin.stat().st_dev != root.stat().st_dev:
            return root
        make_folder(admin / RESTORING)
        sweep(admin / RESTORING)
        return admin / RESTORING


@contextmanager
def open_objects(git: Git) -> Iterator[Objects]:
    """Yield what makes and reads objects with git; its temporary files are deleted behind the block."""
    with TemporaryDirectory(prefix="agent-runner-", ignore_cleanup_errors=True) as folder:
        yield Objects(git, Path(os.path.realpath(folder)))


def _tree_entry(line: str) -> Entry:
    words, _, path = line.partition("\t")
    mode, _kind, blob = words.split(" ")
    return Entry(mode, blob, path)
