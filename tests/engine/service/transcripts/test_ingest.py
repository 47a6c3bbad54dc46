"""Ingest of entries: scripts in processes of their own, bundled adapters in process, a real store."""

import json
import os
import shlex
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oulipoly_engine.adapters.scripts import turns
from oulipoly_engine.clock import to_text
from oulipoly_engine.core.accounts.accounts import SessionScripts
from oulipoly_engine.core.runs.invocations import Outcome
from oulipoly_engine.core.runs.session_match import Evidence, hash_prompt
from oulipoly_engine.process.lock import try_lock
from oulipoly_engine.service.transcripts.ingest import Ingester, Kind, attach_session
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.runs import invocations
from oulipoly_engine.store.sessions import chains, imported, leaves
from oulipoly_engine.store.transcripts import entries
from oulipoly_engine.testing import FakeClock


def entry(entry_id, session_id="S", **more):
    return {"session_id": session_id, "turn_id": entry_id, "timestamp": "2026-04-17T08:00:00Z", "role": "user"} | more


def record(entry_id, at="2026-04-17T08:00:00Z", session_id="S", **more):
    value = {"type": "assistant", "uuid": entry_id, "timestamp": at, "sessionId": session_id, "message": entry_id}
    value |= more
    return json.dumps(value).encode() + b"\n"


class Bench:
    """Accounts with turn scripts, a store, and a clock that obeys."""

    def __init__(self, folder):
        self.folder = folder
        self.clock = FakeClock()
        self.scripts = {}
        self.store = open_store(folder / "state.db")
        self.timeout_s = 20.0

    def prints(self, name, *values, then="exit 0", **more):
        """Add an account whose script prints values, dicts as JSON, and goes on with some shell."""
        lines = [value if isinstance(value, str) else json.dumps(value) for value in values]
        printed = "".join(f"printf '%s\\n' {shlex.quote(line)}; " for line in lines)
        self.scripts[name] = SessionScripts(printed + then, **more)

    def claude(self, name, content=b""):
        """Add an account of Claude Code's whose transcript holds that, and return the transcript."""
        base = self.folder / f"{name}-projects"
        base.mkdir()
        self.scripts[name] = SessionScripts(f"claude-code-turns '{base}'")
        path = base / "s.jsonl"
        path.write_bytes(content)
        return path

    def ingest(self, *names, environ=None, **more):
        scanner = Ingester(
            self.store,
            self.scripts,
            self.clock,
            home=self.folder,
            environ=dict(os.environ) if environ is None else environ,
            state_root=self.folder / "sessions",
            locks=self.folder / "locks",
            timeout_s=self.timeout_s,
        )
        found = scanner.ingest_accounts(names, **more)
        return found[0] if len(names) == 1 else found

    def stored(self, name):
        """Return (session, turn, body) of an account's entries."""
        sql = "SELECT session_id, turn_id, body FROM session_turns WHERE provider_name = ? ORDER BY session_id, turn_id"
        return [tuple(row) for row in self.store.rows(sql, (name,))]

    def chains(self):
        sql = (
            "SELECT provider_name, session_id, transition_reason, model_name FROM session_chains JOIN"
            " session_chain_segments USING (chain_id) ORDER BY 1, 2"
        )
        return [tuple(row) for row in self.store.rows(sql)]

    def ran(self, seconds=60, account="c", end=True, asked=None, folder=None):
        """Store a one-shot that began now and took so long; it told no session id."""
        decision = None if asked is None else json.dumps({"prompt_hash": hash_prompt(asked)})
        more = {"working_directory": folder, "decision_json": decision}
        new = invocations.NewInvocation(os.urandom(16).hex(), "opus", account, 0, self.clock.now(), **more)
        invocations.begin(self.store, new)
        self.clock.advance(seconds)
        row = invocations.find(self.store, new.uuid)
        return self.end(row) if end else row

    def end(self, row, reason=None):
        """Store that a one-shot ends now."""
        outcome = Outcome(success=reason is None, exit_code=0, finished_at=self.clock.now(), terminal_reason=reason)
        invocations.end(self.store, row.row_id, outcome)
        return invocations.find(self.store, row.uuid)

    def at(self, seconds):
        return to_text(self.clock.now() + timedelta(seconds=seconds))


@pytest.fixture
def bench(tmp_path):
    found = Bench(tmp_path)
    yield found
    found.store.close()


def test_new_turns_are_stored_and_counted_once(bench):
    bench.prints("a", entry("1"), entry("2"), entry("2"))
    first, second = bench.ingest("a"), bench.ingest("a")

    assert (Kind.DONE, 3, 2, 0) == (first.kind, first.script_lines, first.new_turns, first.error_count)
    assert (3, 0) == (second.script_lines, second.new_turns)
    assert [("S", "1", None), ("S", "2", None)] == bench.stored("a")


def test_lines_that_are_no_turns_are_errors_with_their_numbers(bench):
    bench.prints("a", "oops", "", entry("1"), entry("2", timestamp="never"), entry("3", body="x"))
    result = bench.ingest("a")

    assert (4, 2, [1, 4, 5]) == (result.script_lines, result.new_turns, [error.line for error in result.errors])
    assert [("S", "1", None), ("S", "3", None)] == bench.stored("a")


def test_a_transcripts_bad_line_is_told_with_its_file_and_line(bench):
    path = bench.claude("c", record("1") + b"\n{}\n" + record("2", at="never"))
    bench.ingest("c")
    with path.open("ab") as file:
        file.write(record("3") + record("4", at="2026-13-01T00:00:00Z"))
    (error,) = bench.ingest("c").errors

    assert f"{path}:6: `timestamp` must be RFC 3339" in error.sentence


def test_a_session_of_the_year_9999_was_used_when_it_was_found(bench):
    bench.prints("a", entry("1", timestamp="9999-01-01T00:00:00Z"))
    bench.ingest("a")

    assert [(bench.at(0),)] == bench.store.rows("SELECT last_used_at FROM session_chains")
    assert [("9999-01-01T00:00:00.000000Z",)] == bench.store.rows("SELECT timestamp FROM session_turns")


def test_errors_are_kept_up_to_a_bound_and_counted_beyond(bench):
    bench.prints("a", *["oops"] * 50)
    result = bench.ingest("a")

    assert (50, 20) == (result.error_count, len(result.errors))


@pytest.mark.parametrize(
    ("then", "said"),
    [("echo no luck >&2; exit 7", "failed with exit 7: no luck"), ("kill -9 $$", "killed by signal 9")],
)
def test_script_that_fails_adds_nothing(bench, then, said):
    bench.prints("a", entry("1"), "oops", then=then)
    result = bench.ingest("a")

    assert (Kind.FAILED, 0, 1) == (result.kind, result.new_turns, result.error_count)
    assert said in result.errors[0].text
    assert [] == bench.stored("a")


def test_script_that_takes_too_long_adds_nothing(bench):
    bench.timeout_s = 0.3
    bench.prints("a", entry("1"), then="exec sleep 20")
    result = bench.ingest("a")

    assert (Kind.FAILED, []) == (result.kind, bench.stored("a"))
    assert "timed out after 0.3 s" in result.errors[0].text


def test_script_gets_a_state_folder_of_its_own(bench):
    bench.prints("a", then='echo x >> "$STATE_DIR/cursor"')
    bench.prints("b", then='echo x >> "$STATE_DIR/cursor"', state_dir=bench.folder / "my" / "own")
    bench.ingest("a", "b")

    assert (bench.folder / "sessions" / "a" / "cursor").exists()
    assert (bench.folder / "my" / "own" / "cursor").exists()


def test_what_a_script_says_although_it_succeeds_is_a_note(bench):
    bench.prints("a", entry("1"), then="echo unreadable: x >&2")

    assert (("unreadable: x",), 0) == (bench.ingest("a").notes, bench.ingest("a").error_count)


def test_every_new_session_gets_one_imported_chain(bench):
    bench.prints("a", entry("1"), entry("2"), entry("1", "T"))
    bench.prints("b", entry("1"))
    first = bench.ingest("a")
    bench.ingest("a", "b")

    assert 2 == first.new_chains
    assert [
        ("a", "S", "imported", "<unknown>"),
        ("a", "T", "imported", "<unknown>"),
        ("b", "S", "imported", "<unknown>"),
    ] == bench.chains()


def test_chain_of_a_run_of_ours_stays_the_only_one(bench):
    with bench.store.write():
        chains.mint(bench.store, "a", "S", "opus", bench.clock.now())
    bench.prints("a", entry("1"))

    assert 0 == bench.ingest("a").new_chains
    assert [("a", "S", "initial", "opus")] == bench.chains()


def test_imported_chain_lasts_from_the_first_turn_to_the_last(bench):
    bench.prints(
        "a", entry("1"), entry("2", timestamp="2026-04-18T08:00:00Z"), entry("0", timestamp="2026-04-16T08:00:00Z")
    )
    bench.ingest("a")

    assert [("2026-04-16T08:00:00.000000Z", "2026-04-18T08:00:00.000000Z")] == [
        tuple(row) for row in bench.store.rows("SELECT created_at, last_used_at FROM session_chains")
    ]


def test_half_a_character_in_a_body_is_stored(bench):
    path = bench.claude("c")
    path.write_text(record("u").decode().replace('"message": "u"', '"message": "\\ud83d"'))
    result = bench.ingest("c")

    assert (1, 0) == (result.new_turns, result.error_count)
    assert r'[{"type":"text","text":"\ud83d"}]' == bench.stored("c")[0][2]


def test_bundled_adapter_named_bare_starts_no_process(bench):
    bench.claude("c", record("1") + b'{"type":"user"\n' + record("2"))
    result = bench.ingest("c", environ={"PATH": "/nowhere"})

    assert (2, 2, 0) == (result.script_lines, result.new_turns, result.error_count)
    assert ":2: not a JSON object" in result.notes[0]


def test_bundled_adapter_and_its_script_store_the_same(bench):
    path = bench.claude("c", record("1") + record("2", session_id="T"))
    script = Path(__file__).resolve().parents[4] / "scripts" / "claude-code-turns"
    bench.scripts["s"] = SessionScripts(f"'{script}' '{path.parent}'")
    bench.ingest("c", "s")

    assert 2 == len(bench.stored("c"))
    assert bench.stored("c") == bench.stored("s")


def test_turns_that_could_not_be_stored_come_again(bench):
    bench.claude("c", record("1"))
    with bench.store.write():
        bench.store.execute(
            "CREATE TRIGGER full BEFORE INSERT ON session_turns BEGIN SELECT RAISE(ABORT, 'disk full'); END"
        )
    failed = bench.ingest("c")
    with bench.store.write():
        bench.store.execute("DROP TRIGGER full")

    assert (Kind.FAILED, 0) == (failed.kind, failed.new_turns)
    assert "full" in failed.errors[0].text
    assert 1 == bench.ingest("c").new_turns


def test_state_file_that_was_started_anew_is_filled_again(bench):
    bench.claude("c", record("1"))
    bench.ingest("c")
    bench.store.close()
    bench.store = open_store(bench.folder / "fresh.db")

    assert 1 == bench.ingest("c").new_turns


def test_afresh_reads_everything_again(bench):
    bench.claude("c", record("1"))
    bench.ingest("c")

    assert (0, 1) == (bench.ingest("c").script_lines, bench.ingest("c", afresh=True).script_lines)


def test_account_that_another_process_scans_is_left_alone(bench):
    bench.prints("a", entry("1"))
    with try_lock(bench.folder / "locks" / "a.lock"):
        result = bench.ingest("a")

    assert (Kind.IN_FLIGHT, []) == (result.kind, bench.stored("a"))


def test_account_without_a_script_is_named_so(bench):
    assert Kind.NO_SCRIPT is bench.ingest("nobody").kind


def test_one_failing_account_does_not_hold_back_the_others(bench):
    bench.prints("bad", then="exit 1")
    bench.claude("gone")
    bench.scripts["gone"] = SessionScripts(f"claude-code-turns {bench.folder}/state.db")
    bench.prints("good", entry("1"))

    assert [Kind.FAILED, Kind.FAILED, Kind.DONE] == [one.kind for one in bench.ingest("bad", "gone", "good")]


def test_a_session_goes_on_behind_what_a_scan_has_read_before_it_was_cut_off(bench):
    path = bench.claude("c", record("a"))
    bench.ingest("c")
    with bench.store.write():
        leaves.move_to_end(bench.store, "c", ["S"])
        bench.store.execute(
            "CREATE TRIGGER full BEFORE INSERT ON session_chains BEGIN SELECT RAISE(ABORT, 'disk full'); END"
        )
    later = "2026-04-17T09:00:00Z"
    path.write_bytes(record("a") + record("b", later) + record("c", later, session_id="T"))
    failed = bench.ingest("c")
    with bench.store.write():
        bench.store.execute("DROP TRIGGER full")

    bench.ingest("c")

    assert (Kind.FAILED, "b") == (failed.kind, leaves.find_leaf(bench.store, "c", "S"))


def test_many_turns_go_in_several_transactions(bench):
    bench.claude("c", b"".join(record(f"{number:05}") for number in range(12_000)))
    result = bench.ingest("c")

    assert (12_000, 1) == (result.new_turns, result.new_chains)
    assert 12_000 == entries.of_account(bench.store, "c")


@settings(max_examples=25, deadline=None)
@given(
    kinds=st.lists(st.sampled_from(["S", "T", "again", "garbage"]), min_size=1, max_size=10),
    data=st.data(),
)
def test_any_split_of_appends_ingests_what_one_scan_ingests(kinds, data, tmp_path_factory):
    bench = Bench(tmp_path_factory.mktemp("bench"))
    lines = [
        b"garbage\n" if kind == "garbage" else record("0") if kind == "again" else record(str(place), session_id=kind)
        for place, kind in enumerate(kinds)
    ]
    content = b"".join(lines)
    bench.claude("whole", content)
    path = bench.claude("grown")
    cuts = sorted(data.draw(st.lists(st.integers(0, len(content)), max_size=4)))
    for cut in [*cuts, len(content)]:
        path.write_bytes(content[:cut])
        bench.ingest("grown")
    bench.ingest("whole")

    assert bench.stored("whole") == bench.stored("grown")
    assert len(bench.chains()) == 2 * len({session for session, _, _ in bench.stored("whole")})
    bench.store.close()


def test_unpinned_run_is_tied_to_the_session_it_filled(bench):
    path = bench.claude("c", record("old", session_id="OLD"))
    bench.ingest("c")
    row = bench.ran()
    with path.open("ab") as file:
        file.write(
            record("1", bench.at(-50), "NEW") + record("2", bench.at(-40), "NEW") + record("3", bench.at(-45), "OLD")
        )
    bench.ingest("c")

    assert "NEW" == attach_session(bench.store, row)
    found = invocations.find(bench.store, row.uuid)
    assert ("NEW", "turn_script") == (found.session_id, found.capture_method)
    assert ("c", "NEW", "imported", "opus") in bench.chains()


def test_a_run_that_began_while_a_scan_was_under_way_gets_its_session(bench, monkeypatch):
    path, rows, kept = bench.claude("c"), [], turns.Reading.turns

    def read(reading):
        bench.clock.advance(5)
        rows.append(bench.ran())
        path.write_bytes(record("1", bench.at(-50), "NEW"))
        return kept(reading)

    monkeypatch.setattr(turns.Reading, "turns", read)
    bench.ingest("c")

    assert "NEW" == attach_session(bench.store, *rows)


def test_turns_from_outside_the_run_tie_nothing(bench):
    row = bench.ran(60)
    bench.claude("c", record("before", bench.at(-60), "A") + record("after", bench.at(0.001), "B"))
    bench.ingest("c")

    assert attach_session(bench.store, row) is None
    assert invocations.find(bench.store, row.uuid).session_id is None


def test_turn_at_the_very_end_of_the_run_counts(bench):
    row = bench.ran(60)
    bench.claude("c", record("last", bench.at(0), "A"))
    bench.ingest("c")

    assert "A" == attach_session(bench.store, row)


def test_session_of_another_run_at_the_same_time_is_not_taken(bench):
    other = bench.ran(10)
    with bench.store.write():
        bench.store.execute("UPDATE invocations SET session_id = 'THEIRS' WHERE id = ?", (other.row_id,))
        bench.store.execute("UPDATE invocations SET finished_at = ? WHERE id = ?", (bench.at(30), other.row_id))
    row = bench.ran(60)
    bench.claude("c", record("1", bench.at(-50), "THEIRS") + record("2", bench.at(-49), "THEIRS"))
    bench.ingest("c")

    assert attach_session(bench.store, row) is None


def test_runs_at_the_same_time_get_the_sessions_that_they_were_asked_for(bench):
    begun = [bench.ran(0, end=False) for _ in range(3)]
    bench.clock.advance(60)
    rows = [bench.end(row) for row in begun]
    bench.claude(
        "c",
        record("1", bench.at(-50), "A", type="user", message={"role": "user", "content": "first"})
        + record("2", bench.at(-49), "B", type="user", message={"role": "user", "content": "second"})
        + record("3", bench.at(-48), "B", type="user", message={"role": "user", "content": "more"}),
    )
    bench.ingest("c")

    asked = ("second", "third", "first")
    found = [attach_session(bench.store, row, Evidence(text)) for row, text in zip(rows, asked, strict=True)]

    assert ["B", None, "A"] == found


def test_runs_whose_runner_was_killed_get_their_sessions_by_prompt_and_folder_at_a_later_scan(bench):
    asked = (("first", "/a"), ("again", "/a"), ("again", "/b"), ("twice", "/a"), ("twice", "/a"), ("never", "/a"))
    rows = [bench.ran(0, end=False, asked=text, folder=folder) for text, folder in asked]
    bench.clock.advance(3600)  # a start has noticed it so late
    for row in rows:
        bench.end(row, reason="guard_drop")
    root = bench.claude("c").parent
    for number, (text, folder) in enumerate(asked[:5]):
        said = record(
            str(number), bench.at(-50), f"S{number}", cwd=folder, type="user", message={"role": "user", "content": text}
        )
        (root / f"S{number}.jsonl").write_bytes(said)
    bench.ingest("c")

    found = [invocations.find(bench.store, row.uuid).session_id for row in rows]
    assert ["S0", "S1", "S2", None, None, None] == found


def test_run_that_knows_its_session_keeps_it(bench):
    row = bench.ran()
    bench.claude("c", record("1", bench.at(-1), "A"))
    bench.ingest("c")
    attach_session(bench.store, row)

    assert attach_session(bench.store, invocations.find(bench.store, row.uuid)) is None
    assert imported.attach(bench.store, row.row_id, "B") is None


def test_run_that_still_goes_on_is_not_tied(bench):
    row = bench.ran(end=False)
    bench.claude("c", record("1", bench.at(-1), "A"))
    bench.ingest("c")

    assert attach_session(bench.store, row) is None
