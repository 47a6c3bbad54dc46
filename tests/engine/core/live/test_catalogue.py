"""The catalogue of runtimes: of accounts whose CLI can be driven, and of config.toml."""

from pathlib import Path

import pytest

from oulipoly_engine.core.accounts.accounts import Account, PoolMember, StorageSpec, StorageType
from oulipoly_engine.core.live.launch.catalogue import derive_runtimes
from oulipoly_engine.core.live.launch.words import live_words
from oulipoly_engine.core.live.runtimes import Runtime, RuntimeEntry, normalise_id

HOME = Path("/home/ann")


def derive(*accounts, entries=()):
    return derive_runtimes({account.name: account for account in accounts}, entries, HOME)


def only(catalogue):
    assert () == catalogue.problems
    (runtime,) = catalogue.runtimes
    return runtime


@pytest.mark.parametrize(
    ("program", "args", "kind", "start_words"),
    [
        ("claude", ("-p",), "claude", ()),
        ("/opt/bin/codex", ("exec",), "codex", ()),
        ("opencode", ("run",), "acp", ("acp",)),
        ("gemini", ("--skip-trust",), "acp", ("--acp",)),
    ],
)
def test_each_account_of_a_cli_that_is_known_has_a_runtime(program, args, kind, start_words):
    runtime = only(derive(Account("work", program, args)))

    assert ("work", kind, program, "work", start_words) == (
        runtime.id,
        runtime.kind,
        runtime.program,
        runtime.account,
        runtime.start_words,
    )


def test_a_program_that_nobody_knows_has_none():
    assert () == derive(Account("a", "aider"), Account("b")).runtimes


def test_a_wrapper_is_known_by_the_form_of_its_transcripts():
    """As the demo world's are: `demo-claude1` and `demo-codex1` are scripts."""
    storage = StorageSpec("claude-code-cwd x", "y", StorageType.CLAUDE_CODE)

    assert ("claude", "my-claude") == (lambda runtime: (runtime.kind, runtime.program))(
        only(derive(Account("w", "my-claude", ("-p",), storage=storage)))
    )


def test_a_shell_is_no_wrapper_whatever_its_transcripts():
    storage = StorageSpec("claude-code-cwd x", "y", StorageType.CLAUDE_CODE)

    assert () == derive(Account("w", "sh", ("-c", "claude -p"), storage=storage)).runtimes


def test_the_program_behind_env_is_what_is_started():
    args = ("-u", "CLAUDECODE", "CLAUDE_CONFIG_DIR=/x", "A=b", "claude", "-p", "--model", "opus")

    runtime = only(derive(Account("work", "env", args, environment={"C": "d"})))

    assert ("claude", "opus", ()) == (runtime.program, runtime.model, runtime.args)
    assert {"C": "d", "CLAUDE_CONFIG_DIR": "/x", "A": "b"} == runtime.environment
    assert ("CLAUDECODE",) == runtime.unset_environment
    assert "/x" == runtime.home


def test_arguments_that_have_no_place_in_a_live_session_are_named_without_values():
    catalogue = derive(Account("work", "claude", ("-p", "--settings", "CANARY", "--add-dir", "/x", "--model", "opus")))

    assert (("--add-dir", "/x"), "opus") == (only(catalogue).args, only(catalogue).model)
    assert {"work": ("--settings",)} == catalogue.left_out


def test_codex_comes_first_then_claude_then_the_rest():
    accounts = [Account(name, name) for name in ("gemini", "claude", "codex")]

    assert ["codex", "claude", "gemini"] == [one.id for one in derive(*accounts).runtimes]


def test_an_entry_of_an_accounts_name_changes_its_runtime():
    entry = RuntimeEntry("my-work", "My_Work", is_enabled=False, args=("--effort", "low"), idle_s=60.0)

    runtime = only(derive(Account("my_work", "claude", ("-p",)), entries=[entry]))

    assert ("my_work", "claude", False, ("--effort", "low"), 60.0, 30.0) == (
        runtime.id,
        runtime.kind,
        runtime.is_enabled,
        runtime.args,
        runtime.idle_s,
        runtime.startup_s,
    )


@pytest.mark.parametrize(
    ("command", "entries", "idle_s"),
    [
        ("claude", [], 1800.0),
        ("gemini", [], 0.0),
        ("gemini", [RuntimeEntry("work", "work", idle_s=60.0)], 60.0),
        ("gemini", [RuntimeEntry("work", "work", name="Mine")], 0.0),
    ],
)
def test_a_cli_that_loses_sessions_is_not_closed_by_idleness(command, entries, idle_s):
    assert idle_s == only(derive(Account("work", command), entries=entries)).idle_s


@pytest.mark.parametrize(
    ("entries", "place"),
    [
        ([], "`command` of [work] in providers.toml"),
        ([RuntimeEntry("work", "Work", name="Mine")], "`command` of [work] in providers.toml"),
        ([RuntimeEntry("work", "Work", program="my-claude")], "`program` of [runtimes.Work] in config.toml"),
    ],
)
def test_the_place_of_a_program_is_where_it_stands(entries, place):
    assert place == only(derive(Account("work", "claude"), entries=entries)).named_in


def test_an_entry_may_use_an_accounts_login_with_another_program():
    entry = RuntimeEntry("adapter", "adapter", kind="acp", program="claude-agent-acp", account="work")

    catalogue = derive(Account("work", "claude", ("-p",), environment={"CLAUDE_CONFIG_DIR": "/x"}), entries=[entry])

    runtime = catalogue.find("adapter")
    assert ("acp", "claude-agent-acp", "work", ()) == (runtime.kind, runtime.program, runtime.account, runtime.args)
    assert {"CLAUDE_CONFIG_DIR": "/x"} == runtime.environment
    assert "work" == catalogue.find_for_account("work").id


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (RuntimeEntry("x", "x"), ("codex", "codex", ())),
        (RuntimeEntry("x", "x", kind="claude"), ("claude", "claude", ())),
        (RuntimeEntry("x", "x", program="/b/claude"), ("claude", "/b/claude", ())),
        (RuntimeEntry("x", "x", program="opencode"), ("acp", "opencode", ("acp",))),
        (RuntimeEntry("x", "x", kind="acp", program="goose", start_words=("acp",)), ("acp", "goose", ("acp",))),
        (RuntimeEntry("x", "x", kind="plain", program="aider"), ("plain", "aider", ())),
    ],
)
def test_an_entry_alone_makes_a_runtime(entry, expected):
    runtime = only(derive(entries=[entry]))

    assert expected == (runtime.kind, runtime.program, runtime.start_words)


def test_homes_lead_the_cli_by_its_variable():
    shared = only(derive(entries=[RuntimeEntry("x", "x", home="/a")]))
    shadow = only(derive(entries=[RuntimeEntry("x", "x", home="/a", shadow_home="/b")]))
    usual = only(derive(entries=[RuntimeEntry("x", "x", shadow_home="/b")]))

    assert ("/a", {"CODEX_HOME": "/a"}) == (shared.home, shared.environment)
    assert ("/a", "/b", {"CODEX_HOME": "/b"}) == (shadow.home, shadow.shadow_home, shadow.environment)
    assert ("/home/ann/.codex", {"CODEX_HOME": "/b"}) == (usual.home, usual.environment)


@pytest.mark.parametrize(
    ("entry", "path", "words"),
    [
        (RuntimeEntry("x", "X", account="gone"), ("account",), "not in providers.toml"),
        (RuntimeEntry("x", "X", program="aider"), ("kind",), "driven"),
        (RuntimeEntry("x", "X", kind="acp"), ("program",), "needs a `program`"),
        (RuntimeEntry("x", "X", kind="acp", program="goose", home="/a"), ("home",), "another home"),
        (RuntimeEntry("x", "X", kind="acp", program="gemini", shadow_home="/a"), ("shadow_home",), "no shadow home"),
        (RuntimeEntry("x", "X", args=("--strict-config", "--enable", "CANARY")), ("args", 1), "--enable"),
        (RuntimeEntry("x", "X", program="gemini", args=("--prompt=CANARY",)), ("args", 0), "--prompt"),
    ],
)
def test_an_entry_that_cannot_work_says_why_and_makes_no_runtime(entry, path, words):
    catalogue = derive(entries=[entry])

    (problem,) = catalogue.problems
    assert () == catalogue.runtimes
    assert ("X", path) == (problem.key, problem.path)
    assert words in problem.message
    assert "CANARY" not in problem.message


def test_a_slip_in_an_accounts_entry_takes_its_runtime_away():
    """It may have been meant to forbid something."""
    account = Account("work", "codex", ("exec",))

    assert () == derive(account, entries=[RuntimeEntry("work", "work", is_broken=True)]).runtimes
    assert () == derive(account, entries=[RuntimeEntry("work", "work", args=("--yolo",))]).runtimes


@pytest.mark.parametrize(("name", "identity"), [(" My_Work  2 ", "my-work-2"), ("x", "x"), ("Ä", "ä")])
def test_ids_are_compared_without_case_and_blanks(name, identity):
    assert identity == normalise_id(name)


CODEX = Runtime("w", "codex", "W", "codex", args=("--strict-config",), model="gpt-4", effort="low")


@pytest.mark.parametrize(
    ("args", "model", "effort"),
    [
        (("-m", "gpt-5"), "gpt-5", ""),
        (("-mgpt-5",), "gpt-5", ""),
        (("--model=gpt-5",), "gpt-5", ""),
        (("-c", 'model="gpt-5"', "-c", "model_reasoning_effort='high'"), "gpt-5", "high"),
        (("--config=model=gpt-5",), "gpt-5", ""),
        (("-c", 'model_reasoning_effort="high"'), "gpt-4", "high"),
        ((), "gpt-4", "low"),
    ],
)
def test_model_and_effort_are_read_from_a_pools_arguments(args, model, effort):
    words = live_words(CODEX, PoolMember(0, "w", args))

    assert (model, effort, ("--strict-config",), ()) == (words.model, words.effort, words.args, words.left_out)


def test_a_pools_other_arguments_stay_where_the_cli_takes_them():
    claude = Runtime("w", "claude", "W", "claude")
    member = PoolMember(0, "w", ("--model", "opus", "--effort", "high", "--add-dir", "/x", "--resume", "CANARY"))

    words = live_words(claude, member)

    assert ("opus", "high", ("--add-dir", "/x"), ("--resume",)) == (
        words.model,
        words.effort,
        words.args,
        words.left_out,
    )


def test_interactive_arguments_of_a_pool_come_first():
    member = PoolMember(0, "w", ("-m", "a"), ("-m", "b"))

    assert "b" == live_words(CODEX, member).model
