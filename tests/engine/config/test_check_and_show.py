import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from oulipoly_engine.config.check import check
from oulipoly_engine.config.show import as_text, effective
from oulipoly_engine.paths import Above, Paths

FILES = {
    "providers.toml": '[claude]\ncommand = "claude"\n[wrapped]\ncommand = "env"\nargs = ["-u", "X", "claude9", "-p"]\n'
    'interactive_args = ["--tools", "mcp__x"]\n[broken]\ncommand = 5\n[bare]\n',
    "models/good.toml": '[[providers]]\nname = "claude"\n[[providers]]\nname = "broken"\n',
    "models/lost.toml": '[[providers]]\nname = "claud"\n',
    "models/old.toml": 'command = "claude"\n',
    "agents/a.md": "---\ndescription: x\nmodel: goood\n---\n",
    "agents/b.md": "no fence",
    "sessions.toml": '[claude3]\nturn_script = "x"\n',
    "config.toml": 'default_provider = "claud"\ndiagnostics_model = "nope"\n',
}


def write(tmp_path, files):
    for name, text in files.items():
        path = tmp_path / "c" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Paths(tmp_path / "c", tmp_path / "d", tmp_path)


def found(paths, which):
    return [
        (item.level.value, str(item.file.relative_to(paths.config)), item.line, item.key)
        for item in check(paths, which=which)
    ]


def test_all_problems_of_all_files_come_at_once(tmp_path):
    paths = write(tmp_path, FILES)

    assert [
        ("error", "providers.toml", 8, "[broken].command"),
        ("warning", "providers.toml", 5, "[wrapped].args#3"),
        ("warning", "providers.toml", 6, "[wrapped].interactive_args#1"),
        ("warning", "providers.toml", 9, "[bare].command"),
        ("error", "models/lost.toml", 2, "[[providers]]#1.name"),
        ("error", "models/old.toml", 1, "command"),
        ("error", "agents/a.md", 3, "model"),
        ("error", "agents/b.md", 1, ""),
        ("warning", "sessions.toml", 1, "[claude3]"),
        ("error", "config.toml", 1, "default_provider"),
        ("warning", "config.toml", 2, "diagnostics_model"),
    ] == found(paths, lambda command: None if command == "claude9" else f"/bin/{command}")


def test_accounts_that_nobody_can_read_are_not_called_missing(tmp_path):
    paths = write(
        tmp_path, {**FILES, "providers.toml": "[claude]\nkaputt = [\n", "agents/a.md": "---\nmodel: good\n---\n"}
    )

    places = [item[1:] for item in found(paths, lambda command: f"/bin/{command}")]

    assert ("providers.toml", 2, "") == places[0]
    assert not [place for place in places if place[2] in ("[[providers]]#1.name", "[claude3]", "default_provider")]


def test_invalid_settings_are_an_error_for_the_check(tmp_path):
    paths = write(tmp_path, {"config.toml": "tie_rule = 5\n"})

    assert [("error", "config.toml", 1, "tie_rule")] == found(paths, str)


def test_empty_configuration_has_no_problem(tmp_path):
    assert () == check(Paths(tmp_path, tmp_path, tmp_path))


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("nosuchprogram", "was not found"),
        ("claude -p --verbose", "put its arguments into `args`"),
        ("{folder}/plain", "is not an executable file"),
    ],
)
def test_command_that_cannot_start_says_why(tmp_path, command, words):
    (tmp_path / "plain").write_text("x")
    paths = write(tmp_path, {"providers.toml": f'[a]\ncommand = "{command.format(folder=tmp_path)}"\n'})

    (problem,) = check(paths)

    assert "warning" == problem.level
    assert words in problem.text


def test_shown_configuration_hides_secrets_and_fills_in_defaults(tmp_path):
    secret = "sk-ant-api03-abcdefghijklmnop9876"
    text = (
        '[a]\ncommand = "x"\n'
        f'args = ["--api-key", "hunter2hunter2", "{secret}", "-H", "Authorization: Bearer abcDEF123456"]\n'
        f'quota_script = "usage --token {secret}"\n'
        '[a.environment]\nANTHROPIC_API_KEY = "abcdefghijklmnop9876"\nDB_PASSWORD = "short"\n'
        f'PLAIN = "{secret}"\nN = "1"\n'
    )
    paths = write(tmp_path, {"providers.toml": text, "models/m.toml": '[[providers]]\nname = "a"\n'})

    values = effective(paths)

    everything = json.dumps(values) + as_text(values)
    for part in (secret, "hunter2", "abcDEF123456", "abcdefghijklmnop", '"short"'):
        assert part not in everything
    assert {"ANTHROPIC_API_KEY": "•••9876", "DB_PASSWORD": "•••", "PLAIN": "•••", "N": "1"} == values["accounts"]["a"][
        "environment"
    ]
    assert "stdin" == values["accounts"]["a"]["prompt_mode"]
    assert [{"name": "a", "args": [], "interactive_args": None}] == values["models"]["m"]["providers"]


def test_the_apps_settings_are_shown_by_the_keys_of_their_file(tmp_path):
    text = (
        'footer = "off"\n[keys]\n"pools.drain" = "ctrl+d"\n[views.mine]\nfilter = "is:live"\nreversed = true\n'
        '[[commands]]\nname = "log in"\ncommand = "tool --api-key hunter2hunter2 {session}"\n'
    )

    values = effective(write(tmp_path, {"app.toml": text}))

    app = tomllib.loads(as_text(values))["app"]
    assert ("off", "default", {"pools.drain": "ctrl+d"}) == (app["footer"], app["preset"], app["keys"])
    assert {"filter": "is:live", "group": "workspace", "sort": "used", "reversed": True} == app["views"]["mine"]
    command = {"name": "log in", "command": ["tool", "--api-key", "•••", "{session}"]}
    assert command | {"key": "", "panes": [], "run": "terminal", "confirm": False} == app["commands"][0]


def test_shown_text_is_toml_with_the_same_values(tmp_path):
    values = effective(write(tmp_path, FILES))

    again = tomllib.loads(as_text(values))

    assert values["problems"] == again["problems"]
    assert values["accounts"]["wrapped"]["args"] == again["accounts"]["wrapped"]["args"]
    assert {"claude", "wrapped", "bare"} == set(values["accounts"])
    assert str(Path(values["paths"]["data"]) / "sessions" / "claude3") == again["sessions"]["claude3"]["state_dir"]


def test_loading_the_loader_brings_no_heavy_library():
    code = (
        "import sys, oulipoly_engine.config.load, oulipoly_engine.config.check\n"
        "import oulipoly_engine.config.migration.migrate\n"
        "print(sorted({'pydantic', 'yaml', 'tomlkit'} & set(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "[]\n" == done.stdout


def test_what_is_wrong_with_a_layer_is_shown_once(tmp_path):
    above = Above(environment={"OXI_STREAM": "maybe"})
    paths = Paths(config=tmp_path, data=tmp_path, home=tmp_path, above=above)

    assert 1 == len(effective(paths)["problems"])
