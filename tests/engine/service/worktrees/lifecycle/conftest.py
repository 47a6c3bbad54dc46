"""A repository of git's own making, and the worktrees of an engine in the test's home."""

import os
import runpy
from pathlib import Path

import pytest

from oulipoly_engine.facade.engine import Engine, Surroundings
from oulipoly_engine.testing import FakeClock

_FIXTURES = Path(__file__).resolve().parents[4] / "fixtures"
Repository = runpy.run_path(str(_FIXTURES / "worktree_repository.py"))["Repository"]


@pytest.fixture
def make_repository(tmp_path):
    """Makes repositories in the test's folder by their names."""
    return lambda name="repo": Repository(Path(os.path.realpath(tmp_path)) / name)


@pytest.fixture
def repo(make_repository):
    return make_repository()


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def engine(clock):
    engine = Engine(Surroundings(clock=clock))
    yield engine
    engine.close()


@pytest.fixture
def trees(engine):
    return engine.worktrees
