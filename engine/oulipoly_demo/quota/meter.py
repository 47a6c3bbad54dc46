"""An account home's `quota.json`, safe for any number of processes at once: read, change and replace under one lock."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from oulipoly_demo.quota import levels
from oulipoly_demo.quota.levels import Tier


class MeterBroken(Exception):
    """The quota file of a demo account was damaged by hand."""


class Reading(NamedTuple):
    """What the file holds."""

    tiers: tuple[Tier, ...]
    cost_percent: int = 100  # 0: prompts cost nothing, for tests that send hundreds


class Meter(NamedTuple):
    """The quota of one demo account."""

    home: Path
    vendor: str  # "claude" or "codex"

    @property
    def path(self) -> Path:
        """Return the quota file."""
        return self.home / "quota.json"

    def read(self, now: float) -> tuple[Tier, ...]:
        """Return the tiers as they stand now. Without a lock: the file is only ever replaced whole."""
        return levels.advance(self._load().tiers, now)

    def blocking(self, now: float) -> Tier | None:
        """Return the tier that forbids a prompt now, or None."""
        return levels.blocking(self._load().tiers, now)

    def charge(self, units: int, now: float) -> tuple[Tier, ...]:
        """Spend `units` (as scaled by the file's cost) and return the tiers after it."""
        return self._change(
            lambda held: held._replace(tiers=levels.charge(held.tiers, units * held.cost_percent // 100, now))
        ).tiers

    def set_used(self, percent: float, kind: str, now: float) -> None:
        """Set one kind of tier ("short" or "long") to `percent` of its capacity."""
        self._change(lambda held: held._replace(tiers=levels.with_used(held.tiers, percent, kind, now)))

    def set_lengths(self, now: float, *, short: bool) -> None:
        """Shorten the windows to minutes, or bring the vendor's lengths back."""
        self._change(lambda held: held._replace(tiers=levels.with_lengths(held.tiers, self.vendor, now, short=short)))

    def save(self, reading: Reading) -> None:
        """Replace the file by `reading`."""
        self.home.mkdir(parents=True, exist_ok=True)
        record = {
            "about": "demo: a made-up quota, in units; used = spent / capacity; resets_at in Unix seconds",
            "vendor": self.vendor,
            "cost_percent": reading.cost_percent,
            "tiers": [tier._asdict() for tier in reading.tiers],
        }
        draft = self.path.with_name(f"quota.{os.getpid()}.tmp")
        draft.write_text(json.dumps(record, indent=1) + "\n")
        draft.replace(self.path)

    def _change(self, step: Callable[[Reading], Reading]) -> Reading:
        self.home.mkdir(parents=True, exist_ok=True)
        # A file of its own carries the lock: quota.json itself changes its inode with every write.
        with (self.home / "quota.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            after = step(self._load())
            self.save(after)
        return after

    def _load(self) -> Reading:
        try:
            record = json.loads(self.path.read_bytes())
            return Reading(tuple(Tier(**tier) for tier in record["tiers"]), int(record["cost_percent"]))
        except FileNotFoundError:
            return Reading(levels.fresh(self.vendor))
        except (ValueError, TypeError, KeyError) as error:
            raise MeterBroken(f"{self.path} is damaged ({error}): delete it for a fresh quota") from error
