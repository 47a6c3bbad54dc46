"""The quota file of a demo account, and the processes that share it."""

import json
import subprocess
import sys

import pytest

from oulipoly_demo.quota import levels
from oulipoly_demo.quota.meter import Meter, MeterBroken, Reading

NOW = 1_800_000_000.0
SPENDER = """
import sys
from pathlib import Path
from oulipoly_demo.quota.meter import Meter
meter = Meter(Path(sys.argv[1]), "claude")
for _ in range(25):
    meter.charge(7, 1800000000.0)
"""


@pytest.fixture
def meter(tmp_path):
    return Meter(tmp_path / "account", "claude")


def test_home_without_a_file_is_a_fresh_account(meter):
    assert levels.fresh("claude") == meter.read(NOW)
    assert not meter.home.exists()


def test_charge_is_there_for_the_next_reader(meter):
    meter.charge(500, NOW)

    assert 500 == meter.read(NOW)[0].spent


def test_cost_percent_of_nought_makes_prompts_free(meter):
    meter.save(Reading(levels.fresh("claude"), cost_percent=0))

    meter.charge(500, NOW)

    assert 0 == meter.read(NOW)[0].spent


def test_set_used_changes_one_kind_of_window(meter):
    meter.set_used(100, "long", NOW)

    assert [0.0, 100.0] == [levels.used_percent(tier) for tier in meter.read(NOW)]
    assert "long" == meter.blocking(NOW).kind


def test_damaged_file_is_named_with_the_way_out(meter):
    meter.home.mkdir()
    meter.path.write_text('{"tiers": [{}]}')

    with pytest.raises(MeterBroken, match=r"quota\.json is damaged .*delete it"):
        meter.read(NOW)


def test_eight_processes_lose_no_charge(meter):
    spenders = [subprocess.Popen([sys.executable, "-c", SPENDER, str(meter.home)]) for _ in range(8)]

    assert [0] * 8 == [spender.wait() for spender in spenders]
    assert 8 * 25 * 7 == meter.read(NOW)[0].spent
    assert ["quota.json", "quota.lock"] == sorted(path.name for path in meter.home.iterdir())


def test_file_says_that_it_is_a_demo(meter):
    meter.charge(1, NOW)

    assert json.loads(meter.path.read_text())["about"].startswith("demo")
