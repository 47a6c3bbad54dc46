"""Where a pull request of a pushed branch is made, from the remote's own address. Pure."""

from __future__ import annotations

import re
from urllib.parse import quote

_GITHUB = re.compile(
    r"(?:(?:https?|ssh|git)://(?:[^@/]+@)?(?:www\.)?github\.com(?::\d+)?/|(?:[^@/:]+@)?github\.com:/?)"
    r"(?P<owner>[^/\s?#]+)/(?P<name>[^/\s?#]+?)(?:\.git)?/?",
    re.IGNORECASE,
)


def compare_url(remote: str, base: str, head: str) -> str | None:
    """Return the page that offers a pull request of `head` into `base`; None: the remote is not at GitHub.

    remote: an address of git's, by ssh or https, with or without `.git`.
    """
    found = _GITHUB.fullmatch(remote.strip())
    if found is None:
        return None
    owner, name = quote(found["owner"], safe=""), quote(found["name"], safe="")
    return f"https://github.com/{owner}/{name}/compare/{quote(base, safe='/')}...{quote(head, safe='')}?expand=1"


def without_login(remote: str) -> str:
    """Return a remote's address without the name and password that may stand in it."""
    return re.sub(r"(?<=://)[^/@]*@", "", remote)
