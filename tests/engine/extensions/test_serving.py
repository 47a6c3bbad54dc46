"""What `ext serve` offers to CLIs, and what is handed over to them: names, skills, servers, and when nothing is."""

import json
import subprocess
import sys

import pytest

from oulipoly_engine.core.extensions.installed import Installed, Standing
from oulipoly_engine.core.extensions.manifest import Manifest, McpServer, Permission, Tool
from oulipoly_engine.service.extensions.offer import Active, list_servers, list_skills, list_tools

MANIFEST = """
[[tools]]
name = "forecast"
description = "Tell the weather"
[tools.parameters]
required = ["city"]
[tools.parameters.properties.city]
type = "string"
[[mcp_servers]]
name = "clock"
command = "./clock.sh"
"""
CODE = "def __init__(self): self.tools = {'forecast': lambda given: f\"sunny in {given['city']}\"}"


def active(name, *, granted=(), tier="in-process", **manifest):
    return Active(Installed(Manifest(name, tier=tier, **manifest), "user", f"/x/{name}"), Standing(frozenset(granted)))


def test_the_short_name_of_a_tool_is_the_first_extensions_by_name():
    tools = list_tools([active("b", tools=(Tool("t", ""), Tool("u", ""))), active("a", tools=(Tool("t", ""),))])

    assert {"t": "a", "b-t": "b", "u": "b"} == {name: offered.extension for name, offered in tools.items()}


def test_servers_need_the_right_to_run_commands_or_a_sandbox_and_names_of_their_own():
    servers = (McpServer("my_db", "x"),)
    run = [Permission.EXECUTE_COMMAND]
    offered = list_servers(
        [
            active("a", mcp_servers=servers, granted=run),
            active("b", mcp_servers=servers),
            active("c", mcp_servers=servers, granted=run),
            active("d", mcp_servers=(McpServer("agents", "x"),), tier="process"),
        ]
    )

    assert {"my-db": "a", "c-my-db": "c", "d-agents": "d"} == {
        name: each.installed.name for name, (each, _server) in offered.items()
    }


@pytest.fixture
def serving(extending, home):
    """Ask `ext serve` what a client asks; the weather is allowed."""

    def ask(*requests, **manifest):
        place = extending.write("weather", CODE, skills=["umbrella"], **manifest)
        (place / "umbrella").mkdir(exist_ok=True)
        (place / "umbrella" / "SKILL.md").write_text("---\nname: umbrella\ndescription: When\n---\nLook up.\n")
        with (place / "extension.toml").open("a") as file:
            file.write(MANIFEST)
        extending.allow("weather")
        lines = [
            json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n"
            for number, (method, params) in enumerate(requests)
        ]
        answers = []
        extending.engine.serving.serve(lambda _size: lines.pop(0) if lines else b"", answers.append)
        return [json.loads(line)["result"] for line in answers]

    return ask


def called(name, /, **arguments):
    return "tools/call", {"name": name, "arguments": arguments}


def test_client_gets_tools_and_skills_and_wrong_arguments_are_no_failure(serving, extending):
    listed, told, skill, *wrong = serving(
        ("tools/list", {}),
        called("forecast", city="Rome"),
        called("skill", name="umbrella"),
        called("forecast"),
        called("forecast", city=7),
        called("skill", name="x"),
    )

    assert ["forecast", "skill"] == [tool["name"] for tool in listed["tools"]]
    assert "umbrella: When" in listed["tools"][1]["description"]
    assert "sunny in Rome" == told["content"][0]["text"]
    assert "Look up." in skill["content"][0]["text"]
    assert [True] * 3 == [each["isError"] for each in wrong]
    assert "argument `city` is missing" in wrong[0]["content"][0]["text"]
    assert 0 == extending.status("weather").standing.failures


def test_nothing_is_handed_over_before_a_yes_after_it_is_withdrawn_or_with_no_extensions(serving, extending):
    place = extending.write("weather", CODE)
    with (place / "extension.toml").open("a") as file:
        file.write(MANIFEST)

    def handed():
        with extending.engine._home.lend_store() as store:
            return extending.engine._home.hand_over(store, extending.engine._home.files.settings())

    assert handed() is None
    extending.allow("weather")
    assert ["agents"] == list(handed().servers)  # its own server would run a command
    extending.engine.extensions.disable("weather")
    assert handed() is None
    extending.engine.extensions.enable("weather")
    assert handed() is not None
    extending.open(has_none=True)
    assert handed() is None
    extending.open()
    (grant,) = extending.engine.grants.list()
    extending.engine.grants.revoke(grant.grant_id)
    assert handed() is None


def test_servers_find_our_folders_though_an_account_leads_its_cli_elsewhere(serving, extending):
    serving()
    with extending.engine._home.lend_store() as store:
        server = extending.engine._home.hand_over(store, extending.engine._home.files.settings()).servers["agents"]

    assert str(extending.paths.config.parent) == server.env["XDG_CONFIG_HOME"]
    assert str(extending.paths.data.parent) == server.env["XDG_DATA_HOME"]
    assert "${OULIPOLY_PARENT_INVOCATION}" == server.env["OULIPOLY_PARENT_INVOCATION"]


LINGERS = """
import atexit
from concurrent.futures import ThreadPoolExecutor
from threading import Thread
atexit.register(time.sleep, 60)
ThreadPoolExecutor(1).submit(time.sleep, 60)
Thread(target=time.sleep, args=(60,), daemon=False).start()
"""


def test_what_an_extension_begins_and_does_not_end_keeps_no_process(extending):
    extending.write("weather", LINGERS + CODE)
    with (extending.paths.extensions / "weather" / "extension.toml").open("a") as file:
        file.write(MANIFEST)
    extending.allow("weather")
    method, params = called("forecast", city="Rome")
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    command = [sys.executable, "-m", "oulipoly_tui", "ext", "serve"]
    ended = subprocess.run(command, input=line + "\n", capture_output=True, text=True, timeout=50, check=False)

    assert (0, "") == (ended.returncode, ended.stderr)
    assert "sunny in Rome" in ended.stdout


def test_person_is_told_what_ext_serve_is_for(agents, world):
    done = agents("ext", "serve", "nobody")

    assert (1, b"") == (done.returncode, done.stdout)
    assert b"has an MCP server 'nobody' now" in done.stderr


@pytest.mark.parametrize(
    ("keys", "name", "description"),
    [
        ("name: umbrella\ndescription: When it rains", "umbrella", "When it rains"),
        ("description: >-\n  When it\n  rains", "folder", "When it rains"),
        ("name: 'quoted'\ndescription: \"a: b\"", "quoted", "a: b"),
        ("other: 1", "folder", ""),
    ],
)
def test_skill_is_named_and_described_by_its_frontmatter(tmp_path, keys, name, description):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "SKILL.md").write_text(f"---\n{keys}\n---\nLook up.\n")

    assert [(name, description)] == [
        (key, skill.description) for key, skill in list_skills((), (tmp_path / "folder",)).items()
    ]
