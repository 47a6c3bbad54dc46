"""Sessions that work by themselves as rows of the Sessions pane."""

from datetime import UTC, datetime

import pytest

from oulipoly_engine.core.live.sessions import LiveSession
from oulipoly_engine.core.search.query import parse
from oulipoly_engine.core.sessions.facets import STATUSES
from oulipoly_engine.core.worktrees.changes import ChangeSet
from oulipoly_engine.core.worktrees.porcelain import ChangeEntry
from oulipoly_engine.core.worktrees.worktrees import Worktree
from oulipoly_engine.facade.live.standing import LiveStatus
from oulipoly_engine.facade.sessions.types import Board
from oulipoly_engine.web.pages.words import ORDER, standing_of
from oulipoly_tui.view.live.lists import session_rows, state_words
from oulipoly_tui.view.sessions.groups import Arrangement, Grouping, _repository
from oulipoly_tui.view.sessions.look import Look
from oulipoly_tui.view.sessions.sessions import Kind, SessionRows
from oulipoly_tui.view.transcript.spans import cells, plain
from oulipoly_tui.view.work.works import GitLook, choose_works, read_changes, work_fits

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)


def work(number, status="waiting_input", *, state="ready", branch="", title="", native=None, error="", **more):
    key = f"{number:08x}-0000-4000-8000-000000000000"
    session = LiveSession(
        key, "/r", "claude", "claude", "opus", NOW, NOW, title=title, native_id=native, status_reason=error
    )
    tree = Worktree(key, "/r", f"/r/t/{key}", branch or f"aw/{key}", "main", "c0ffee", state, NOW, NOW)
    more = {"rest_status": status, "pid": 7} | more
    return LiveStatus(session, status, worktree=tree if state else None, **more)


FEW = (
    work(1, "running", title="fix the gutter", busy=True),
    work(
        2,
        "running",
        title="paint \x1b[31mthe\x1b[0m roof, and everything that lies below it",
        pending_approval=True,
        busy=True,
    ),
    work(3, "closed", branch="feature/slates", pid=None),
    work(4, "failed", state="failed", title="mend", error="no room on the disk", pid=None),
    work(5, "queued", title="paint", waits_for="it waits for a free place: 2 of 2 sessions run", pid=None),
)
LOOKS = {
    FEW[0].session.session_id: GitLook(ahead=2, behind=1, changed=3),
    FEW[1].session.session_id: GitLook(ahead=0, behind=0, changed=1200, is_cut=True),
    FEW[2].session.session_id: GitLook(ahead=12),
}


def rows(width, works=FEW, **look):
    shown = Look(width, NOW, Grouping.WORKSPACE, works=choose_works(works), git_looks=LOOKS, **look)
    return SessionRows(Board(NOW, (), home="/home/ada", by_chain={}), Arrangement(), shown)


@pytest.mark.parametrize("width", [30, 60, 120])
def test_work_sessions_stand_above_all_others_as_in_the_goldens_and_never_wider(check_golden, width):
    drawn = [plain(row.line) for row in rows(width)]

    assert all(cells(line) <= width for line in drawn)
    check_golden(f"works-{width}", "\n".join(drawn))


def test_each_row_is_found_by_its_key_and_a_closed_heading_says_what_waits():
    found = rows(60)
    closed = [plain(row.line) for row in rows(60, closed={"k:"})]

    assert [*range(len(found))] == [found.place_of(row.key) for row in found]
    assert [Kind.WORKS, *[Kind.WORK] * len(FEW)] == [found.item(place).kind for place in range(len(found))]
    assert ["▸ Work sessions 5 1 waits for you"] == closed


def test_an_ended_session_is_listed_as_long_as_its_worktree_is_there():
    gone = work(6, "closed", state="removed", pid=None, native="n")
    bare = work(7, "closed", state="", pid=None, native="n")

    assert () == choose_works((gone, bare))
    assert 2 == len(choose_works((work(6, state="removed"), work(7, state=""))))


@pytest.mark.parametrize(
    ("one", "words"),
    [
        (work(1), "ready"),
        (work(1, "running", busy=True), "running"),
        (work(1, "running", busy=True, pending_approval=True), "waits for you"),
        (work(1, "recoverable", is_stale=True), "recoverable"),
        (work(1, "timed_out"), "timed out"),
    ],
    ids=["idle", "busy", "asks", "stale", "timed-out"],
)
def test_a_state_is_told_in_the_words_that_are_used_everywhere(one, words):
    assert words == state_words(one)[0]


@pytest.mark.parametrize("one", FEW)
def test_a_gap_stands_between_a_live_session_s_state_and_its_name(one):
    (row,) = session_rows([one], 60, NOW)

    assert plain(row.line).startswith(f"{state_words(one)[0]} ")


@pytest.mark.parametrize("status", STATUSES)
def test_app_and_pages_say_the_same_of_a_session(status):
    one = work(1, status, pid=None)

    assert (STATUSES[status],) * 2 == (state_words(one)[0], standing_of(one).word)
    assert standing_of(one).word in ORDER


@pytest.mark.parametrize(
    ("typed", "fits"),
    [
        ("gutter", True),
        ("running GUTTER", True),
        ("roof", False),
        ("-gutter", False),
        ("account:ada gutter", False),
        ("is:live is:work", True),
        ("is:waiting", False),
        ("-is:live", False),
        ("-is:pinned", False),
    ],
)
def test_the_filter_finds_a_session_by_its_words(typed, fits):
    assert fits == work_fits(FEW[0], parse(typed, NOW, lambda naive: naive.replace(tzinfo=UTC)))


def test_a_file_that_is_staged_and_changed_again_counts_once():
    entry = ChangeEntry("a", "M")
    found = read_changes(ChangeSet(True, ahead=1, staged=(entry,), unstaged=(entry, ChangeEntry("b", "?"))))

    assert GitLook(1, None, 2) == found
    assert "gone" == read_changes(ChangeSet(False, reason="gone")).reason


def test_a_session_of_a_worktree_stands_under_its_repository():
    assert "/r" == _repository("/r/.agent-runner-worktrees/1/sub")
    assert "/r/sub" == _repository("/r/sub")
