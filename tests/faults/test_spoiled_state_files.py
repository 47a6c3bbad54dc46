"""State files spoiled at random: every question is answered, or an error names the way out; never a traceback."""

import os
import random
import sqlite3
from contextlib import closing, nullcontext
from datetime import timedelta

import pytest

from oulipoly_engine.core.ledger.report import Grouping
from oulipoly_engine.errors import RunnerError, SchemaIncompatible, StoreDamaged
from oulipoly_engine.facade.engine import Engine
from oulipoly_engine.service.ledger.report import Question

A_TEST = 16  # files; SPOILED_FILES=300 tries more
TESTS = range(-(-int(os.environ.get("SPOILED_FILES", A_TEST)) // A_TEST))
PAGE = 4096


def spoil(raw, chance):
    """Return a file with a few bytes, a page or a name changed, cut, or with pages in each other's places."""
    bad, pages = bytearray(raw), len(raw) // PAGE
    one, other = (PAGE * chance.randrange(pages) for _ in range(2))
    match chance.choice(("bytes", "name", "header", "page", "empty", "swap", "cut")):
        case "bytes":
            for _ in range(chance.choice((1, 20, 200))):
                bad[chance.randrange(len(bad))] = chance.randrange(256)
        case "name":
            bad[bad.index(chance.choice((b"CREATE TABLE ", b"CREATE INDEX "))) + 13 + chance.randrange(9)] = 0x8A
        case "header":
            bad[chance.randrange(100)] = chance.randrange(256)
        case "page":
            bad[one : one + PAGE] = chance.randbytes(PAGE)
        case "empty":
            bad[one : one + PAGE] = bytes(PAGE)
        case "swap":
            bad[one : one + PAGE], bad[other : other + PAGE] = bad[other : other + PAGE], bad[one : one + PAGE]
        case "cut":
            del bad[chance.randrange(len(bad)) :]
    return bytes(bad)


@pytest.fixture
def state(world):
    """A state file with a run, and with a reading of a session."""
    root = world.home / ".claude" / "projects"
    root.mkdir(parents=True)
    (root / "5169694d-de0f-40d1-890c-6e28e55bab27.jsonl").write_text(
        '{"sessionId": "5169694d-de0f-40d1-890c-6e28e55bab27", "type": "user", "uuid": "e", "cwd": "/work", '
        '"timestamp": "2026-11-20T08:00:00Z", "message": {"content": "find the needle"}}\n'
    )
    script = world.home / "quota"
    script.write_text("""echo '{"windows": [{"used_percent": 9, "resets_at": "2099-01-01T00:00:00Z"}]}'\n""")
    world.account("acc", "echo ran", f"quota_script = 'sh {script}'")
    world.model("m", "acc")
    (world.config / "sessions.toml").write_text(f"[acc]\nturn_script = 'claude-code-turns {root}'\n")
    assert 0 == world.run("-m", "m", "hello").returncode
    assert 0 == world.run("session", "search", "needle").returncode
    with closing(sqlite3.connect(world.data / "state.db")) as connection:
        connection.execute("VACUUM")
    return world.data / "state.db"


def questions(engine):
    """Yield what can be asked of a state file, for every part of it."""
    catalogue, quota = engine.sessions.catalogue, engine.quota
    everything = catalogue.query("")
    yield lambda: catalogue.table(everything)
    yield lambda: catalogue.board()
    yield lambda: catalogue.search("needle")
    yield lambda: catalogue.search("cwd:work")
    yield lambda: catalogue.list_spawned()
    yield lambda: [catalogue.inside(one.session) for one in catalogue.board().rows]
    yield lambda: engine.sessions.archive.statuses()
    yield lambda: engine.sessions.notes.rename("5169694d", "a name")
    yield lambda: engine.sessions.scans.read_new()
    yield lambda: engine.ledger.report(Question(by=Grouping.SESSION), lambda: nullcontext(lambda *_: None))
    yield lambda: engine.accounts.states()
    yield lambda: engine.pools.next_decision("m", (), None)
    yield lambda: quota.check(("acc",), 0.5)
    yield lambda: quota.forecasts(("acc",))
    yield lambda: quota.burn_history("acc", "5h", timedelta(hours=1), timedelta(hours=1), 9)
    yield lambda: engine.snapshot()


@pytest.mark.parametrize("number", TESTS)
def test_a_spoiled_state_file_gives_answers_or_errors_that_name_the_way_out(state, number):
    raw, engine = state.read_bytes(), Engine()
    for seed in range(number * A_TEST, (number + 1) * A_TEST):
        bad = spoil(raw, random.Random(seed))
        for ask in questions(engine):
            for side in ("-wal", "-shm"):
                state.with_name(state.name + side).unlink(missing_ok=True)
            state.write_bytes(bad)
            try:
                ask()
            except RunnerError as error:  # not every question comes upon the damage, and some lack what is gone
                is_told = isinstance(error, (StoreDamaged, SchemaIncompatible))
                assert not is_told or "state rebuild" in error.message  # noqa: PT017 - see above
            except Exception as error:
                error.add_note(f"seed {seed}")
                raise


def test_a_rebuild_sets_a_damaged_file_aside_and_everything_works_again(world, state):
    raw = state.read_bytes()
    place = raw.index(b"CREATE TABLE invocations") + len("CREATE TABLE in")
    state.write_bytes(raw[:place] + b"\x8a" + raw[place + 1 :])

    refused = world.run("session", "list")
    assert 1 == refused.returncode
    assert b"state rebuild" in refused.stderr
    assert b"Traceback" not in refused.stderr
    assert 0 == world.run("migrate", "--rebuild").returncode

    assert b"find the needle" in world.run("session", "list").stdout
    assert [raw[:place] + b"\x8a" + raw[place + 1 :]] == [
        path.read_bytes() for path in (world.data / "state-backups").glob("*/state.db")
    ]
