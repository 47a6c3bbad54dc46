from pathlib import Path

import pytest

from oulipoly_engine.core.accounts import arguments
from oulipoly_engine.core.accounts.accounts import (
    Account,
    CaptureKind,
    CaptureSpec,
    PoolMember,
    ResumeSpec,
    group_name,
)
from oulipoly_engine.core.accounts.clis.adapters import codex_overlap
from oulipoly_engine.errors import AccountUnusable
from oulipoly_engine.records import replace

CODEX = Account("codex", "codex", ("exec",), (), resume=ResumeSpec(subcommand=("resume",)))
MEMBER = PoolMember(0, "codex", ("-m", "gpt-5"), ("-m", "gpt-5"))
EVENTS = CaptureSpec(CaptureKind.STDOUT_JSON_EVENT, json_args=("--json",), last_message_flag="-o")


def test_one_shot_joins_its_parts_in_the_contracts_order():
    argv = arguments.compose_one_shot(
        CODEX,
        MEMBER,
        input_args=("--size", "hd"),
        capture_args=arguments.capture_args(EVENTS, session_id="u", last_message_file=Path("/t/last")),
        resume_args=("resume", "id"),
        prompt_args=("hello",),
    )

    assert ["codex", "exec", "-m", "gpt-5", "--size", "hd", "--json", "-o", "/t/last", "resume", "id", "hello"] == list(
        argv
    )


def test_one_shot_without_a_model_has_no_model_arguments():
    assert ("codex", "exec", "hello") == arguments.compose_one_shot(CODEX, prompt_args=("hello",))


@pytest.mark.parametrize(
    ("member", "argv"),
    [
        (None, "codex -i resume id"),
        (PoolMember(0, "codex", ("-m", "gpt-5")), "codex -i -m gpt-5 resume id"),
        (PoolMember(0, "codex", ("-m", "gpt-5", "--json"), ("-m", "gpt-5")), "codex -i -m gpt-5 resume id"),
    ],
    ids=["no-model", "args", "args-of-its-own"],
)
def test_interactive_launch_joins_its_parts_in_the_contracts_order(member, argv):
    account = replace(CODEX, interactive_args=("-i",))

    assert argv.split() == list(
        arguments.interactive(account, member, resume_args=arguments.resume_args(account, "id"))
    )


def test_interactive_launch_without_interactive_args_names_account_and_file():
    account = Account("claude", "claude", path=Path("/c/providers.toml"))

    with pytest.raises(AccountUnusable, match=r"'claude' cannot be launched interactively.*/c/providers\.toml"):
        arguments.interactive(account)


def test_missing_command_names_account_and_file():
    with pytest.raises(AccountUnusable, match=r"'claude' has no command.*providers\.toml"):
        arguments.compose_one_shot(Account("claude"))


def test_resume_without_a_resume_table_is_refused():
    with pytest.raises(AccountUnusable, match=r"\[claude\.resume\]"):
        arguments.resume_args(Account("claude"), "id")


def test_forced_flag_capture_gives_flag_uuid_and_readback():
    capture = CaptureSpec(CaptureKind.FORCED_FLAG_VERIFIED, flag="--session-id", readback_args=("--verbose",))

    assert ("--session-id", "u-1", "--verbose") == arguments.capture_args(
        capture, session_id="u-1", last_message_file=Path("x")
    )


def test_no_capture_adds_nothing():
    assert () == arguments.capture_args(CaptureSpec(), session_id="u", last_message_file=Path("x"))


def test_environment_adds_the_accounts_variables_and_unsets_last():
    account = Account("a", environment={"HOME": "/x", "KEEP": "1"}, unset_environment=("CLAUDECODE", "HOME"))

    assert {"PATH": "/bin", "KEEP": "1"} == arguments.environment({"PATH": "/bin", "CLAUDECODE": "1"}, account)


@pytest.mark.parametrize(
    ("account_args", "model_args", "overlap"),
    [
        (["exec", "--json"], ["--json"], "--json"),
        (["-c", "a=1"], ["-c", "b=2"], None),
        (["-c", "a=1"], ["-c", "a=1"], "-c a=1"),
        (["-c", "a=1"], ["--config", "a=1"], "--config a=1"),
        (["-c", "a=1"], ["--config=a=1"], "--config=a=1"),
        (["-c", "a=1"], ["a=1"], None),
        (["exec"], [], None),
    ],
)
def test_codex_arguments_may_not_repeat(account_args, model_args, overlap):
    assert overlap == codex_overlap("codex", account_args, model_args)
    assert codex_overlap("codex2", account_args, model_args) is None


@pytest.mark.parametrize(
    ("name", "parts"), [("a~b~c", ("a", "b~c")), ("foo~", ("foo", "")), ("foo", ("foo", None)), ("~x", ("", "x"))]
)
def test_model_name_splits_at_the_first_tilde(name, parts):
    assert parts == group_name(name)


def test_a_fork_puts_the_id_where_the_account_says():
    spec = ResumeSpec("--resume", fork_args=("--resume", "{session_id}", "--fork-session"))

    assert ("--resume", "abc", "--fork-session") == arguments.fork_args(Account("a", "claude", resume=spec), "abc")


@pytest.mark.parametrize("spec", [None, ResumeSpec("--resume")], ids=["no-table", "no-fork"])
def test_an_account_that_cannot_fork_says_what_to_add(spec):
    with pytest.raises(AccountUnusable, match="add `fork_args` to"):
        arguments.fork_args(Account("a", "claude", resume=spec), "abc")
