"""A live session in the records of all sessions: trace, list, export; and from the command line."""

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from types import SimpleNamespace

import pytest

from oulipoly_engine.cli.main import main
from oulipoly_engine.core.live import orders
from oulipoly_engine.core.live.events import type_of
from oulipoly_engine.service.live import hosts


@pytest.fixture
def done(live):
    """A session with two turns whose process has ended; its id and those of its turns."""
    session, first = live.begin_turn("the first thing", runtime=None, model="demo-codex")
    live.live.wait(session, first)
    second = live.live.send(session, "1 + 1", waits=True).turn_id
    live.live.order(session, orders.Close(), starts=False)
    live.until_closed(session)
    return session, first, second


@pytest.fixture
def agents(capfd):
    """Run our command in this process; `json` is what it printed, where that is JSON."""

    def run(*words):
        code = main([*words])
        said = capfd.readouterr()
        return SimpleNamespace(code=code, out=said.out, err=said.err)

    return run


@pytest.fixture
def told(agents):
    """Run our command, which ends well, and return the JSON that it prints."""

    def run(*words):
        done = agents(*words, "--json")
        assert 0 == done.code, done.err
        return json.loads(done.out)

    return run


def test_the_process_is_an_invocation_and_its_turns_are_its_children(live, done, agents):
    session, *_ = done
    rows = live.rows("SELECT * FROM invocations ORDER BY id")

    process, *turns = rows
    assert ["demo-codex~process", "demo-codex", "demo-codex"] == [row["model_name"] for row in rows]
    assert [(process["id"], "succeeded")] * 2 == [(row["parent_invocation_id"], row["status"]) for row in turns]
    assert ("succeeded", 0) == (process["status"], process["exit_code"])
    kept = [turn.invocation_uuid for turn in live.live.turns(session)]
    assert [row["invocation_uuid"] for row in turns] == kept
    assert {live.live.find(session).account} == {row["provider_name"] for row in rows}
    assert {live.live.find(session).native_id} == {row["session_id"] for row in rows}
    traced = agents("trace", process["invocation_uuid"]).out
    assert all(row["invocation_uuid"][:8] in traced for row in rows)
    assert traced == agents("trace", session).out  # whose invocation's id nobody is told
    assert turns[0]["invocation_uuid"][:8] in agents("trace", live.live.turns(session)[0].turn_id).out


def test_it_is_listed_once_with_its_account(live, done, agents, told):
    session, *_ = done
    native, account = live.live.find(session).native_id, live.live.find(session).account
    assert 0 == agents("session", "scan").code

    listed = [one for one in told("session", "list")["conversations"] if native in json.dumps(one)]
    assert 1 == len(listed)
    assert account in json.dumps(listed[0])


def test_it_is_exported_and_shown(live, done, agents):
    session, *_ = done
    agents("session", "scan")

    for identity in (live.live.find(session).native_id, session):
        exported = agents("session", "export", identity)
        assert (0, True) == (exported.code, "the first thing" in exported.out), exported.err


def test_a_session_that_a_command_has_left_is_no_orphan(live, agents):
    command = (sys.executable, "-m", "oulipoly_tui", "session", "new", "demo-codex", "--json")
    begun = subprocess.run(command, capture_output=True, check=True, timeout=60)
    session = json.loads(begun.stdout)["session_id"]

    for words in (("terminals",), ("session", "list"), ("-m", "demo-codex", "x")):
        finished = agents(*words)
        assert "process" not in finished.out + finished.err
    (process,) = live.rows("SELECT * FROM invocations WHERE model_name = 'demo-codex~process'")
    assert ("running", live.host_of(session).host_pid) == (process["status"], process["owner_pid"])


def same(told, session):
    """Return the session as `status` has it, whose keys say the same in `list --live`, beside those of `list`."""
    listed = told("session", "list", "--live")
    shown = told("session", "status", session)
    (row,) = [{"schema_version": listed["schema_version"], **one} for one in listed["sessions"]]
    assert shown == {key: row[key] for key in shown}
    assert {"chain_id", "name", "pinned", "segments"} <= row.keys()
    return [shown]


def test_scripts_get_what_is_promised(live, tmp_path, agents, told):
    begun = told("session", "new", "--runtime", "demo-codex1", "--cwd", str(tmp_path), "--prompt", "1 + 1", "--wait")
    session = begun["session_id"]
    assert ("completed", "1 + 1 = 2") == (begun["status"], begun["reply"])
    sent = told("session", "send", session[:8], "hello [[approve:ls]]")
    live.request(session)

    status = told("session", "status", session)
    assert [status] == same(told, session)
    assert {"status": "running", "busy": True, "pending_approval": True, "queue": [], "turn_id": sent["turn_id"]} == {
        key: status[key] for key in ("status", "busy", "pending_approval", "queue", "turn_id")
    }
    (request,) = told("requests", "list")["requests"]
    assert (session, "command_approval", "pending") == (request["session_id"], request["kind"], request["status"])
    assert "answered" == told("requests", "approve", request["id"])["status"]
    refused = agents("requests", "approve", request["id"])
    assert (True, True) == (refused.code != 0, "already" in refused.err)
    live.live.wait(session, sent["turn_id"])
    assert {"recoverable": [], "blocked": [], "ignored": []} == {
        key: value for key, value in told("recover").items() if key != "schema_version"
    }
    assert "close: done\n" == agents("session", "close", session).out
    live.until_closed(session)
    told("session", "send", session, "hello [[approve:ls]]")
    live.request(session)
    live.kill(live.host_of(session).host_pid)
    live.until_closed(session)
    (left,) = same(told, session)
    assert ("recoverable", False, False) == (left["status"], left["busy"], left["pending_approval"])
    assert left["capabilities"]["steer"]
    followed = [json.loads(line) for line in agents("session", "follow", session, "--json").out.splitlines()]
    kept = live.live.events(session, limit=1000)
    assert [(one.seq, one.at, type_of(one.event)) for one in kept] == [
        (line["seq"], line["at"], line["type"]) for line in followed
    ]
    later = agents("session", "follow", session, "--json", "--after", str(kept[-2].seq)).out.splitlines()
    assert followed[-1:] == [json.loads(line) for line in later]


def test_a_session_is_not_resumed_in_a_second_process(live, agents):
    session, turn = live.begin_turn("hello", runtime=None, model="demo-codex")
    live.live.wait(session, turn)
    native = live.live.find(session).native_id
    refused = agents("resume", "--session-id", native, "--prompt", "and now?")
    live.live.order(session, orders.Close(), starts=False)
    live.until_closed(session)
    allowed = agents("resume", "--session-id", native, "--prompt", "and now?")

    assert 1 == refused.code
    assert f"agents session send {session} TEXT" in refused.err
    assert 0 == allowed.code, allowed.err


def test_a_session_whose_host_ends_between_reading_and_looking_is_no_lost_one(live, monkeypatch):
    session, turn = live.begin_turn("the only thing", runtime=None, model="demo-codex")
    live.live.wait(session, turn)
    look = hosts.survey

    def look_late(paths):
        monkeypatch.setattr(hosts, "survey", look)
        live.live.order(session, orders.Close(), starts=False)
        live.until_closed(session)
        return look(paths)

    for describe in (live.engine.live.status, live.engine.work.find):
        live.live.send(session, "again", waits=True)
        monkeypatch.setattr(hosts, "survey", look_late)
        shown = describe(session)
        assert ("closed", 0) == (shown.session.ended, shown.session.exit_code)
        assert (None, "closed") == (shown.turn_id, shown.status)


def test_a_session_has_one_name_wherever_it_is_given(live, done, told):
    session, *_ = done
    native = live.live.find(session).native_id

    def names():
        (listed,) = [one for one in told("session", "list")["conversations"] if native in json.dumps(one)]
        return listed["name"], live.live.find(session).title

    before = names()
    live.engine.sessions.notes.rename(native, "the first name")
    assert ("the first name",) * 2 == names()
    live.engine.sessions.notes.rename(native, "")  # as its undo does
    assert before == names()
    live.engine.sessions.notes.rename(native, "the first name")
    live.live.order(session, orders.Rename("the second name"), starts=True)
    assert ("the second name",) * 2 == names()


@pytest.mark.parametrize("runtime", ["demo-claude1", "demo-codex1"])
def test_a_session_has_one_id_and_one_name_in_every_list(live, capfd, runtime):
    session, turn = live.begin_turn("hello", runtime=runtime)
    live.live.wait(session, turn)
    capfd.readouterr()
    assert 0 == main(["session", "name", session[:8], "Alpha"])
    named = capfd.readouterr().out
    assert 0 == main(["session", "list", "--json"])
    (listed,) = json.loads(capfd.readouterr().out)["conversations"]

    assert f"{session}  Alpha\n" == named
    assert (session, "Alpha") == (listed["chain_id"], listed["name"])
    assert "Alpha" == live.live.status(session).session.title


def test_a_session_that_began_with_a_title_has_it_again_when_its_name_is_taken_away(live):
    session, turn = live.begin_turn("hello", title="Walrus")
    live.live.wait(session, turn)
    titles = []
    for name in ("Alpha", ""):
        live.engine.sessions.notes.rename(live.live.find(session).native_id, name)
        titles.append(live.live.find(session).title)

    assert ["Alpha", "Walrus"] == titles


def test_a_name_given_by_a_command_is_told_to_those_who_look_at_the_session(live):
    session, turn = live.begin_turn("hello")
    live.live.wait(session, turn)
    for name in ("Alpha", ""):
        live.engine.sessions.notes.rename(live.live.find(session).native_id, name)

    told = [one.event.name for one in live.live.events(session) if type_of(one.event) == "name_changed"]
    assert ["hello", "Alpha", "hello"] == told


def test_a_session_of_an_earlier_release_is_found_by_its_id_in_the_list_too(live):
    session, turn = live.begin_turn("hello")
    live.live.wait(session, turn)
    former = "0c1de000-0000-4000-8000-000000000001"
    with closing(sqlite3.connect(live.engine.paths.state_db)) as connection, connection:
        for table in ("session_chains", "session_chain_segments"):
            connection.execute(f"UPDATE {table} SET chain_id = ?", (former,))

    assert session == live.live.find("0c1de000").session_id
