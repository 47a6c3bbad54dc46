"""Packages: installed, compared, updated, rolled back and uninstalled. Every method blocks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from oulipoly_engine.config.packages_file import Resource, enabled_resources, load_lock
from oulipoly_engine.core.packages.lock import KINDS, Installed, Kind, Lock
from oulipoly_engine.errors import RunnerError, UsageInvalid
from oulipoly_engine.facade.base.home import Part
from oulipoly_engine.facade.base.own_process import require_person
from oulipoly_engine.paths import PROJECT_FOLDER
from oulipoly_engine.records import Record
from oulipoly_engine.service.packages import packages as service
from oulipoly_engine.service.packages.contents import Content, PackageFolder
from oulipoly_engine.service.packages.downloads import NETWORK_TIMEOUT_S
from oulipoly_engine.service.packages.packages import Candidate
from oulipoly_engine.service.packages.sources import parse_source

__all__ = ["NETWORK_TIMEOUT_S", "Candidate", "Content", "Installed", "Resource"]


class Details(Record):
    """All that is known of an installed package."""

    folder_name: str
    installed: Installed
    content: Content
    folder: Path
    damaged: tuple[str, ...]  # files that are not what was installed
    used: frozenset[tuple[str, str]]  # kind and name of what is switched on


class Packages(Part):
    """The packages of one user."""

    def lock(self) -> Lock:
        """Return what is installed. Raises ConfigInvalid."""
        return load_lock(self._home.paths.packages)

    def details(self, name: str) -> Details:
        """Return what is known of a package. Raises PackageMissing, PackageRefused."""
        root = PackageFolder(self._home.paths.packages)
        folder, installed = root.lock().find(name)
        enabled = (each for kind in KINDS for each in self.enabled(kind) if each.package == folder)
        used = frozenset((each.kind, each.name) for each in enabled)
        return Details(
            folder, installed, root.survey(installed), root.folder / installed.digest, root.damaged(installed), used
        )

    def enabled(self, kind: Kind) -> tuple[Resource, ...]:
        """Return what packages bring of a kind and the settings do not switch off."""
        switches = getattr(self._home.files.settings(), kind)
        return enabled_resources(self._home.paths, kind, switches)

    @contextmanager
    def candidate(self, source: str, timeout_s: float, name: str = "") -> Iterator[Candidate]:
        """Take a package in for the block, where it is compared with what is installed and may be installed.

        source: as a user types it; empty: where the package of that name came from. timeout_s: for the network.
        Raises PackageRefused, PackageMissing, and RunnerError for what the disk refuses.
        """
        self._home.refuse_if_read_only("take in a package")
        folder = ""
        kept = source
        if name:
            folder, installed = load_lock(self._home.paths.packages).find(name)
            kept = source or installed.source
        parsed = parse_source(kept, Path.cwd())
        with self._open() as packages, packages.candidate(parsed, timeout_s, folder) as candidate:
            yield candidate

    def install(self, candidate: Candidate, *, in_project: bool | None = None) -> Installed:
        """Have a candidate count. Raises RequestRefused, also to an agent; then what counted before does.

        in_project: in the project alone that we are in; False: everywhere; None: as what was installed before.
        Raises UsageInvalid where there is no project.
        """
        _refuse_agents()
        project = None
        if in_project is not None:
            project = str(self._project) if in_project else ""
        with self._open() as packages:
            return packages.install(candidate, project)

    @property
    def _project(self) -> Path:
        project = self._home.paths.above.project
        if project is None:
            message = (
                f"there is no folder {PROJECT_FOLDER} here or above, which makes a folder a project: make one there"
            )
            raise UsageInvalid(message)
        return project.parent

    def earlier(self, name: str, version: str = "") -> Candidate:
        """Return an earlier content of a package, to be rolled back to. version: of it; empty: the last one.

        Raises PackageMissing, RequestRefused, PackageRefused.
        """
        self._home.refuse_if_read_only("roll back a package")
        _refuse_agents()
        with self._open() as packages:
            return packages.earlier(name, version)

    def roll_back(self, candidate: Candidate) -> tuple[Installed, Installed]:
        """Have an earlier content count again; return what counted and what does. Raises RequestRefused."""
        self._home.refuse_if_read_only("roll back a package")
        _refuse_agents()
        with self._open() as packages:
            return packages.roll_back(candidate)

    def uninstall(self, name: str) -> Installed:
        """Remove a package, and return what it was. Raises PackageMissing."""
        self._home.refuse_if_read_only("uninstall a package")
        _refuse_agents()
        with self._open() as packages:
            return packages.uninstall(name)

    def settle(self) -> tuple[str, ...]:
        """Settle what a kill has cut off, and return a sentence for each."""
        with self._open() as packages:
            return packages.settle()

    @contextmanager
    def _open(self) -> Iterator[service.Packages]:
        folder = self._home.paths.packages
        with self._home.lend_store() as store:
            try:
                yield service.Packages(folder, store, self._home.clock)
            except OSError as error:
                place = f"{error.filename}: " if error.filename else ""
                way = f"free some space, or mend the rights of {folder}"
                raise RunnerError(f"packages cannot be written: {place}{error.strerror or error}: {way}") from error


def _refuse_agents() -> None:
    """Refuse what an agent has started: skills reach every CLI at once, and an extension may guard what agents do."""
    require_person("change which packages are installed")
