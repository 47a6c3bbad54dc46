"""opencode: one home holds the logins of many vendors."""

from __future__ import annotations

from oulipoly_engine.core.accounts.clis.cli import (
    Cli,
    Launch,
    LoginCommand,
    Observed,
    Place,
    Profile,
    Status,
    Transcripts,
)
from oulipoly_engine.core.accounts.clis.documents import read_object, text_of


def _read_status(seen: Observed) -> tuple[Profile, ...]:
    """Read the vendors of auth.json: `{"anthropic": {"type": "oauth" | "api", …}}`."""
    vendors = read_object(seen.files.get("auth.json", ""))
    return tuple(Profile(name, text_of(login, "type") or "unknown") for name, login in vendors.items())


OPENCODE = Cli(
    name="opencode",
    title="opencode",
    package="opencode-ai",
    place=Place(
        ".local/share/opencode",
        {"XDG_DATA_HOME": "data", "XDG_CONFIG_HOME": "config", "XDG_STATE_HOME": "state", "XDG_CACHE_HOME": "cache"},
        below="data/opencode",
        marks=("opencode.db", "auth.json"),
    ),
    launch=Launch(("run",), resume_flag="-s"),
    credentials=("auth.json",),
    login=LoginCommand(("auth", "login")),
    status=Status(_read_status, files=("auth.json",)),
    transcripts=Transcripts("opencode", has_locator=False),
)
