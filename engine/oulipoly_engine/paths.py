"""Where our files lie. With `process`, the only reader of the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

APP = "oulipoly-agent-runner"


@dataclass(frozen=True, slots=True)
class Paths:
    """The folders of one user."""

    config: Path  # providers.toml, config.toml, sessions.toml, models/, agents/
    data: Path  # state.db, locks/, invocations/, ...
    home: Path  # what `~` stands for

    @property
    def providers(self) -> Path:
        """Return the accounts' file."""
        return self.config / "providers.toml"

    @property
    def settings(self) -> Path:
        """Return the global settings' file."""
        return self.config / "config.toml"

    @property
    def sessions(self) -> Path:
        """Return the file of turn and locator scripts."""
        return self.config / "sessions.toml"

    @property
    def models(self) -> Path:
        """Return the folder of pools."""
        return self.config / "models"

    @property
    def agents(self) -> Path:
        """Return the folder of agent files."""
        return self.config / "agents"

    @property
    def state_db(self) -> Path:
        """Return the state file."""
        return self.data / "state.db"

    @property
    def results(self) -> Path:
        """Return the folder of `<uuid>.result` files."""
        return self.data / "invocations"


def from_environment(environ: Mapping[str, str] | None = None) -> Paths:
    """Find the user's folders by the XDG rules; `OULIPOLY_DATA_DIR` overrides the data folder.

    A relative XDG path is ignored, as the XDG specification demands.
    """
    env = os.environ if environ is None else environ
    home = Path(env.get("HOME") or Path.home())
    data = env.get("OULIPOLY_DATA_DIR")
    return Paths(
        config=_xdg(env, "XDG_CONFIG_HOME", home / ".config") / APP,
        data=Path(data).absolute() if data else _xdg(env, "XDG_DATA_HOME", home / ".local" / "share") / APP,
        home=home,
    )


def _xdg(env: Mapping[str, str], name: str, default: Path) -> Path:
    value = env.get(name, "")
    return Path(value) if value.startswith("/") else default
