"""Each command of the guides in `docs/` works as it is written, in the demo world."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from oulipoly_demo import world
from oulipoly_demo.past import state

DOCS = Path(__file__).resolve().parents[2] / "docs"
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)


def read_commands(guide: Path) -> str:
    return "".join(BLOCK.findall(guide.read_text(encoding="utf-8")))


GUIDES = [guide for guide in sorted(DOCS.glob("*.md")) if read_commands(guide)]


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.stem)
def test_commands_of_a_guide_work_as_they_are_written(guide, tmp_path, commands):
    built = world.build(tmp_path / "world", options=world.Options(pace_s=0))
    state.ensure(built)
    env = world.environment_for(built)
    commands.write_program(tmp_path / "bin" / "agents")
    env["PATH"] = os.pathsep.join((str(tmp_path / "bin"), str(Path(sys.executable).parent), env["PATH"]))

    done = subprocess.run(
        ["/bin/sh", "-eux", "-c", read_commands(guide)],
        cwd=built.project,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    assert 0 == done.returncode, done.stdout + done.stderr
