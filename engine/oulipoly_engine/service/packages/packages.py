"""Install, update, roll back and uninstall packages.

A change is noted, the new content put in place, the lock file replaced, and what nobody needs any more removed. So a
kill leaves the old package before that replacement and the new one behind it; the next change, or the next start of a
face that stays, makes the rest fit the lock file.
"""

from __future__ import annotations

import fcntl
import os
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from oulipoly_engine.clock import Clock, to_text
from oulipoly_engine.core.operations.operations import Operation
from oulipoly_engine.core.packages.changes import Changes, Rights, compare
from oulipoly_engine.core.packages.lock import FILE, Installed, Lock, integrity_of, write_lock
from oulipoly_engine.core.packages.names import folder_name
from oulipoly_engine.core.packages.refusals import PackageRefused
from oulipoly_engine.errors import RequestRefused
from oulipoly_engine.private_files import make_folder
from oulipoly_engine.process.lock import hold_lock
from oulipoly_engine.records import Record
from oulipoly_engine.regular_files import read_regular
from oulipoly_engine.service.operations.operations import begin, recover, settled_if_it_fails
from oulipoly_engine.service.packages.contents import (
    UNFINISHED,
    Content,
    PackageFolder,
    delete,
    delete_unlocked,
    point_to,
    survey,
)
from oulipoly_engine.service.packages.sources import Source, take_in
from oulipoly_engine.service.transcripts.atomic_file import new_file
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.operations import operations

KINDS = ("package install", "package update", "package rollback", "package uninstall")  # of operations
_PATIENCE_S = 10.0  # for a change of another process, which takes a second at most
_DIGEST = re.compile(r"[0-9a-f]{64}")


class Candidate(Record):
    """A package that was taken in and does not count yet."""

    folder: str  # what its folder is called
    source: Source
    content: Content
    root: Path  # where its files lie
    installed: Installed | None  # what counts under its name now
    changes: Changes  # against that
    commit: str = ""  # of git
    project: str | None = None  # where an earlier one counted: in that alone; empty: everywhere; None: it is none

    @property
    def is_wider(self) -> bool:
        """Tell whether it is an earlier one that counted where what is installed does not."""
        before = self.installed
        return self.project is not None and before is not None and before.project not in ("", self.project)

    @property
    def grows(self) -> bool:
        """Tell whether it may do more than what is installed."""
        return self.installed is not None and (self.changes.grows or self.is_wider)

    @property
    def is_same(self) -> bool:
        """Tell whether it is what is installed, file by file."""
        return self.installed is not None and self.installed.digest == self.content.digest


class Packages(PackageFolder):
    """The packages of one user."""

    def __init__(self, folder: Path, store: Store, clock: Clock) -> None:
        super().__init__(folder)
        self._store = store
        self._clock = clock

    @property
    def _change_lock(self) -> Path:
        return self.folder / ".lock"

    @contextmanager
    def candidate(self, source: Source, timeout_s: float, expected: str = "") -> Iterator[Candidate]:
        """Take a package in for the block; what is not installed then is gone. expected: the name that it must have.

        timeout_s: for the network. Raises PackageRefused, and OSError for what the disk refuses.
        """
        place = self.folder / f"{UNFINISHED}{uuid.uuid4().hex}"
        with self._alone():  # nobody tidies up before it is locked
            make_folder(place)
            descriptor = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        try:
            taken = take_in(source, place, timeout_s)
            root = taken.root
            content = survey(
                lambda path: read_regular(root / path, follows_links=False), taken.files, source.fallback_name
            )
            folder = folder_name(content.manifest.name)
            if expected and folder != expected:
                message = f"{source.text} is the package {folder!r} now, not {expected!r}: install it by its own name"
                raise PackageRefused(message)
            installed = self.lock().packages.get(folder)
            if installed is not None and installed.name != content.manifest.name:
                message = f"{content.manifest.name!r} has the folder of {installed.name!r}: uninstall that one first"
                raise PackageRefused(message)
            changes = self._compare(installed, content)
            yield Candidate(folder, source, content, root, installed, changes, taken.commit)
        finally:
            try:
                delete(place)  # while it is locked: who tidies up would delete it at once with us
            finally:
                os.close(descriptor)

    def _compare(self, installed: Installed | None, content: Content) -> Changes:
        if installed is not None:
            with suppress(PackageRefused):  # what is damaged says nothing, so that all of the new one is new
                before = self.survey(installed)
                return compare(before.files, content.files, before.rights, content.rights)
        return compare((), content.files, Rights(), content.rights)

    def install(self, candidate: Candidate, project: str | None = None) -> Installed:
        """Have a candidate count, and return it; what counted before is there for a rollback.

        project: the folder in which it counts alone; empty: everywhere; None: as the one before.
        Raises RequestRefused where it is not what was compared any more, and OSError; then the old one counts.
        """
        before = candidate.installed
        if project is None:
            project = "" if before is None else before.project
        origin = (candidate.source.text, candidate.commit, project)
        is_known = before is not None and (before.source, before.commit, before.project) == origin
        if before is not None and is_known and candidate.is_same and not self.damaged(before):
            return before
        manifest = candidate.content.manifest
        installed = Installed(
            name=manifest.name,
            version=manifest.version,
            source=candidate.source.text,
            source_type=candidate.source.kind,
            integrity=integrity_of(candidate.content.digest),
            installed_at=to_text(self._clock.now()),
            description=manifest.description,
            commit=candidate.commit,
            scope="project" if project else "user",
            project=project,
            dependencies=manifest.dependencies,
            parts=candidate.content.parts,
        )
        kind = "package install" if before is None else "package update"
        with self._changing():
            lock = self.lock()
            if lock.packages.get(candidate.folder) != before:
                raise RequestRefused(f"{candidate.folder} was changed by another process meanwhile: try again")
            with self._operation(kind, candidate.folder, installed.integrity) as operation:
                self.keep(candidate.content.files, candidate.root)
                self.put_in_place(installed, candidate.root)
                return self._switch(operation, lock.put(candidate.folder, installed)).packages[candidate.folder]

    def earlier(self, name: str, version: str = "") -> Candidate:
        """Return an earlier content of a package, compared with the one that counts.

        version: of it; empty: the last one. Raises PackageMissing, RequestRefused, and PackageRefused where it is gone.
        """
        folder, current, chosen = _find_earlier(self.lock(), name, version)
        content = self.survey(chosen)
        changes = self._compare(current, content)
        source = Source(chosen.source, chosen.source_type)
        root = self.folder / chosen.digest
        return Candidate(folder, source, content, root, current, changes, chosen.commit, chosen.project)

    def roll_back(self, candidate: Candidate) -> tuple[Installed, Installed]:
        """Have an earlier content of a package count again; return the one before and the one that counts now.

        candidate: by `earlier`. Another rollback undoes it. Raises RequestRefused where the package has changed since.
        """
        with self._changing():
            lock = self.lock()
            folder, current, chosen = _find_earlier(lock, candidate.folder, candidate.content.manifest.version)
            if current != candidate.installed or chosen.digest != candidate.content.digest:
                raise RequestRefused(f"{folder} was changed by another process meanwhile: try again")
            with self._operation("package rollback", folder, chosen.integrity) as operation:
                if self.damaged(chosen):
                    self.restore(chosen)
                return current, self._switch(operation, lock.put(folder, chosen)).packages[folder]

    def uninstall(self, name: str) -> Installed:
        """Remove a package and all its contents, and return what it was. Raises PackageMissing."""
        with self._changing():
            lock = self.lock()
            folder, installed = lock.find(name)
            with self._operation("package uninstall", folder, "") as operation:
                self._switch(operation, lock.without(folder))
            return installed

    # Settling --------------------------------------------------------------------------------------------------------
    def settle(self) -> tuple[str, ...]:
        """Settle what a kill has cut off, and return a sentence for each."""

        def settle(operation: Operation) -> str:
            with hold_lock(self._change_lock, 0.0) as is_ours:
                return self._settle(operation) if is_ours else ""

        return recover(self._store, dict.fromkeys(KINDS, settle))

    def _settle(self, operation: Operation) -> str:
        if operation not in operations.find(self._store, "begun", KINDS, operation.subject):
            return ""
        lock = self.lock()
        installed = lock.packages.get(operation.subject)
        is_done = operation.detail.get("integrity") == ("" if installed is None else installed.integrity)
        self._tidy(lock)
        operations.end(self._store, operation.operation_id, "finish" if is_done else "undo", self._clock.now())
        return f"a {operation.kind} of {operation.subject} that was cut off was {'finished' if is_done else 'undone'}"

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Hold the lock of all changes for the block, with nothing left to settle. Raises RequestRefused."""
        with self._alone():
            for operation in operations.find(self._store, "begun", KINDS):
                self._settle(operation)
            yield

    @contextmanager
    def _alone(self) -> Iterator[None]:
        with hold_lock(self._change_lock, _PATIENCE_S) as is_ours:
            if not is_ours:
                raise RequestRefused("another process changes packages just now: try again in a moment")
            yield

    @contextmanager
    def _operation(self, kind: str, folder: str, integrity: str) -> Iterator[Operation]:
        """Note a change that is done in the block. integrity: of what counts behind it; empty: nothing does."""
        operation = begin(self._store, self._clock, kind, folder, integrity=integrity)
        with settled_if_it_fails(lambda _: self._settle(operation)):
            yield operation

    # Steps -----------------------------------------------------------------------------------------------------------
    def _switch(self, operation: Operation, lock: Lock) -> Lock:
        """Replace the lock file, from which on the new state counts, make the rest fit it, and end the operation."""
        with new_file(self.folder / FILE, force=True, suffix="new") as file:
            file.write(write_lock(lock))
        self._tidy(lock)
        operations.end(self._store, operation.operation_id, "finish", self._clock.now())
        return lock

    def _tidy(self, lock: Lock) -> None:
        """Make links and contents fit the lock file; what is neither in it nor locked by somebody goes."""
        digests = lock.digests()
        for path in sorted(self.folder.iterdir()):
            is_link = path.is_symlink()
            is_content = bool(_DIGEST.fullmatch(path.name)) and path.name not in digests
            if is_content or (is_link and path.name not in lock.packages) or path.name.startswith(UNFINISHED):
                delete_unlocked(path)
        for folder, installed in lock.packages.items():
            if not os.path.lexists(self.folder / installed.digest):
                with suppress(PackageRefused):  # `pkg info` names what is gone
                    self.restore(installed)
            point_to(self.folder / folder, installed.digest)
        with suppress(PackageRefused):  # a list that is damaged does not say which contents it needs
            every = (each for current in lock.packages.values() for each in (current, *current.previous))
            kept = set(digests) | {file.sha256 for each in every for file in self.files(each)}
            self.blobs.collect(lambda name: name in kept)


def _find_earlier(lock: Lock, name: str, version: str) -> tuple[str, Installed, Installed]:
    """Return a package's folder, what counts, and the earlier content of a version; empty: the last one."""
    folder, current = lock.find(name)
    for each in current.previous:
        if version in ("", each.version):
            return folder, current, each
    versions = ", ".join(each.version for each in current.previous) or "none"
    asked = f"version {version[:80]} of {folder}" if version else f"earlier content of {folder}"
    raise RequestRefused(f"there is no {asked} to go back to; there is: {versions}")
