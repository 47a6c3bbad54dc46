"""Where packages come from: folders, archives, and what `downloads` gets. All is written into a folder, and checked.

No script of a package runs, no link is followed or made, and nothing is written outside of that folder.
"""

from __future__ import annotations

import errno
import os
import stat
import tarfile
from hashlib import sha256
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from oulipoly_engine import stopping
from oulipoly_engine.blobs.blobs import BLOCK
from oulipoly_engine.blobs.untrusted_tar import BROKEN, TarRefused, entries, open_tar
from oulipoly_engine.core.packages import tree
from oulipoly_engine.core.packages.lock import SourceKind
from oulipoly_engine.core.packages.names import ARCHIVE_ENDS, is_archive_address, parse_git, parse_npm
from oulipoly_engine.core.packages.refusals import PackageRefused
from oulipoly_engine.core.packages.tree import PackageFile
from oulipoly_engine.core.text.columns import plain
from oulipoly_engine.paths import expand_user
from oulipoly_engine.private_files import make_folder, open_private
from oulipoly_engine.records import Record, replace
from oulipoly_engine.regular_files import open_regular
from oulipoly_engine.service.packages.downloads import download

_LEFT_OUT = frozenset({".git", ".hg", "node_modules", "__pycache__"})  # of folders: not part of a package
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)


class Source(Record):
    """Where a package comes from."""

    text: str  # as it is kept: a path is absolute
    kind: SourceKind

    @property
    def fallback_name(self) -> str:
        """Return the name of a package that has no manifest."""
        name = self.text
        if self.kind == "git" and (address := parse_git(self.text)) is not None:
            name = address.url.rpartition("/")[2]
        elif self.kind != "npm":
            name = Path(urlsplit(self.text).path if self.kind == "url" else self.text).name
        return next((name.removesuffix(end) for end in (*ARCHIVE_ENDS, ".git") if name.endswith(end)), name)


def parse_source(text: str, base: Path) -> Source:
    """Return what a user has typed as a source. base: what relative paths begin at. Raises PackageRefused."""
    if text.startswith("npm:"):
        parse_npm(text)
        return Source(text, "npm")
    if parse_git(text) is not None:
        return Source(text, "git")
    if is_archive_address(text):
        return Source(text, "url")
    path = base / expand_user(text)
    if path.is_dir():
        return Source(str(path.resolve()), "folder")
    if path.name.endswith(ARCHIVE_ENDS) and path.is_file():
        return Source(str(path.absolute()), "archive")
    known = "a folder, a .tgz or .tar.gz file, npm:NAME, github:OWNER/REPO, or an https address of .git or .tgz"
    what = f"{text[:200]} is not {known}" if path.exists() else f"there is no {text[:200]}: name {known}"
    raise PackageRefused(what)


class _Intake:
    """Writes the files of one package."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._paths = tree.Paths()
        self._total = 0
        self.files: list[PackageFile] = []

    def add_folder(self, path: str) -> None:
        """Take a folder, which is made once something lies in it."""
        self._paths.add(path, is_folder=True)

    def add(self, text: str, source: IO[bytes], *, is_executable: bool) -> None:
        """Take a file."""
        path = self._paths.add(text)
        place = self._folder / path
        make_folder(place.parent)
        digest = sha256()
        size = 0
        with os.fdopen(open_private(place, os.O_WRONLY | os.O_EXCL | os.O_NOFOLLOW), "wb") as file:
            while block := source.read(BLOCK):
                stopping.check()
                size += len(block)
                self._total += len(block)
                tree.check_size(path, size, self._total)
                digest.update(block)
                file.write(block)
        self.files.append(PackageFile(path, digest.hexdigest(), size, is_executable))


class Taken(Record):
    """A package's files as they were written."""

    root: Path  # the folder that is the package's
    files: tuple[PackageFile, ...]  # in order
    commit: str = ""  # of git


def take_in(source: Source, folder: Path, timeout_s: float) -> Taken:
    """Write a package's files into an empty folder.

    Raises PackageRefused, OSError.
    """
    root = folder / "files"
    make_folder(root)
    intake = _Intake(root)
    commit = ""
    if source.kind == "folder":
        _take_folder(Path(source.text), intake)
    elif source.kind == "archive":
        _take_archive(Path(source.text), intake)
    else:
        downloaded = download(source.text, source.kind, folder, timeout_s)
        commit = downloaded.commit
        _take_archive(downloaded.archive, intake)
    if not intake.files:
        raise PackageRefused(f"{source.text} holds no file")
    top = "" if source.kind in ("folder", "git") else tree.common_folder([file.path for file in intake.files])
    files = (replace(file, path=file.path.removeprefix(top)) for file in intake.files)
    return Taken(root / top, tuple(sorted(files, key=lambda file: file.path)), commit)


def _take_folder(root: Path, intake: _Intake) -> None:
    def refuse(error: OSError) -> None:
        raise PackageRefused(f"{error.filename} cannot be read: {error.strerror or error}") from error

    for folder, folders, names in os.walk(root, onerror=refuse):
        folders[:] = sorted(name for name in folders if name not in _LEFT_OUT)
        for name in [*folders, *sorted(names)]:
            path = Path(folder, name)
            inner = os.fsencode(path.relative_to(root)).decode("utf-8", "surrogateescape")
            status = path.lstat()
            if stat.S_ISDIR(status.st_mode):
                intake.add_folder(inner)
                continue
            _refuse_special(inner, status.st_mode)
            try:
                with open_regular(path, follows_links=False) as file:
                    intake.add(inner, file, is_executable=bool(status.st_mode & 0o100))
            except OSError as error:
                if error.filename and Path(error.filename) != path:
                    raise  # of what we write
                raise PackageRefused(f"{inner!r} cannot be taken: {error.strerror or error}") from error


def _refuse_special(path: str, mode: int) -> None:
    """Raise PackageRefused for a file that runs as somebody else. mode: of its status, or of an archive's entry."""
    if mode & (stat.S_ISUID | stat.S_ISGID):
        raise PackageRefused(f"{path!r} runs as its owner or group (setuid, setgid): take that right from it")


def _take_archive(path: Path, intake: _Intake) -> None:
    """Read an archive's entries one after the other, in the order in which they lie there."""
    try:
        with open_regular(path) as file, open_tar(file, tree.check_ratio) as archive:
            for member in entries(archive):
                _take_member(archive, member, intake)
    except TarRefused as error:
        raise PackageRefused(str(error)) from error
    except BROKEN as error:
        is_of_ours = isinstance(error, OSError) and (error.errno in _FULL or error.filename not in (None, str(path)))
        if is_of_ours:
            raise
        message = getattr(error, "strerror", None) or plain(str(error)) or type(error).__name__
        raise PackageRefused(f"{path} is not an archive that can be read: {message}: get it anew") from error


def _take_member(archive: tarfile.TarFile, member: tarfile.TarInfo, intake: _Intake) -> None:
    name = member.name
    if member.isdir():
        intake.add_folder(name)
        return
    if member.type not in (tarfile.REGTYPE, tarfile.AREGTYPE):
        tree.check_path(name)
        is_link = member.type in (tarfile.SYMTYPE, tarfile.LNKTYPE)
        kind = "a link" if is_link else "a device, a pipe or a file with holes"
        raise PackageRefused(f"{name[:120]!r} is {kind}, and a package has files and folders: pack it without")
    _refuse_special(name, member.mode)
    tree.check_size(name, member.size, 0)
    content = archive.extractfile(member)
    if content is not None:
        with content:
            intake.add(name, content, is_executable=bool(member.mode & 0o100))
