"""The list of every kind: a session that is recorded, live and work is one row, and one that has no id yet is a row."""

import fcntl
import json
from datetime import UTC, datetime

import pytest

from oulipoly_engine.core.live.events import Prompt
from oulipoly_engine.core.live.sessions import LiveRequest, LiveSession, QueuedMessage, SessionOptions, Turn
from oulipoly_engine.core.runs.invocations import Outcome
from oulipoly_engine.core.search.query import Query, parse
from oulipoly_engine.core.sessions.facets import LIVE_KINDS
from oulipoly_engine.paths import Paths
from oulipoly_engine.records import replace
from oulipoly_engine.service.interactive.terminals import to_json
from oulipoly_engine.service.sessions.board import Boards
from oulipoly_engine.service.sessions.catalogue import Catalogue, Kinds
from oulipoly_engine.service.sessions.locate import Locator
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.live import live_queue, live_requests, live_sessions
from oulipoly_engine.store.models.sessions import FactsRow
from oulipoly_engine.store.runs import invocations
from oulipoly_engine.store.runs.invocations import NewInvocation
from oulipoly_engine.store.sessions import chains
from oulipoly_engine.terminal.host.runtime_folder import Terminal

AT = datetime(2026, 11, 22, 12, tzinfo=UTC)
EARLIER = datetime(2026, 11, 2, 12, tzinfo=UTC)


class Home:
    """A state file with sessions, and folders in which hosts say what they hold."""

    def __init__(self, folder):
        self.paths = Paths(folder / "config", folder / "data", folder)
        self.store = open_store(folder / "state.db")
        self.locks = []

    def record(self, name):
        """Record a session of a CLI; its chain has this name where a live session has, as it has in the state file."""
        at = "2026-11-01T00:00:00Z"
        with self.store.write():
            chains.insert(self.store, "ada", f"{name}-cli", "opus", started_at=at, last_used_at=at, reason="initial")

    def fail(self, name):
        new = NewInvocation(f"u-{name}", "opus", "ada", 0, EARLIER, session_id=f"{name}-cli")
        invocations.end(self.store, invocations.begin(self.store, new), Outcome(False, 1, EARLIER))

    def begin(self, name, *, is_recorded=True, is_work=False, **more):
        options = SessionOptions(log=is_work)
        native_id = f"{name}-cli" if is_recorded else None
        session = LiveSession(name, "/w", "run", "acp", "opus", AT, AT, "ada", native_id, options, title=name, **more)
        live_sessions.insert(self.store, session)
        if is_recorded:
            self.record(name)

    def work(self, name, status="running"):
        live_sessions.insert_turn(self.store, Turn(f"t-{name}", name, "user", status, "do it", "", AT))

    def ask(self, name):
        request = LiveRequest(f"r-{name}", name, f"t-{name}", "1", "command", "pending", Prompt("run it"), AT)
        live_requests.insert(self.store, request)

    def host(self, folder, identity, **told):
        """Let a host live that holds a session."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = (folder / f"{identity}.lock").open("w")
        fcntl.flock(lock, fcntl.LOCK_EX)
        self.locks.append(lock)
        description = {"id": identity, "started_at": "2026-11-22T12:00:00Z", **told}
        (folder / f"{identity}.json").write_text(json.dumps(description))

    def list(self, text="", limit=50, **more):
        query = parse(text, AT, lambda naive: naive.replace(tzinfo=UTC)) if text else Query()
        catalogue = Catalogue(self.store, Kinds({}, {}), None, self.paths)
        return catalogue.list(query, limit=limit, **more)

    def standing(self, text="", limit=50):
        rows = self.list(text, limit).rows
        return {name_of(row): (str(row.facets.kind), row.facets.status) for row in rows}


def name_of(row):
    return row.session.active.session_id.removesuffix("-cli") or row.session.chain_id


@pytest.fixture
def home(tmp_path):
    home = Home(tmp_path)
    home.record("plain")
    home.record("broke")
    home.fail("broke")
    home.begin("talks", generation=1)
    home.begin("works", is_work=True, generation=1)
    home.begin("ended", is_work=True, generation=1, status="closed")
    home.begin("queued", is_recorded=False, is_work=True)
    home.begin("starts", is_recorded=False)
    home.begin("lost", generation=1)
    home.begin("reopened", generation=1, status="closed")
    for name in ("talks", "works", "lost"):
        home.work(name)
        home.ask(name)
    live_sessions.update(home.store, "ended", AT, ended="failed", closed_at=AT)
    live_queue.append(home.store, QueuedMessage("m", "queued", "begin", "queued", AT))
    home.host(home.paths.live_runtime, "aaaaaaaaaaaa", session_id="talks")
    home.host(home.paths.live_runtime, "bbbbbbbbbbbb", session_id="works")
    home.host(home.paths.live_runtime, "cccccccccccc", session_id="starts")
    home.host(home.paths.runtime, "dddddd", session_id="plain-cli", account="ada")
    home.host(home.paths.runtime, "eeeeee", session_id="reopened-cli", account="ada")
    yield home
    for lock in home.locks:
        lock.close()
    home.store.close()


def test_what_is_recorded_and_live_and_work_is_one_row_of_its_strongest_kind(home):
    assert {
        "plain": ("terminal", "running"),
        "broke": ("recorded", "failed"),
        "talks": ("live", "running"),
        "works": ("work", "running"),
        "ended": ("work", "failed"),
        "queued": ("work", "queued"),
        "starts": ("live", "waiting_input"),
        "lost": ("live", "recoverable"),
        "reopened": ("live", "running"),
    } == home.standing()
    assert home.standing() == home.standing(limit=None)


def test_a_cli_in_a_terminal_is_in_the_list_before_it_has_written_anything(home):
    home.host(home.paths.runtime, "abcdef", account="ada", label="opus in /w", cwd="/w")
    home.host(home.paths.runtime, "abcde0", account="ada", session_id="new-cli", model="opus")
    home.host(home.paths.runtime, "abcde1", label="htop")  # no session of anybody's
    terminals = home.list(kinds=["terminal"]).rows

    assert {"plain", "abcdef", "new"} == {name_of(row) for row in terminals}
    assert {("terminal", "running")} == {(str(row.facets.kind), row.facets.status) for row in terminals}
    assert {"abcdef", "new", "plain"} < {name_of(row) for row in home.list("is:live").rows}
    home.record("new")
    assert {"plain", "abcdef", "new"} == {name_of(row) for row in home.list(kinds=["terminal"]).rows}


@pytest.mark.parametrize(
    ("cwd", "at", "terminals"),
    [
        ("/w", "2026-11-22T12:00:01Z", {"plain", "begun"}),
        ("/w", "2026-11-22T11:59:59Z", {"plain", "abcdef"}),
        ("/elsewhere", "2026-11-22T12:00:01Z", {"plain", "abcdef"}),
    ],
    ids=["begun in it", "an earlier one", "one of another folder"],
)
def test_a_cli_that_tells_its_terminal_no_id_is_one_row_with_the_session_that_it_begins(home, cwd, at, terminals):
    home.host(home.paths.runtime, "abcdef", account="ada", label="opus in /w", cwd="/w")
    home.record("begun")
    numbers = dict.fromkeys(("entries", "described_entries"), 1)
    with home.store.write():
        home.store.insert(
            FactsRow,
            account="ada",
            session_id="begun-cli",
            first_entry_at=at,
            last_entry_at=at,
            cwd=cwd,
            **numbers,
            assistant_entries=0,
            sidechain_entries=0,
            side_chains=0,
        )

    assert terminals == {name_of(row) for row in home.list(kinds=["terminal"]).rows}


@pytest.mark.parametrize(("account", "rows"), [("ada", 1), ("bob", 2), (None, 1)], ids=["its own", "another", "none"])
def test_a_live_session_is_recorded_where_its_account_is_and_without_one_on_any(home, account, rows):
    opened = LiveSession("n", "/w", "run", "acp", "opus", AT, AT, account, "new-cli", title="new")
    live_sessions.insert(home.store, opened)
    home.record("new")

    assert rows == [name_of(row) for row in home.list().rows].count("new")
    assert rows == home.list().total - 9


@pytest.mark.parametrize("session_id", ["talks-cli", "talks"])
def test_a_terminal_is_no_row_of_its_own_under_any_id_of_a_recorded_session(home, session_id):
    home.host(home.paths.runtime, "abcdef", account="ada", session_id=session_id)

    assert 9 == home.list().total


def test_the_list_of_live_sessions_is_this_list_with_a_filter(home):
    begun = {"talks", "works", "ended", "queued", "starts", "lost", "reopened"}
    listing = home.list(kinds=LIVE_KINDS)
    waiting = home.list("is:waiting", kinds=LIVE_KINDS)

    assert (begun, len(begun)) == ({row.facets.live_id for row in listing.rows}, listing.total)
    assert {"talks", "works"} == {row.facets.live_id for row in waiting.rows}
    assert ([], 2) == ([row for row in listing.rows if name_of(row) != row.facets.live_id], waiting.total)


def test_the_board_of_the_app_has_what_the_list_has_and_learns_of_what_is_begun(home):
    def read(before=None):
        return boards.read(AT, before)

    locator = Locator({}, {}, home.paths.data, home.paths.home, {})
    boards = Boards(home.store, Catalogue(home.store, Kinds({}, {}), None, home.paths), locator)
    board = read()
    is_kept = read(board) is board
    home.begin("new", is_recorded=False)
    home.host(home.paths.runtime, "abcdef", account="ada", label="opus in /w", cwd="/w")
    later = read(board)

    assert is_kept
    assert {name_of(row) for row in home.list().rows} == {name_of(row) for row in later.rows}
    assert {"new", "abcdef"} == {name_of(row) for row in later.rows} - {name_of(row) for row in board.rows}
    assert ("work", "queued") == (board.facets["queued"].kind, board.facets["queued"].status)


@pytest.mark.rows_share_fixtures
@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("is:live", {"plain", "talks", "works", "starts", "reopened"}),
        ("is:waiting", {"talks", "works"}),
        ("is:work", {"works", "ended", "queued"}),
        ("is:work -is:live", {"ended", "queued"}),
        ("is:work -is:waiting is:live", set()),
        ("queued is:work", {"queued"}),
        ("is:failed", {"broke", "ended"}),
    ],
)
def test_facets_are_filters(home, text, names):
    found = home.list(text, limit=1)

    assert names == set(home.standing(text))
    assert (len(names), min(len(names), 1)) == (found.total, len(found.rows))


def test_one_that_has_no_id_of_its_cli_is_counted_and_has_its_own_place(home):
    found = home.list(limit=2)

    assert (9, 2) == (found.total, len(found.rows))
    assert {"queued", "starts"} == {row.session.title for row in found.rows}
    assert [""] == [row.session.active.session_id for row in home.list("queued").rows]


def test_a_value_that_cannot_be_costs_its_live_session_and_not_the_list(home):
    for name, change in {"works": "generation = 'x'", "talks": "opening = '{'", "queued": "created_at = x'00'"}.items():
        with home.store.write():
            home.store.execute(f"UPDATE live_sessions SET {change} WHERE session_id = ?", (name,))
    standing = home.standing()

    assert [("recorded", "closed"), ("live", "running")] == [standing["works"], standing["talks"]]
    assert "queued" not in standing


def test_a_terminal_is_told_in_the_words_of_the_list():
    terminal = Terminal("abcdef", "htop", "/w", 1, 2, "2026-11-22T12:00:00Z")
    told = [to_json(one) for one in (terminal, replace(terminal, exit_code=1))]

    assert [("running", "terminal", "running"), ("ended", "terminal", "closed")] == [
        (one["state"], one["kind"], one["status"]) for one in told
    ]
