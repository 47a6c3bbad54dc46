"""What an agent's processes start with (vectors 8 to 16, 25, 55, 56)."""

import pytest

from oulipoly_engine.core.agents.environment import (
    EnvironmentPlan,
    add_user_variables,
    config_environment,
    credential_environment,
    locked_environment,
    runtime_words,
    with_product_names,
)
from oulipoly_engine.core.agents.mounts import Mount, check_target, parse_mount
from oulipoly_engine.core.agents.tools import check_tool, split_words
from oulipoly_engine.errors import ToolUnknown, UsageInvalid

ROOT = "/agents/abc"


def test_environment_has_these_entries_in_this_order_and_no_others():
    pairs = locked_environment(EnvironmentPlan(ROOT, (f"{ROOT}/usr/bin",)))

    assert pairs == [
        ("PATH", "/agents/abc/usr/bin"),
        ("HOME", "/agents/abc/home"),
        ("XDG_CONFIG_HOME", "/agents/abc/home/.config"),
        ("XDG_CACHE_HOME", "/agents/abc/home/.cache"),
        ("XDG_DATA_HOME", "/agents/abc/home/.local/share"),
        ("TMPDIR", "/agents/abc/tmp"),
        ("LANG", "C.UTF-8"),
        ("OTTERS_AGENT_ROOT", "/agents/abc"),
    ]


def test_address_and_token_stand_last_and_have_our_names_too():
    plan = EnvironmentPlan("/r", ("/opt/bins/ping", "/opt/bins/jq"), "unix://s", "t")

    pairs = with_product_names(locked_environment(plan))

    assert pairs[0] == ("PATH", "/opt/bins/ping:/opt/bins/jq")
    assert pairs[8:] == [
        ("OTTERSD_URL", "unix://s"),
        ("OTTERS_AGENT_TOKEN", "t"),
        ("RUNNER_AGENT_ROOT", "/r"),
        ("RUNNER_URL", "unix://s"),
        ("RUNNER_AGENT_TOKEN", "t"),
    ]


def test_reserved_variables_are_skipped_and_named():
    asked = ["PATH", "HOME", "OTTERS_AGENT_ROOT", "STRIPE_API_KEY", "OPENAI_API_BASE", "RUNTIME_X", "RUNNER_URL"]
    given = [*((name, "x") for name in asked), ("NODE_ENV", "development"), ("NODE_ENV", "production")]

    environment, skipped = add_user_variables([], given)

    assert environment == {"NODE_ENV": "production"}
    assert skipped == tuple(asked)


def test_empty_names_are_passed_over():
    assert add_user_variables([], [None, ("", "x"), ("OK", "v")]) == ({"OK": "v"}, ())


def test_settings_become_sorted_variables():
    configs = {"temperature": "0.7", "memory-strategy": "summarize", "max-tokens": "2048", "": "x"}

    assert config_environment(configs) == [
        ("RUNTIME_MAX_TOKENS", "2048"),
        ("RUNTIME_MEMORY_STRATEGY", "summarize"),
        ("RUNTIME_TEMPERATURE", "0.7"),
    ]


@pytest.mark.parametrize(
    ("model", "pairs"), [("anthropic/x", [("ANTHROPIC_API_KEY", "k")]), ("bare-name", []), ("/x", [])]
)
def test_credentials_are_those_of_the_models_provider(model, pairs):
    assert credential_environment(model, "k") == pairs


def test_words_of_a_runtime_hold_no_secret_and_leave_exec_as_it_was():
    own = ["prompt", "--verbose"]

    assert runtime_words("/r", "m") == ("/r/usr/local/bin/runtime", "serve", "--root", "/r", "--model", "m")
    words = runtime_words("/r", "m", own, "127.0.0.1:9", ("--x",))
    assert words[1:] == ("prompt", "--verbose", "--root", "/r", "--model", "m", "--addr", "127.0.0.1:9", "--x")
    assert own == ["prompt", "--verbose"]


@pytest.mark.parametrize(
    ("name", "declared", "words"),
    [
        ("curl", {"jq"}, "declares: jq$"),
        ("x", {"wget", "jq"}, "jq, wget$"),
        ("x", (), r"\(none\)$"),
        ("a/b", (), "a/b"),
    ],
)
def test_tool_that_is_not_declared_is_refused_with_those_that_are(name, declared, words):
    with pytest.raises(ToolUnknown, match=words):
        check_tool(name, declared)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("echo \"a b\" 'c d'", ("echo", "a b", "c d")),
        ('pre"in quoted"post', ("prein quotedpost",)),
        (" \t ", ()),
        ("a ''", ("a", "")),
        ('a "b', ("a", '"b')),
    ],
)
def test_line_is_split_outside_its_quotes(text, words):
    assert split_words(text) == words


@pytest.mark.parametrize(
    ("text", "mount"),
    [
        ("~/x:/data:notes:ro", Mount("/home/u/x", "/data", "notes", True)),
        ("/x:/y:rwlock test", Mount("/x", "/y", "rwlock test")),
        ("/x:/y:ro", Mount("/x", "/y", "", True)),
        ("/x:/y:a:b:rw", Mount("/x", "/y", "a:b")),
        ("/x:/y/", Mount("/x", "/y")),
    ],
)
def test_mount_is_read(text, mount):
    assert parse_mount(text, "/home/u") == mount


@pytest.mark.parametrize("text", ["/x", ":/y", "x:/y", "/x:", "/x:y", "/x:/../y", "/x:/", "/x:/etc", "/x:/workspace/"])
def test_mount_that_leads_nowhere_or_over_the_agents_own_is_refused(text):
    with pytest.raises(UsageInvalid):
        parse_mount(text, "/home/u")


def test_target_is_made_plain():
    assert check_target("//data/./x") == "/data/x"
