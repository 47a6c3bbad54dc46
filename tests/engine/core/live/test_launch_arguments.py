"""Arguments of the user's own: those that are ours to give are refused, and no value is shown."""

import pytest

from oulipoly_engine.core.live.launch.arguments import drop_reserved, list_reserved, refuse_reserved
from oulipoly_engine.errors import ArgumentReserved


@pytest.mark.parametrize(
    ("words", "index", "option"),
    [  # vector 38
        (["-c", "mcp_servers.x.enabled=true"], 0, "-c mcp_servers"),
        (["--config=mcp_servers={}"], 0, "--config mcp_servers"),
        (["-cmcp_servers.x=1"], 0, "-c mcp_servers"),
        (["-c", '"mcp_servers".x=1'], 0, "-c mcp_servers"),
        (["--strict-config", "--enable", "apps"], 1, "--enable"),
        (["--disable=skills"], 0, "--disable"),
        (["--listen", "ws://127.0.0.1:1"], 0, "--listen"),
        (["--stdio"], 0, "--stdio"),
        (["-c", "model=1", "--ws-token-file=/t"], 2, "--ws-token-file"),
        (["daemon"], 0, "daemon"),
        (["-c", 'approval_policy="never"'], 0, "-c approval_policy"),
        (["--dangerously-bypass-approvals-and-sandbox"], 0, "--dangerously-bypass-approvals-and-sandbox"),
        (["-m", "gpt-5", "exec"], 2, "exec"),
    ],
)
def test_codex_arguments_that_are_ours(words, index, option):
    found = list_reserved("codex", words)

    assert [(index, option)] == [(one.index, one.option) for one in found]


@pytest.mark.parametrize(
    "words",
    [  # vector 39
        ["-c", 'model="gpt-5"'],
        ['--config=model_reasoning_effort="high"'],
        ["--strict-config"],
        ["-m", "daemon", "--profile", "exec"],
        [],
    ],
)
def test_codex_arguments_that_stay(words):
    assert () == list_reserved("codex", words)


@pytest.mark.parametrize(
    "words",
    [  # vector 41
        ["--disallowed-tools", "Bash", "Edit"],
        ["--model", "sonnet"],
        ["--effort=high"],
        ["--add-dir", "../other", "--model", "opus"],
        ["--append-system-prompt", "-c is not an option here"],
    ],
)
def test_claude_arguments_that_stay(words):
    assert () == list_reserved("claude", words)


@pytest.mark.parametrize(
    ("word", "option"),
    [
        ("--resume=x", "--resume"),
        ("-rx", "-r"),
        ("-c", "-c"),
        ("--permission-mode=plan", "--permission-mode"),
        ("--output-format=json", "--output-format"),
        ("--dangerously-skip-permissions", "--dangerously-skip-permissions"),
        ("mcp", "mcp"),
    ],
)
def test_claude_arguments_that_are_ours(word, option):
    assert [option] == [one.option for one in list_reserved("claude", ["--model", "sonnet", word])]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("claude", ["--settings", "CANARY"]),  # vector 40
        ("claude", ["--settings=CANARY"]),
        ("claude", ["-rCANARY"]),
        ("claude", ["CANARY"]),
        ("codex", ["--listen=CANARY"]),
        ("codex", ["-c", "mcp_servers.CANARY=CANARY"]),
        ("codex", ["CANARY"]),
    ],
)
def test_no_value_is_in_the_error(kind, words):
    with pytest.raises(ArgumentReserved) as raised:
        refuse_reserved("work", kind, words)

    error = raised.value
    assert "CANARY" not in f"{error} {error!r} {error.message} {dict(error.extra)}"
    assert "'work'" in error.message
    assert "argument 1" in error.message


def test_a_runtime_may_have_reserved_options_of_its_own():
    assert ["--acp"] == [one.option for one in list_reserved("acp", ["--acp", "--model", "x"], ("--acp",))]
    assert () == list_reserved("acp", ["serve", "--model", "x"])


def test_what_is_ours_is_dropped_with_its_values_and_named():
    words = ["-p", "--settings", "{}", "--model", "sonnet", "--allowed-tools", "Bash", "Edit", "--add-dir", "/a", "/b"]

    kept, dropped = drop_reserved("claude", words)

    assert ("--model", "sonnet", "--add-dir", "/a", "/b") == kept
    assert ("-p", "--settings", "--allowed-tools") == dropped
