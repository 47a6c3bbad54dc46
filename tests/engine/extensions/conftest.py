"""A home in which extensions are written, allowed and called."""

import json

import pytest

from oulipoly_engine.extension_api import Session
from oulipoly_engine.facade.engine import Engine, Surroundings
from oulipoly_engine.paths import from_environment, with_options

HERE = Session("s1", "/w", "r", "a", "m", "t")


class Extending:
    """Extensions in a home, seen as a process sees them: `open` is the next process."""

    def __init__(self):
        self.notes = []
        self._engines = []
        self.settings = ["extension_timeout_seconds=60"]  # a test of this limit alone has less
        self.open()

    def open(self, *options, has_none=False):
        paths = with_options(from_environment(), self.settings, options, has_none=has_none)
        self.engine = Engine(Surroundings(paths=paths, note=self.notes.append))
        self._engines.append(self.engine)
        self.paths = paths
        return self.engine

    @property
    def set(self):
        return self.engine._home.extensions

    def write(self, name, code, folder=None, **manifest):
        """Write an extension: its code is the body of the class."""
        place = (folder or self.paths.extensions) / name
        place.mkdir(parents=True, exist_ok=True)
        keys = {"name": name, "version": "1.0", **manifest}
        commands = "".join(f'[[commands]]\nname = "{each}"\n' for each in keys.pop("commands", ()))
        lines = [f"{key} = {json.dumps(value)}" for key, value in keys.items()]
        (place / "extension.toml").write_text("\n".join(lines) + "\n" + commands)
        body = "\n".join(f"    {line}" for line in (code or "pass").splitlines())
        (place / "extension.py").write_text(
            f"import os, sys, time\nfrom oulipoly_engine.extension_api import *\n"
            f"from oulipoly_engine.extension_api import Refused\nclass It:\n{body}\ndef extension():\n    return It()\n"
        )
        return place

    def allow(self, *names):
        for name in names:
            self.engine.extensions.allow(self.status(name))

    def status(self, name):
        return self.engine.extensions.find(name)

    def guard(self, **facts):
        self.set.guard("before_fork", HERE, entry="e1", **facts)

    def log(self, name):
        return (self.paths.extension_logs / f"{name}.log").read_text()

    def close(self):
        for engine in self._engines:
            engine.extensions.close()
            engine.close()


@pytest.fixture
def extending(home):
    world = Extending()
    yield world
    world.close()
