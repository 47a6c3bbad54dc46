"""What decides whether a codex account can go on with another account's rollout. Reads only.

Source: Codex 0.60, 0.120 and 0.169, seen 2026-11: a rollout is found by the end of its name anywhere below `sessions`;
its first line names the model provider, which the account's config.toml must define, and the rollout that it was forked
from, which must be there unchanged up to an offset. An older codex spoils a paginated rollout for a newer one.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

from oulipoly_engine.adapters.transcript_file import open_transcript
from oulipoly_engine.core.accounts.accounts import Account
from oulipoly_engine.records import Record
from oulipoly_engine.regular_files import read_regular

_LONGEST_META = 16 << 20  # bytes; it holds the instructions, some 100 kB
_BUILT_IN = frozenset(("openai", "oss", "ollama", "ollama-chat", "lmstudio", "amazon-bedrock"))
_PAGINATED_SINCE = (0, 169)
_VERSION = re.compile(r"(\d+)\.(\d+)")


class Rollout(Record):
    """What the first line of a rollout says."""

    model_provider: str | None
    is_paginated: bool
    cli_version: str | None
    parent: str | None  # the thread that it was forked from by reference
    parent_bytes: int  # of the parent's rollout that it builds on


def read_rollout(path: Path) -> Rollout | None:
    """Return what a rollout says of itself; None when its first line is not a session_meta. Raises OSError."""
    with open_transcript(path) as file:
        line = file.readline(_LONGEST_META)
    try:
        record = json.loads(line)
    except ValueError:
        return None
    meta = record.get("payload") if isinstance(record, dict) and record.get("type") == "session_meta" else None
    if not isinstance(meta, dict):
        return None
    base = meta.get("history_base")
    base = base if isinstance(base, dict) else {}
    return Rollout(
        model_provider=_text(meta.get("model_provider")),
        is_paginated=meta.get("history_mode") == "paginated",
        cli_version=_text(meta.get("cli_version")),
        parent=_text(base.get("thread_id")),
        parent_bytes=base["end_byte_offset"] if isinstance(base.get("end_byte_offset"), int) else 0,
    )


def refusal(rollout: Rollout, account: Account, sessions: Path) -> str | None:
    """Return why an account's codex would not go on with a rollout, as far as can be told; None when it would.

    sessions: the account's folder of rollouts.
    """
    provider = rollout.model_provider
    config = sessions.parent / "config.toml"
    if provider is not None and provider not in _read_providers(account, config):
        return (
            f"it was made with the model provider {provider!r}, which account {account.name!r} does not define: add "
            f"[model_providers.{provider}] to {config}"
        )
    newest = _newest_version(sessions)
    if rollout.is_paginated and newest is not None and newest < _PAGINATED_SINCE:
        return (
            f"codex {rollout.cli_version} made it and account {account.name!r} last ran codex {newest[0]}.{newest[1]}, "
            "which would write to it what newer ones refuse to read: update that codex, and run it once"
        )
    return None


def _read_providers(account: Account, config: Path) -> frozenset[str]:
    try:
        defined = tomllib.loads(read_regular(config).decode()).get("model_providers")
    except (OSError, ValueError, RecursionError):
        defined = None
    named = frozenset(defined) if isinstance(defined, Mapping) else frozenset[str]()
    words = " ".join((*account.args, *(account.interactive_args or ())))
    return _BUILT_IN | named | frozenset(re.findall(r"model_providers\.([\w-]+)", words))


def _newest_version(sessions: Path) -> tuple[int, int] | None:
    """Return the version of the codex that wrote an account's newest rollout; None without any."""
    newest = max(sessions.glob("*/*/*/rollout-*.jsonl"), key=lambda path: path.name, default=None)
    try:
        rollout = None if newest is None else read_rollout(newest)
    except OSError:
        return None
    found = _VERSION.match(rollout.cli_version) if rollout is not None and rollout.cli_version else None
    return None if found is None else (int(found[1]), int(found[2]))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
