"""What a container of an agent is made of (vectors 9, 20), and what is said of it."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oulipoly_engine.core.agents.containers import (
    ContainerOrder,
    ContainerPlan,
    Frames,
    describe_container,
    explain_end,
    list_binds,
)
from oulipoly_engine.core.agents.limits import AgentLimits, check_limits, parse_limits
from oulipoly_engine.core.agents.mounts import Mount
from oulipoly_engine.errors import UsageInvalid

FRAMES = ((1, b"to stdout"), (2, b"to stderr"), (0, b"of no stream"), (1, b" more"))
WIRE = b"".join(bytes((stream, 0, 0, 0)) + len(data).to_bytes(4, "big") + data for stream, data in FRAMES)
LIMITS = AgentLimits(memory_bytes=64 << 20, processes=20, cpus=0.5)
ORDER = ContainerOrder(ContainerPlan("unix:///d", "busy:1", LIMITS), "a", "7:8", "/workspace", (), job_id="exec_1")


@given(st.lists(st.integers(0, len(WIRE)), max_size=6))
def test_output_is_taken_apart_however_it_comes(cuts):
    ends = [0, *sorted(cuts), len(WIRE)]
    frames = Frames()
    parts = [frame for begin, end in itertools.pairwise(ends) for frame in frames.feed(WIRE[begin:end])]

    assert b"".join(data for stream, data in parts if stream == 1) == b"to stdout more"
    assert b"".join(data for stream, data in parts if stream == 2) == b"to stderr"
    assert {stream for stream, _ in parts} == {1, 2}


def test_tool_gets_its_stdin_its_limits_and_no_rights():
    document = describe_container(ORDER, ("/opt/bins/jq/jq", "."), {"A": "b"})
    host = document["HostConfig"]

    assert (document["Entrypoint"], document["Cmd"], document["Env"]) == (["/opt/bins/jq/jq"], ["."], ["A=b"])
    assert document["Labels"] == {
        "io.openotters.agent": "true",
        "io.openotters.agent-id": "a",
        "io.openotters.async-job-id": "exec_1",
    }
    assert document["OpenStdin"] is document["StdinOnce"] is True
    assert (host["CapDrop"], host["SecurityOpt"]) == (["ALL"], ["no-new-privileges"])
    assert (host["Memory"], host["MemorySwap"], host["PidsLimit"], host["NanoCpus"]) == (
        64 << 20,
        64 << 20,
        20,
        500_000_000,
    )
    assert "PortBindings" not in host


def test_own_runtime_has_its_root_elsewhere_and_each_tool_a_folder():
    mounts = (Mount("/h", "/data", "", True),)
    own = list_binds("/agents/1", has_own_runtime=True, tools=["jq"], mounts=mounts)
    of_cli = list_binds("/agents/1", has_own_runtime=False, tools=["jq"], mounts=())
    read_only = {bind.target: bind.source for bind in own if bind.is_read_only}

    assert read_only == {
        "/agent/etc": "/agents/1/etc",
        "/opt/runtime/runtime": "/agents/1/usr/local/bin/runtime",
        "/opt/bins/jq/jq": "/agents/1/usr/bin/jq",
        "/data": "/h",
    }
    assert "/workspace" in {bind.target for bind in own if not bind.is_read_only}
    assert {bind.target for bind in of_cli if not bind.is_read_only} == {
        f"/agents/1/{name}" for name in ("workspace", "tmp", "home", "var")
    }


@pytest.mark.parametrize("target", ["/agent", "/agent/x", "/opt/bins/jq", "/proc/self"])
def test_mount_over_what_is_ours_is_refused(target):
    with pytest.raises(UsageInvalid, match="choose a folder such as /data"):
        list_binds("/a", has_own_runtime=True, tools=(), mounts=(Mount("/h", target),))


def test_limits_are_read_and_rubbish_is_refused():
    assert parse_limits([("memory", "64M"), ("processes", "20"), ("cpus", "0.5")]) == LIMITS
    for pair in (("memory", "1k"), ("memory", "x"), ("processes", "0"), ("cpus", "0"), ("cpus", "-1"), ("disk", "1")):
        with pytest.raises(UsageInvalid, match="--limit"):
            parse_limits([pair])


def test_limits_that_an_isolation_cannot_hold_are_refused():
    check_limits(LIMITS, "container")
    for limits, isolation in ((LIMITS, "guarded"), (AgentLimits(file_bytes=4096), "container")):
        with pytest.raises(UsageInvalid, match="hold"):
            check_limits(limits, isolation)


def test_what_was_killed_for_its_memory_is_said_to_be():
    assert "limit of 64 MB" in explain_end({"OOMKilled": True}, LIMITS)
    assert explain_end({"OOMKilled": False}, LIMITS) == ""
