"""Run a bundled usage adapter inside this process where a configuration names it bare: a spawn costs 50 ms and more."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

NAMES = ("anthropic-usage", "chatgpt-usage", "zai-usage")
# A command that means the same to `sh` and to us: a bare name and one absolute path, perhaps quoted, or one below `~/`.
_BARE_CALL = re.compile(
    rf"\s*(?P<name>{'|'.join(NAMES)})\s+(?:(?P<plain>[A-Za-z0-9/._~@+,=-]+)|(?P<home>~/)?'(?P<quoted>[^']+)')\s*",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class BundledCall:
    """A quota command that one of our own adapters serves."""

    name: str
    credentials: Path


@dataclass(frozen=True, slots=True)
class BundledResult:
    """What the adapter returned, as its script would have."""

    exit_code: int
    stdout: str
    stderr: str
    retry_after_s: int | None = None  # of a refusal that named a pause


def bundled_call(command: str, home: Path) -> BundledCall | None:
    """Recognise a bare call of a bundled adapter; None for any command that `sh` has to run.

    home: what `~/` stands for. A relative path is left to the shell, whose folder decides.
    """
    match = _BARE_CALL.fullmatch(command)
    if match is None:
        return None
    path = match["plain"] or f"{match['home'] or ''}{match['quoted']}"
    below_home = path.startswith("~/") and (match["plain"] is not None or match["home"] is not None)
    place = home / path[2:].lstrip("/") if below_home else Path(path)
    return BundledCall(match["name"], place) if place.is_absolute() else None


def run_bundled(call: BundledCall, environ: Mapping[str, str]) -> BundledResult:
    """Ask the vendor; blocks for 20 s at most as long as it keeps answering. Never raises.

    environ: the variables that the script would have seen (base URLs, client version).
    """
    from oulipoly_engine.adapters.scripts import usage  # noqa: PLC0415 - urllib and ssl cost 40 ms, only refreshes ask

    outcome = usage.run((call.name, str(call.credentials)), environ)
    return BundledResult(outcome.exit_code, outcome.stdout, outcome.stderr, outcome.retry_after_s)
