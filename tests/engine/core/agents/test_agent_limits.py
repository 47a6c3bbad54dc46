"""What `--limit` says, and which limit has ended a program."""

import pytest

from oulipoly_engine.core.agents.limits import (
    AgentLimits,
    Refusals,
    box_limits,
    check_limits,
    explain_end,
    parse_limits,
)
from oulipoly_engine.core.boxes.box import Limits
from oulipoly_engine.errors import UsageInvalid

ALL = AgentLimits(memory_bytes=64 << 20, processes=8, processor_s=30, file_bytes=2 << 10, time_s=600)


def test_limits_are_read_with_their_units():
    pairs = [("memory", "64M"), ("processes", "8"), ("processor", "30s"), ("files", "2kb"), ("time", "10m")]

    assert parse_limits(pairs) == ALL
    assert box_limits(ALL) == Limits(data_bytes=64 << 20, processes=8, processor_s=30, file_bytes=2 << 10)
    assert box_limits(AgentLimits()) == Limits()
    disk = parse_limits([("disk", "4m")])
    assert box_limits(disk) == Limits(file_bytes=4 << 20, tree_bytes=4 << 20)
    assert box_limits(parse_limits([("disk", "4m"), ("files", "1m")])).file_bytes == 1 << 20
    with pytest.raises(UsageInvalid, match="of a container cpus"):
        check_limits(disk, "container")


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("memory", "5m", "6 MB at least"),
        ("memory", "-1", "a size such as 512m"),
        ("files", "99999999999g", "a size such as"),
        ("processes", "0", "--limit takes memory="),
        ("processor", "0s", "a time such as 30s"),
        ("time", "٣m", "a time such as 30s"),
        ("cpus", "0", "--limit takes memory="),
        ("disk", "1k", "1 MB at least"),
        ("network", "1g", "not network=1g"),
    ],
)
def test_limit_that_is_none_is_refused(name, text, words):
    with pytest.raises(UsageInvalid, match=words):
        parse_limits([(name, text)])


@pytest.mark.parametrize(
    ("exit_code", "stderr", "words"),
    [
        (152, b"", "more processor time than its limit of 30 s"),
        (153, b"", "a longer file than its limit of 2 kB"),
        (1, b"head: File too large", "a longer file"),
        (1, b"MemoryError", "no more memory: its limit is 64 MB"),
        (2, b"sh: 1: Cannot fork", "no more processes: its limit is 8"),
        (0, b"MemoryError", ""),
        (1, b"no such file", ""),
    ],
)
def test_end_says_which_limit_was_met(exit_code, stderr, words):
    limits = box_limits(ALL)

    assert words in explain_end(limits, exit_code, stderr)
    assert not explain_end(Limits(), exit_code, stderr)
    assert bool(words) == bool(explain_end(limits, exit_code, stderr))


@pytest.mark.parametrize(
    ("exit_code", "refusals", "words"),
    [
        (137, Refusals(memory=1), "more memory than its limit: 64 MB for all its processes"),
        (2, Refusals(processes=3), "no more processes: its limit is 8"),
        (0, Refusals(1, 1), ""),
        (137, Refusals(), ""),
    ],
)
def test_end_says_what_its_control_group_has_refused(exit_code, refusals, words):
    said = explain_end(box_limits(ALL), exit_code, b"", refusals)

    assert words in said
    assert bool(words) == bool(said)
