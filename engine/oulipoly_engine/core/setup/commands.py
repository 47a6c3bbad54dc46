"""Which commands a model may ask for, and how they are shown and reported. Pure.

The list is not a sandbox: bash and curl do anything. What protects is that a person sees each command whole and agrees.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from oulipoly_engine.core.accounts.clis.cli import Cli
from oulipoly_engine.core.accounts.clis.table import CLIS
from oulipoly_engine.core.setup.actions import RunCommand
from oulipoly_engine.errors import RequestRefused

LOOK_UPS = ("which", "type")  # answered by us: no program is started, so nobody is asked
ALLOWED = (*LOOK_UPS, *CLIS, "npm", "npx", "curl", "bash")
TIMEOUT_S = 300.0  # npm installs CLIs of 200 MB
SHOWN = 16_000  # characters of each stream that a person is shown
_WARNINGS: Mapping[str, str] = {
    "bash": "bash does whatever its script says, with all your rights: read it before you say yes",
    "curl": "curl sends and fetches anything, and can write files: look where it goes",
    "npx": "npx downloads a program and runs it with all your rights",
    "npm": "npm runs scripts of the packages that it installs, with all your rights",
}
_AGENT_WARNING = "{} may start an agent that does things by itself: look at its arguments"
_HARMLESS = frozenset(
    {"--version", "-v", "-V", "--help", "-h"}
)  # `npx help` runs a stranger's package, `bash help` a file
# What a command may see of our environment; a variable that nobody thought of stays out.
_VARIABLES = frozenset(
    (
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TMPDIR", "TZ", "NO_COLOR"),
        *("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"),
    )
)


def allowed(cli: Cli | None = None) -> tuple[str, ...]:
    """Return the programs that may be asked for. cli: the one that the set-up is about alone."""
    return tuple(name for name in ALLOWED if cli is None or name == cli.name or name not in CLIS)


def check_command(asked: RunCommand, cli: Cli | None = None) -> None:
    """Refuse a command that is not on the list, or cannot be started. Raises RequestRefused.

    cli: the one that the set-up is about alone.
    """
    if asked.command not in allowed(cli):
        message = f"{asked.command[:80]!r} is not allowed; by their bare names these are: {', '.join(allowed(cli))}"
        raise RequestRefused(message)
    if any("\0" in word for word in asked.args):
        raise RequestRefused("an argument has a NUL, which no program can be given")
    if asked.command in LOOK_UPS and (not asked.args or any("/" in word for word in asked.args)):
        raise RequestRefused(f"`{asked.command}` takes names of programs, without a path")


def shown_command(asked: RunCommand) -> str:
    """Return a command as one would type it in a shell; what a terminal would obey stays for the face to show."""
    return shlex.join((asked.command, *asked.args))


def warning(asked: RunCommand) -> str:
    """Return what to think of before it is run; empty where it only tells its version or its help."""
    if len(asked.args) == 1 and asked.args[0] in _HARMLESS:
        return ""
    return _WARNINGS.get(asked.command, _AGENT_WARNING.format(asked.command))


def environment(ours: Mapping[str, str]) -> dict[str, str]:
    """Return what a command sees of our environment: no key, no token, nothing that leads to one account's home."""
    return {name: value for name, value in ours.items() if name in _VARIABLES or name.startswith("LC_")}
