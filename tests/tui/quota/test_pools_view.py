"""The pools as rows: what stands there at which width, and what a member's state is called."""

import time
from datetime import UTC, datetime, timedelta

import pytest

from oulipoly_engine.core.accounts.accounts import Controls
from oulipoly_engine.core.checks.alerts import Alert, Severity
from oulipoly_engine.core.quota.windows import QuotaState, Window
from oulipoly_engine.core.runs.invocations import Outcome
from oulipoly_engine.records import replace
from oulipoly_engine.store.quota import controls, quotas
from oulipoly_engine.store.runs import invocations
from oulipoly_tui.keys import keymap
from oulipoly_tui.view.frame.problems import of_app, problem_lines
from oulipoly_tui.view.quota.pools import member_details, pool_rows
from oulipoly_tui.view.quota.why import why_lines
from oulipoly_tui.view.transcript.spans import cells, plain, wrap_lines

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _in_utc():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


@pytest.fixture
def crowd(empty_world):
    """A pool with a member in every state."""
    for name in ("ahead", "also", "behind", "drained", "disabled", "erring", "reserved", "spent", "unlearned"):
        empty_world.account(name, ("5h", 1, 1))
    empty_world.model("opus", "ahead", "also", "behind", "drained", "disabled", "erring", "reserved", "spent", "ghost")
    empty_world.model("solo", "unlearned")
    return empty_world


def _window(used, hours, delta=0.02, entries=2, label="5h"):
    return Window(0, used, NOW + timedelta(hours=hours), delta, entries, label)


def _fill(store):
    windows = {
        "ahead": _window(0.2, 4),
        "also": _window(0.3, 4),
        "behind": _window(0.8, 2),
        "drained": _window(0.1, 4),
        "disabled": _window(0.1, 4),
        "erring": _window(0.1, 4),
        "reserved": _window(0.6, 4),
        "spent": _window(1.0, 3),
        "unlearned": _window(0.4, 3, None, None),
        "ghost": _window(0.9, 1),
    }
    with store.write():
        for name, window in windows.items():
            quotas.save(store, QuotaState(name, (window,), NOW - timedelta(minutes=1)))
    controls.save(store, "drained", Controls(drained=True), NOW)
    controls.save(store, "disabled", Controls(disabled=True), NOW)
    controls.save(store, "reserved", Controls(reserve=0.5), NOW)
    for number in range(3):
        new = invocations.NewInvocation(f"00000000-0000-4000-8000-00000000000{number}", "opus", "erring", 5, NOW)
        row = invocations.begin(store, new)
        invocations.end(store, row, Outcome(False, 1, NOW - timedelta(minutes=1), "network"))


def _text(rows):
    return "\n".join(plain(row.line).rstrip() for row in rows)


@pytest.mark.parametrize("width", [34, 56, 76, 150])
def test_every_state_is_a_word_at_every_width(crowd, snapshot_of, check_golden, width):
    rows = pool_rows(snapshot_of(crowd, NOW, _fill), width)

    check_golden(f"pools-{width}", _text(rows))


def test_a_row_never_shows_less_than_name_and_state(crowd, snapshot_of):
    snapshot = snapshot_of(crowd, NOW, _fill)

    rows = {plain(row.line).split()[1]: plain(row.line) for row in pool_rows(snapshot, 30) if row.is_selectable}

    assert "drained" in rows["drained"].split()[2:]
    assert "disabled" in rows["disabled"].split()[2:]


def test_a_pane_of_32_columns_shows_whole_names_and_their_scores(empty_world, snapshot_of):
    def fill(store):
        with store.write():
            for name in ("demo-codex1", "demo-codex2"):
                quotas.save(store, QuotaState(name, (_window(0.2, 4),), NOW - timedelta(minutes=1)))

    def use(store):
        fill(store)
        invocations.begin(
            store, invocations.NewInvocation("10000000-0000-4000-8000-000000000000", "opus", "demo-codex2", 1, NOW)
        )

    for name in ("demo-codex1", "demo-codex2"):
        empty_world.account(name, ("5h", 1, 1))
    empty_world.model("opus", "demo-codex1", "demo-codex2")

    quiet, busy = (_text(pool_rows(snapshot_of(empty_world, NOW, one), 32)) for one in (fill, use))

    assert 2 == quiet.count(" 3.2")
    assert all(name in busy.split() for name in ("demo-codex1", "demo-codex2"))


@pytest.mark.parametrize("width", [14, 18, 24, 30, 34, 40])
def test_what_stands_behind_a_state_is_whole_or_left_out(crowd, snapshot_of, width):
    def fill(store):
        _fill(store)
        for number in range(2):
            new = invocations.NewInvocation(
                f"1000000{number}-0000-4000-8000-000000000000", "opus", ("ahead", "behind")[number], number, NOW
            )
            invocations.begin(store, new)

    rows = [plain(row.line) for row in pool_rows(snapshot_of(crowd, NOW, fill), width)][1:]

    assert all(cells(text) <= width for text in rows)
    assert all(text.split(" · ")[1:] in ([], ["in use by 1"]) for text in rows)


def test_in_use_is_said_with_a_count(crowd, snapshot_of):
    def fill(store):
        _fill(store)
        new = invocations.NewInvocation("10000000-0000-4000-8000-000000000000", "opus", "ahead", 0, NOW)
        invocations.begin(store, new)

    rows = pool_rows(snapshot_of(crowd, NOW, fill), 120)

    assert [True] == ["in use by 1" in plain(row.line) for row in rows if row.key == "opus\n0"]


def test_a_pin_is_marked_at_model_and_member(crowd, snapshot_of):
    snapshot = snapshot_of(crowd, NOW, _fill, pins={"opus": "behind"})

    lines = _text(pool_rows(snapshot, 120)).splitlines()

    assert "opus → behind pinned behind" in lines[1]
    assert lines[4].endswith("next (pinned)")


def test_a_pin_that_cannot_serve_is_what_is_said(crowd, snapshot_of):
    snapshot = snapshot_of(crowd, NOW, _fill, pins={"opus": "drained"})

    rows = _text(pool_rows(snapshot, 120))

    assert "drained is pinned for this app's next picks, and is drained" in snapshot.pools[0].decision.error
    assert "lower headroom" not in rows
    assert "not pinned" in rows


def test_a_failing_account_that_is_next_is_not_shown_as_sound(crowd, snapshot_of):
    snapshot = snapshot_of(crowd, NOW, _fill, pins={"opus": "erring"})

    assert "next (pinned), erring (3)" in _text(pool_rows(snapshot, 120))


def test_details_say_why_a_member_waits(crowd, snapshot_of, check_golden):
    snapshot = snapshot_of(crowd, NOW, _fill)

    text = "\n".join(plain(line) for index in (0, 2, 6) for line in member_details(snapshot, snapshot.pools[0], index))

    check_golden("pools-details", text)


def test_why_tells_of_every_member(crowd, snapshot_of):
    snapshot = snapshot_of(crowd, NOW, _fill)

    text = "\n".join(plain(line) for line in why_lines(snapshot, snapshot.pools[0]))

    assert all(member.account in text for member in snapshot.pools[0].model.members)
    assert "takes no new work" in text


def test_an_unlearned_account_has_no_binding_window(crowd, snapshot_of):
    row = next(plain(row.line) for row in pool_rows(snapshot_of(crowd, NOW, _fill), 150) if row.key == "solo\n0")

    assert " ? 5h " in row


def test_a_failed_try_is_said_at_the_account_and_in_its_pools(crowd, snapshot_of):
    def fill(store):
        _fill(store)
        with store.write():
            quotas.save_attempts(store, "also", quotas.Attempts(NOW, "the vendor said 500", 1))

    snapshot = snapshot_of(crowd, NOW, fill)
    row = next(plain(row.line) for row in pool_rows(snapshot, 150) if row.key == "opus\n1")
    details = [plain(line) for line in member_details(snapshot, snapshot.pools[0], 1)]
    failure = details.index("the vendor said 500")

    assert row.rstrip().endswith("· read failed")
    assert failure < next(place for place, line in enumerate(details) if "resets" in line)


def test_details_of_what_was_never_read_and_of_a_past_reset_are_sentences(crowd, snapshot_of):
    def fill(store):
        with store.write():
            quotas.save(store, QuotaState("ahead", (_window(0.2, -1),), NOW - timedelta(hours=2)))

    snapshot = snapshot_of(crowd, NOW, fill)
    shown = [plain(line) for index in (0, 1) for line in member_details(snapshot, snapshot.pools[0], index)]

    assert any(line.endswith("has reset") for line in shown)
    assert "never read" in shown


def test_a_mark_names_no_time_and_its_problem_goes_with_it(crowd, snapshot_of):
    def fill(store):
        _fill(store)
        new = invocations.NewInvocation("20000000-0000-4000-8000-000000000000", "opus", "ahead", 0, NOW)
        row = invocations.begin(store, new)
        invocations.end(store, row, Outcome(False, 1, NOW - timedelta(minutes=1), "quota_exhausted"))
        quotas.mark_exhausted(store, "ahead", NOW - timedelta(minutes=1))

    def refilled(store):
        quotas.clear_exhausted(store, ("ahead",))

    marked, cleared = snapshot_of(crowd, NOW, fill), snapshot_of(crowd, NOW, refilled)

    row = next(plain(row.line) for row in pool_rows(marked, 120) if row.key == "opus\n0")
    assert row.rstrip().endswith("exhausted until read again")
    assert ["ahead"] == [one.subject for one in marked.problems if "quota_exhausted" in one.text]
    assert [] == [one.subject for one in cleared.problems if "quota_exhausted" in one.text]


def test_every_time_is_the_user_s_own(crowd, snapshot_of):
    def fill(store):
        _fill(store)
        made = quotas.Attempts(NOW, "the vendor said 500", 3, NOW + timedelta(minutes=30))
        with store.write():
            quotas.save_attempts(store, "ahead", made)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        snapshot = snapshot_of(crowd, NOW, fill)
        found = of_app(snapshot, (), keymap.resolve("default", {}))

        details = "\n".join(plain(line) for line in member_details(snapshot, snapshot.pools[0], 7))
        assert "has exhausted its 5h window until Sat 00:00" in details
        assert ["left alone until Fri 21:30; press u on it in Pools to read it again at once"] == [
            one.fix for one in found if one.cause == "the vendor said 500"
        ]


def test_unknown_is_a_question_mark_never_zero(crowd, snapshot_of):
    rows = pool_rows(snapshot_of(crowd, NOW), 120)

    ahead = next(plain(row.line) for row in rows if row.key == "opus\n0")
    assert "?" in ahead
    assert " 0 %" not in ahead


BROKEN = Alert("state", "it is broken", fix="mend it", subject="here", severity=Severity.ERROR)
GONE = Alert("state", "it is gone", fix="mend it", severity=Severity.ERROR)


def test_problems_put_errors_first_each_with_its_fix(crowd, snapshot_of):
    snapshot = snapshot_of(crowd, NOW, _fill)
    broken = replace(snapshot, alerts=(*snapshot.alerts, BROKEN))

    problems = of_app(
        broken, (("worker failed: ValueError: 3", True),), keymap.resolve("default", {"pools.drian": "x"})
    )
    lines = [plain(line) for line in problem_lines(problems)]

    assert lines[0].startswith("✗ error")
    assert sum(line.startswith("  → ") for line in lines) == len(problems)
    assert any("'pools.drain'" in line for line in lines)


def test_a_lost_state_file_is_listed_once(crowd, snapshot_of):
    snapshot = replace(snapshot_of(crowd, NOW), store_failure="it is gone", alerts=(GONE,))
    failures = (("The list is as it was: it is gone", False), ("the disk is slow", False))

    problems = of_app(snapshot, failures, keymap.resolve("default", {}))

    assert ["it is gone", "the disk is slow"] == [one.cause for one in problems]


@pytest.mark.parametrize("width", [10, 17, 40])
def test_wrapping_loses_no_word_and_keeps_the_width(width):
    line = (("    several words of one line, ", ""), ("and a wide 日本語 word at its end", "dim"))

    found = wrap_lines((line,), width)

    assert "".join(plain(line).split()) == "".join("".join(plain(part) for part in found).split())
    assert all(cells(plain(part).rstrip()) <= width for part in found)


def test_a_pool_that_nobody_serves_names_no_way_of_choosing(crowd, snapshot_of):
    def fill(store):
        controls.save(store, "unlearned", Controls(disabled=True), NOW)

    heads = [plain(row.line) for row in pool_rows(snapshot_of(crowd, NOW, fill), 120) if not row.is_selectable]

    assert "solo → nobody" in heads
