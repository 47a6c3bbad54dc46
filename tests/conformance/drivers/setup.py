"""Vectors of the set-up: names of MCP servers and models, ids of sessions, versions that change."""

from datetime import UTC, datetime, timedelta

from oulipoly_engine.core.accounts.clis.table import CLIS
from oulipoly_engine.core.setup.mcp import find_servers
from oulipoly_engine.core.setup.models import is_model_name, model_names
from oulipoly_engine.core.setup.turn import session_id
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.runs.cli_versions import record


def drive_mcp_names(vector, _tmp_path):
    _keys, found = find_servers(vector["input"]["json"], CLIS["claude"].mcp[0], "the file")
    assert vector["expected"] == list(found)


def drive_version_tracker(vector, tmp_path):
    store, at = open_store(tmp_path / "state.db"), datetime(2026, 11, 20, tzinfo=UTC)
    versions = vector["description"].split(", ")
    changed = ["claude" in record(store, {"claude": one}, at + timedelta(days=day)) for day, one in enumerate(versions)]
    store.close()
    assert vector["expected"] == changed


def drive_discovery(vector, _tmp_path):
    given = vector["input"]
    found = model_names(given["stdout"]) if "stdout" in given else filter(is_model_name, given["names"])
    assert vector["expected"] == list(found)


def drive_session_id(vector, _tmp_path):
    assert vector["expected"] == session_id(vector["input"]["stderr"])


DRIVERS = {
    "setup.session_id": drive_session_id,
    "setup.mcp_names": drive_mcp_names,
    "setup.version_tracker": drive_version_tracker,
    "setup.discovery": drive_discovery,
}
