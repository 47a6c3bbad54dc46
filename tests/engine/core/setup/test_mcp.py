"""MCP servers are converted between the forms of all CLIs, and what is lost is told."""

import pytest

from oulipoly_engine.core.accounts.clis.table import CLIS
from oulipoly_engine.core.setup.mcp import convert, find_servers, is_server_name, is_skill_name, says_the_same
from oulipoly_engine.errors import ConfigInvalid

LOCAL = {
    "claude": {"type": "stdio", "command": "npx", "args": ["-y", "x"], "env": {"TOKEN": "${TOKEN}", "A": "b"}},
    "codex": {"command": "npx", "args": ["-y", "x"], "env": {"A": "b"}, "env_vars": ["TOKEN"]},
    "gemini": {"command": "npx", "args": ["-y", "x"], "env": {"TOKEN": "${TOKEN}", "A": "b"}},
    "opencode": {"type": "local", "command": ["npx", "-y", "x"], "environment": {"TOKEN": "{env:TOKEN}", "A": "b"}},
}
REMOTE = {
    "claude": {
        "type": "http",
        "url": "https://x/mcp",
        "headers": {"A": "b", "X": "${V}", "Authorization": "Bearer ${T}"},
        "timeout": 1500,
    },
    "codex": {
        "url": "https://x/mcp",
        "bearer_token_env_var": "T",
        "env_http_headers": {"X": "V"},
        "http_headers": {"A": "b"},
        "tool_timeout_sec": 1.5,
    },
    "gemini": {
        "type": "http",
        "url": "https://x/mcp",
        "headers": {"A": "b", "X": "${V}", "Authorization": "Bearer ${T}"},
        "timeout": 1500,
    },
    "opencode": {
        "type": "remote",
        "url": "https://x/mcp",
        "headers": {"A": "b", "X": "{env:V}", "Authorization": "Bearer {env:T}"},
        "timeout": 1500,
    },
}


def form(cli):
    return CLIS[cli].mcp[0].form


def to(target, entry, source):
    return convert(entry, form(source), form(target), CLIS[target].title, "file: servers.x")


@pytest.mark.parametrize("target", CLIS)
@pytest.mark.parametrize("source", CLIS)
@pytest.mark.parametrize("entries", [LOCAL, REMOTE], ids=["local", "remote"])
def test_server_is_the_same_in_every_form(entries, source, target):
    found = to(target, entries[source], source)

    assert (entries[target], ()) == (found.entry, found.notes)
    assert says_the_same(found.entry, entries[target], form(target))


@pytest.mark.parametrize(
    ("source", "target", "entry", "notes"),
    [
        ("gemini", "claude", {"command": "x", "trust": True, "cwd": "/a"}, ["working directory", "`trust`"]),
        ("codex", "opencode", {"command": "x", "enabled_tools": ["a"], "disabled_tools": ["b"]}, ["may be", "hidden"]),
        ("codex", "gemini", {"command": "x", "enabled": False}, ["switched off"]),
        ("claude", "codex", {"command": "${HOME}/x", "args": ["${A:-b}"]}, ["${HOME} as it", "${A:-b} as it"]),
    ],
)
def test_what_has_no_equivalent_is_told(source, target, entry, notes):
    found = to(target, entry, source).notes

    assert len(notes) == len(found)
    assert all(note in one for note, one in zip(notes, found, strict=True))


def test_older_spellings_are_read():
    assert "http" == to("claude", {"httpUrl": "https://x"}, "gemini").entry["type"]
    assert {"A": "${B}"} == to("claude", {"command": "x", "env": {"A": "$B"}}, "gemini").entry["env"]


def test_server_that_the_target_cannot_use_is_refused():
    with pytest.raises(
        ConfigInvalid, match="Codex cannot use a server by server-sent events; it knows local program and HTTP"
    ):
        to("codex", {"type": "sse", "url": "https://x"}, "claude")


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        ([], "servers.x has to be a table"),
        ({}, "servers.x has to have a command or a url"),
        ({"command": "x", "url": "y"}, "not both"),
        ({"command": 1}, "servers.x.command has to be a text"),
        ({"command": "x", "args": "y"}, "servers.x.args has to be a list of texts"),
        ({"command": "x", "env": {"A": 1}}, "servers.x.env has to be texts by name"),
        ({"command": "x", "timeout": "1"}, "servers.x.timeout has to be a number"),
        ({"command": "x", "timeout": float("nan")}, "servers.x.timeout has to be a number"),
        ({"command": "x", "timeout": 10**400}, "servers.x.timeout has to be a number"),
    ],
)
def test_bad_entry_is_an_error_that_names_the_field(entry, complaint):
    with pytest.raises(ConfigInvalid, match=complaint):
        to("codex", entry, "claude")


def test_opencode_keeps_servers_in_one_of_two_places():
    old, new = {"mcp": {"a": {"type": "local"}}}, {"mcp": {"servers": {"a": {"type": "local"}}}}
    servers = CLIS["opencode"].mcp[0]

    assert [("mcp",), ("mcp", "servers")] == [find_servers(one, servers, "file")[0] for one in (old, new)]


@pytest.mark.parametrize("name", ["..", ".a", "a/b", "a\nb", "", "-a", "a.", "x" * 101])
def test_name_that_leads_elsewhere_is_none(name):
    assert not is_skill_name(name)


def test_server_may_have_any_name_of_one_line():
    names = ["io.github.a/b", "plugin:x", "a\nb", "", " a", "x" * 101]

    assert [True, True, False, False, False, False] == list(map(is_server_name, names))
