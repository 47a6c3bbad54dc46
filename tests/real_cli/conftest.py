"""A model API and a world of accounts for each test, and the CLIs that `scripts/test-real-clis` installed."""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))  # for `loopback`: importlib mode adds no folder

from loopback.api import ModelApi, Plan
from loopback.world import World


@pytest.fixture
def clis():
    """The folder that holds the commands claude and codex."""
    folder = os.environ.get("REAL_CLIS_BIN")
    if folder is None:
        pytest.fail("these tests need the real CLIs: run scripts/test-real-clis, which installs them")
    return Path(folder)


@pytest.fixture
def api():
    """The model API, running."""
    with ModelApi() as running:
        yield running


@pytest.fixture
def plan():
    """Make a plan for an account's next calls: `api.plans[ACCOUNT] = plan(refusal="spent")`."""
    return Plan


@pytest.fixture
def world(tmp_path, clis, api):
    """Two claude and two codex accounts that ask the model API."""
    return World(tmp_path / "machine", clis, os.environ["PYTHONPATH"], api.url)
