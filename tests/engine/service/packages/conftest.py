"""A package in a folder, and archives that say what they like."""

import io
import tarfile

import pytest

from oulipoly_engine.facade.engine import Engine

EXTENSION = 'name = "hello"\nversion = "1"\npermissions = ["network"]\nhooks = ["message_sent"]\n'


class Machine:
    """A user with packages."""

    def __init__(self, folder):
        self.folder = folder
        self.packages = Engine().packages

    def write(self, files, name="kit"):
        """Write a package's files into a folder and return it."""
        for path, text in files.items():
            place = self.folder / name / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        return self.folder / name

    def kit(self, version="1.0.0", name="@foo/oxi-tools", extension=EXTENSION, **more):
        """Write the package of the contract's vector: two extensions, a skill, three themes."""
        themes = {f"themes/{theme}.json": "{}" for theme in "abc"}
        return self.write(
            {
                "package.toml": f'name = "{name}"\nversion = "{version}"\n',
                "extensions/hello/extension.toml": extension,
                "extensions/hello/extension.py": "x = 1\n",
                "extensions/two.py": '# /// extension\n# name = "two"\n# ///\nx = 2\n',
                "skills/review/SKILL.md": "Review.\n",
                **themes,
                **more,
            }
        )

    def install(self, source):
        with self.packages.candidate(str(source), 5.0) as candidate:
            self.packages.install(candidate)
            return candidate

    def update(self, name):
        with self.packages.candidate("", 5.0, name) as candidate:
            self.packages.install(candidate)
            return candidate

    def roll_back(self, name, version=""):
        """Roll back and return the versions: of what counted, of what counts."""
        return [each.version for each in self.packages.roll_back(self.packages.earlier(name, version))]

    @property
    def root(self):
        """Return the folder of packages."""
        return Engine().paths.packages

    def leftovers(self):
        """Return what lies there besides what is installed, and what a rollback finds."""
        lock = self.packages.lock().packages
        every = [each for current in lock.values() for each in (current, *current.previous)]
        known = {"blobs", ".lock", "packages-lock.json", *lock, *(each.digest for each in every)}
        return sorted(path.name for path in self.root.iterdir() if path.name not in known)


@pytest.fixture
def machine(home, tmp_path):
    return Machine(tmp_path)


@pytest.fixture
def pack(tmp_path):
    """Return a function that writes an archive of (name, content) and of TarInfos, and returns its path."""

    def pack(*members, mode="w:gz", name="kit.tgz"):
        path = tmp_path / name
        with tarfile.open(path, mode) as archive:
            for member in members:
                if isinstance(member, tarfile.TarInfo):
                    archive.addfile(member)
                else:
                    info = tarfile.TarInfo(member[0])
                    info.size = len(member[1])
                    archive.addfile(info, io.BytesIO(member[1]))
        return path

    return pack
