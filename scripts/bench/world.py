"""A throw-away home with accounts whose CLIs are plain programs, and the commands that are measured in it."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from measure import Command

from oulipoly_engine.records import Record

PROMPT = "hello"
_CHUNK = os.urandom(1 << 20)


class World(Record):
    """One measurement's surroundings; every row has its own state folder."""

    folder: Path
    quick: bool

    @property
    def config(self) -> Path:
        """Return the configuration folder."""
        return self.folder / "home" / ".config" / "oulipoly-agent-runner"

    def rounds(self, wanted: int) -> int:
        """Return how often to measure: a quarter of it when in a hurry, never less than 3."""
        return max(3, wanted // 4) if self.quick else wanted

    def env(self, state: str) -> dict[str, str]:
        """Return the whole environment of a measured process; `state` names its state folder."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder / "home"),
            "TMPDIR": str(self.folder),
            "LANG": os.environ.get("LANG", "C.UTF-8"),
            "OULIPOLY_DATA_DIR": str(self.folder / "state" / state),
        }

    def serve(self, model: str, command: str, *args: str) -> None:
        """Configure a model with one account of the same name, whose CLI is `command`."""
        (self.config / "models").mkdir(parents=True, exist_ok=True)
        with (self.config / "providers.toml").open("a", encoding="utf-8") as file:
            file.write(f"[{model}]\ncommand = {json.dumps(command)}\nargs = {json.dumps(args)}\n\n")
        text = f"[[providers]]\nname = {json.dumps(model)}\n"
        (self.config / "models" / f"{model}.toml").write_text(text, encoding="utf-8")

    def agents(self, *arguments: str, state: str = "common", expects: int = 0) -> Command:
        """Return our installed command."""
        return Command((str(Path(sys.executable).parent / "agents"), *arguments), self.env(state), expects)

    def one_shot(self, model: str, state: str = "common") -> Command:
        """Return our command with a prompt for a model."""
        return self.agents("-m", model, PROMPT, state=state)

    def bare(self, *argv: str) -> Command:
        """Return a program without us around it, in the same environment."""
        return Command(argv, self.env("common"))

    def nothing(self) -> Command:
        """Return the least that the same interpreter can do."""
        return self.bare(sys.executable, "-c", "pass")

    def file(self, megabytes: int) -> Path:
        """Return a file of that many MB (of 2**20 bytes) that no file system can make small."""
        path = self.folder / f"{megabytes}-mb"
        if not path.exists():
            with path.open("wb") as file:
                for _ in range(megabytes):
                    file.write(_CHUNK)
        return path
