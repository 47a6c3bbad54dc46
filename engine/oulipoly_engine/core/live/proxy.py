"""The proxy of a runtime: the variables that lead its CLI there, and its URL without who logs in. Pure (B.8)."""

from __future__ import annotations

_NAMES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
_DIRECT = ("NO_PROXY", "localhost,127.0.0.1,::1")
_HIDDEN = "•••"


def proxy_environment(url: str) -> dict[str, str]:
    """Return the variables for a proxy, in both spellings; none for a blank URL."""
    url = url.strip()
    if not url:
        return {}
    name, hosts = _DIRECT
    return {spelt: url for each in _NAMES for spelt in (each, each.lower())} | {name: hosts, name.lower(): hosts}


def mask_proxy(url: str) -> str:
    """Return a proxy's URL for any eye: who logs in is hidden, and so is what follows the host."""
    url = url.strip()
    scheme, is_url, rest = url.rpartition("://")
    user, has_user, host = rest.rpartition("@")
    host = host.partition("/")[0].partition("?")[0].partition("#")[0]
    del user
    return f"{scheme}{is_url}{_HIDDEN + has_user if has_user else ''}{host}"


def hide_proxy(text: str, url: str) -> str:
    """Return a text without what logs in to a proxy, however a program has printed it."""
    url = url.strip()
    if not url:
        return text
    user = url.rpartition("://")[2].rpartition("@")[0]
    secrets = {url, user, user.partition(":")[2]} - {""}
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, mask_proxy(url) if secret == url else _HIDDEN)
    return text
