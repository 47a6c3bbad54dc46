"""A runtime: a configured CLI that can be driven through its own protocol. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from oulipoly_engine.records import Record, field

DEFAULT_IDLE_S = 1800.0
_BETWEEN = re.compile(r"[\s_]+")
_PROXY_NAMES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
_PROXY_DIRECT = ("NO_PROXY", "localhost,127.0.0.1,::1")
_HIDDEN = "•••"


class Runtime(Record):
    """One runtime: of an account, or of `[runtimes.x]` in config.toml."""

    id: str
    kind: str  # of its wire
    name: str  # as people read it
    program: str  # what is started: a name on PATH, or a path
    named_in: str = ""  # the key and the file where a user corrects that
    account: str = ""  # whose login and quota it uses; empty: nobody's that we know
    is_enabled: bool = True
    start_words: tuple[str, ...] = ()  # ACP and plain: what makes it speak so
    args: tuple[str, ...] = ()  # the user's own, checked by `launch.arguments`
    model: str = ""  # what its account asks for where a session says nothing
    effort: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    unset_environment: tuple[str, ...] = ()
    custom_models: tuple[str, ...] = ()
    startup_s: float = 30.0
    request_s: float = 120.0  # that the CLI may take to answer an order
    idle_s: float = DEFAULT_IDLE_S  # without work, until its process is ended; 0: never
    answer_s: float = 6 * 3600.0  # that a request waits for a person
    marker: str = ""  # plain: the line that ends a turn
    home: str = ""  # where the CLI keeps what its accounts share; empty: where it looks by itself
    shadow_home: str = ""  # holds a login of its own and links to everything else in `home`; empty: there is none
    proxy: str = ""  # a URL, which may hold a password: never shown as it is
    debug_native_events: bool = False  # keep what the CLI says, redacted, and not only what it is called
    stderr_lines: int = 200  # of the CLI's stderr that are kept


class RuntimeEntry(Record):
    """One `[runtimes.x]` of config.toml: a further runtime, or what is other than usual about an account's."""

    id: str  # as `normalise_id` returns it
    key: str = ""  # as it is written in the file
    is_broken: bool = False  # it has an error, so that nothing else of it is known
    kind: str | None = None
    name: str = ""
    is_enabled: bool = True
    program: str = ""
    home: str = ""  # absolute
    shadow_home: str = ""  # absolute
    start_words: tuple[str, ...] | None = None
    args: tuple[str, ...] | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    account: str = ""
    custom_models: tuple[str, ...] = ()
    startup_s: float = 0.0  # 0, as with the next three: what is usual
    request_s: float = 0.0
    idle_s: float = 0.0
    answer_s: float = 0.0
    marker: str = ""
    proxy: str = ""
    debug_native_events: bool = False
    stderr_lines: int = 0


def normalise_id(name: str) -> str:
    """Return the form in which ids are compared: lower case, with one `-` for blanks and underscores."""
    return _BETWEEN.sub("-", name.strip()).casefold()


def proxy_environment(url: str) -> dict[str, str]:
    """Return the variables for a proxy, in both spellings; none for a blank URL."""
    url = url.strip()
    if not url:
        return {}
    name, hosts = _PROXY_DIRECT
    return {spelt: url for each in _PROXY_NAMES for spelt in (each, each.lower())} | {name: hosts, name.lower(): hosts}


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
