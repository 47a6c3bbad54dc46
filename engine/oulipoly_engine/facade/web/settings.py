"""The server's settings, as config.toml has them."""

from __future__ import annotations

from pathlib import Path

from oulipoly_engine.core.accounts.accounts import Settings
from oulipoly_engine.paths import expand_user
from oulipoly_engine.records import Record


class WebSettings(Record):
    """What the server is told by config.toml."""

    roots: tuple[Path, ...]  # folders that may be looked at, links followed
    webhook: str  # where notices go; empty: nowhere
    commits: bool  # devices may commit
    promotes: bool  # devices may push


def web_settings(settings: Settings, home: Path) -> WebSettings:
    """Return the settings; folders that are not there are left out."""
    named = settings.serve_roots or (str(home),)
    roots = tuple(dict.fromkeys(path.resolve() for text in named if (path := expand_user(text)).is_dir()))
    return WebSettings(roots, settings.serve_webhook, settings.serve_commit, settings.serve_promote)
