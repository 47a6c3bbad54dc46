"""What the tmux around us keeps for itself."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping

from oulipoly_engine.process.command import describe_exit, watched

_PATIENCE_S = 2.0
_NONE = "None"  # what tmux shows for a prefix2 that is not set


def prefixes(env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the keys that tmux takes as its prefixes, in its own words: `C-b`; none where there is no tmux."""
    if not env.get("TMUX"):
        return ()
    options = (_option(name, env) for name in ("prefix", "prefix2"))
    return tuple(key for key in options if key and key != _NONE)


def _option(name: str, env: Mapping[str, str]) -> str:
    argv = ("tmux", "show-options", "-gv", name)
    try:
        with watched(argv, None) as tell:
            process = _ask(argv, env)
            tell(describe_exit(process.returncode))
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return process.stdout.decode("utf-8", "replace").strip()


def _ask(argv: tuple[str, ...], env: Mapping[str, str]) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(  # noqa: S603 - constant words
        argv,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=dict(env),
        timeout=_PATIENCE_S,
        check=False,
    )
