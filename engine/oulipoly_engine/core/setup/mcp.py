"""MCP servers as CLIs write them down, and the conversion of one CLI's form into another's. Pure.

What the other form has no place for is told in a sentence each, and left out. A variable named inside a value is
`${NAME}` in between, as Claude Code and Gemini CLI write it.
Source of the forms: Claude Code 2.1.197, Codex 0.169, opencode 1.18.33, Gemini CLI 0.61, tried 2026-11.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, NoReturn

from oulipoly_engine.core.accounts.clis.extensions import McpForm, McpServers
from oulipoly_engine.errors import ConfigInvalid
from oulipoly_engine.records import Record, field, replace

_REFERENCE = re.compile(r"\$\{([A-Za-z_]\w*)\}")
_WITH_DEFAULT = re.compile(r"\$\{[A-Za-z_]\w*:-[^}]*\}")
_BARE_REFERENCE = re.compile(r"\$([A-Za-z_]\w*)")
_BEARER = re.compile(r"[Bb]earer \$\{([A-Za-z_]\w*)\}")
_KINDS = {"local": "local program", "http": "HTTP", "sse": "server-sent events"}
_AUTHORIZATION = "Authorization"
_FOLDER_NAME = re.compile(r"\w[\w .@-]{0,99}")
_LARGEST = 1e12  # of a number; times are all that they are
_LONGEST_NAME = 100  # characters


class Server(Record):
    """One MCP server, in no CLI's form."""

    kind: Literal["local", "http", "sse"]
    command: tuple[str, ...] = ()  # of a local one: the program and its arguments
    env: Mapping[str, str] = field(default_factory=dict)
    url: str = ""  # of the others
    headers: Mapping[str, str] = field(default_factory=dict)
    cwd: str = ""
    timeout_ms: float | None = None  # of one request
    tools: tuple[str, ...] = ()  # that alone may be used; none: all
    hidden_tools: tuple[str, ...] = ()
    is_enabled: bool = True
    rest: Mapping[str, object] = field(default_factory=dict)  # keys that only the CLI's own form has


class Conversion(Record):
    """An entry in another form."""

    entry: Mapping[str, Any]
    notes: tuple[str, ...]  # a sentence for each thing that it does not say any more


def find_servers(
    document: Mapping[str, Any], form: McpServers, where: str
) -> tuple[tuple[str, ...], Mapping[str, Any]]:
    """Return the keys that lead to the servers of a document, and the servers' entries by name.

    where: the file. Raises ConfigInvalid where something else stands there.
    """
    keys: tuple[str, ...] = (form.key,)
    found = document.get(form.key, {})
    inner = found.get(form.inner) if form.inner and isinstance(found, dict) else None
    if isinstance(inner, dict) and not {"type", "command", "url"} & set(inner):
        keys, found = (form.key, form.inner), inner
    if not isinstance(found, dict):
        raise ConfigInvalid(f"{where}: {'.'.join(keys)} has to hold servers by their names: mend it there")
    return keys, found


def find_project_servers(document: Mapping[str, Any], form: McpServers) -> dict[str, str]:
    """Return the servers that a document has for one project alone: the project of each by its name."""
    projects = document.get(form.projects) if form.projects else None
    found: dict[str, str] = {}
    for project, settings in projects.items() if isinstance(projects, dict) else ():
        servers = settings.get(form.key) if isinstance(settings, dict) else None
        found |= dict.fromkeys(servers if isinstance(servers, dict) else (), project)
    return found


def is_server_name(name: str) -> bool:
    """Tell whether a server can have a name, which is a key in a file."""
    return name.isprintable() and 0 < len(name) <= _LONGEST_NAME and name == name.strip()


def is_skill_name(name: str) -> bool:
    """Tell whether a skill can have a name, which is that of its folder and leads nowhere else."""
    return _FOLDER_NAME.fullmatch(name) is not None and not name.endswith((" ", "."))


def read_server(entry: object, form: McpForm, where: str) -> Server:
    """Read an entry. where: the file and the keys. Raises ConfigInvalid, naming the field."""
    if not isinstance(entry, dict):
        raise ConfigInvalid(f"{where} has to be a table of the server's settings: mend it there")
    reader = _Reader(entry, where)
    command = entry.get("command", "")
    words = reader.texts("command") if isinstance(command, list) else (reader.text("command"),) if command else ()
    address = next((key for key in (form.http_url, "url") if key and entry.get(key)), "")
    if bool(words and words[0]) == bool(address):
        raise ConfigInvalid(f"{where} has to have a command or a url, and not both: mend it there")
    env = {**reader.mapping(form.env), **{name: f"${{{name}}}" for name in reader.texts(form.env_names)}}
    headers = reader.mapping(form.headers)
    headers |= {name: f"${{{variable}}}" for name, variable in reader.mapping(form.header_names).items()}
    if bearer := reader.text(form.bearer_name):
        headers[_AUTHORIZATION] = f"Bearer ${{{bearer}}}"
    timeout = reader.number(form.timeout)
    server = Server(
        "local" if words else _remote_kind(reader, address, form),
        (*words, *reader.texts("args")),
        env,
        reader.text(address),
        headers,
        reader.text(form.cwd),
        None if timeout is None else timeout * form.timeout_unit_ms,
        reader.texts(form.tools),
        reader.texts(form.hidden_tools),
        entry.get(form.enabled, True) is not False and entry.get(form.disabled, False) is not True,
        {key: value for key, value in entry.items() if key not in reader.known},
    )
    values = {name: getattr(server, name) for name in ("command", "env", "url", "headers")}
    return replace(server, **_change(values, lambda text: _read_references(text, form)))


def write_server(server: Server, form: McpForm, title: str) -> Conversion:
    """Write a server in a form. title: the CLI's. Raises ConfigInvalid for a kind of server that it does not know."""
    if server.kind not in form.types:
        known = " and ".join(_KINDS[kind] for kind in form.types)
        raise ConfigInvalid(f"{title} cannot use a server by {_KINDS[server.kind]}; it knows {known}")
    notes: list[str] = []
    entry: dict[str, Any] = {"type": form.types[server.kind]} if form.types[server.kind] else {}
    if server.kind == "local":
        entry |= _local(server, form)
    else:
        entry |= _remote(server, form)
    entry |= _common(server, form, title, notes)
    return Conversion(
        _change(entry, lambda text: _write_references(text, form)), (*notes, *_misread(entry, form, title))
    )


def convert(entry: object, source: McpForm, target: McpForm, title: str, where: str) -> Conversion:
    """Write an entry of one form in another; in the same form it stays as it is. Raises ConfigInvalid.

    title: the target CLI's. where: the source's file and keys.
    """
    server = read_server(entry, source, where)
    if source is target and isinstance(entry, dict):
        return Conversion(entry, ())  # checked above, and otherwise as it is
    found = write_server(server, target, title)
    notes = (f"`{key}` has no equivalent in {title}, so it is left out" for key in server.rest)
    return Conversion(found.entry, (*found.notes, *notes))


def switch(entry: Mapping[str, Any], form: McpForm, *, is_inner: bool) -> dict[str, Any]:
    """Return an entry that says whether it is off by the key that its place has for that: `enabled` or `disabled`."""
    is_off = entry.get(form.enabled) is False or entry.get(form.disabled) is True
    found = {key: value for key, value in entry.items() if key not in (form.enabled, form.disabled)}
    if not is_off:
        return dict(entry) if not is_inner else found
    return found | ({form.disabled: True} if is_inner else {form.enabled: False} if form.enabled else {})


def says_the_same(entry: Mapping[str, Any], present: object, form: McpForm) -> bool:
    """Tell whether a present entry already says all that a new one says."""
    try:
        new, old = (read_server(one, form, "") for one in (entry, present))
    except ConfigInvalid:
        return False
    has_rest = all(old.rest.get(key) == value for key, value in new.rest.items())
    return has_rest and replace(new, rest={}) == replace(old, rest={})


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Return a text with what `${NAME}` in it stands for; one that is not set stands for nothing."""
    return _REFERENCE.sub(lambda reference: variables.get(reference[1], ""), text)


class _Reader:
    """Takes fields out of an entry and notes which keys it knows."""

    def __init__(self, entry: Mapping[str, Any], where: str) -> None:
        self._entry, self._where = entry, where
        self.known = {"type", "command", "args", "url", "enabled", "disabled"}

    def text(self, key: str) -> str:
        """Return a text; an empty one where it is not there."""
        value = self._take(key, "")
        return value if isinstance(value, str) else self._refuse(key, "a text")

    def number(self, key: str) -> float | None:
        """Return a number; None where it is not there."""
        value = self._take(key, None)
        if value is None:
            return None
        if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= _LARGEST:
            return value  # neither TOML's nan and inf, nor 400 digits
        return self._refuse(key, "a number")

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of texts."""
        value = self._take(key, [])
        is_list = isinstance(value, list) and all(isinstance(one, str) for one in value)
        return tuple(value) if is_list else self._refuse(key, "a list of texts")

    def mapping(self, key: str) -> dict[str, str]:
        """Return texts by name."""
        value = self._take(key, {})
        is_mapping = isinstance(value, dict) and all(isinstance(one, str) for one in value.values())
        return dict(value) if is_mapping else self._refuse(key, "texts by name")

    def _take(self, key: str, otherwise: object) -> Any:  # noqa: ANN401 - JSON
        self.known.add(key)
        value = self._entry.get(key)
        return otherwise if value is None or not key else value

    def _refuse(self, key: str, what: str) -> NoReturn:
        raise ConfigInvalid(f"{self._where}.{key} has to be {what}: mend it there")


def _remote_kind(reader: _Reader, address: str, form: McpForm) -> Literal["http", "sse"]:
    said = reader.text("type")
    return "sse" if said == "sse" and address != form.http_url else "http"


def _local(server: Server, form: McpForm) -> dict[str, Any]:
    program, *arguments = server.command
    entry: dict[str, Any] = {"command": [program, *arguments] if form.has_command_list else program}
    if arguments and not form.has_command_list:
        entry["args"] = arguments
    handed_on = [name for name, value in server.env.items() if form.env_names and value == f"${{{name}}}"]
    if own := {name: value for name, value in server.env.items() if name not in handed_on}:
        entry[form.env] = own
    return entry | ({form.env_names: handed_on} if handed_on else {})


def _remote(server: Server, form: McpForm) -> dict[str, Any]:
    entry: dict[str, Any] = {"url": server.url}
    headers = dict(server.headers)
    bearer = _BEARER.fullmatch(headers.get(_AUTHORIZATION, "")) if form.bearer_name else None
    if bearer is not None:
        del headers[_AUTHORIZATION]
        entry[form.bearer_name] = bearer[1]
    named = {name: found[1] for name, value in headers.items() if (found := _REFERENCE.fullmatch(value))}
    if form.header_names and named:
        entry[form.header_names] = named
        headers = {name: value for name, value in headers.items() if name not in named}
    return entry | ({form.headers: headers} if headers else {})


def _common(server: Server, form: McpForm, title: str, notes: list[str]) -> dict[str, Any]:
    """Return what servers of all kinds can have; what the form has no key for is noted."""
    timeout = None if server.timeout_ms is None else server.timeout_ms / form.timeout_unit_ms
    if timeout is not None and timeout == int(timeout):
        timeout = int(timeout)
    told: tuple[tuple[str, str, object], ...] = (
        ("the working directory", form.cwd, server.cwd),
        ("the time limit", form.timeout, timeout),
        ("the list of tools that may be used", form.tools, list(server.tools)),
        ("the list of hidden tools", form.hidden_tools, list(server.hidden_tools)),
    )
    notes += (
        f"{what} has no equivalent in {title}, so it is left out" for what, key, value in told if value and not key
    )
    entry = {key: value for _, key, value in told if key and value}
    if not server.is_enabled and form.enabled:
        entry[form.enabled] = False
    elif not server.is_enabled:
        notes.append(f"it is switched off, which an entry of {title} cannot say: it will be on there")
    return entry


def _read_references(text: str, form: McpForm) -> str:
    if form.has_bare_references:
        return _BARE_REFERENCE.sub(r"${\1}", text)
    if form.reference in ("", "${"):
        return text
    return re.sub(rf"{re.escape(form.reference)}([A-Za-z_]\w*)\}}", r"${\1}", text)


def _write_references(text: str, form: McpForm) -> str:
    return _REFERENCE.sub(rf"{form.reference}\1}}", text) if form.reference else text


def _misread(entry: Mapping[str, Any], form: McpForm, title: str) -> Iterator[str]:
    """Yield what a CLI does with variables that it does not know."""
    texts = sorted(set(_texts(entry)))
    known = () if form.reference else texts
    for name in dict.fromkeys(found for text in known for found in _REFERENCE.findall(text)):
        yield f"{title} takes ${{{name}}} as it stands, not as a variable"
    if form.reference != "${":
        for found in dict.fromkeys(found for text in texts for found in _WITH_DEFAULT.findall(text)):
            yield f"{title} takes {found} as it stands, not as a variable"


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)


def _change(value: Any, change: Callable[[str], str]) -> Any:  # noqa: ANN401 - JSON
    """Return a value with every text in it changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {name: _change(one, change) for name, one in value.items()}
    return type(value)(_change(one, change) for one in value) if isinstance(value, (list, tuple)) else value
