"""Packages as they lie in their folder: read, compared with what was installed, put there and taken away.

packages-lock.json   what counts: the packages, their contents, and the earlier ones that a rollback finds
blobs/               the files of all of them by their hash, and each content's list of files
DIGEST/              a content as files that are only read; DIGEST is the SHA-256 of its list
NAME                 a link to the content that counts
unfinished-…/        a package that is being looked at, locked as long as somebody does
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import uuid
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from oulipoly_engine.blobs.blobs import BlobDamaged, Blobs
from oulipoly_engine.config.packages_file import load_lock
from oulipoly_engine.config.parse.extensions import parse as parse_extension
from oulipoly_engine.config.toml import toml_file
from oulipoly_engine.core.extensions import manifest as extension
from oulipoly_engine.core.packages.changes import Rights, rights_of
from oulipoly_engine.core.packages.lock import Installed, Lock, Part
from oulipoly_engine.core.packages.manifest import FILES, Manifest, find_parts, read_manifest
from oulipoly_engine.core.packages.refusals import PackageRefused
from oulipoly_engine.core.packages.tree import PackageFile, digest_of, list_text, read_list
from oulipoly_engine.private_files import make_folder, open_private, sync_folder
from oulipoly_engine.records import Record, replace
from oulipoly_engine.regular_files import read_regular

UNFINISHED = "unfinished-"
_BATCH = 64  # contents for one sync
_FOLDER_MODE = 0o500
_FILE_MODES = {False: 0o400, True: 0o500}  # by whether it is executable


class Content(Record):
    """A package as it lies in a folder."""

    manifest: Manifest
    parts: tuple[Part, ...]
    rights: Rights
    files: tuple[PackageFile, ...]

    @property
    def digest(self) -> str:
        """Return the digest of its files."""
        return digest_of(self.files)


class PackageFolder:
    """The folder of packages of one user."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.blobs = Blobs(folder / "blobs")

    def lock(self) -> Lock:
        """Return what is installed. Raises ConfigInvalid."""
        return load_lock(self.folder)

    def files(self, installed: Installed) -> tuple[PackageFile, ...]:
        """Return the files of a content. Raises PackageRefused where their list is gone or damaged."""
        try:
            return read_list(self.blobs.read(installed.digest))
        except BlobDamaged as error:
            message = (
                f"the list of files of {installed.name} is damaged ({error}): install it anew from {installed.source}"
            )
            raise PackageRefused(message) from error

    def survey(self, installed: Installed) -> Content:
        """Return what an installed content says of itself, whatever has become of its folder. Raises PackageRefused."""
        files = self.files(installed)
        hashes = {file.path: file.sha256 for file in files}
        return survey(lambda path: self.blobs.read(hashes[path]), files, installed.name)

    def damaged(self, installed: Installed) -> tuple[str, ...]:
        """Return the files of an installed content that are gone, not what was installed, or come from elsewhere."""
        root = self.folder / installed.digest
        files = {file.path: file for file in self.files(installed)}
        there = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_symlink() or not path.is_dir()}
        changed = {path for path in files if not _is_whole(root / path, files[path])}
        return tuple(sorted(changed | (there - files.keys())))

    def keep(self, files: Sequence[PackageFile], root: Path) -> None:
        """Have the store of contents hold a package's files and their list."""
        try:
            for file in files:
                self.blobs.add(read_regular(root / file.path, file.size, follows_links=False), checks=True)
                if self.blobs.unsettled >= _BATCH:
                    self.blobs.settle()
            self.blobs.add(list_text(files), checks=True)
            self.blobs.settle()
        finally:
            self.blobs.abandon()

    def put_in_place(self, installed: Installed, root: Path) -> None:
        """Give a folder with a package's files the name of their digest, unless it is there and whole."""
        place = self.folder / installed.digest
        if not os.path.lexists(place) or self.damaged(installed):
            _protect(root, self.files(installed))
            if os.path.lexists(place):  # all of it goes at once: half of it would be taken for a content
                place.rename(self.folder / f"{UNFINISHED}{uuid.uuid4().hex}")
            root.rename(place)
            place.chmod(_FOLDER_MODE)
            sync_folder(self.folder)

    def restore(self, installed: Installed) -> None:
        """Make a content's folder anew out of the store of contents. Raises PackageRefused."""
        root = self.folder / f"{UNFINISHED}{uuid.uuid4().hex}"
        try:
            for file in self.files(installed):
                make_folder((root / file.path).parent)
                with os.fdopen(open_private(root / file.path, os.O_WRONLY | os.O_EXCL), "wb") as written:
                    written.writelines(self.blobs.blocks(file.sha256))
            self.put_in_place(installed, root)
        except BlobDamaged as error:
            message = f"the kept files of {installed.name} are damaged ({error}): install it from {installed.source}"
            raise PackageRefused(message) from error
        finally:
            delete(root)


def survey(read: Callable[[str], bytes], files: tuple[PackageFile, ...], fallback: str) -> Content:
    """Return what a package says of itself, and what its extensions declare. read: gives a file of it."""
    paths = [file.path for file in files]
    name = next((file for file in FILES if file in paths), "")
    manifest = read_manifest(name, _read_table(read, name) if name else {}, fallback)
    parts: list[Part] = []
    declared: list[extension.Manifest] = []
    for part in find_parts(manifest, paths):
        if part.kind != "extensions" or part.problem:
            parts.append(part)
            continue
        file = part.path if part.path.endswith(".py") else f"{part.path}/{extension.FILE}".lstrip("/")
        try:
            loaded = parse_extension(Path(file), read(file))
        except (OSError, BlobDamaged) as error:
            parts.append(replace(part, problem=f"{file} cannot be read: {getattr(error, 'strerror', None) or error}"))
            continue
        if loaded.value is None:
            parts.append(replace(part, problem="; ".join(problem.brief for problem in loaded.problems)))
        else:
            declared.append(loaded.value)
            parts.append(replace(part, name=loaded.value.name))
    return Content(manifest, tuple(parts), rights_of(declared), files)


def _read_table(read: Callable[[str], bytes], path: str) -> dict[str, Any]:
    """Return a table of TOML or JSON. Raises PackageRefused."""
    try:
        data = read(path)
        if path.endswith(".toml"):
            file = toml_file.read(Path(path), data)
            table = dict(file.data)
            problem = "" if file.failure is None else file.failure.message
        else:
            table = json.loads(data)
            problem = "" if isinstance(table, dict) else "it is not a table"
    except (OSError, BlobDamaged, ValueError, RecursionError) as error:
        problem = str(getattr(error, "strerror", None) or error)
    if problem:
        raise PackageRefused(f"{path} cannot be used: {problem}: correct it in the package")
    return table


def _is_whole(path: Path, file: PackageFile) -> bool:
    try:
        return sha256(read_regular(path, file.size, follows_links=False)).hexdigest() == file.sha256
    except OSError:
        return False


def _protect(root: Path, files: Sequence[PackageFile]) -> None:
    """Take the rights to write from a package's files and folders, and see them to the disk."""
    for file in files:
        path = root / file.path
        path.chmod(_FILE_MODES[file.is_executable])
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    for folder, _, _ in os.walk(root, topdown=False):
        sync_folder(Path(folder))
        if folder != str(root):  # which is moved, and that needs the right to write
            Path(folder).chmod(_FOLDER_MODE)


def point_to(link: Path, target: str) -> None:
    """Have a link lead to a folder beside it, without a moment in which it leads nowhere."""
    if link.is_symlink() and str(link.readlink()) == target:
        return
    fresh = link.with_name(f"{UNFINISHED}{link.name}")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(target)
    fresh.replace(link)
    sync_folder(link.parent)


def delete(path: Path) -> None:
    """Remove a file, a link, or a folder with all that is in it, also where it may only be read."""
    if path.is_symlink() or path.is_file():
        path.unlink()
        return
    for folder, _, _ in os.walk(path):
        Path(folder).chmod(0o700)
    if path.is_dir():
        shutil.rmtree(path)


def delete_unlocked(path: Path) -> None:
    """Remove what no living process looks at."""
    if path.is_symlink():
        path.unlink()
        return
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:  # who looked at it has removed it
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        delete(path)
    except BlockingIOError:
        pass
    finally:
        os.close(descriptor)
