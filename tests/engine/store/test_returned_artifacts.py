import json
from datetime import UTC, datetime

import pytest

from oulipoly_engine.core.artifacts.receipts import ReturnedArtifact
from oulipoly_engine.core.runs.trace import to_lines
from oulipoly_engine.errors import StoreUnusable
from oulipoly_engine.records import replace
from oulipoly_engine.service.runs.trace import Tracer
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.runs import artifacts, invocations

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
UUID = "0f0f0f0f-0000-4000-8000-000000000001"


def receipt(name="proposal.md", version=1, verdict="APPROVED: ready", source=None):
    return ReturnedArtifact(
        version_id=f"store://return/{UUID}/{name}/{version}",
        name=name,
        workflow_run_id=f"return:{UUID}",
        artifact_name=name,
        version=version,
        sha256="a" * 64,
        content_len=3,
        format_hint=None,
        verdict_line=verdict,
        source=source or {"kind": "inline_bytes"},
        returned_at=NOW,
    )


@pytest.fixture
def state(tmp_path):
    return tmp_path / "state.db"


@pytest.fixture
def store(state):
    made = open_store(state)
    yield made
    made.close()


@pytest.fixture
def run(store):
    new = invocations.NewInvocation(uuid=UUID, model="m", account="a", member_index=0, created_at=NOW)
    return invocations.begin(store, new)


def traced(store):
    return Tracer(store, dict, store.path.parent).trace(UUID)


def test_receipts_come_back_as_they_were_given_in_their_order(store, run):
    scratchpad = {"kind": "scratchpad", "name": "draft é", "version": 4}
    given = (receipt("z"), receipt("a", 2, None, scratchpad), receipt("m"))
    artifacts.record_returned(store, run, given)

    assert given == artifacts.find_returned_artifacts(store, run)
    assert () == artifacts.find_returned_artifacts(store, run + 1)


def test_receipts_replace_those_that_were_kept_before(store, run):
    artifacts.record_returned(store, run, [receipt("z"), receipt("y")])
    artifacts.record_returned(store, run, [receipt("y")])

    assert (receipt("y"),) == artifacts.find_returned_artifacts(store, run)


@pytest.mark.parametrize(
    "unfit",
    [[receipt(), receipt()], [receipt(), receipt("b", 0)], [receipt(), replace(receipt("b"), sha256="abc")]],
    ids=["the same version twice", "version 0", "no hash"],
)
def test_receipts_of_which_one_is_unfit_change_nothing(store, run, unfit):
    artifacts.record_returned(store, run, [receipt("z")])

    with pytest.raises(StoreUnusable):
        artifacts.record_returned(store, run, unfit)
    assert (receipt("z"),) == artifacts.find_returned_artifacts(store, run)


def test_receipts_of_an_unknown_invocation_are_refused(store):
    with pytest.raises(StoreUnusable):
        artifacts.record_returned(store, 7, [receipt()])


def test_text_shows_a_line_an_artifact_and_nothing_without_any(store, run):
    (alone,) = to_lines(traced(store), NOW)
    artifacts.record_returned(store, run, [receipt(), receipt("log", 3, None)])

    lines = list(to_lines(traced(store), NOW))

    mine = [f"  returned: proposal.md v1 {'a' * 64}  APPROVED: ready", f"  returned: log v3 {'a' * 64}"]
    assert [alone, *mine] == lines


def test_what_an_agent_says_of_an_artifact_stays_one_line_and_drives_no_terminal(store, run):
    artifacts.record_returned(store, run, [receipt(verdict="ok\x1b[2J\nfake line\r\x07")])

    (line,) = [text for text in to_lines(traced(store), NOW) if "returned" in text]

    assert line.isprintable()
    assert line.endswith("  ok fake line␍␇")


def test_trace_shows_receipts_in_their_invocation_and_no_key_without_any(agents, world):
    world.data.mkdir(parents=True)
    store = open_store(world.data / "state.db")
    new = invocations.NewInvocation(uuid=UUID, model="m", account="a", member_index=0, created_at=NOW)
    row = invocations.begin(store, new)
    before = json.loads(agents("trace", UUID, "--json").stdout)["root"]["invocation"]
    artifacts.record_returned(store, row, [receipt()])
    store.close()

    shown = json.loads(agents("trace", UUID, "--json").stdout)["root"]["invocation"]

    assert "returned_artifacts" not in before
    assert [
        {
            "version_id": f"store://return/{UUID}/proposal.md/1",
            "name": "proposal.md",
            "store_address": {"workflow_run_id": f"return:{UUID}", "artifact_name": "proposal.md", "version": 1},
            "sha256": "a" * 64,
            "content_len": 3,
            "format_hint": None,
            "verdict_line": "APPROVED: ready",
            "source": {"kind": "inline_bytes"},
            "producer_invocation_uuid": UUID,
            "returned_at": "2026-11-21T12:00:00.000000Z",
        }
    ] == shown["returned_artifacts"]
    assert f"returned: proposal.md v1 {'a' * 64}".encode() in agents("trace", UUID).stdout
