"""A CLI whose runner was killed: it is listed as a problem, and ended after a question that names it."""

import subprocess
from datetime import UTC, datetime
from functools import partial

import pytest

from oulipoly_engine.clock import to_text
from oulipoly_engine.paths import from_environment
from oulipoly_engine.process.liveness import start_ticks
from oulipoly_engine.store.base.db import open_store

UUID = "1234abcd-0000-4000-8000-000000000000"
NOBODY = 2**22 + 1  # more than Linux ever gives


@pytest.fixture
def running(running):
    """Open the app with one pane."""
    return partial(running, panes=["pools"], reads_quota=False)


@pytest.fixture
def orphan(app_world):
    """A process whose row says that a runner which is gone has started it."""
    process = subprocess.Popen(["sleep", "300"], start_new_session=True)
    store = open_store(from_environment().state_db)
    with store.write():
        store.insert(
            "invocations",
            invocation_uuid=UUID,
            model_name="opus",
            provider_name="one",
            status="running",
            created_at=to_text(datetime.now(UTC)),
            owner_pid=NOBODY,
            child_pid=process.pid,
            child_ticks=start_ticks(process.pid),
        )
    store.close()
    yield process
    process.kill()
    process.wait()


async def test_it_is_told_and_ended(orphan, running, screen_text, settled):
    async with running((100, 40)) as (app, pilot):
        await settled(pilot, lambda: app.snapshot is not None and app.snapshot.orphans)
        assert [f"process {orphan.pid}" in one.text for one in app.snapshot.problems if one.kind == "run"] == [True]

        app.order("run end", ["1234abcd"])
        await settled(pilot, lambda: f"process {orphan.pid}" in "\n".join(screen_text(app)))
        assert orphan.poll() is None
        await pilot.press("y")
        await settled(pilot, lambda: orphan.poll() is not None)
        app.take_snapshot()
        await settled(pilot, lambda: not app.snapshot.orphans)


async def test_a_run_that_has_a_runner_is_left_alone(app_world, running, settled):
    async with running((100, 40)) as (app, pilot):
        app.order("run end", ["1234abcd"])
        await settled(pilot, lambda: any("1234abcd" in note.message for note in app._notifications))
