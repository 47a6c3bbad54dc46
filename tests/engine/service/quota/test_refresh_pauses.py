"""How long an account is left alone after failures."""

import pytest

from oulipoly_engine.service.quota.refresh import Kind

LIMITED = "echo 'my-usage: HTTP 429 from x{pause}' >&2; exit 4"
LONG = "head -c 400 /dev/zero | tr '\\0' x >&2; "


def pause_s(quota):
    return (quota.attempts("a").backoff_until - quota.clock.now()).total_seconds()


def test_the_pause_doubles_with_each_failure_up_to_a_quarter_of_an_hour(quota):
    quota.answers("a", "exit 1")
    pauses = []
    for _ in range(7):
        quota.refresh("a")
        pauses.append(pause_s(quota))
        quota.clock.advance(pauses[-1])

    assert [30, 60, 120, 240, 480, 900, 900] == pauses


def test_nobody_is_asked_during_the_pause(quota):
    quota.answers("a", "echo 'disk on fire' >&2; exit 1")
    quota.refresh("a")
    quota.clock.advance(29)
    result = quota.refresh("a")

    assert Kind.BACKING_OFF is result.kind
    assert "2026-11-20T12:00:30Z" in result.text
    assert "disk on fire" in result.text
    assert () == quota.refresher().refresh_stale(("a",), 30)
    assert 1 == quota.calls("a")


def test_success_ends_the_series(quota):
    quota.answers("a", "exit 1", "exit 1", quota.windows(3), "exit 1")
    for _ in range(3):
        quota.refresh("a", insist=True)

    assert (0, None, None) == (
        quota.attempts("a").failures_in_a_row,
        quota.attempts("a").backoff_until,
        quota.attempts("a").last_failure,
    )
    quota.refresh("a")
    assert 30 == pause_s(quota)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [("; retry-after 600", 600), ("; retry-after 5", 5), ("; retry-after 999999", 21_600)],
    ids=["minutes", "seconds", "wild"],
)
def test_a_vendors_retry_after_is_obeyed(quota, asked, expected):
    quota.answers("a", LIMITED.format(pause=asked))
    quota.refresh("a")

    assert expected == pause_s(quota)


@pytest.mark.parametrize("asked", ["", "; retry-after 0"])
def test_too_many_requests_without_a_pause_waits_longer_than_other_failures(quota, asked):
    quota.answers("a", LIMITED.format(pause=asked))
    quota.refresh("a")

    assert 120 == pause_s(quota)


def test_who_insists_reads_during_the_pause(quota):
    quota.answers("a", "exit 1", quota.windows(3))
    quota.refresh("a")

    assert Kind.UPDATED is quota.refresh("a", insist=True).kind


@pytest.mark.parametrize("words", ["", LONG], ids=["short", "behind a long text"])
def test_not_even_who_insists_asks_a_vendor_that_refused(quota, words):
    quota.answers("a", words + LIMITED.format(pause="; retry-after 600"))
    quota.refresh("a")
    quota.clock.advance(599)

    assert Kind.BACKING_OFF is quota.refresh("a", insist=True).kind
    quota.clock.advance(1)
    assert Kind.FAILED is quota.refresh("a", insist=True).kind


def test_a_pause_measured_on_another_clock_is_void(quota):
    quota.answers("a", "exit 1", quota.windows(3))
    quota.clock.jump(86_400)
    quota.refresh("a")
    quota.clock.jump(-86_400)

    assert Kind.UPDATED is quota.refresh("a").kind
