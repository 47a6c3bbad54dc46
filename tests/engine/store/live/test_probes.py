"""What probes showed is kept, the last one of each runtime."""

from datetime import UTC, datetime

from oulipoly_engine.core.live.events import ModelInfo
from oulipoly_engine.core.live.runtime_status import Diagnostic, Probe
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.live import probes
from oulipoly_engine.store.live.probes import KeptProbe
from oulipoly_engine.store.models.live import RuntimeProbeRow

NOW = datetime(2026, 11, 23, tzinfo=UTC)
PROBE = Probe("", "m", "1.2", models=(ModelInfo("a", efforts=("low",)),), diagnostics=(Diagnostic("info", "c", "t"),))


def test_the_last_one_of_each_runtime_is_kept(tmp_path):
    store = open_store(tmp_path / "state.db")
    probes.save(store, "a", KeptProbe(Probe("closed"), "/old"), NOW)
    probes.save(store, "a", KeptProbe(PROBE, "/new"), NOW)
    probes.save(store, "b", KeptProbe(Probe(), ""), NOW)

    found = probes.read_all(store)

    assert {"a", "b"} == set(found)
    assert (PROBE, "/new") == (found["a"].probe, found["a"].program)
    assert found["a"].at.startswith("2026-11-23T00:00:00")


def test_what_another_version_wrote_counts_as_nothing(tmp_path):
    store = open_store(tmp_path / "state.db")
    store.insert(RuntimeProbeRow, runtime_id="a", probed_at="x", summary="{}")
    store.insert(RuntimeProbeRow, runtime_id="b", probed_at="x", summary="nonsense")

    assert {} == probes.read_all(store)
