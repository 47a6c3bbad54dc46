"""Where an account's transcripts lie, as its scripts name it."""

import pytest

from oulipoly_engine.core.accounts.accounts import Account, SessionScripts, StorageSpec
from oulipoly_engine.core.accounts.clis.adapters import codex_sessions_root, derive_source, transcripts_folder


def account(cwd_script=None):
    return Account("a", storage=None if cwd_script is None else StorageSpec(cwd_script))


def scripts(turn_script):
    return SessionScripts(turn_script=turn_script)


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("claude-code-cwd ~/.claude/projects", ("claude", "~/.claude/projects")),
        ("claude-code-turns ~/.claude/projects", ("claude", "~/.claude/projects")),
        ("codex-cwd '/a b/sessions'", ("codex", "/a b/sessions")),
        ("/opt/bin/codex-turns $HOME/s", ("codex", "$HOME/s")),
        ("gemini-cwd ~/.gemini/tmp", ("gemini", "~/.gemini/tmp")),
        ("gemini-turns ~/.gemini/tmp", ("gemini", "~/.gemini/tmp")),
        ("opencode-cwd ~/o", ("opencode", "~/o")),
        ("opencode-turns ~/o --all", ("opencode", "~/o")),
        ("my-cwd ~/x", None),
        ("codex-cwd", None),
        ("codex-cwd --help", None),
        ("codex-cwd 'open", None),
    ],
)
def test_script_names_the_cli_and_its_folder(script, expected):
    assert expected == transcripts_folder(account(script), None)
    assert expected == transcripts_folder(account(), scripts(script))


def test_storage_script_is_asked_before_the_turn_script():
    both = account("codex-cwd ~/a/s"), scripts("codex-turns ~/b/s")
    other = account("my-cwd ~/a/s"), scripts("codex-turns ~/b/s")

    assert [("codex", "~/a/s"), ("codex", "~/b/s")] == [transcripts_folder(*both), transcripts_folder(*other)]
    assert ["~/a/s", "~/b/s"] == [codex_sessions_root(*both), codex_sessions_root(*other)]


def test_nothing_known_names_no_folder():
    assert transcripts_folder(None, None) is None
    assert transcripts_folder(account(), None) is None
    assert ("codex", "~/s") == transcripts_folder(None, scripts("codex-turns ~/s"))


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("codex-cwd ~/.codex/sessions", "~/.codex/sessions"),
        ("codex-turns ~/.codex/sessions", "~/.codex/sessions"),
        ("claude-code-cwd ~/.claude/projects", None),
        ("gemini-cwd ~/.gemini/tmp", None),
        ("opencode-cwd ~/o", None),
        ("codex-cwd", None),
    ],
)
def test_rollouts_lie_where_codex_s_scripts_say(script, expected):
    assert expected == codex_sessions_root(account(script), None)
    assert expected == codex_sessions_root(account(), scripts(script))


def test_script_of_another_cli_does_not_hide_codex_s():
    assert "~/s" == codex_sessions_root(account("claude-code-cwd ~/c/projects"), scripts("codex-turns ~/s"))


@pytest.mark.parametrize("program", ["gemini-cwd", "gemini-turns", "opencode-cwd", "opencode-turns"])
def test_cli_without_an_endpoint_has_no_usage_adapter(program):
    assert derive_source(f"{program} ~/x/y", None) is None


@pytest.mark.parametrize(
    ("script", "command"),
    [
        ("claude-code-cwd ~/c/projects", "anthropic-usage ~/c/.credentials.json"),
        ("claude-code-turns ~/c/projects", "anthropic-usage ~/c/.credentials.json"),
        ("codex-cwd ~/c/sessions", "chatgpt-usage ~/c/auth.json"),
        ("codex-turns ~/c/sessions", "chatgpt-usage ~/c/auth.json"),
        ("codex-cwd c", "chatgpt-usage auth.json"),
        ("codex-cwd '~/a b/s'", "chatgpt-usage ~/'a b/auth.json'"),
        ("codex-cwd '/a~/b c/s'", "chatgpt-usage '/a~/b c/auth.json'"),
        ("codex-cwd '${X}/a b/s'", 'chatgpt-usage "${X}/a b/auth.json"'),
        ("codex-cwd '/a*/s'", "chatgpt-usage '/a*/auth.json'"),
    ],
)
def test_credentials_lie_beside_the_session_folder(script, command):
    assert command == derive_source(script, None)
