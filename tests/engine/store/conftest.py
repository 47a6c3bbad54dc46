"""What the making of a state file is tested with."""

import pytest

from oulipoly_engine.store.base import db


@pytest.fixture
def made_state_file(_process_of_tests, monkeypatch):
    """Have a new state file made as users' are, by all migrations; other tests begin with a copy of such a file."""
    monkeypatch.setattr(db, "_check_writable", _process_of_tests)
