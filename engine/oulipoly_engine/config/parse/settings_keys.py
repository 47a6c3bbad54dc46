"""Between the keys of config.toml and app.toml and the fields of their records. Pure; brings no schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from oulipoly_engine.records import replace

if TYPE_CHECKING:
    from oulipoly_engine.config.base.app_settings import AppSettings
    from oulipoly_engine.core.accounts.accounts import Settings

SettingsT = TypeVar("SettingsT", "Settings", "AppSettings")

# Fields with another name than their key: the key, and by how much the file's number is multiplied.
_HELD: Mapping[str, tuple[str, int]] = {
    "routing_ttl_s": ("routing_ttl_seconds", 1),
    "archive_limit_bytes": ("archive_limit_mb", 1 << 20),
    "preimage_limit_bytes": ("preimage_limit_mb", 1 << 20),
    "longest_line": ("transcript_line_limit_mb", 1 << 20),
}
_SECRET = ("serve_webhook",)  # parts of it are masked where it is shown


def from_file(kind: type[SettingsT], values: Mapping[str, Any]) -> SettingsT:
    """Return settings of checked values by their keys. A text that is blank counts as not set."""
    before, held = kind(), {}
    for name in kind.__annotations__:
        key, unit = _HELD.get(name, (name, 1))
        value = values[key]
        if isinstance(value, list):
            value = tuple(value)
        elif isinstance(value, str) and not value.strip():
            value = getattr(before, name)
        held[name] = value * unit if unit > 1 else value
    return kind(**held)


def change(settings: SettingsT, values: Mapping[str, Any]) -> SettingsT:
    """Return settings with other checked values for some of their keys."""
    fields = {key: (name, unit) for name, (key, unit) in _HELD.items()}
    changes: dict[str, Any] = {}
    for key, value in values.items():
        name, unit = fields.get(key, (key, 1))
        value = tuple(value) if isinstance(value, list) else value
        changes[name] = value * unit if unit > 1 else value
    return replace(settings, **changes) if changes else settings


def to_file(settings: Settings | AppSettings) -> dict[str, Any]:
    """Return settings by their keys, as values that JSON can hold, secrets masked; None: it is not set."""
    from oulipoly_engine.config.base import mask  # noqa: PLC0415 - 20 ms, not for who only reads settings

    shown: dict[str, Any] = {}
    for name in settings.__annotations__:
        key, unit = _HELD.get(name, (name, 1))
        value = getattr(settings, name)
        if isinstance(value, tuple):
            value = [*value]
        elif key in _SECRET and value:
            value = mask.mask(value)
        shown[key] = value // unit if unit > 1 else value
    return shown
