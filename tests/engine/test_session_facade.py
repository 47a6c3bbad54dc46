"""What every face is promised about sessions, whichever asks: what makes no state file, and what read-only refuses."""

import io
import json
from contextlib import ExitStack
from pathlib import Path

import pytest

from oulipoly_engine.core.search.query import Query
from oulipoly_engine.errors import RequestRefused, SessionNotFound
from oulipoly_engine.facade.engine import Engine, Surroundings
from oulipoly_engine.facade.sessions.values import CANONICAL, ExportOptions
from oulipoly_engine.paths import from_environment

SESSION = "5169694d-de0f-40d1-890c-6e28e55bab27"
NOWHERE = Path("/nowhere/bundle")


def lend(context):
    with ExitStack() as held:
        held.enter_context(context)


# What is asked and ordered about one session.
OF_ONE = {
    "find": lambda sessions: sessions.catalogue.find(SESSION),
    "locate": lambda sessions: sessions.locations.locate(SESSION),
    "deleted copy": lambda sessions: sessions.locations.deleted_copy(SESSION),
    "read": lambda sessions: lend(sessions.transcripts.open_stored(SESSION, with_side_chains=False)),
    "canonical lines": lambda sessions: lend(sessions.files.blocks(SESSION, ExportOptions(CANONICAL), is_exact=True)),
    "document": lambda sessions: sessions.files.document(SESSION),
    "plan of a move": lambda sessions: sessions.moves.plan(SESSION, "acc"),
    "plan of an import": lambda sessions: sessions.edits.plan(SESSION, io.BytesIO),
    "plan of an undo": lambda sessions: sessions.edits.plan_undo(SESSION),
    "history": lambda sessions: sessions.edits.history(SESSION),
}
ORDERS_OF_ONE = {
    "hold": lambda sessions: sessions.locations.hold(SESSION, 1_000),
    "release": lambda sessions: sessions.locations.release(SESSION, "pause_" + "0" * 32),
    "rename": lambda sessions: sessions.notes.rename(SESSION, "a name"),
    "annotate": lambda sessions: sessions.notes.annotate(SESSION, "a note"),
    "pin": lambda sessions: sessions.notes.pin([SESSION], on=True),
    "export": lambda sessions: sessions.files.export(SESSION, ExportOptions(), NOWHERE),
    "pack": lambda sessions: sessions.bundles.pack(SESSION, NOWHERE),
    "move": lambda sessions: sessions.moves.move(SESSION, "acc"),
    "replace": lambda sessions: sessions.edits.replace(SESSION, io.BytesIO),
    "draft": lambda sessions: sessions.edits.draft(SESSION),
    "undo": lambda sessions: sessions.edits.undo(SESSION),
}
ORDERS = ORDERS_OF_ONE | {
    "keep": lambda sessions: sessions.archive.keep([SESSION]),
    "keep all": lambda sessions: sessions.archive.keep_all(),
    "restore": lambda sessions: sessions.archive.restore(SESSION),
    "prune": lambda sessions: sessions.archive.prune(only_copies=False),
    "unpack": lambda sessions: sessions.bundles.unpack(NOWHERE),
    "scan": lambda sessions: sessions.scans.read_new(),
    "scan accounts": lambda sessions: sessions.scans.read_accounts(),
    "keep copies": lambda sessions: sessions.scans.keep_copies(),
}


@pytest.fixture
def sessions_of(home):
    """Return the facade's part for sessions, and close what it has opened."""
    with ExitStack() as held:

        def opened(**more):
            engine = Engine(Surroundings(paths=from_environment(), **more))
            held.callback(engine.close)
            return engine.sessions

        yield opened


@pytest.mark.rows_share_fixtures
@pytest.mark.parametrize("ask", [pytest.param(ask, id=name) for name, ask in (OF_ONE | ORDERS_OF_ONE).items()])
@pytest.mark.parametrize("checks_files", [False, True], ids=["app", "command"])
def test_nothing_about_one_session_makes_the_state_file(sessions_of, ask, checks_files):
    with pytest.raises(SessionNotFound) as refused:
        ask(sessions_of(checks_files=checks_files))

    assert SESSION in refused.value.message
    assert not from_environment().state_db.exists()


def test_a_list_and_a_search_without_a_state_file_find_nothing_and_make_none(sessions_of):
    sessions = sessions_of(checks_files=True)
    table, result = sessions.catalogue.table(Query()), sessions.catalogue.search_all(Query(), 10, width=80)

    assert ((), False) == (table.rows, table.has_state)
    assert () == result.found.hits
    assert sessions.transcripts.glance() is None
    assert not from_environment().state_db.exists()


@pytest.mark.rows_share_fixtures
@pytest.mark.parametrize("order", [pytest.param(order, id=name) for name, order in ORDERS.items()])
def test_read_only_refuses_every_order_before_anything_is_looked_at(sessions_of, order):
    with pytest.raises(RequestRefused, match="read-only"):
        order(sessions_of(read_only=True))

    assert not from_environment().state_db.exists()


@pytest.fixture
def talk(world, sessions_of):
    """One session of an account, read into the state file; its id."""
    root = world.home / "projects"
    (root / "-work").mkdir(parents=True)
    entry = {"sessionId": SESSION, "type": "user", "uuid": "u1", "timestamp": "2026-04-17T08:00:00Z"}
    (root / "-work" / f"{SESSION}.jsonl").write_text(json.dumps(entry | {"message": {"content": "hello"}}) + "\n")
    (world.config / "sessions.toml").write_text(f"[acc]\nturn_script = 'claude-code-turns {root}'\n")
    assert 1 == sessions_of().scans.read_new()
    return SESSION


def test_a_name_loses_its_control_characters_whoever_gives_it(sessions_of, talk):
    sessions = sessions_of()
    sessions.notes.rename(talk, "a\x1b[31m name\n")

    found = sessions.catalogue.find(talk[:8])
    assert found.name is not None
    assert found.name.isprintable()


def test_an_order_gives_back_what_was_before(sessions_of, talk):
    notes = sessions_of().notes

    assert [None, "one"] == [notes.rename(talk, "one"), notes.rename(talk, "two")]
    assert [None, "a"] == [notes.annotate(talk, "a"), notes.annotate(talk, "")]
    assert [True, False] == [bool(notes.pin([talk], on=True)), bool(notes.pin([talk], on=True))]


def test_of_two_sessions_one_of_which_is_unknown_none_is_pinned(sessions_of, talk):
    sessions = sessions_of()

    with pytest.raises(SessionNotFound):
        sessions.notes.pin([talk, "0" * 36], on=True)

    assert sessions.catalogue.find(talk).pinned_at is None


def test_a_broken_configuration_hides_no_session_from_a_command_and_is_told(sessions_of, talk, world):
    said = []
    (world.config / "providers.toml").write_text("[broken")
    table = sessions_of(checks_files=True, note=said.append).catalogue.table(Query())

    assert [talk] == [one.session.active.session_id for one in table.rows]
    assert ["Warning: "] == [text[:9] for text in said]
