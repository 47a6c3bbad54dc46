"""What the tmux around us keeps for itself."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping

_PATIENCE_S = 2.0
_NONE = "None"  # what tmux shows for a prefix2 that is not set


def prefixes(env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the keys that tmux takes as its prefixes, in its own words: `C-b`; none where there is no tmux."""
    if not env.get("TMUX"):
        return ()
    options = (_option(name, env) for name in ("prefix", "prefix2"))
    return tuple(key for key in options if key and key != _NONE)


def _option(name: str, env: Mapping[str, str]) -> str:
    try:
        process = subprocess.run(  # noqa: S603 - constant words
            ("tmux", "show-options", "-gv", name),  # noqa: S607 - the user's own, by their PATH
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=dict(env),
            timeout=_PATIENCE_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return process.stdout.decode("utf-8", "replace").strip()
