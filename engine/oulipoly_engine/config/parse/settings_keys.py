"""Between the keys of config.toml and the fields of `Settings`: most have one name. Pure; brings no schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oulipoly_engine.config.base import mask
from oulipoly_engine.core.accounts.accounts import Settings

# Fields with another name than their key: the key, and by how much the file's number is multiplied.
_HELD: Mapping[str, tuple[str, int]] = {
    "routing_ttl_s": ("routing_ttl_seconds", 1),
    "archive_limit_bytes": ("archive_limit_mb", 1 << 20),
    "preimage_limit_bytes": ("preimage_limit_mb", 1 << 20),
    "longest_line": ("transcript_line_limit_mb", 1 << 20),
}
_SECRET = ("serve_webhook",)  # parts of it are masked where it is shown


def from_file(values: Mapping[str, Any]) -> Settings:
    """Return settings of checked values by their keys. A text that is blank counts as not set."""
    before, held = Settings(), {}
    for name in Settings.__annotations__:
        key, unit = _HELD.get(name, (name, 1))
        value = values[key]
        if isinstance(value, list):
            value = tuple(value)
        elif isinstance(value, str) and not value.strip():
            value = getattr(before, name)
        held[name] = value * unit if unit > 1 else value
    return Settings(**held)


def to_file(settings: Settings) -> dict[str, Any]:
    """Return settings by their keys, as values that JSON can hold, secrets masked; None: it is not set."""
    shown: dict[str, Any] = {}
    for name in Settings.__annotations__:
        key, unit = _HELD.get(name, (name, 1))
        value = getattr(settings, name)
        if isinstance(value, tuple):
            value = [*value]
        elif key in _SECRET and value:
            value = mask.mask(value)
        shown[key] = value // unit if unit > 1 else value
    return shown
