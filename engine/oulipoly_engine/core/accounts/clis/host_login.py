"""The login of an account, kept on the host: what a CLI in a box is given in its place. Pure.

The CLI asks a proxy of ours as if that were its API, with a token of its own process. The proxy puts the login in.
What the files say is read anew for each request, so that a login renewed by its CLI elsewhere is used at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from oulipoly_engine.records import Record

URL = "http://api.agent-runner.invalid"  # in words and variables: stands for where the proxy is reached
STAND_IN = "agent-runner-api-token"
SPARE = timedelta(minutes=10)  # that a login which its CLI could renew must still be good for
_LONGEST_TOKEN = 16 << 10


class ApiLogin(Record):
    """A login that the host keeps, and how its CLI asks the proxy instead."""

    upstream: str  # the URL of the API, without a slash at its end
    headers: Mapping[str, str]  # that log in, by their names in lower case; secret
    paths: tuple[str, ...]  # below the upstream that are asked for
    environment: Mapping[str, str]  # of the CLI, with URL and STAND_IN in it
    words: tuple[str, ...] = ()  # further arguments of the CLI, likewise
    variable: str = ""  # that leads the CLI to a home of its own
    session_folders: tuple[str, ...] = ()  # in the account's home; {workspace}: of its folder, with `-` between


class LoginSources(Record):
    """What a login is read from."""

    environment: Mapping[str, str]  # as the CLI would have it without us
    home: str = ""
    files: Mapping[str, str] = {}  # texts of those in the home, by name


class LoginOrder(Record):
    """What the host of a CLI keeps for it. Secret: it goes through a pipe, and is written nowhere."""

    cli: str
    sources: LoginSources  # without the files, which are read for each request
    addresses: tuple[str, ...] = ()  # that a sealed box reaches besides
    log: str = ""  # the file that says what was not let through; empty: nobody asks


class HostLogin(Record):
    """How a CLI's login is kept on the host."""

    files: tuple[str, ...]  # in its home, which say how it logs in
    read: Callable[[LoginSources, datetime], ApiLogin | str]  # a text: why it cannot be kept, which ends no sentence
    variables: tuple[str, ...]  # that would lead it past the proxy


def hide_login(environment: Mapping[str, str], login: ApiLogin, names: tuple[str, ...]) -> dict[str, str]:
    """Return an environment without the variables in which a part of the login stands, and without some by name."""
    secrets = [secret for value in login.headers.values() if (secret := value.removeprefix("Bearer "))]
    return {
        name: value
        for name, value in environment.items()
        if name not in names and not any(secret in value for secret in secrets)
    }


def token_of(document: Mapping[str, Any], key: str) -> str:
    """Return a token; empty: there is none that a header takes."""
    text = document.get(key)
    if not isinstance(text, str) or len(text) > _LONGEST_TOKEN:
        return ""
    if text.isascii() and text.isprintable():
        return text
    return ""
