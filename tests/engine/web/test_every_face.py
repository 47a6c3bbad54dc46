"""What was said in a session is in every face, whoever has heard it: entries are what all of them read."""

import json
from contextlib import closing
from datetime import UTC, datetime
from functools import partial

import pytest
from starlette.testclient import TestClient

from oulipoly_engine.clock import SystemClock
from oulipoly_engine.core.live import events as ev
from oulipoly_engine.core.live.sessions import LiveSession, Turn
from oulipoly_engine.core.runs.invocations import Outcome
from oulipoly_engine.facade.engine import Engine, Surroundings
from oulipoly_engine.service.live.event_retention import shorten_session
from oulipoly_engine.service.live.session_events import SessionEvents
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.live import live_sessions
from oulipoly_engine.store.runs import invocations
from oulipoly_engine.testing import FakeClock
from oulipoly_engine.web.access.gate import Serving
from oulipoly_engine.web.app import make_app
from oulipoly_engine.web.pages.page import PART

AT = datetime(2026, 11, 22, 12, tzinfo=UTC)
RUNS = {kind: f"{number}f1c0b1e-5d0c-4c53-9a55-0c9f3a1b2c3d" for number, kind in enumerate(("terminal", "live"), 1)}
NATIVE = {kind: f"{number}9e8cc00-616d-4640-bf1d-96f5391b1a2e" for number, kind in enumerate(("terminal", "live"), 3)}
LIVE = "5b7b7d3e-0f0e-4a4e-8a0a-3c1f2a9d8e7f"
STORAGE = """
[claude.session_storage]
kind = "script"
cwd_script = "claude-code-cwd ROOT"
transcript_script = "claude-code-locate-transcript ROOT"
storage_type = "claude_code"
"""


@pytest.fixture
def sessions(world, markers):
    """A one-shot of a CLI that keeps nothing, a terminal's session with a transcript, a live one without: their ids."""
    folder = world.home / ".claude" / "projects" / "-work"
    folder.mkdir(parents=True)
    world.account("plain", "echo 'answer of one-shot'")
    world.account("claude", "true", STORAGE.replace("ROOT", str(folder.parent)))
    world.model("m", "plain")
    (world.config / "sessions.toml").write_text(f"[claude]\nturn_script = 'claude-code-turns {folder.parent}'\n")
    done = world.run("-m", "m", "question of one-shot")
    run = markers("OULIPOLY_INVOCATION", done.stderr)[0]["id"]
    lines = [_record(number, role) for number, role in enumerate(("user", "assistant"))]
    (folder / f"{NATIVE['terminal']}.jsonl").write_text("".join(f"{line}\n" for line in lines))
    with closing(open_store(world.data / "state.db")) as store:
        _begin_live(store)
        for kind, account in (("terminal", "claude"), ("live", "mine")):
            _record_run(store, kind, account)
    return {"one-shot": (run, run), "terminal": (NATIVE["terminal"], RUNS["terminal"]), "live": (LIVE, RUNS["live"])}


def _record(number, role):
    words = {"user": "question", "assistant": "answer"}[role]
    message = {"role": role, "content": [{"type": "text", "text": f"{words} of terminal"}]}
    own = {"sessionId": NATIVE["terminal"], "uuid": f"u{number}", "timestamp": f"2026-01-01T00:00:0{number}Z"}
    return json.dumps({"type": role, "cwd": "/work", "message": message} | own)


def _begin_live(store):
    native = NATIVE["live"]
    live_sessions.insert(
        store, LiveSession(LIVE, "/work", "mine", "acp", "m", AT, AT, native_id=native, title="question of live")
    )
    live_sessions.insert_turn(store, Turn("t1", LIVE, "user", "running", "question of live", "", AT))
    events = SessionEvents(store, LIVE, SystemClock(), lambda _: None)
    events.say(ev.SessionOpened(native))
    for kind, text in (("user_message", "question of live"), ("agent_message", "answer of live")):
        events.say(ev.ItemEnded(ev.Item(kind, kind, "completed", text), turn_id="t1"))
    command = ev.Item("1", "command", "failed", "output of live", "ls", exit_code=2)
    events.say(ev.ItemStarted(ev.Item("1", "command", title="ls"), turn_id="t1"))
    events.say(ev.ItemEnded(command, turn_id="t1"))
    events.say(ev.TurnEnded("completed", turn_id="t1"))
    events.keep()
    live_sessions.end_turn(store, "t1", "completed", AT, reply="answer of live")


def _record_run(store, kind, account):
    new = invocations.NewInvocation(
        RUNS[kind], "m", account, None, AT, session_id=NATIVE[kind], capture_method="resumed"
    )
    with store.write():
        invocations.end(store, invocations.begin(store, new), Outcome(True, 0, AT))


COMMANDS = {
    "session list": ("session", "list"),
    "session search": ("session", "search", "question"),
    "session show": ("session", "show", "{session}", "--all"),
    "session export": ("session", "export", "{session}"),
    "session export --format html": ("session", "export", "{session}", "--format", "html"),
    "trace": ("trace", "{run}", "--inline-transcript", "--json"),
}
PLACES = {
    "GET /sessions": ("/sessions?q=", "application/json"),
    "GET /sessions/ID/messages": ("/sessions/{session}/messages", "application/json"),
    "GET /sessions/ID/events": ("/sessions/{session}/events", "application/json"),
    "list page": ("/sessions", "text/html"),
    "page": ("/sessions/{session}", "text/html"),
}
OF_LIVE = {
    "session follow": ("session", "follow", LIVE),
    "session follow --json": ("session", "follow", LIVE, "--json", "--after", "1"),
    "session status": ("session", "status", LIVE, "--json"),
    "session show": COMMANDS["session show"],
    "session export": COMMANDS["session export"],
    "page": f"/sessions/{LIVE}",
    "page of an entry": f"/sessions/{LIVE}/entries/5",
    "page by a link": f"/sessions/{LIVE}",
    "GET /sessions/ID/messages": f"/sessions/{LIVE}/messages",
    "GET /sessions/ID/events": f"/sessions/{LIVE}/events?after=1",
    "GET /sessions/ID/trace": f"/sessions/{LIVE}/trace",
}
QUESTIONS_ALONE = ("session list", "session search", "GET /sessions", "list page")


def find_missing(face, sessions, read):
    """Return what of the sessions an answer of the face does not have. read: gives it for a session and a run."""
    words = ("question",) if face in QUESTIONS_ALONE else ("question", "answer")
    answers = {kind: read(session, run) for kind, (session, run) in sessions.items()}
    return [f"{word} of {kind}" for kind in sessions for word in words if f"{word} of {kind}" not in answers[kind]]


def test_a_session_of_each_kind_is_in_each_command(world, sessions):
    world.run("session", "scan")

    def read(words, session, run):
        answer = world.run(*(word.format(session=session, run=run) for word in words))
        assert 0 == answer.returncode, answer.stderr
        return answer.stdout.decode()

    missing = {face: find_missing(face, sessions, partial(read, words)) for face, words in COMMANDS.items()}
    assert {face: [] for face in COMMANDS} == missing


def test_a_session_of_each_kind_is_in_each_answer_of_the_server(sessions, browse):
    browser = browse("view", "answer", "operate")
    browser.get("/sessions?q=", headers={"accept": "application/json"})

    def read(place, accepted, session, _run):
        return browser.get(place.format(session=session), headers={"accept": accepted}).text

    missing = {face: find_missing(face, sessions, partial(read, *place)) for face, place in PLACES.items()}
    assert {face: [] for face in PLACES} == missing


def test_a_list_that_stays_open_looks_at_transcripts_now_and_then(world, sessions):
    clock = FakeClock()
    with closing(Engine(Surroundings(clock=clock))) as engine:
        app = make_app(engine, Serving(port=8787))
        token = engine.web.redeem(engine.web.make_code("", ("view", "answer", "operate")).code, "", "here").token
        headers = {"authorization": f"Bearer {token}", "accept": "text/html"}
        with TestClient(app, "http://localhost:8787", headers=headers) as browser:
            browser.get("/sessions")
            later = NATIVE["terminal"].replace("3", "7", 1)
            lines = _record(9, "user").replace(NATIVE["terminal"], later).replace("question", "later question")
            (world.home / ".claude" / "projects" / "-work" / f"{later}.jsonl").write_text(f"{lines}\n")
            shown = []
            for seconds in (3, 30):
                clock.advance(seconds)
                shown.append("later question" in browser.get("/sessions", headers={PART: "1"}).text)

    assert [False, True] == shown


def test_a_session_of_each_kind_is_in_the_archive_or_says_where_it_is(sessions, engine):
    engine.sessions.transcripts.glance()
    chains = {
        listed.session.active.session_id: listed.session.chain_id
        for listed in engine.sessions.catalogue.table(engine.sessions.catalogue.query("")).rows
    }
    kept = {
        kind: engine.sessions.archive.keep([chains[NATIVE.get(kind, session)]])
        for kind, (session, _) in sessions.items()
    }

    in_state_file = "Its messages are kept in the state file: its CLI has no transcript to copy"
    assert {"one-shot": in_state_file, "terminal": "The session is in the archive", "live": in_state_file} == kept


def test_each_face_says_the_same_once_only_entries_hold_what_was_said(world, sessions, browse, engine):
    device = browse("view", "answer", "operate")
    link = browse(authorization=f"Bearer {engine.web.make_link().token}")

    def read(face, words):
        if isinstance(words, str):
            accepted = "text/html" if face.startswith("page") else "application/json"
            browser = link if face.endswith("by a link") else device
            answer = browser.get(words, headers={"accept": accepted})
            return answer.status_code, answer.text
        answer = world.run(*(word.format(session=LIVE) for word in words))
        return answer.returncode, answer.stdout.decode()

    before = {face: read(face, words) for face, words in OF_LIVE.items()}
    with closing(open_store(world.data / "state.db")) as store:
        shorten_session(store, LIVE)
        (kept,) = store.rows("SELECT group_concat(event) FROM live_events")[0]

    assert {0, 200} == {status for status, _ in before.values()}
    assert "of live" not in kept
    assert before == {face: read(face, words) for face, words in OF_LIVE.items()}
