import json
import os
import shlex
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.accounts.accounts import Account, SessionScripts, StorageSpec, StorageType
from oulipoly_engine.core.live.sessions import LiveSession
from oulipoly_engine.core.search.query import Query, parse
from oulipoly_engine.core.sessions.sessions import Sort, cli_kind, purge_at
from oulipoly_engine.records import replace
from oulipoly_engine.service.search import catch_up, search
from oulipoly_engine.service.sessions.catalogue import Catalogue, Kinds, read_entry_tree
from oulipoly_engine.service.sessions.locate import Locator
from oulipoly_engine.service.transcripts.ingest import Ingester
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.live import live_sessions
from oulipoly_engine.store.sessions import chains, notes
from oulipoly_engine.store.sessions.sessions import list_sessions
from oulipoly_engine.store.transcripts.entry_pages import EntryPages
from oulipoly_engine.testing import FakeClock

SESSION = "5169694d-de0f-40d1-890c-6e28e55bab2{}"
OPENCODE = Path(__file__).parents[3] / "fixtures" / "transcripts" / "opencode" / "opencode-1.18.33.sql"
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def read(text):
    return parse(text, NOW, lambda naive: naive.replace(tzinfo=UTC))


class Bench:
    """Claude accounts with real transcripts, ingested by the bundled adapter."""

    def __init__(self, folder):
        self.folder = folder
        self.store = open_store(folder / "state.db")
        self.accounts, self.scripts = {}, {}

    def account(self, name):
        root = self.folder / name / "projects"
        root.mkdir(parents=True, exist_ok=True)
        self.accounts[name] = Account(name, command="claude")
        self.scripts[name] = SessionScripts(f"claude-code-turns {root}")
        return root

    def write(self, name, number, *texts, cwd="/work/project", days_ago=0, model="claude-x"):
        session = SESSION.format(number)
        path = self.account(name) / cwd.replace("/", "-") / f"{session}.jsonl"
        path.parent.mkdir(exist_ok=True)
        lines, parent = [], None
        for place, text in enumerate(texts):
            role = ("user", "assistant")[place % 2]
            at = to_text(NOW - timedelta(days=days_ago) + timedelta(seconds=place))
            message = {"role": role, "content": text} | ({"model": model} if role == "assistant" else {})
            record = {"type": role, "uuid": f"{number}-{place}", "parentUuid": parent, "sessionId": session}
            lines.append(json.dumps(record | {"timestamp": at, "cwd": cwd, "message": message}) + "\n")
            parent = f"{number}-{place}"
        path.write_text("".join(lines))
        return path

    def scan(self):
        places = {"home": self.folder, "state_root": self.folder / "states", "locks": self.folder / "locks"}
        Ingester(self.store, self.scripts, FakeClock(NOW), environ=dict(os.environ), **places).ingest_accounts(
            tuple(self.scripts)
        )

    def catalogue(self):
        locator = Locator(self.accounts, self.scripts, self.folder / "states", self.folder, dict(os.environ))
        return Catalogue(self.store, Kinds(self.accounts, self.scripts), locator)

    def listed(self, query="", **more):
        known = self.catalogue()
        known.refresh()
        return known.list(read(query) if query else Query(), **more).rows

    def titles(self, query="", **more):
        return [row.session.title for row in self.listed(query, **more)]

    def found(self, text, **more):
        self.catalogue().refresh()
        catch_up(self.store)
        return search(self.store, read(text), self.catalogue().kinds, 50, **more).hits


@pytest.fixture
def bench(tmp_path):
    made = Bench(tmp_path)
    yield made
    made.store.close()


def test_sessions_of_gemini_and_opencode_have_the_folder_that_their_cli_notes(bench):
    chats = bench.folder / "gemini" / "tmp" / "proj" / "chats"
    chats.mkdir(parents=True)
    (bench.folder / "gemini" / "projects.json").write_text('{"projects": {"/work/one": "proj", "/work/two": "other"}}')
    said = {"id": "m1", "timestamp": to_text(NOW), "type": "user", "content": "hello"}
    (chats / "session-1.jsonl").write_text(f'{{"sessionId": "{SESSION.format(1)}"}}\n{json.dumps(said)}\n')
    (bench.folder / "opencode").mkdir()
    with closing(sqlite3.connect(bench.folder / "opencode" / "opencode.db")) as database:
        database.executescript(OPENCODE.read_text())
        (directory,) = database.execute("SELECT DISTINCT directory FROM session").fetchone()
    for name, folder in (("gemini", "gemini/tmp"), ("opencode", "opencode")):
        bench.accounts[name] = Account(name, command=name)
        bench.scripts[name] = SessionScripts(f"{name}-turns {bench.folder / folder}")
    bench.scan()

    found = {(row.kind, row.session.workspace) for row in bench.listed()}
    assert {("gemini", "/work/one"), ("opencode", directory)} == found
    # The real database has a fork, whose past has new ids and the old instants.
    assert {"ses_e03b64746ffeDC5a0khpEgzF62": "ses_e03b6b4cbffeMCq4uCbKk1rWZt"} == {
        row.session.active.session_id: row.session.forked_from for row in bench.listed() if row.session.forked_from
    }


def test_a_conversation_is_described_from_its_turns_and_the_head_of_its_transcript(bench):
    path = bench.write("one", 1, "<command-name>/clear</command-name>", "ok", "Mend the clock", "Done")
    bench.scan()
    (row,) = bench.listed()
    part = row.session.active

    assert ("Mend the clock", "/work/project", "claude-x", 4, 2) == (
        row.session.title,
        row.session.workspace,
        part.cli_model,
        part.entries,
        part.assistant_entries,
    )
    assert ("claude", str(path), True, path.stat().st_size) == (
        row.kind,
        part.transcript,
        row.has_transcript,
        row.size_bytes,
    )


def test_secrets_do_not_become_titles(bench):
    bench.write("one", 1, "use sk-ant-api03-0123456789abcdef please")
    bench.scan()

    assert ["use [redacted] please"] == bench.titles()


def test_growth_is_followed_and_a_vanished_transcript_is_told(bench):
    bench.write("one", 1, "first")
    bench.scan()
    assert 1 == bench.listed()[0].session.entries
    path = bench.write("one", 1, "first", "second", "third")
    bench.scan()
    assert 3 == bench.listed()[0].session.entries
    path.unlink()

    assert False is bench.listed()[0].has_transcript


def test_orders_and_pins(bench):
    bench.write("one", 1, "beta", days_ago=3)
    bench.write("one", 2, "alpha", "a", "b", days_ago=2)
    bench.write("two", 3, "gamma", days_ago=1)
    bench.scan()

    assert ["gamma", "alpha", "beta"] == bench.titles()
    assert ["alpha", "gamma", "beta"] == bench.titles(sort=Sort.ENTRIES)
    assert ["alpha", "beta", "gamma"] == bench.titles(sort=Sort.NAME)
    assert ["gamma", "alpha"] == bench.titles(limit=2)
    notes.pin(bench.store, bench.listed()[2].session.chain_id, NOW)
    assert ["beta", "gamma", "alpha"] == bench.titles()


@pytest.mark.rows_share_fixtures
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("account:one", ["alpha", "beta"]),
        ("account:tw*", ["gamma"]),
        ("-account:one", ["gamma"]),
        ("cwd:/home", ["alpha"]),
        ("cwd:HOME", ["alpha"]),
        ("model:claude", ["gamma", "alpha", "beta"]),
        ("cli:claude date:<36h", ["gamma"]),
        ("session:5169694d", ["gamma", "alpha", "beta"]),
        ("session:6169", []),
        ("gam", ["gamma"]),
        ("-gam account:two", []),
        ("date:2026-11-18", ["alpha"]),
    ],
)
def test_a_list_is_narrowed_by_words_and_fields(bench, query, expected):
    bench.write("one", 1, "beta", "x", days_ago=3)
    bench.write("one", 2, "alpha", "x", cwd="/home/me", days_ago=2)
    bench.write("two", 3, "gamma", "x", days_ago=1)
    bench.scan()

    assert expected == bench.titles(query)


@pytest.mark.rows_share_fixtures
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("needle", ["2-1", "1-0"]),
        ("needle account:one", ["1-0"]),
        ("needle cwd:/home", ["2-1"]),
        ("needle role:user", ["1-0"]),
        ("needle -role:user", ["2-1"]),
        ("needle role:me", ["1-0"]),
        ("needle -role:me role:agent", ["2-1"]),
        ("needle model:claude-x", ["2-1"]),
        ("needle cli:codex", []),
        ("needle -hay", ["1-0"]),
        ("need*", ["2-1", "1-0"]),
        ('"hay needle"', ["2-1"]),
        ("needle session:5169694d-de0f-40d1-890c-6e28e55bab21", ["1-0"]),
        ("needle date:2026-11-18", ["1-0"]),
        ("needle cwd:/home account:two", ["2-1"]),
        ("needle cwd:/home account:one", []),
        ("needle cwd:/home -account:two", []),
        ("needle cwd:/work -account:two", ["1-0"]),
        ("needle -cwd:/home account:one", ["1-0"]),
        ("needle is:sidechain", []),
        ("needle is:pinned", []),
        ("account:two", ["2-1", "2-0"]),
        ("-needle", ["2-0"]),
    ],
)
def test_a_search_is_narrowed_by_words_and_fields(bench, query, expected):
    bench.write("one", 1, "a needle", days_ago=2)
    bench.write("two", 2, "else", "hay needle", cwd="/home/me", days_ago=1)
    bench.scan()

    assert expected == [hit.entry_id for hit in bench.found(query)]


def test_a_hit_tells_who_said_it_and_a_tools_result_is_nobodys_words(bench):
    answer = [{"type": "tool_result", "tool_use_id": "t", "content": "a needle in the file"}]
    bench.write("one", 1, "where is the needle", "the needle is here", answer)
    bench.scan()

    assert ["tool", "agent", "me"] == [hit.speaker for hit in bench.found("needle")]


def test_a_turn_that_was_copied_by_a_move_is_found_once(bench):
    session = SESSION.format(1)
    bench.write("ada", 1, "where is the zebrafish", "in the tank")
    with bench.store.write():
        chain = chains.insert(
            bench.store, "ada", session, "opus", started_at=to_text(NOW), last_used_at=to_text(NOW), reason="initial"
        )
    bench.scan()
    bench.write("bob", 1, "where is the zebrafish", "in the tank", "and the other zebrafish")
    chains.move_segment(bench.store, chains.SegmentMove(chain, "ada", "bob", session, "manual", NOW))
    bench.scan()

    hits = bench.found("zebrafish")

    assert [("bob", "1-2"), ("bob", "1-0")] == [(hit.account, hit.entry_id) for hit in hits]


def test_a_session_that_two_accounts_have_is_searched_by_account_and_folder(bench):
    for account in ("one", "two"):  # as after a copy by hand
        bench.write(account, 7, f"a needle of {account}", cwd="/home/me", days_ago=1)
    bench.scan()

    for account in ("one", "two"):
        assert [account] == [hit.account for hit in bench.found(f"needle cwd:/home account:{account}")]
    assert {"one", "two"} == {hit.account for hit in bench.found("needle cwd:/home")}


def test_hits_carry_their_conversation_and_marked_words_without_secrets(bench):
    bench.write("one", 1, "my token=abcdefghijklmnop0123 and the needle")
    bench.scan()
    (hit,) = bench.found("needle")

    assert "my token=[redacted] and the needle" == hit.snippet.text
    assert ["needle"] == [hit.snippet.text[begin:end] for begin, end in hit.snippet.marks]
    assert ("/work/project", "claude") == (hit.part.cwd, hit.kind)


def test_by_rank_the_better_answer_goes_before_the_newer_one(bench):
    bench.write("one", 1, "needle needle needle", days_ago=2)
    bench.write("one", 2, "needle " + "hay " * 40, days_ago=1)
    bench.scan()

    assert ["1-0", "2-0"] == [hit.entry_id for hit in bench.found("needle", by_rank=True)]
    assert ["2-0", "1-0"] == [hit.entry_id for hit in bench.found("needle")]


def test_foreign_scripts_are_asked_for_folders_a_little_at_a_time(bench):
    work = bench.folder / "work"
    work.mkdir()
    told = shlex.quote(json.dumps({"found": True, "cwd": str(work)}))
    storage = StorageSpec(f"echo x >> {bench.folder}/asked; echo {told}", storage_type=StorageType.OTHER)
    bench.accounts["far"] = Account("far", command="gemini", storage=storage)
    line = '{{"session_id": "S{}", "turn_id": "1", "timestamp": "2026-04-17T08:00:00Z", "role": "user"}}'
    bench.scripts["far"] = SessionScripts("; ".join(f"echo {shlex.quote(line.format(n))}" for n in range(3)))
    bench.scan()
    known = bench.catalogue()

    assert 2 == known.refresh(scripts_s=0.0)
    assert 0 == known.refresh(scripts_s=30.0)
    assert 0 == known.refresh(scripts_s=30.0)
    assert 3 == (bench.folder / "asked").read_text().count("x")
    assert {(str(work), "gemini")} == {(row.session.workspace, row.kind) for row in bench.listed()}


def test_pages_and_trees_are_read_by_position(bench):
    bench.write("one", 1, *(f"turn {number}" for number in range(9)))
    bench.scan()
    (one,) = list_sessions(bench.store)
    key = one.active.account, one.active.session_id

    assert ["1-3", "1-4"] == [entry.entry_id for entry in EntryPages(bench.store, *key).page(3, 2)]
    assert [9] == [len(line.rows) for line in read_entry_tree(bench.store, *key).lines]


@pytest.mark.parametrize(
    ("settings", "days"),
    [(None, 30), ('{"cleanupPeriodDays": 90}', 90), ("broken", 30), ('{"cleanupPeriodDays": true}', 30)],
)
def test_a_transcript_s_end_is_foretold_by_its_age_and_its_account_s_settings(bench, settings, days):
    path = bench.write("one", 1, "x")
    if settings is not None:
        (path.parents[2] / "settings.json").write_text(settings)
    changed = datetime(2026, 11, 1, tzinfo=UTC)
    os.utime(path, (changed.timestamp(), changed.timestamp()))
    bench.scan()

    assert changed + timedelta(days=days) == bench.listed()[0].purge_at


def test_only_claude_code_deletes_transcripts():
    assert purge_at("codex", 1, None) is None
    assert purge_at("claude", None, None) is None


@pytest.mark.parametrize(
    ("account", "script", "transcript", "kind"),
    [
        (Account("a", command="/usr/bin/claude"), None, None, "claude"),
        (Account("a", command="env codex"), None, None, "codex"),
        (Account("a", command="demo-gemini"), None, None, "gemini"),
        (
            Account("a", command="x", storage=StorageSpec("", storage_type=StorageType.CODEX_SESSION)),
            None,
            None,
            "codex",
        ),
        (None, SessionScripts("claude-code-turns ~/x"), None, "claude"),
        (None, None, "/home/.codex/sessions/rollout-1.jsonl", "codex"),
        (None, None, None, "other"),
    ],
)
def test_kind_of_a_cli(account, script, transcript, kind):
    assert kind == cli_kind(account, script, transcript)


@pytest.mark.parametrize("limit", [1, 2, 3, 9])
def test_the_short_way_to_the_latest_conversations_gives_what_the_long_way_gives(bench, limit):
    for number in range(5):
        bench.write(("one", "two")[number % 2], number, "x", days_ago=(3, 1, 4, 2, 5)[number])
    bench.scan()
    whole = bench.listed()
    notes.pin(bench.store, whole[3].session.chain_id, NOW)

    assert bench.listed()[:limit] == bench.listed(limit=limit)
    assert 5 == bench.catalogue().list(Query(), limit=limit).total


def copy_as_fork(bench, source, number, *more):
    """Copy a transcript under a new session's id, as `--fork-session` does, and go on with it."""
    old = source.read_text()
    fork = source.with_name(f"{SESSION.format(number)}.jsonl")
    lines = old.replace(source.stem, fork.stem).splitlines(keepends=True)
    for place, text in enumerate(more):
        at = to_text(NOW + timedelta(minutes=5, seconds=place))
        record = {"type": "user", "uuid": f"{number}-more-{place}", "sessionId": fork.stem, "timestamp": at}
        lines.append(json.dumps(record | {"cwd": "/work/project", "message": {"role": "user", "content": text}}) + "\n")
    fork.write_text("".join(lines))


def forks(bench):
    return {row.session.active.session_id[-1]: row.session.forked_from for row in bench.listed()}


@pytest.mark.parametrize("order", ["12", "21"], ids=["the original first", "the fork first"])
def test_a_copied_session_is_a_fork_of_the_one_it_was_copied_from(bench, order):
    source = bench.write("one", order[0], "Mend the clock", "Done")
    copy_as_fork(bench, source, order[1], "Mend it otherwise")
    bench.write("one", 3, "Of the same instant", "Yes")
    bench.scan()

    assert {order[0]: None, order[1]: SESSION.format(order[0]), "3": None} == forks(bench)


def test_a_fork_stays_one_when_both_go_on(bench):
    source = bench.write("one", 1, "Mend the clock", "Done")
    bench.scan()
    copy_as_fork(bench, source, 2, "Mend it otherwise")
    bench.scan()
    bench.listed()
    bench.write("one", 1, "Mend the clock", "Done", "And the bell", "It rings", days_ago=0)
    bench.scan()

    assert {"1": None, "2": SESSION.format(1)} == forks(bench)


def test_of_live_forks_it_is_known_what_they_were_forked_from(bench):
    source = bench.write("one", 1, "Mend the clock", "Done")
    for number in (2, 3):
        copy_as_fork(bench, source, number, f"Mend it in way {number}")
    for number, origin in ((1, None), (2, "s1"), (3, "s1")):
        live = LiveSession(f"s{number}", "/w", "one", "claude", "m", NOW, NOW, "one", SESSION.format(number))
        live_sessions.insert(bench.store, replace(live, forked_from=origin, title=f"live {number}"))
    bench.scan()

    assert {"1": None, "2": SESSION.format(1), "3": SESSION.format(1)} == forks(bench)
    assert {"Mend the clock", "live 2", "live 3"} == {row.session.title for row in bench.listed()}


def test_a_codex_rollout_names_what_it_was_forked_from(bench):
    folder = bench.folder / "codex" / "sessions"
    folder.mkdir(parents=True)
    bench.accounts["codex"] = Account("codex", command="codex")
    bench.scripts["codex"] = SessionScripts(f"codex-turns {folder}")
    for number, parent in ((1, None), (2, SESSION.format(1))):
        at, session = to_text(NOW + timedelta(hours=number)), SESSION.format(number)
        meta = {"id": session, "timestamp": at, "cwd": "/w", "forked_from_id": parent}
        said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]}
        lines = ({"type": "session_meta", "payload": meta}, {"type": "response_item", "payload": said})
        path = folder / f"rollout-2026-11-20T0{number}-00-00-{session}.jsonl"
        path.write_text("".join(json.dumps(line | {"timestamp": at}) + "\n" for line in lines))
    bench.scan()

    assert {"1": None, "2": SESSION.format(1)} == forks(bench)


def test_two_sessions_of_sub_agents_alone_that_began_at_once_are_listed(bench):
    for number in (1, 2):
        path = bench.write("acc", number, f"task {number}")
        record = json.loads(path.read_text()) | {"isSidechain": True}
        path.write_text(json.dumps(record) + "\n")
    bench.scan()

    assert 2 == len(bench.listed())


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE session_facts SET turns = 'many' WHERE session_id = ?",
        "UPDATE session_facts SET last_turn_at = x'00' WHERE session_id = ?",
        "UPDATE session_facts SET first_turn_at = x'00' WHERE session_id = ?",
        "UPDATE session_facts SET title = x'00' WHERE session_id = ?",
        "UPDATE session_chain_segments SET started_at = x'00' WHERE session_id = ?",
        "UPDATE session_chains SET last_used_at = x'00' WHERE chain_id ="
        " (SELECT chain_id FROM session_chain_segments WHERE session_id = ?)",
    ],
)
def test_a_damaged_value_of_a_session_costs_no_other_session_its_line(bench, damage):
    for number in (1, 2):
        bench.write("acc", number, f"hello {number}")
    bench.scan()
    bench.listed()
    with closing(sqlite3.connect(bench.folder / "state.db")) as database, database:
        database.execute(damage, (SESSION.format(1),))

    for sort in Sort:
        assert "hello 2" in bench.titles(sort=sort)
    assert "hello 2" in bench.titles(limit=5)
    assert 0 == bench.catalogue().refresh()
