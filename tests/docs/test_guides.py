"""Each command of the guides in `docs/` works as it is written, in the demo world."""

import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from oulipoly_demo import world
from oulipoly_demo.past import state
from oulipoly_engine.paths import from_environment
from oulipoly_engine.service.live import hosts

DOCS = Path(__file__).resolve().parents[2] / "docs"
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)

# Guides whose commands look at what accounts and sessions have behind them; the others begin sessions of their own. To
# make up a month takes as long as the commands of a guide.
WITH_PAST = {"accounts", "artifacts", "choosing-an-account", "scripting", "sessions"}


def read_commands(guide: Path) -> str:
    return "".join(BLOCK.findall(guide.read_text(encoding="utf-8")))


def run_commands(commands: str, folder: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", "-eux", "-c", commands],
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


GUIDES = [guide for guide in sorted(DOCS.glob("*.md")) if read_commands(guide)]


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.stem)
def test_commands_of_a_guide_work_as_they_are_written(guide, tmp_path, commands):
    built = world.build(tmp_path / "world", options=world.Options(pace_s=0))
    if guide.stem in WITH_PAST:
        state.ensure(built)
    env = world.environment_for(built)
    commands.write_program(tmp_path / "bin" / "agents")
    env["PATH"] = os.pathsep.join((str(tmp_path / "bin"), str(Path(sys.executable).parent), env["PATH"]))

    try:
        done = run_commands(read_commands(guide), built.project, env)
    finally:
        for host in hosts.survey(from_environment(env)):  # sessions live on behind the last command
            with suppress(ProcessLookupError):
                os.kill(host.pid, signal.SIGTERM)

    assert 0 == done.returncode, done.stdout + done.stderr
