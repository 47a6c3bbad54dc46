"""The wheel carries everything that the program needs at run time, and nothing of the workshop."""

import configparser
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from oulipoly_engine import __version__

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGES = (ROOT / "engine" / "oulipoly_demo", ROOT / "engine" / "oulipoly_engine", ROOT / "tui" / "oulipoly_tui")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The built wheel, opened; made by the backend itself, so that no network is needed."""
    folder = tmp_path_factory.mktemp("wheel")
    built = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    (path,) = folder.glob("*.whl")
    with zipfile.ZipFile(path) as opened:
        yield opened


@pytest.fixture(scope="module")
def shipped(wheel):
    """The names in the wheel."""
    return set(wheel.namelist())


@pytest.fixture(scope="module")
def sources():
    """Every file of our packages by the name that it must have in the wheel."""
    return {
        str(path.relative_to(package.parent)): path
        for package in PACKAGES
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


@pytest.mark.parametrize(
    "name",
    [
        "oulipoly_engine/py.typed",
        "oulipoly_tui/py.typed",
        "oulipoly_tui/__main__.py",
        "oulipoly_engine/store/migrations/0001_initial.sql",
        "oulipoly_engine/adapters/scripts/usage.py",
        "oulipoly_demo/clis/agent_cli.py",
    ],
)
def test_ships(shipped, name):
    assert name in shipped


def test_ships_every_file_of_both_packages(shipped, sources):
    assert set() == set(sources) - shipped


def test_ships_nothing_but_the_packages_and_their_metadata(shipped):
    tops = {name.partition("/")[0] for name in shipped}

    assert {
        "oulipoly_demo",
        "oulipoly_engine",
        "oulipoly_tui",
        f"oulipoly_agent_runner-{__version__}.data",  # the man page
        f"oulipoly_agent_runner-{__version__}.dist-info",
    } == tops
    assert [] == [name for name in shipped if name.endswith((".pyc", ".pyo"))]


def test_what_is_executable_stays_so(wheel, sources):
    executable = {name for name, path in sources.items() if os.access(path, os.X_OK)}

    kept = {entry.filename for entry in wheel.infolist() if entry.external_attr >> 16 & 0o111}

    assert set() == executable - kept


def test_installs_both_commands(wheel):
    points = configparser.ConfigParser()
    points.read_string(wheel.read(f"oulipoly_agent_runner-{__version__}.dist-info/entry_points.txt").decode())

    main = "oulipoly_tui.__main__:main"
    commands = dict(points["console_scripts"])
    assert ["agents", "oulipoly-agent-runner"] == [name for name, target in commands.items() if target == main]


def test_ships_the_license(shipped):
    assert f"oulipoly_agent_runner-{__version__}.dist-info/licenses/LICENSE" in shipped
