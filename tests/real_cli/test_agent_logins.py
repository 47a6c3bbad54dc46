"""Agents on real CLIs in boxes: the login stays on the host, and the network of a sealed one is our proxy."""

import json
import shutil

import pytest

from oulipoly_engine.core.boxes.box import Level
from oulipoly_engine.process.boxes.machine import find_level

pytestmark = [pytest.mark.real_cli, pytest.mark.timeout(180)]

LOOK = (
    "env; cat ~/.claude/.credentials.json ~/.codex/auth.json; "
    'find / -regex "/\\(proc\\|sys\\|usr\\)" -prune -o -name .credentials.json -print -o -name auth.json -print '
    "2>/dev/null; cat %s/* %s/.credentials.json; "
    "(exec 3<>/dev/tcp/%s/%s) 2>/dev/null && echo NETWORK; echo LOOKED"
)
SECRETS = ("sk-ant-oat01-claude-one", "sk-ant-ort01-claude-one")


@pytest.fixture(params=["claude", "codex"])
def cli(request):
    return request.param


@pytest.fixture(params=["guarded", "sealed"])
def level(request):
    if obstacle := find_level(Level(request.param)).obstacle:
        pytest.skip(obstacle)
    return request.param


@pytest.fixture
def agent(world, cli, level):
    """Run an agent on the first account of a CLI; the answer of `agent run`."""
    folder = world.project / "meteo"
    folder.mkdir()
    text = f"FROM scratch\nNAME meteo\nMODEL {cli}-one\nCONTEXT SOUL <<S\nYou tell the weather.\nS\n"
    (folder / "Agentfile").write_text(text)
    words = ("--name", "calm", "--isolation", level, "--profile", "full_access", "--json")
    ran = world.run("agent", "run", folder, *words)
    assert ran.exit_code == 0, ran
    yield json.loads(ran.stdout)
    world.run("agent", "rm", "calm", "--yes")


def test_login_is_not_in_the_box_and_the_account_is_asked(world, api, plan, cli, level, agent):
    home = world.home / f".{cli}-one"
    host, port = api.url.rpartition("//")[2].split(":")
    command = f"bash -c '{LOOK % (home, home, host, port)}'"
    api.plans[f"{cli}-one"] = plan(tool_command=command)

    asked = world.run("agent", "prompt", "calm", "look around")
    listed = json.loads(world.run("agent", "ps", "--json").stdout)["agents"][0]

    assert asked.exit_code == 0, asked
    assert f"{cli}-one" in api.asked()
    seen = "".join(call.tool_result or "" for call in api.calls)
    assert "LOOKED" in seen
    assert not [secret for secret in (*SECRETS, "refresh_token") if secret in seen]
    assert ("NETWORK" in seen) == (level == "guarded")
    assert [{"account": f"{cli}-one", "is_in_reach": False, "reason": None}] == listed["logins"]


def test_session_goes_on_and_a_refused_login_is_told(world, api, plan, cli, agent):
    first = json.loads(world.run("agent", "prompt", "calm", "one", "--json").stdout)
    session = first["session_id"]
    again = world.run("agent", "prompt", "calm", "two", "--session", session)
    api.plans[f"{cli}-one"] = plan(refusal="login")
    refused = world.run("agent", "prompt", "calm", "three", "--session", session)

    assert again.exit_code == 0, again
    assert "two" in again.stdout
    assert refused.exit_code != 0, refused
    assert world.accounts[f"{cli}-one"].sessions()


def test_revoked_with_the_agent(world, api, agent):
    assert world.run("agent", "prompt", "calm", "one").exit_code == 0
    world.run("agent", "stop", "calm")

    assert world.run("agent", "prompt", "calm", "two").exit_code != 0
    shutil.rmtree(world.project / "meteo")


def test_sealed_tool_reaches_what_is_listed_alone(world, api):
    if obstacle := find_level(Level.SEALED).obstacle:
        pytest.skip(obstacle)
    folder = world.project / "meteo"
    folder.mkdir()
    (folder / "Agentfile").write_text("FROM scratch\nNAME meteo\nMODEL claude-one\nBIN ask example.com/ask\n")
    ask = folder / "ask.sh"
    ask.write_text(
        '#!/bin/bash\nexec 3<>/dev/tcp/127.0.0.1/3128\nprintf "GET http://$1/x HTTP/1.1\\r\\n\\r\\n" >&3\n'
        'read -r line <&3; echo "$line"\n'
        '(exec 4<>"/dev/tcp/${1/:/\\/}") 2>/dev/null && echo NETWORK\ntrue\n'
    )
    address = api.url.rpartition("//")[2]
    words = ("--isolation", "sealed", "--address", address, "--tool", f"ask={ask}", "--name", "calm")
    assert world.run("agent", "run", folder, *words).exit_code == 0

    listed = world.run("agent", "exec", "calm", "ask", address)
    other = world.run("agent", "exec", "calm", "ask", "169.254.169.254:80")
    world.run("agent", "rm", "calm", "--yes")

    assert listed.stdout.startswith("HTTP/1."), listed
    assert "403" not in listed.stdout
    assert "403 Forbidden" in other.stdout
    assert "NETWORK" not in listed.stdout + other.stdout
