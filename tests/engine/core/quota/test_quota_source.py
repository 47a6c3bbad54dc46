import shlex
import subprocess

import pytest

from oulipoly_engine.core.accounts.accounts import Account, SessionScripts, StorageSpec
from oulipoly_engine.core.accounts.clis.adapters import derive_source, quota_command


@pytest.mark.parametrize(
    ("script", "command"),
    [
        ("claude-code-turns ~/.claude/projects", "anthropic-usage ~/.claude/.credentials.json"),
        ("/usr/local/bin/claude-code-cwd /srv/c/projects/", "anthropic-usage /srv/c/.credentials.json"),
        ("codex-cwd ~/.codex/sessions", "chatgpt-usage ~/.codex/auth.json"),
        ("codex-turns '/srv/my codex/sessions'", "chatgpt-usage '/srv/my codex/auth.json'"),
        ("codex-turns ~/'my codex'/sessions", "chatgpt-usage ~/'my codex/auth.json'"),
        ("codex-turns $HOME/.codex/sessions", 'chatgpt-usage "$HOME/.codex/auth.json"'),
    ],
)
def test_session_folder_names_the_adapter_and_its_credentials(script, command):
    assert command == derive_source(script, None)


@pytest.mark.parametrize(
    "script",
    [
        "",
        "claude-code-cwd",
        "claude-code-cwd --help",
        "claude-code-cwd ~",
        "codex-cwd /",
        "codex-cwd 'open",
        "ls ~/x/y",
    ],
)
def test_nothing_is_derived_where_no_session_folder_is_named(script):
    assert derive_source(script, None) is None


def test_turn_script_is_asked_where_the_storage_script_says_nothing():
    assert "chatgpt-usage ~/c/auth.json" == derive_source("my-cwd ~/x/y", "codex-turns ~/c/sessions")
    assert "anthropic-usage ~/c/.credentials.json" == derive_source(None, "claude-code-turns ~/c/projects")


def test_storage_script_comes_before_the_turn_script():
    both = derive_source("claude-code-cwd ~/a/projects", "claude-code-turns ~/b/projects")

    assert "anthropic-usage ~/a/.credentials.json" == both


def test_blank_quota_script_is_none():
    storage = StorageSpec(cwd_script="codex-cwd ~/c/sessions")

    assert "chatgpt-usage ~/c/auth.json" == quota_command(Account("a", quota_script="  ", storage=storage), None)
    assert "mine" == quota_command(Account("a", quota_script="mine", storage=storage), None)
    assert quota_command(Account("a"), None) is None


def test_sessions_entry_alone_is_enough():
    command = quota_command(Account("a"), SessionScripts(turn_script="codex-turns ~/c/sessions"))

    assert "chatgpt-usage ~/c/auth.json" == command


@pytest.mark.parametrize("root", ["/a b/c/s", "/a'b/c/s", '/a"b/c/s', "/a$(id)b/c/s", "/a;b/c/s", "/ä/c/s"])
def test_shell_reads_the_derived_word_as_the_path(root):
    command = derive_source(f"codex-cwd {shlex.quote(root)}", None)
    shown = subprocess.run(
        ["sh", "-c", command.replace("chatgpt-usage", "printf %s", 1)], capture_output=True, text=True, check=True
    )

    assert f"{root.removesuffix('/s')}/auth.json" == shown.stdout
