"""Who we are to a registry, by Docker's rules: credHelpers, then credsStore, then auths. Pure.

A helper's word is final, also that it knows nothing.
Source: docker/cli, `cli/config/configfile`, and its documentation of credential stores.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping
from typing import Any

from oulipoly_engine.late_pattern import LatePattern
from oulipoly_engine.records import Record

_DOCKER_HUB = frozenset({"docker.io", "index.docker.io", "registry-1.docker.io"})
DOCKER_HUB_KEY = "https://index.docker.io/v1/"  # under which every Docker program keeps that login
_SCHEME = LatePattern(r"(?:^|,)\s*([A-Za-z]+)(?=\s|,|$)")
_PARAMETER = LatePattern(r'([A-Za-z_]+)\s*=\s*(?:"([^"]*)"|([^\s,"]+))')
_TOKEN = "<token>"  # noqa: S105 - a helper's user name where the secret is an identity token


class Credentials(Record):
    """A login. All empty: nobody."""

    username: str = ""
    password: str = ""
    identity_token: str = ""

    @property
    def is_empty(self) -> bool:
        """Tell whether there is no login."""
        return not (self.username or self.identity_token)

    @property
    def basic(self) -> str:
        """Return them as the value of an Authorization header."""
        return "Basic " + base64.b64encode(f"{self.username}:{self.password}".encode()).decode()


def find_helper(config: Mapping[str, Any], registry: str) -> str:
    """Return the name of the helper that has the login of a registry, or nothing. config: of config.json."""
    helpers = config.get("credHelpers")
    if isinstance(helpers, dict):
        for key, helper in helpers.items():
            if _host(str(key)) == _host(registry) and isinstance(helper, str) and helper:
                return helper
    store = config.get("credsStore")
    return store if isinstance(store, str) else ""


def find_login(config: Mapping[str, Any], registry: str) -> Credentials:
    """Return the login of a registry that stands in config.json itself; empty where there is none."""
    logins = config.get("auths")
    for key, entry in logins.items() if isinstance(logins, dict) else ():
        if _host(str(key)) == _host(registry) and isinstance(entry, dict):
            return _read_entry(entry)
    return Credentials()


def server_of(registry: str) -> str:
    """Return what a helper is asked for."""
    return DOCKER_HUB_KEY if _host(registry) == _host("docker.io") else registry


def read_helper(document: Mapping[str, Any]) -> Credentials:
    """Return what a helper has answered."""
    username, secret = (str(document.get(key, "")) for key in ("Username", "Secret"))
    return Credentials(identity_token=secret) if username == _TOKEN else Credentials(username, secret)


def read_challenge(headers: Iterable[str]) -> tuple[str, Mapping[str, str]]:
    """Return how a registry asks who we are, `bearer` or else `basic`, with its parameters; empty: neither.

    headers: each WWW-Authenticate, which may hold several challenges.
    """
    text = ", ".join(headers)
    schemes = {match[1].lower(): match.end() for match in reversed([*_SCHEME.finditer(text)])}
    for scheme in ("bearer", "basic"):
        if scheme in schemes:
            parameters = [
                (match[1].lower(), match[2] or match[3]) for match in _PARAMETER.finditer(text, schemes[scheme])
            ]
            return scheme, dict(reversed(parameters))  # the first counts; behind them may be those of another scheme
    return "", {}


def _host(key: str) -> str:
    host = key.removeprefix("https://").removeprefix("http://").partition("/")[0].lower()
    return "docker.io" if host in _DOCKER_HUB else host


def _read_entry(entry: Mapping[str, Any]) -> Credentials:
    token = str(entry.get("identitytoken") or "")
    try:
        pair = base64.b64decode(str(entry.get("auth") or ""), validate=True).decode()
    except (binascii.Error, ValueError):
        pair = ""
    username, _, password = pair.rstrip("\0").partition(":")
    if not username:
        username, password = (str(entry.get(key) or "") for key in ("username", "password"))
    return Credentials(username, password, token)
