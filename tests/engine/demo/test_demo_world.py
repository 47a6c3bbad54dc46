"""The demo world's folder: complete, private, and never somebody else's."""

import json
import os
import subprocess
import sys
import tomllib
from contextlib import closing
from pathlib import Path

import pytest

from oulipoly_demo import world
from oulipoly_demo.world import MARKER, DemoRefused, Options
from oulipoly_engine.paths import from_environment
from oulipoly_engine.process.liveness import is_alive
from oulipoly_engine.store.agents import agents, jobs
from oulipoly_engine.store.base.db import open_store

BUILDER = "import sys; from pathlib import Path; from oulipoly_demo import world; world.ensure(Path(sys.argv[1]))"


@pytest.fixture
def root(tmp_path):
    return tmp_path / "demo"


def names(folder):
    return {path.name for path in folder.iterdir()}


def toml(path):
    return tomllib.loads(path.read_text())


def test_world_has_two_vendors_five_accounts_and_their_pools(root):
    demo = world.ensure(root)

    accounts = toml(demo.config / "providers.toml")
    pools = {path.stem: [member["name"] for member in toml(path)["providers"]] for path in demo.config.glob("models/*")}
    assert 5 == len(accounts) == len(demo.accounts)
    assert {"demo-claude1", "demo-claude2", "demo-claude3"} == set(pools["demo-opus"]) == set(pools["demo-haiku"])
    assert {"demo-codex1", "demo-codex2"} == set(pools["demo-codex"])
    assert set(toml(demo.config / "sessions.toml")) == set(accounts)
    assert 3 == len(list(demo.config.glob("agents/*.md")))


def test_every_configuration_file_says_that_it_is_a_demo(root):
    demo = world.ensure(root)

    assert all("DEMO" in path.read_text() for path in demo.config.rglob("*.*"))
    assert all("DEMO" in path.read_text() for path in demo.bin.iterdir())


def test_one_model_has_all_six_input_types(root):
    inputs = toml(world.ensure(root).config / "models" / "demo-haiku.toml")["inputs"]

    assert {"string", "enum", "integer", "number", "boolean", "array"} == {each["type"] for each in inputs}


def test_configuration_names_the_final_folder_only(root):
    demo = world.ensure(root)

    assert f"{demo.root}/home/.demo-codex1" in (demo.config / "providers.toml").read_text()
    assert not any("-new-" in path.read_text() for path in demo.root.rglob("*") if path.is_file())


def test_accounts_begin_with_different_use(root):
    demo = world.ensure(root)

    used = {name: demo.meter(name).read(0.0)[0].spent for name in demo.accounts}
    assert 0 == used["demo-claude3"]
    assert 5 == len(set(used.values()))


def test_every_codex_account_defines_the_provider_that_the_rollouts_name(root):
    demo = world.ensure(root)

    defined = [
        toml(demo.account_home(name) / "config.toml")["model_providers"] for name in ("demo-codex1", "demo-codex2")
    ]
    assert [["demo"]] * 2 == [list(providers) for providers in defined]


def test_claude_capture_is_an_option(root):
    demo = world.build(root, options=Options(capture_claude=True))

    capture = toml(demo.config / "providers.toml")["demo-claude1"]["session_capture"]
    assert "forced_flag_verified" == capture["kind"]


def test_folder_is_private(root):
    world.ensure(root)

    assert 0o700 == root.stat().st_mode & 0o777


def test_second_ensure_keeps_what_happened_inside(root):
    (world.ensure(root).project / "note").write_text("mine")

    assert "mine" == (world.ensure(root).project / "note").read_text()


@pytest.mark.parametrize("change", [{"version": "0.0.0"}, {"python": "/elsewhere/python"}, {"format": 0}])
def test_world_of_another_version_or_interpreter_is_built_anew(root, change):
    note = world.ensure(root).project / "note"
    note.write_text("old")
    marker = root / MARKER
    marker.write_text(json.dumps(json.loads(marker.read_text()) | change))

    world.ensure(root)

    assert not note.exists()


@pytest.mark.parametrize("key", ["library", "python"])
def test_world_of_another_installation_that_is_still_there_is_not_replaced(root, tmp_path, key):
    note = world.ensure(root).project / "note"
    note.write_text("theirs")
    marker = root / MARKER
    marker.write_text(json.dumps(json.loads(marker.read_text()) | {key: str(tmp_path)}))

    with pytest.raises(DemoRefused, match=r"another installation .*--root DIR.*--reset"):
        world.ensure(root)
    assert "theirs" == note.read_text()
    world.reset(root)
    world.ensure(root)
    assert not note.exists()


def test_root_that_is_no_text_is_refused_and_leaves_nothing(tmp_path):
    with pytest.raises(DemoRefused, match="is not UTF-8 text"):
        world.ensure(tmp_path / "ab\udcff")
    assert {"home"} >= names(tmp_path)


def test_reset_starts_over(root):
    demo = world.ensure(root)
    demo.meter("demo-claude3").set_used(100, "short", 0.0)

    assert 0 == world.reset(root).meter("demo-claude3").read(0.0)[0].spent


def test_remove_deletes_the_world_and_says_whether_there_was_one(root):
    world.ensure(root)

    assert (True, False) == (world.remove(root), world.remove(root))
    assert not root.exists()


@pytest.mark.parametrize("act", [world.ensure, world.reset, world.remove])
def test_folder_without_our_marker_is_left_alone(root, act):
    root.mkdir()
    (root / "thesis.txt").write_text("precious")

    with pytest.raises(DemoRefused, match="is not a demo world"):
        act(root)

    assert {"thesis.txt"} == names(root)


@pytest.mark.parametrize("act", [world.ensure, world.reset, world.remove])
def test_link_to_a_world_is_refused(root, tmp_path, act):
    world.ensure(tmp_path / "real")
    root.symlink_to(tmp_path / "real")

    with pytest.raises(DemoRefused, match="is not a folder"):
        act(root)

    assert (tmp_path / "real" / MARKER).exists()


@pytest.mark.skipif(os.getuid() != 0, reason="needs to give a folder away")
def test_folder_of_another_user_is_refused(tmp_path):
    root = tmp_path / f"oulipoly-demo-{os.getuid()}"
    root.mkdir()
    os.chown(root, 65534, 65534)

    with pytest.raises(DemoRefused, match="belongs to user 65534"):
        world.default_root({"TMPDIR": str(tmp_path)})


def test_beside_the_world_of_another_installation_the_default_is_a_world_of_ones_own(tmp_path):
    environ = {"TMPDIR": str(tmp_path)}
    usual = world.default_root(environ)
    world.ensure(usual)
    assert usual == world.default_root(environ)
    marker = usual / MARKER
    marker.write_text(json.dumps(json.loads(marker.read_text()) | {"library": str(tmp_path)}))

    own = world.default_root(environ)
    assert own != usual
    assert own.name.startswith(usual.name)
    text = world.instructions(world.ensure(own), "agents", environ)
    assert "agents demo -- " in text
    assert own == world.default_root(environ)


def test_default_root_is_one_per_user(tmp_path):
    expected = tmp_path / f"oulipoly-demo-{os.getuid()}"

    assert expected == world.default_root({"TMPDIR": str(tmp_path)})


def test_failed_build_leaves_nothing(root, tmp_path):
    with pytest.raises(AttributeError):
        world.build(root, options=None)

    assert {".demo.lock", "home"} == names(tmp_path)


def test_many_processes_build_one_world(root):
    builders = [subprocess.Popen([sys.executable, "-c", BUILDER, str(root)]) for _ in range(6)]

    assert [0] * 6 == [builder.wait() for builder in builders]
    assert {".demo.lock", "demo", "home"} == names(root.parent)


def test_environment_shows_the_demo_alone(root):
    demo = world.ensure(root)
    real = {
        "HOME": "/home/me",
        "PATH": "/usr/bin",
        "TERM": "xterm",
        "XDG_CONFIG_HOME": "/home/me/.cfg",
        "OULIPOLY_DATA_DIR": "/home/me/data",
        "OULIPOLY_PARENT_INVOCATION": "{}",
        "CLAUDE_CONFIG_DIR": "/home/me/.claude",
        "CODEX_HOME": "/home/me/.codex",
        "ANTHROPIC_API_KEY": "secret",
    }

    env = world.environment_for(demo, real)

    assert not any("/home/me" in value for name, value in env.items() if name != "PYTHONUSERBASE")
    assert (f"{demo.bin}:/usr/bin", "xterm", "1") == (env["PATH"], env["TERM"], env["OULIPOLY_DEMO"])
    assert not {"OULIPOLY_DATA_DIR", "OULIPOLY_PARENT_INVOCATION", "ANTHROPIC_API_KEY", "CODEX_HOME"} & set(env)


def test_instructions_name_the_command_and_say_demo(root):
    elsewhere = world.instructions(world.ensure(root), "agents")
    usual = world.ensure(root.parent / f"oulipoly-demo-{os.getuid()}")

    assert "made up" in elsewhere
    assert f"agents demo --root {root} --reset" in elsewhere
    assert world.instructions(usual, "agents", {"TMPDIR": str(root.parent)}).endswith("  agents demo --\n")


def test_last_line_of_the_instructions_works_as_pasted_and_two_agents_are_there(root):
    program = Path(sys.executable).with_name("agents")
    env = os.environ | {"PATH": "/usr/bin:/bin", "TMPDIR": str(root.parent)}
    shown = subprocess.run([program, "demo", "--root", root], env=env, text=True, capture_output=True, check=True)
    typed = shown.stdout.splitlines()[-1]

    pasted = subprocess.run(f"{typed} --version", shell=True, env=env, text=True, capture_output=True, check=True)

    assert "agents" in pasted.stdout
    environ = world.environment_for(world.find(root))
    with closing(open_store(from_environment(environ).state_db)) as store:
        standings = {agent.name: (agent.status, agent.reason) for agent in agents.list_agents(store)}
        (job,) = jobs.list_jobs(store)
    assert {"turtle-guide": ("ready", ""), "turtle-poet": ("failed", "model")} == standings
    assert ("done", 0, "README.md\nturtle.py\n") == (job.status, job.exit_code, job.stdout)


def test_the_way_into_a_world_is_told_inside_it_alone(tmp_path):
    usual = world.ensure(tmp_path / f"oulipoly-demo-{os.getuid()}")
    other = world.ensure(tmp_path / "my world")
    outside = {"HOME": str(tmp_path), "TMPDIR": str(tmp_path)}

    assert "" == world.way_in(outside)
    assert "demo -- " == world.way_in(world.environment_for(usual, outside))
    assert f"demo --root '{other.root}' -- " == world.way_in(world.environment_for(other, outside))
    assert "" == world.way_in(outside | {"OULIPOLY_DEMO": "1"})


def test_remove_ends_the_terminals_of_the_world(root, agents):
    world.ensure(root)
    begun = agents("demo", "--root", root, "--", "terminal", "new", "--detach", "--", "sleep", "600")
    assert 0 == begun.returncode, begun.stderr
    listed = agents("demo", "--root", root, "--", "terminal", "list", "--json")
    removed = agents("demo", "--root", root, "--remove")

    (terminal,) = json.loads(listed.stdout)["terminals"]
    assert b"ended sleep 600 in terminal" in removed.stdout
    assert not is_alive(terminal["pid"])
    assert not is_alive(terminal["host_pid"])  # it would make the folder anew for what it still writes
    assert not root.exists()
