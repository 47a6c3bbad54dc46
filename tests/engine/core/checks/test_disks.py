"""When a disk is nearly full, by bytes and by share, and what is said of it."""

import pytest

from oulipoly_engine.core.checks.alerts import Severity
from oulipoly_engine.core.checks.disks import SeenDisk, of_disk

MB, GB = 1 << 20, 1 << 30


@pytest.mark.parametrize(
    ("free", "size", "severity"),
    [
        (99 * MB, 500 * GB, Severity.ERROR),
        (99 * MB, 150 * MB, Severity.ERROR),
        (900 * MB, 500 * GB, Severity.WARNING),
        (900 * MB, 4 * GB, None),
        (3 * GB, 500 * GB, None),
        (0, 0, None),
    ],
    ids=["scarce", "scarce on a small one", "low", "few bytes, large share", "many bytes, small share", "not told"],
)
def test_a_disk_is_nearly_full_by_bytes_and_share(free, size, severity):
    alert = of_disk(SeenDisk("/home/ada", free, size))

    assert severity == (alert and alert.severity)


def test_how_much_is_left_is_said_in_plain_units():
    alert = of_disk(SeenDisk("/home/ada", 512_000_000, 40_000_000_000))

    assert "only 512 MB are free at /home/ada, 1.3 % of 40.0 GB" == alert.head


def test_it_is_told_anew_once_it_is_worse_but_not_with_each_byte():
    low, lower, scarce = (of_disk(SeenDisk("/", free, 500 * GB)) for free in (900 * MB, 800 * MB, 9 * MB))

    assert low.notice_id == lower.notice_id != scarce.notice_id
