"""Editors get a JSON Schema of every file, and the examples that we ship are as it says."""

import json
import re
import tomllib
from pathlib import Path

import pytest
import yaml

from oulipoly_demo.world_files import CONFIG, Setting, texts
from oulipoly_engine.cli.base.commands import OF_THE_APP
from oulipoly_engine.config.schema.documents import FILES, json_schema
from oulipoly_engine.config.schema.fields import OPTION

README = (Path(__file__).parents[3] / "README.md").read_text()
KINDS = {  # of the document that a value may have by the types that its schema names
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "array": list,
    "object": dict,
}
WORDS = set(re.findall(r"\S+", "$schema $defs $ref title description default examples type enum anyOf items minItems"))
WORDS |= {"minimum", "exclusiveMinimum", "properties", "required", "additionalProperties", "x-taplo", OPTION}


def fits(value, schema, document):
    """Return whether a value is as a schema says; knows the words that our schemas have, and no other."""
    assert set() == set(schema) - WORDS
    if "$ref" in schema:
        return fits(value, document["$defs"][schema["$ref"].removeprefix("#/$defs/")], document)
    if "anyOf" in schema:
        return any(fits(value, one, document) for one in schema["anyOf"])
    properties, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    entries = value.items() if isinstance(value, dict) else ()
    return (
        isinstance(value, KINDS[schema["type"]])
        and isinstance(value, bool) == (schema["type"] == "boolean")
        and ("enum" not in schema or value in schema["enum"])
        and ("minimum" not in schema or value >= schema["minimum"])
        and ("exclusiveMinimum" not in schema or value > schema["exclusiveMinimum"])
        and (not isinstance(value, list) or len(value) >= schema.get("minItems", 0))
        and (not isinstance(value, list) or all(fits(item, schema["items"], document) for item in value))
        and set(schema.get("required", ())) <= {name for name, _ in entries}
        and all(fits(each, properties[name], document) for name, each in entries if name in properties)
        and (others is not False or all(name in properties for name, _ in entries))
        and (not isinstance(others, dict) or all(fits(v, others, document) for n, v in entries if n not in properties))
    )


def follows(value, file):
    document = json_schema(file)
    return fits(value, document, document)


@pytest.mark.parametrize("file", FILES)
def test_every_key_says_what_it_is_for(file):
    document = json_schema(file)
    tables = [document, *document.get("$defs", {}).values()]
    keys = [(name, key) for table in tables for name, key in table.get("properties", {}).items()]

    assert keys
    assert [] == [name for name, key in keys if not key.get("description", "").endswith(".")]
    assert "null" not in json.dumps(document)


def test_choices_say_what_they_mean_where_editors_look():
    rule = json_schema("config")["properties"]["tie_rule"]

    assert len(rule["enum"]) == len(rule["x-taplo"]["docs"]["enumValues"])


def test_options_that_stand_above_app_toml_are_options_of_the_app():
    keys = json_schema("app")["properties"].values()

    assert {*OF_THE_APP} - {"--linear"} == {key[OPTION] for key in keys if OPTION in key}


EXAMPLES = [
    ("config", 'runtimes.x = { kind = "acp", program = "goose", start_words = ["acp"], env = { A = "b" } }', True),
    ("config", 'runtimes.x = { kind = "accp" }', False),
    ("config", "runtimes.x = { startup_timeout_ms = -1 }", False),
    ("providers", 'a = { command = "c", timeout_seconds = 3, environment = { A = "b" } }', True),
    ("providers", 'a = { resume = { kind = "flag", flag = "-r" } }', True),
    ("providers", 'a = { resume = { kind = "flagg" } }', False),
    ("providers", "a = { timeout_seconds = 0 }", False),
    ("providers", 'a = { args = "-p" }', False),
    ("model", 'sticky = true\nproviders = [{ name = "a" }]', True),
    ("model", "providers = []", False),
    (
        "model",
        'providers = [{ name = "a" }]\ninputs = [{ name = "i", type = "array", default = [1, "2"] }]',
        True,
    ),
    ("model", 'providers = [{ name = "a" }]\nprovider = { pth = "x" }', False),
    ("config", 'tie_rule = "lowest-use"\nattach_leave_key = "ctrl+]"\narchive_limit_mb = 0', True),
    ("config", 'archive = "yes"', False),
    ("config", "archive_limit_mb = true", False),
    ("sessions", 'a = { turn_script = "t" }', True),
    ("sessions", "a = {}", False),
    ("app", 'keys = { "a.b" = "x" }\nviews = { mine = { sort = "used" } }', True),
    ("app", "views = { mine = { sort = 1 } }", False),
    ("theme", 'primary = "red"', True),
    ("theme", "dark = true", False),
    ("prices", "m = { input = 1, output = 2.5 }", True),
    ("prices", "m = { input = -1, output = 2.5 }", False),
]


@pytest.mark.parametrize(("file", "text", "is_right"), EXAMPLES, ids=lambda value: str(value)[:40])
def test_the_schema_takes_what_we_take(file, text, is_right):
    assert is_right == follows(tomllib.loads(text), file)


@pytest.mark.parametrize(("name", "file"), [("providers.toml", "providers"), ("sessions.toml", "sessions")])
def test_the_readme_s_examples_follow_it(name, file):
    blocks = re.findall(rf"```toml\n# {re.escape(name)}.*?```", README, re.DOTALL)

    assert blocks
    for block in blocks:
        assert follows(tomllib.loads(block.removeprefix("```toml").removesuffix("```")), file)


def test_the_readme_s_model_and_agent_follow_it():
    model = re.search(r"```toml\n(# models/.*?)```", README, re.DOTALL)[1]
    agent = re.search(r"```markdown\n.*?---\n(.*?)---", README, re.DOTALL)[1]

    assert follows(tomllib.loads(model), "model")
    assert follows(yaml.safe_load(agent), "agent")


def test_the_demo_s_files_follow_it():
    files = dict(texts(Setting(Path("/w"), "python", Path("/l"))))
    models = [text for path, text in files.items() if path.parent == CONFIG / "models"]

    assert models
    assert all(follows(tomllib.loads(text), "model") for text in models)
    for file in ("providers", "sessions", "config"):
        assert follows(tomllib.loads(files[CONFIG / f"{file}.toml"]), file)


def test_the_command_prints_it(agents):
    done = agents("config", "schema", "model")

    assert (0, b"") == (done.returncode, done.stderr)
    assert json_schema("model") == json.loads(done.stdout)


def test_the_command_lists_the_files(agents):
    done = agents("config", "schema")

    assert list(FILES) == [line.split()[0].decode() for line in done.stdout.splitlines()]


@pytest.mark.parametrize(("name", "hint"), [("modle", b"did you mean model?"), ("xyz", b"known are providers, model")])
def test_the_command_refuses_what_it_does_not_know(agents, name, hint):
    done = agents("config", "schema", name)

    assert (2, b"") == (done.returncode, done.stdout)
    assert hint in done.stderr
