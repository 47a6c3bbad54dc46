"""What the store itself is tested with: a new state file is made as users' are."""

import pytest

from oulipoly_engine.store.base import db


@pytest.fixture(autouse=True)
def _made_state_file(_process_of_tests, monkeypatch):
    monkeypatch.setattr(db, "_check_writable", _process_of_tests)
