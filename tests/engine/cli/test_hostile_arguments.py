"""Whatever stands in an argument, a command ends with an error of ours: no traceback, no hang."""

import json
import os
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "fixtures" / "hostile_arguments.py"


@pytest.fixture
def folder(world, tmp_path):
    world.account("a", "cat; echo ran")
    world.model("m", "a")
    found = tmp_path / "here"
    (found / "folder").mkdir(parents=True)
    (found / "file").write_text("text\n")
    (found / "loop").symlink_to("loop")
    os.mkfifo(found / "fifo")
    return found


def test_every_argument_of_every_command_takes_what_is_hostile(folder, commands):
    done = commands.run([folder], b"", os.environ | {"TERM": "dumb"}, folder, 600, program=[SCRIPT])
    found = [json.loads(line) for line in done.stdout.splitlines()]

    assert (b"", 0) == (done.stderr, done.returncode)
    assert [] == [case for case in found if case[0] != "cases"]
    assert found[-1][1] > 500
