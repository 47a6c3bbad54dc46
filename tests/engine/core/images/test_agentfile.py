"""The Agentfile: each directive, each error with its line, inheritance, and what an image's parts are."""

import pytest

from oulipoly_engine.core.accounts.accounts import Agent as Definition
from oulipoly_engine.core.images import names
from oulipoly_engine.core.images.agentfile import Add, Config, Env, flatten_configs, require_configs
from oulipoly_engine.core.images.definition import compile_definition
from oulipoly_engine.core.images.inherit import resolve
from oulipoly_engine.core.images.parser import parse_agentfile
from oulipoly_engine.core.images.refusals import AgentfileInvalid

COMPLETE = b"""\
# syntax=openotters/agentfile:1

FROM scratch
RUNTIME ghcr.io/openotters/runtime:latest
model anthropic/claude-haiku-4-5-20251001
NAME meteo
LABEL description="Weather assistant using Open-Meteo API"
CONTEXT SOUL "Agent personality and core instructions" <<EOF
You are a weather assistant.
Always report temperature in \xc2\xb0C.

EOF
CONTEXT IDENTITY <<EOF
Name: Meteo Bot
EOF
CONFIG max-tokens=1024 "Maximum output tokens per response"
CONFIG temperature=0.7
CONFIG api-base! "API base URL for the LLM provider"
ENV NODE_ENV=production "Application environment"
BIN wget ghcr.io/openotters/tools/wget:latest
BIN jq ghcr.io/openotters/tools/jq:latest "Extract fields from JSON" <<EOF
First line is the jq expression.
EOF
ADD data/cities.json cities-known.json "Known cities"
"""


def parse(*lines):
    return parse_agentfile("\n".join(lines).encode())


def agent_of(*lines):
    return parse("FROM scratch", *lines).agent


def error_of(*lines):
    with pytest.raises(AgentfileInvalid) as raised:
        parse(*lines)
    return raised.value.message


def test_a_complete_file_gives_every_field_and_where_it_stands():
    file = parse_agentfile(COMPLETE)
    agent = file.agent

    assert ("openotters/agentfile:1", "scratch", "meteo") == (file.syntax, agent.base, agent.name)
    assert "anthropic/claude-haiku-4-5-20251001" == agent.model
    assert "ghcr.io/openotters/runtime:latest" == agent.runtime
    assert {"description": "Weather assistant using Open-Meteo API"} == agent.labels
    assert [("SOUL", "Agent personality and core instructions"), ("IDENTITY", "")] == [
        (each.name, each.description) for each in agent.contexts
    ]
    assert "You are a weather assistant.\nAlways report temperature in °C." == agent.contexts[0].content
    assert "Name: Meteo Bot" == agent.contexts[1].content
    assert (
        Config("max-tokens", 1024, "Maximum output tokens per response"),
        Config("temperature", 0.7),
        Config("api-base", None, "API base URL for the LLM provider", required=True),
    ) == agent.configs
    assert (Env("NODE_ENV", "production", "Application environment"),) == agent.envs
    assert ["wget", "jq"] == [each.name for each in agent.bins]
    assert "First line is the jq expression." == agent.bins[1].usage
    assert (Add("data/cities.json", "cities-known.json", "Known cities"),) == agent.adds
    assert ("Agentfile:5", "Agentfile:8") == (file.origins["model"], file.origins["context SOUL"])


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (("FROM scratch", "NAEM x"), "line 2: NAEM is not a directive (did you mean NAME?)"),
        (("NAME x", "FROM scratch"), "line 1: FROM must be the first instruction"),
        (("FROM scratch", "", "FROM scratch"), "line 3: FROM must stand exactly once"),
        (("# nothing",), "FROM is required"),
        (("FROM scratch", "CONFIG k!=v"), "required configs cannot have a default"),
        (("FROM scratch", "CONFIG Max.Tokens=1"), "DNS-1123"),
        (("FROM scratch", "CAPABILITY Note_Save"), "DNS-1123"),
        (("FROM scratch", "CONTEXT A file://a.md <<EOF", "x", "EOF"), "line 2: CONTEXT A has a file and a heredoc"),
        (("FROM scratch", "CONTEXT A <<EOF", "x"), "line 2: the heredoc has no end: a line that is EOF"),
        (("FROM scratch", "CONTEXT A"), "has no content"),
        (("FROM scratch", "# syntax=openotters/agentfile:1"), "line 2: `# syntax=` counts on line 1 alone"),
        (("# syntax=openotters/agentfile:2", "FROM scratch"), "'openotters/agentfile:2' is not supported"),
        (("\ufeffFROM scratch",), "byte order mark"),
        (("FROM scratch", 'LABEL a="b'), "line 2: the quote has no end"),
        (("FROM scratch", 'LABEL a="b"c'), "a blank is missing behind the quote"),
        (("FROM scratch", "EXEC serve"), "is not a JSON list"),
        (("FROM scratch", "EXEC []"), "is not a JSON list"),
        (("FROM scratch", "MODEL a b"), "and nothing else"),
        (("FROM UPPER/case",), "is not a reference"),
        (("FROM scratch", "BIN jq r/jq", "BIN jq r/jq"), "line 3: bin jq stands on line 2 already"),
        (("FROM scratch", "CONTEXT A file://../x"), "below the folder"),
        (("FROM scratch", "ADD /etc/passwd"), "below the folder"),
        (("FROM scratch", "ENV A=1 extra"), "'extra' is too much here"),
        (("FROM scratch", "NAME agents/meteo"), "must begin with a letter or a digit"),
        (("FROM scratch", "NAME .hidden"), "must begin with a letter or a digit"),
        (("FROM scratch", "CONTEXT ../../etc/passwd <<E", "E"), "must begin with a letter or a digit"),
        (("FROM scratch", "BIN tools/jq r/jq"), "must begin with a letter or a digit"),
        (("FROM scratch", f"NAME {'a' * 64}"), "at most 63"),
        *((("FROM scratch", f"CONTEXT {name} <<E", "E"), "is reserved") for name in ("AGENT", "WORKSPACE", "MOUNTS")),
    ],
)
def test_what_breaks_a_rule_is_refused_with_its_line(lines, message):
    assert message in error_of(*lines)


def test_bytes_that_are_not_utf_8_are_refused_with_their_line():
    with pytest.raises(AgentfileInvalid, match="line 2: the Agentfile is not UTF-8"):
        parse_agentfile(b"FROM scratch\nNAME \xff")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1024", 1024),
        ("0.7", 0.7),
        ("true", True),
        ("false", False),
        ("summarize", "summarize"),
        ('"hello world"', "hello world"),
        ('"8080"', "8080"),
        ("007", "007"),
        ("9" * 5000, "9" * 5000),
        ("", ""),
        ('"a \\"b\\" \\\\"', 'a "b" \\'),
    ],
)
def test_values_of_config_have_the_kind_that_they_look_like_and_quoted_ones_are_texts(text, value):
    config = agent_of(f"CONFIG k={text}").configs[0]

    assert (value, type(value)) == (config.value, type(config.value))


def test_arguments_are_replaced_below_their_line_and_unknown_ones_stay():
    agent = agent_of("LABEL a=${A}", "ARG A=2048", "CONFIG n=${A}", 'EXEC ["x", "${A}"]', "LABEL b=${X}", "ARG B")

    assert ({"a": "${A}", "b": "${X}"}, 2048) == (agent.labels, agent.configs[0].value)
    assert (("x", "2048"), {"A": "2048"}) == (agent.exec, agent.args)


def test_a_runtime_clears_the_configs_above_it():
    file = parse("FROM scratch", "CONFIG a=1", "RUNTIME r:v2", "CONFIG b=2")

    assert ["b"] == [config.key for config in file.agent.configs]
    assert "config a" not in file.origins


def test_the_last_of_a_name_counts_and_capabilities_stand_once_in_order():
    agent = agent_of(
        "CONTEXT S <<E", "1", "E", "CONTEXT S <<E", "2", "E", "ENV A=1", "ENV A=2", "CAPABILITY a", "CAPABILITY b_x c a"
    )

    assert ["2"] == [context.content for context in agent.contexts]
    assert (Env("A", "2"),) == agent.envs
    assert ("a", "b-x", "c") == agent.capabilities


def test_words_that_begin_like_a_keyword_are_words_and_an_old_target_means_its_last_part():
    agent = agent_of("NAME EXECUTOR", "LABEL mode=EXECFAST", "ADD cities.json /data/cities.json")

    assert ("EXECUTOR", {"mode": "EXECFAST"}) == (agent.name, agent.labels)
    assert "cities.json" == agent.adds[0].name


REFUSED = [
    *names.LOCKED_NAMES,
    *names.OWN_NAMES,
    "X_API_KEY",
    "X_API_BASE",
    "RUNTIME_MODEL",
]


@pytest.mark.parametrize("key", [*REFUSED, "PATH", "OTTERS_AGENT_ROOT", "node_env", "1FOO"])
def test_a_build_refuses_reserved_and_badly_formed_variables(key):
    assert "line 2: ENV" in error_of("FROM scratch", f"ENV {key}=x")
    assert (key in REFUSED) == names.is_reserved(key)


def test_required_configs_need_a_value_of_the_last_writer():
    required = [Config("zeta", required=True), Config("alpha", required=True)]

    with pytest.raises(AgentfileInvalid, match="alpha, zeta"):
        require_configs(required)
    values = require_configs([*required, Config("zeta", ""), Config("alpha", 1), Config("alpha", 2)])
    assert {"zeta": "", "alpha": 2} == values
    assert ({}, ("a",)) == flatten_configs([Config("a", required=True), Config("a", 1), Config("a")])


PARENT = parse(
    "FROM scratch",
    "RUNTIME r:v1",
    "CONTEXT SOUL <<E",
    "old",
    "E",
    "CONFIG a=1",
    "BIN wget t/wget",
    "LABEL x=1",
    "LABEL y=1",
    "CAPABILITY a",
)


def test_a_child_has_what_its_parent_gives_it_and_each_part_says_where_it_stands():
    child = parse(
        "FROM base:v1",
        "CONTEXT SOUL <<E",
        "new",
        "E",
        "CONTEXT ID <<E",
        "E",
        "BIN jq t/jq",
        "LABEL y=2",
        "CAPABILITY a b",
    )
    resolved = resolve(child, {"base:v1": PARENT}.__getitem__)
    agent = resolved.agent

    assert [("SOUL", "new"), ("ID", "")] == [(each.name, each.content) for each in agent.contexts]
    assert (["wget", "jq"], {"x": "1", "y": "2"}) == ([each.name for each in agent.bins], agent.labels)
    assert (("a", "b"), ["a"]) == (agent.capabilities, [config.key for config in agent.configs])
    assert ("base:v1 Agentfile:6", "Agentfile:2") == (resolved.origins["config a"], resolved.origins["context SOUL"])


def test_another_runtime_drops_the_configs_of_the_parent_and_parents_have_parents():
    middle = parse("FROM base:v1", "RUNTIME r:v2", "BIN jq t/jq")
    child = parse("FROM middle:v1", "BIN cat t/cat")
    resolved = resolve(child, {"base:v1": PARENT, "middle:v1": middle}.__getitem__)

    assert ((), ["wget", "jq", "cat"]) == (resolved.agent.configs, [each.name for each in resolved.agent.bins])
    assert "base:v1 Agentfile:7" == resolved.origins["bin wget"]
    assert "config a" not in resolved.origins


def test_an_agent_that_is_its_own_parent_is_refused():
    itself = parse("FROM itself:v1")

    with pytest.raises(AgentfileInvalid, match="more than 10 deep"):
        resolve(itself, lambda _: itself)


def test_an_agent_definition_is_the_same_as_an_agentfile():
    definition = Definition("code review", 'Looks at "code"', "claude-opus", body="Be exact.\n  SOUL\nEnd.\n")
    agent = compile_definition(definition).agent

    assert ("code-review", "claude-opus") == (agent.name, agent.model)
    assert {"description": 'Looks at "code"'} == agent.labels
    assert [("SOUL", "Be exact.\n  SOUL\nEnd.")] == [(each.name, each.content) for each in agent.contexts]
