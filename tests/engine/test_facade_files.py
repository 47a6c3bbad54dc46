"""How the facade reads the configuration: a command ends at what is broken, what stays open goes on."""

import subprocess
import sys
import threading
import time

import pytest

from oulipoly_engine.clock import SystemClock
from oulipoly_engine.errors import ConfigInvalid
from oulipoly_engine.facade.base.home import made_once
from oulipoly_engine.facade.engine import Engine, Surroundings
from oulipoly_engine.facade.runs import detached
from oulipoly_engine.service.interactive import terminal_host


def test_a_broken_file_ends_a_command(world):
    (world.config / "providers.toml").write_text("ada = 3\n")

    with pytest.raises(ConfigInvalid):
        Engine(Surroundings(checks_files=True)).accounts.states()


def test_a_broken_file_is_a_problem_to_show_for_what_stays_open(world):
    (world.config / "providers.toml").write_text("ada = 3\n")
    engine = Engine(Surroundings())

    assert () == engine.accounts.states()
    assert ["providers.toml"] == [problem.file.name for problem in engine.configuration.read_configuration().problems]


def test_a_warning_is_shown_once_however_often_its_file_is_read(world):
    (world.config / "config.toml").write_text("no_such_key = 1\n")
    shown = []
    engine = Engine(Surroundings(checks_files=True, note=shown.append))

    engine.interactive.default_account()
    engine.interactive.default_account()

    assert 1 == len(shown)
    assert "no_such_key" in shown[0]


def test_what_stays_open_shows_no_warnings_beside_its_screen(world):
    (world.config / "config.toml").write_text("no_such_key = 1\n")
    shown = []

    Engine(Surroundings(note=shown.append)).interactive.default_account()

    assert [] == shown


@pytest.mark.parametrize("name", ["ended", "look", "after"])
def test_a_host_of_the_version_before_the_facade_finds_what_records_its_end(name):
    found = terminal_host._import_later(f"oulipoly_engine.service.detached:{name}")()

    assert found is getattr(detached, name)


def test_a_host_of_that_version_gets_what_records_its_end_past_its_own_modules():
    script = """
import sys, types

former = {name: types.ModuleType("oulipoly_engine." + name) for name in ("terminal.host", "paths", "process.command")}
sys.modules |= {module.__name__: module for module in former.values()}
from oulipoly_engine.service.detached import ended
print(ended.__module__, sys.modules["oulipoly_engine.terminal.host"] is former["terminal.host"])
"""

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)

    assert ("oulipoly_engine.facade.runs.detached False\n", "") == (done.stdout, done.stderr)


def test_a_part_is_made_once_however_many_threads_ask():
    class Owner:
        making = threading.RLock()

        @made_once
        def part(self):
            time.sleep(0.01)  # long enough for every thread to come meanwhile
            return object()

    owner, found = Owner(), []
    threads = [threading.Thread(target=lambda: found.append(owner.part)) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()

    assert 8 == len(found)
    assert 1 == len(set(found))


def test_a_part_is_at_hand_while_a_snapshot_is_being_taken(world):
    class Waiting(SystemClock):
        asked, goes_on = threading.Event(), threading.Event()

        def now(self):
            self.asked.set()
            assert self.goes_on.wait(60)
            return super().now()

    clock, found = Waiting(), []
    engine = Engine(Surroundings(clock=clock))
    taking = threading.Thread(target=engine.snapshot)
    taking.start()
    assert clock.asked.wait(60)
    asking = threading.Thread(target=lambda: found.append(engine.quota), daemon=True)
    asking.start()
    asking.join(60)
    clock.goes_on.set()
    taking.join()

    assert 1 == len(found)
