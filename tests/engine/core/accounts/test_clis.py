"""What is known of each CLI: whose login it says it is, and whose home an account is led to."""

import base64
import json
from pathlib import Path

import pytest

from oulipoly_engine.core.accounts.accounts import Account
from oulipoly_engine.core.accounts.clis.cli import Observed
from oulipoly_engine.core.accounts.clis.table import CLIS, recognise_cli

HOME = Path("/home/ann")


def token(**claims):
    parts = (json.dumps(part).encode() for part in ({"alg": "none"}, claims))
    return ".".join([*(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts), "c2ln"])


def codex_login(**auth):
    claim = {"https://api.openai.com/auth": {"chatgpt_plan_type": "pro", "chatgpt_account_id": "acct-1"}}
    tokens = {"id_token": token(email="ann@example.com", **claim), "access_token": "sk-secret"}
    return json.dumps({"OPENAI_API_KEY": None, "tokens": tokens} | auth)


# What the real programs printed (claude 2.1.197, codex 0.169), the address apart.
_CLAUDE = (
    '{"loggedIn": true, "authMethod": "claude.ai", "apiProvider": "firstParty", "email": %s, "subscriptionType": "max"}'
)
_CLAUDE_KEY = '{"loggedIn": true, "authMethod": "api_key_helper", "apiProvider": "firstParty"}'
_CLAUDE_FILE = {".credentials.json": '{"claudeAiOauth": {"accessToken": "sk-x", "subscriptionType": "pro"}}'}
_CODEX_SAID = "Logged in using ChatGPT"
SEEN = {
    "claude": ("claude", Observed(0, _CLAUDE % '"ann@example.com"'), ["ann@example.com (max)"]),
    "claude without address": ("claude", Observed(0, _CLAUDE % "null"), ["logged in (max)"]),
    "claude with a key": ("claude", Observed(0, _CLAUDE_KEY), ["API key"]),
    "claude out": ("claude", Observed(1, '{"loggedIn": false, "authMethod": "none"}'), []),
    "claude too old to ask": ("claude", Observed(1, "", "unknown command", _CLAUDE_FILE), ["logged in (pro)"]),
    "claude out, too old": ("claude", Observed(1, "", "unknown command"), []),
    "codex": ("codex", Observed(0, "", _CODEX_SAID, {"auth.json": codex_login()}), ["ann@example.com (pro)"]),
    "codex with a key": (
        "codex",
        Observed(0, "", "API key configured - sk-test-***01234", {"auth.json": '{"OPENAI_API_KEY": "sk-test-x"}'}),
        ["API key"],
    ),
    "codex profiles": (
        "codex",
        Observed(0, "", _CODEX_SAID, {"auth.json": codex_login(), "config.toml": 'profile = "a"\n[profiles.b]\n'}),
        ["ann@example.com (pro)", "profile:a", "profile:b"],
    ),
    "codex broken token": (
        "codex",
        Observed(0, "", "", {"auth.json": '{"tokens": {"id_token": "a.%.c"}}'}),
        ["logged in"],
    ),
    "codex out": ("codex", Observed(1, "", "Not logged in"), []),
    "gemini": (
        "gemini",
        Observed(files={"google_accounts.json": '{"active": "a@b.c", "old": ["d@e.f"]}'}),
        ["a@b.c", "d@e.f"],
    ),
    "gemini out": ("gemini", Observed(files={"google_accounts.json": '{"active": null}'}), []),
    "opencode": (
        "opencode",
        Observed(files={"auth.json": '{"zai": {"type": "api", "key": "sk-x"}, "b": 3}'}),
        ["zai", "b"],
    ),
    "opencode out": ("opencode", Observed(), []),
}


@pytest.mark.parametrize("case", SEEN)
def test_who_is_logged_in(case):
    name, seen, expected = SEEN[case]
    profiles = CLIS[name].status.read(seen)

    assert expected == [profile.text for profile in profiles]
    assert "sk-" not in repr(profiles)


@pytest.mark.parametrize("junk", ["", "[]", "null", "{", '{"loggedIn": "yes"}', '{"tokens": 3}', "[" * 9999])
@pytest.mark.parametrize("name", CLIS)
def test_junk_is_nobody_or_somebody_without_a_name(name, junk):
    status = CLIS[name].status
    profiles = status.read(Observed(0, junk, junk, dict.fromkeys(status.files, junk)))

    assert all("@" not in profile.id for profile in profiles)


ACCOUNTS = {
    "plain": (Account("a", "claude"), "claude", "/home/ann/.claude"),
    "by a path": (Account("a", "/opt/codex"), "codex", "/home/ann/.codex"),
    "variable": (Account("a", "claude", environment={"CLAUDE_CONFIG_DIR": "/x"}), "claude", "/x"),
    "env": (Account("a", "env", ("-u", "A", "CODEX_HOME=/y", "codex", "exec")), "codex", "/y"),
    "gemini": (Account("a", "gemini", environment={"GEMINI_CLI_HOME": "/g"}), "gemini", "/g/.gemini"),
    "opencode": (
        Account("a", "opencode", environment=CLIS["opencode"].place.environment("/o")),
        "opencode",
        "/o/data/opencode",
    ),
}


@pytest.mark.parametrize("case", ACCOUNTS)
def test_the_cli_of_an_account_and_its_folder(case):
    account, name, folder = ACCOUNTS[case]
    found = recognise_cli(account, HOME)

    assert (name, Path(folder)) == (found.cli.name, found.folder)


@pytest.mark.parametrize("command", [None, "", "my-wrapper", "env"])
def test_a_wrapper_is_no_cli(command):
    assert recognise_cli(Account("a", command), HOME) is None


@pytest.mark.parametrize("cli", CLIS.values(), ids=CLIS)
def test_a_home_of_its_own_leads_to_the_folder_that_its_adapters_read(cli):
    account = Account("a", cli.name, environment=cli.place.environment("/h"))

    assert Path(cli.place.folder("/h")) == recognise_cli(account, HOME).folder
