"""Trees made and read without a worktree: through an index of its own, in a folder that goes away."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from oulipoly_engine.core.worktrees.worktree_refusals import SalvageFailed
from oulipoly_engine.private_files import write_private
from oulipoly_engine.records import Record
from oulipoly_engine.service.worktrees.base.git import STREAMED, Git
from oulipoly_engine.service.worktrees.base.repository import LONG_S, check, explain

LARGE = 1 << 28  # bytes of output: a million files
_LEFT_OUT = re.compile(rb"^Ignoring path (.*)$", re.MULTILINE)
_OUTWARDS = frozenset(("", ".", "..", ".git"))
_BATCH = 64 << 10  # bytes of names in one call
# Bytes as they are: what turns line ends, or runs a program over files, is told of none.
_RAW = ("-c", "core.autocrlf=false", "-c", "core.eol=lf", "-c", "core.attributesFile=/dev/null")
_NOBODY = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "agents"), ("EMAIL", "agents@localhost"))
}


class Entry(Record):
    """A file in a tree."""

    mode: str  # git's, six digits
    blob: str
    path: str


class Scratch:
    """Makes objects of a repository by way of a temporary index."""

    def __init__(self, git: Git, folder: Path) -> None:
        self.git = git
        self.folder = folder
        self._made = 0
        self._nothing = ""

    @property
    def nothing(self) -> str:
        """Return the name of no object, as long as the repository's names are."""
        if not self._nothing:
            is_long = self.git.text("rev-parse", "--show-object-format") == "sha256"
            self._nothing = "0" * (64 if is_long else 40)
        return self._nothing

    def path(self) -> Path:
        """Return the path of a file that is not there yet."""
        self._made += 1
        return self.folder / str(self._made)

    def run(self, *words: str, index: Path | None = None, stdin: bytes | None = None) -> bytes:
        """Run git, on a temporary index where one is named. Raises GitFailed."""
        env = _NOBODY if index is None else {**_NOBODY, "GIT_INDEX_FILE": str(index)}
        fed: dict[str, Path] = {}
        if stdin is not None:
            fed["stdin"] = self.path()
            write_private(fed["stdin"], stdin)
        return check(self.git, *words, env=env, timeout_s=LONG_S, output_limit=LARGE, **fed)

    def text(self, *words: str, index: Path | None = None, stdin: bytes | None = None) -> str:
        """Run git and return the one line that it printed."""
        return os.fsdecode(self.run(*words, index=index, stdin=stdin)).strip()

    def hash_files(self, paths: Sequence[Path | str]) -> list[str]:
        """Store files as they are, byte by byte, and return their blobs' names."""
        found: list[str] = []
        for batch in _batches([str(path) for path in paths]):
            found += os.fsdecode(self.run(*STREAMED, "hash-object", "-w", "--no-filters", "--", *batch)).split()
        return found

    def store_paths(self, root: Path, names: Iterable[str]) -> tuple[list[Entry], list[str]]:
        """Store files and links below a folder. Returns their entries, and the names of what is not there.

        What is neither a file nor a link is passed over: a socket, a FIFO.
        """
        plain: list[tuple[str, str, str]] = []  # mode, file with the bytes, name
        missing = []
        for name in names:
            path = root / name
            try:
                mode = path.lstat().st_mode
            except (FileNotFoundError, NotADirectoryError):
                missing.append(name)
                continue
            if stat.S_ISLNK(mode):
                link = self.path()
                write_private(link, os.fsencode(os.readlink(path)))  # noqa: PTH115 - bytes as they are
                plain.append(("120000", str(link), name))
            elif stat.S_ISREG(mode):
                plain.append(("100755" if mode & stat.S_IXUSR else "100644", str(path), name))
            elif stat.S_ISDIR(mode):
                missing.append(name)  # a folder stands where a file was: what is in it has names of its own
        blobs = self.hash_files([file for _mode, file, _name in plain])
        return [Entry(mode, blob, name) for (mode, _, name), blob in zip(plain, blobs, strict=True)], missing

    def write_tree(self, entries: Iterable[Entry], index: Path | None = None, without: Iterable[str] = ()) -> str:
        """Return a tree of entries. index: they replace those of its stages; without: names that are taken out."""
        index = index or self.path()
        gone = (f"0 {self.nothing}\t{name}" for name in without)
        lines = [*gone, *(f"{one.mode} {one.blob}\t{one.path}" for one in entries)]
        fed = self.path()
        write_private(fed, b"".join(os.fsencode(line) + b"\0" for line in lines))
        words = ("update-index", "-z", "--index-info")
        result = self.git.run(*words, env={"GIT_INDEX_FILE": str(index)}, timeout_s=LONG_S, stdin=fed)
        if not result.succeeded:
            explain(result, words[0])
        left_out = _LEFT_OUT.search(result.stderr)  # it says so, and exits with 0
        if left_out is not None:
            raise SalvageFailed(f"git keeps no file named {os.fsdecode(left_out[1])!r}: rename it, or move it away")
        return self.text("write-tree", index=index)

    def write_files(self, entries: Sequence[tuple[Entry, Path]], place: Path) -> None:
        """Write blobs to paths, byte by byte, in place of what is there. place: a folder beside them, not there yet.

        They get numbers as names first: no `.gitattributes` among them applies to the others.
        """
        if not entries:
            return
        index = self.path()
        self.write_tree((Entry(one.mode, one.blob, str(number)) for number, (one, _) in enumerate(entries)), index)
        # Its own work tree, so that no attributes of the checkout's files are looked at.
        git = Git(self.git.folder, {**self.git.env, "GIT_WORK_TREE": str(self.folder), "GIT_INDEX_FILE": str(index)})
        check(git, *_RAW, "checkout-index", "--all", "--quiet", f"--prefix={place}/", timeout_s=LONG_S)
        for number, (_, target) in enumerate(entries):
            (place / str(number)).replace(target)
        place.rmdir()

    def list_tree(self, tree: str) -> list[Entry]:
        """Return all files of a tree. Raises SalvageFailed where one would lead out of the folder that it is for."""
        lines = os.fsdecode(self.run("ls-tree", "-r", "-z", "--full-tree", tree)).split("\0")
        entries = [Entry(*_tree_line(line)) for line in lines if line]
        for one in entries:
            if not _OUTWARDS.isdisjoint(one.path.lower().split("/")):  # not made by us, who look at trees by names
                raise SalvageFailed(f"{tree} has a file {one.path!r}, which would be written elsewhere: look at it")
        return entries


@contextmanager
def scratch(git: Git) -> Iterator[Scratch]:
    """Yield what makes and reads trees with git in a folder; its temporary files are deleted behind the block."""
    with TemporaryDirectory(prefix="agent-runner-") as folder:
        yield Scratch(git, Path(os.path.realpath(folder)))


def _tree_line(line: str) -> tuple[str, str, str]:
    words, _, path = line.partition("\t")
    mode, _kind, blob = words.split(" ")
    return mode, blob, path


def _batches(names: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for name in names:
        if size > _BATCH:
            yield batch
            batch, size = [], 0
        batch.append(name)
        size += len(os.fsencode(name)) + 1
    if batch:
        yield batch
