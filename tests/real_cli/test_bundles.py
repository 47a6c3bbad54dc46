"""A bundled session goes on under another account of the real CLI, in another folder."""

import json
import subprocess
import tomllib

import pytest

pytestmark = [pytest.mark.real_cli, pytest.mark.timeout(180)]

FAMILIES = {"claude": ("claude-code", "projects", "claude_code"), "codex": ("codex", "sessions", "codex_session")}
RESUME = {"claude": ["-p", "--resume"], "codex": ["exec", "--skip-git-repo-check", "resume"]}


def config_of(world):
    return world.home / ".config" / "oulipoly-agent-runner"


def tell_storage(world, cli):
    """Tell our configuration where the accounts of a CLI keep their sessions."""
    family, folder, kind = FAMILIES[cli]
    for account in (f"{cli}-one", f"{cli}-two"):
        root = world.home / f".{account}" / folder
        block = {
            "kind": "script",
            "cwd_script": f"{family}-cwd {root}",
            "transcript_script": f"{family}-locate-transcript {root}",
            "storage_type": kind,
        }
        lines = [f"[{account}.session_storage]", *(f"{key} = {json.dumps(value)}" for key, value in block.items())]
        with (config_of(world) / "providers.toml").open("a") as file:
            file.write("\n" + "\n".join(lines) + "\n")


def resume(world, account, session, prompt, cwd):
    """Go on with a session as its user would, without us, and return the CLI's answer."""
    block = tomllib.loads((config_of(world) / "providers.toml").read_text())[account]
    words = [block["command"], *RESUME[account.partition("-")[0]], session]
    done = subprocess.run(
        words if "claude" in account else [*words, "-"],
        input=prompt,
        capture_output=True,
        env=world.environment() | block["environment"],
        cwd=cwd,
        timeout=60,
        check=False,
    )
    assert 0 == done.returncode, done.stderr.decode()
    return done.stdout.decode()


@pytest.mark.parametrize("cli", ["claude", "codex"])
def test_unbundled_conversation_goes_on_in_the_real_cli(world, api, cli):
    world.configure(api.url, **{cli: "capture"})
    tell_storage(world, cli)
    session = world.trace(world.run("-m", f"{cli}-one", "remember the word turnip"))["session"]["id"]
    bundle, elsewhere = world.home / "it.bundle", world.home / "else where"
    elsewhere.mkdir()
    packed = world.run("session", "bundle", session, "--output", bundle)
    assert (0, "") == (packed.exit_code, packed.stderr)

    ran = world.run("session", "unbundle", bundle, "--account", f"{cli}-two", "--cwd", elsewhere)

    assert (0, "") == (ran.exit_code, ran.stderr)
    receipt = json.loads(ran.stdout)
    placed = receipt["segments"][0]["files"][-1]
    before = (world.home / placed["path"]).read_bytes()
    answer = resume(world, f"{cli}-two", session, b"and now?", elsewhere)
    after = (world.home / placed["path"]).read_bytes()
    assert [session] == world.accounts[f"{cli}-two"].sessions()
    assert f"{cli}-two heard: and now?" in answer
    assert after.startswith(before)
    assert b"turnip" in before
    assert b"and now?" in after[len(before) :]
