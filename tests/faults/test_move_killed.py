"""A move that is killed at any step loses nothing, leaves nothing half copied, and can be done again."""

import subprocess
import sys

import pytest

SESSION = "9e69e8cc-616d-4640-bf1d-96f5391b1a2e"
TEXT = "x" * 300_000 + "\n"
# Dies before the Nth change that the process makes to the disk once the move has begun.
DIES = """
import os, signal, sys
left = int(sys.argv.pop(1))
begun = False
def watch(event, arguments):
    global left, begun
    if event == "os.mkdir" and ".b" in str(arguments[0]):
        begun = True
    changes = event in ("os.rename", "os.link", "os.remove", "os.utime", "os.mkdir")
    writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
    if begun and (changes or writes):
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(watch)
from oulipoly_tui.__main__ import main
sys.exit(main())
"""


@pytest.fixture
def two(world, tmp_path):
    for name in ("a", "b"):
        root = world.home / f".{name}" / "projects"
        storage = (
            f"[{name}.resume]\nkind = 'flag'\nflag = '--resume'\n[{name}.session_storage]\nkind = 'script'\n"
            f"cwd_script = 'claude-code-cwd {root}'\ntranscript_script = 'claude-code-locate-transcript {root}'\n"
            "storage_type = 'claude_code'"
        )
        world.account(name, "cat", storage)
    world.run("migrate-db")
    at = "2026-01-01T00:00:00.000000Z"
    world.change("INSERT INTO session_chains VALUES ('c', ?, ?, 'm')", at, at)
    world.change(
        "INSERT INTO session_chain_segments (chain_id, provider_name, session_id, started_at, transition_reason)"
        " VALUES ('c', 'a', ?, ?, 'initial')",
        SESSION,
        at,
    )
    folder = world.home / ".a" / "projects" / str(tmp_path).replace("/", "-").replace("_", "-")
    (folder / SESSION).mkdir(parents=True)
    (folder / SESSION / "result.txt").write_text("big result")
    (folder / f"{SESSION}.jsonl").write_text(TEXT)
    return world


def owner(world):
    rows = world.rows("SELECT provider_name FROM session_chain_segments WHERE ended_at IS NULL")
    return [row["provider_name"] for row in rows]


@pytest.mark.parametrize("step", range(1, 10))
def test_killed_at_each_step(two, step):
    killed = subprocess.run(
        [sys.executable, "-c", DIES, str(step), "session", "move", SESSION, "b"],
        capture_output=True,
        cwd=two.home,
        timeout=25,
        check=False,
    )

    copies = list((two.home / ".b").rglob(f"{SESSION}.jsonl"))
    assert all(copy.read_text() == TEXT for copy in copies)
    assert owner(two) == (["b"] if killed.returncode == 0 else ["a"])
    assert TEXT == next((two.home / ".a").rglob(f"{SESSION}.jsonl")).read_text()
    if killed.returncode != 0:
        assert -9 == killed.returncode
        assert 0 == two.run("session", "move", SESSION, "b").returncode
    assert ["b"] == owner(two)
    left = sorted(path.name for path in (two.home / ".b").rglob("*") if path.is_file())
    assert [f"{SESSION}.jsonl", "result.txt"] == left


def test_the_first_steps_do_kill(two):
    killed = subprocess.run(
        [sys.executable, "-c", DIES, "3", "session", "move", SESSION, "b"], cwd=two.home, timeout=25, check=False
    )

    assert -9 == killed.returncode
