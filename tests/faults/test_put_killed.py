"""Puts, killed at every step and by eight writers at once: no version without its content, none twice, no leftovers."""

import hashlib
import json

import pytest

LARGE = 200_000  # bytes: more than a row holds


@pytest.fixture
def artifacts(world):
    def run(*arguments, stdin=b""):
        done = world.run("artifact", *arguments, stdin=stdin)
        assert 0 == done.returncode, (arguments, done.stderr)
        return done.stdout

    return run


def check(world, artifacts):
    """Every version that is listed has its content, and after a collection nothing else lies there."""
    listed = json.loads(artifacts("list", "--json"))["artifacts"]
    for one in listed:
        assert one["sha256"] == hashlib.sha256(artifacts("get", one["address"])).hexdigest()
    artifacts("gc")
    files = [path.name for path in (world.data / "artifacts.db.contents").rglob("*") if path.is_file()]
    assert {one["sha256"] for one in listed if one["content_len"] == LARGE} == set(files)
    return [one["version"] for one in listed]


def test_killed_puts(world, artifacts, kills, tmp_path):
    content = tmp_path / "content"
    content.write_bytes(b"x" * LARGE)
    kills.measure("artifact", "put", "run/name", content)
    every_step = [f"change:{step}" for step in range(1, kills.steps + 1)]
    for number, moment in enumerate([*kills, *every_step] if len(kills) < kills.steps else kills):
        content.write_bytes(b"%05d" % number * (LARGE // 5))
        kills.kill(moment, "artifact", "put", "run/name", content)
    artifacts("put", "run/name", str(content))

    versions = check(world, artifacts)
    assert [*range(1, len(versions) + 1)] == versions


def test_eight_writers_leave_no_gap_and_nothing_twice(world, artifacts, tmp_path, commands):
    content = tmp_path / "content"
    content.write_bytes(b"x" * LARGE)
    artifacts("put", "run/name", str(content))
    script = (
        "import sys\nfrom oulipoly_engine.cli.main import main\n"
        f"for _ in range(3):\n    assert main(['artifact', 'put', 'run/name', {str(content)!r}]) == 0\n"
        "    assert main(['artifact', 'gc']) == 0\n"
    )
    writers = [commands.start([], program=["-c", script]) for _ in range(8)]
    assert [0] * 8 == [writer.wait() for writer in writers]

    assert [*range(1, 26)] == check(world, artifacts)
