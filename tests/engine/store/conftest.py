"""What the store itself is tested with: a new state file is made as users' are."""

import pytest

from oulipoly_engine.store.base import db


@pytest.fixture(autouse=True)
def _made_state_file(_copied_state_file, monkeypatch):
    monkeypatch.setattr(db, "_check_writable", _copied_state_file)
