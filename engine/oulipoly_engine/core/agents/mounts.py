"""Folders and files of the host that an agent is given: `HOST:TARGET[:DESCRIPTION][:ro|:rw]`. Pure."""

from __future__ import annotations

import posixpath

from oulipoly_engine.errors import UsageInvalid
from oulipoly_engine.records import Record

_MODES = {"ro": True, "rw": False}
_OURS = ("etc", "usr", "home", "tmp", "var", "workspace")  # of an agent's tree: a mount replaces none of them


class Mount(Record):
    """One of them."""

    host: str  # absolute
    target: str  # absolute in the agent's tree
    description: str = ""
    is_read_only: bool = False


def parse_mount(text: str, home: str) -> Mount:
    """Read what `-v` says. home: what `~` stands for. Raises UsageInvalid, which says what is wrong."""
    host, _, rest = text.partition(":")
    target, _, more = rest.partition(":")
    if not host or not target:
        raise UsageInvalid(f"-v takes HOST:TARGET[:DESCRIPTION][:ro|:rw], not {text[:120]!r}")
    description, separator, last = more.rpartition(":")
    if last not in _MODES:
        description = f"{description}{separator}{last}"
        last = "rw"
    if host == "~" or host.startswith("~/"):
        host = home + host[1:]
    if not host.startswith("/"):
        raise UsageInvalid(f"-v needs an absolute path of this machine before the colon, not {host[:120]!r}")
    return Mount(host, check_target(target), description, _MODES[last])


def check_target(target: str) -> str:
    """Return where a mount lies in an agent's tree. Raises UsageInvalid for a place that is not its own."""
    if not target.startswith("/") or ".." in target.split("/"):
        raise UsageInvalid(f"a mount's target is an absolute path without `..`, not {target[:120]!r}")
    clean = posixpath.normpath("/" + target.lstrip("/"))
    if clean == "/" or clean.lstrip("/") in _OURS:
        raise UsageInvalid(f"a mount cannot replace {clean} of the agent: choose a folder below, such as /data")
    return clean
