"""Scripts that misbehave: nothing wrong is stored, the last good state stays, and the message says what to do."""

import pytest

from oulipoly_engine.process.liveness import is_alive
from oulipoly_engine.service.quota.refresh import Kind

SECRET = "sk-ant-oat01-abcdefghijklmnopqrstuvwxyz"


def printed(percent, reset='"2026-11-21T19:00:00Z"'):
    """Return a shell body that prints one window of these JSON values."""
    return f'echo \'{{"windows": [{{"used_percent": {percent}, "resets_at": {reset}}}]}}\''


MISBEHAVIOUR = {
    "nothing": (":", "printed nothing"),
    "blank lines": ("echo; echo", "printed nothing"),
    "nothing but words on stderr": ("echo 'no login' >&2", "no login"),
    "rubbish": ("echo '<html>Bad gateway</html>'", "Bad gateway"),
    "bytes": (r"printf '\377\376\000'", "UTF-8"),
    "five megabytes": ("yes rubbish | head -c 5242880", "4 MiB"),
    "out of range": (printed(101), "101"),
    "negative": (printed(-1), "0..100"),
    "NaN": (printed("NaN"), "NaN"),
    "percent as text": (printed('"12"'), "used_percent"),
    "time without zone": (printed(10, '"2026-11-21T19:00:00"'), "zone"),
    "no time": (printed(10, "null"), "resets_at"),
    "one good and one bad window": (
        """echo '{"windows": [{"used_percent": 1, "resets_at": "2026-11-21T19:00:00Z"}, {"used_percent": 1}]}'""",
        "window 1",
    ),
    "good output and a bad end": (printed(10) + "; exit 3", "exit 3"),
    "unknown command": ("no-such-command-at-all", "exit 127"),
    "death by signal": ("kill -SEGV $$", "SIGSEGV"),
}


@pytest.fixture
def known(quota):
    """Return a bench whose account `a` has been read an hour ago."""

    def give(body, **more):
        quota.answers("a", quota.windows(30), body, **more)
        quota.refresh("a")
        quota.clock.advance(3600)
        return quota

    return give


@pytest.mark.parametrize(("body", "mention"), MISBEHAVIOUR.values(), ids=MISBEHAVIOUR.keys())
def test_a_failed_reading_leaves_the_last_good_state_and_says_what_to_do(known, body, mention):
    quota = known(body)
    before, history = quota.state("a"), quota.history("a")
    result = quota.refresh("a")

    assert (Kind.FAILED, ()) == (result.kind, result.windows)
    assert mention in result.text
    assert "script-a" in result.text
    assert "providers.toml" in result.text
    assert (before, history) == (quota.state("a"), quota.history("a"))
    assert (result.text, 1) == (quota.attempts("a").last_failure, quota.attempts("a").failures_in_a_row)


@pytest.mark.parametrize(("body", "mention"), MISBEHAVIOUR.values(), ids=MISBEHAVIOUR.keys())
def test_a_message_stays_short_and_on_one_line(quota, body, mention):
    quota.answers("a", body)
    text = quota.refresh("a").text

    assert mention in text
    assert len(text) < 1200
    assert text.isprintable()


def test_a_reset_in_the_past_is_accepted(quota):
    quota.answers("a", quota.windows(30, hours=-2))

    assert Kind.UPDATED is quota.refresh("a").kind
    assert 0.3 == quota.state("a").windows[0].used


def test_a_script_beyond_its_time_is_ended_with_all_that_it_started(known, tmp_path):
    pids = tmp_path / "pids"
    quota = known(f"sleep 60 & echo $! > {pids}; wait")
    quota.timeout_s = 1.5  # long enough to start its child on a busy machine
    result = quota.refresh("a")

    assert Kind.FAILED is result.kind
    assert "timed out after 1.5 s" in result.text
    assert 0.3 == quota.state("a").windows[0].used
    assert not is_alive(int(pids.read_text()))


def test_a_script_that_answers_and_leaves_a_child_behind_is_read_at_once(quota, tmp_path):
    pids = tmp_path / "pids"
    quota.answers("a", f"sleep 600 & echo $! > {pids}; {quota.windows(30)}")

    assert Kind.UPDATED is quota.refresh("a").kind  # to wait for the child were to time out
    assert not is_alive(int(pids.read_text()))


@pytest.mark.parametrize(
    "body",
    [f"echo 'Authorization: Bearer {SECRET}' >&2; exit 1", f"echo 'token {SECRET}'; exit 1", f"echo '{{{SECRET}'"],
    ids=["on stderr", "on stdout", "in what is not JSON"],
)
def test_a_secret_that_a_script_prints_is_neither_shown_nor_stored(quota, body):
    quota.answers("a", body)
    text = quota.refresh("a").text

    assert "[redacted]" in text
    assert "abcdefghijkl" not in text + quota.attempts("a").last_failure


def test_a_secret_in_the_command_itself_is_not_shown(quota):
    quota.account("a", quota_script=f"my-usage --token {SECRET}")

    assert "abcdefghijkl" not in quota.refresh("a").text
    assert "my-usage" in quota.refresh("a", insist=True).text


def test_one_account_that_fails_hides_no_other(quota):
    quota.answers("bad", "exit 1")
    quota.answers("good", quota.windows(30))

    assert [Kind.FAILED, Kind.UPDATED] == [result.kind for result in quota.refresh("bad", "good")]


def test_a_lock_folder_that_cannot_be_made_is_a_failure_of_the_account_and_no_crash(quota):
    quota.answers("a", quota.windows(30))
    (quota.folder / "locks").write_text("")
    result = quota.refresh("a")

    assert Kind.FAILED is result.kind
    assert str(quota.folder / "locks") in result.text
