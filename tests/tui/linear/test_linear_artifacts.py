"""Artifacts in the linear face: listed, read, compared, saved and removed in plain lines."""

import pytest

from oulipoly_engine.clock import SystemClock
from oulipoly_engine.core.artifacts.addresses import Address, returns_of
from oulipoly_engine.core.artifacts.versions import NewVersion
from oulipoly_engine.core.runs.invocations import Outcome
from oulipoly_engine.service.artifacts.artifact_store import make_store
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.runs import invocations

SESSION, RUN = "11111111-1111-4111-8111-111111111111", "aaaaaaaa-0000-4000-8000-000000000000"
SECRET = "sk-ant-api03-" + "Ab1Cd2Ef3G" * 4


@pytest.fixture
def store(app_world):
    """A session whose run has returned two versions of a report, and the store that holds them."""
    clock, state = SystemClock(), open_store(app_world.data / "state.db")
    new = invocations.NewInvocation(RUN, "opus", "ada", 0, clock.now())
    outcome = Outcome(True, 0, clock.now(), session_id=SESSION, capture_method="json")
    invocations.end(state, invocations.begin(state, new), outcome)
    state.close()
    found, _ = make_store(app_world.data / "artifacts.db", clock)
    for number, says in ((5, "needs \x1b[31mwork"), (6, "good")):
        content = f"# Roof\n{number} nails\nkey {SECRET}\n".encode()
        found.put(NewVersion(Address(returns_of(RUN), "report.md"), RUN, "markdown", says), content)
    yield found
    found.file.close()


def test_artifacts_are_listed_read_compared_saved_and_removed(store, app_world, agents):
    file, way = app_world.home / "saved", ("List, read, change", "", "1", "Artifacts", "1")
    file.write_text("mine")
    wishes = (
        *(*way, "Read it", *way, "What differs from version 1"),
        *(*way, "Save it to a file", file, "n", file, "y", *way, "Remove it", "y"),
    )
    done = agents("--linear", stdin="".join(f"{line}\n" for line in ("Sessions", *wishes)).encode())
    text = done.stdout.decode()

    assert 0 == done.returncode, done.stderr.decode()
    assert "1. report.md version 2, Returned to the caller, 73 B, markdown, stored " in text
    assert "needs ␛[31mwork" in text
    assert "6 nails\n  key [redacted]" in text
    assert "  -5 nails\n  +6 nails" in text
    assert f"{file} stays as it is" in text
    assert "Removed." in text
    assert SECRET not in text
    assert SECRET in file.read_text()
    assert [1] == [one.number for one in store.file.versions()]
