"""When a screen's process is taken for one that hangs."""

from functools import partial

import pytest

from oulipoly_engine.terminal.host.watchdog import EVERY_S, SlowOutput, Watchdog


def _pulse():
    return Watchdog(0.0, looping_s=3.0, silent_s=15.0)


def _looked_at(watchdog, instants, cpu_time_s=lambda now: 0.0):
    """Look at these instants and return the one at which it is taken for gone."""
    return next((now for now in instants if watchdog.hangs(now, partial(cpu_time_s, now))), None)


def _quarters(begin, end):
    return [begin + step / 4 for step in range(int((end - begin) * 4))]


def test_answers_are_asked_for_every_few_seconds():
    watchdog = _pulse()
    watchdog.take_answer(0.5)

    assert not watchdog.must_ask(0.4 + EVERY_S)
    assert watchdog.must_ask(0.5 + EVERY_S)
    assert not watchdog.must_ask(0.6 + EVERY_S)
    watchdog.take_answer(3.0)
    assert EVERY_S == watchdog.wait(3.0)


def test_one_that_works_without_an_answer_is_gone_by_the_time_that_it_has_spent():
    watchdog = _pulse()
    watchdog.take_answer(0.0)
    watchdog.must_ask(EVERY_S)

    assert 5.0 < _looked_at(watchdog, _quarters(EVERY_S, 30), cpu_time_s=lambda now: now) < 6.0


def test_starved_one_is_waited_for_longer():
    watchdog = _pulse()

    assert _looked_at(watchdog, _quarters(0, 14), cpu_time_s=lambda now: now / 10) is None
    watchdog.take_answer(14.0)
    assert _looked_at(watchdog, _quarters(14, 16)) is None


def test_one_that_sleeps_for_ever_is_gone_by_the_clock():
    assert 15.0 < _looked_at(_pulse(), _quarters(0, 30)) < 16.0


def test_time_in_which_we_were_stopped_ourselves_does_not_count():
    watchdog = _pulse()
    _looked_at(watchdog, _quarters(0, 2))

    assert _looked_at(watchdog, [1000.0, *_quarters(1000.25, 1010)]) is None


def test_where_nobody_tells_of_processor_time_the_clock_decides():
    assert 15.0 < _looked_at(_pulse(), _quarters(0, 30), cpu_time_s=lambda _: None) < 16.0


def test_flood_of_slow_output_is_told_once_a_minute():
    slow = SlowOutput()
    told = []
    for second in range(100):
        for _ in range(200):
            slow.add(0.005, 7)
        told += [second] if slow.must_tell(float(second)) else []

    assert [0, 60] == told


@pytest.mark.parametrize(("cpu_s", "size"), [(0.0001, 1), (0.01, 4096), (0.4, 7)], ids=["quick", "large", "once"])
def test_output_that_is_drawn_as_it_comes_is_no_flood(cpu_s, size):
    slow = SlowOutput()

    for at in range(0, 600, 10):
        slow.add(cpu_s, size)
        assert not slow.must_tell(float(at))
