"""Events and traces over REST of sessions that CLIs alone have written: as those of live ones, where it is known."""

import json
import shutil
import threading
from pathlib import Path

import httpx
import pytest

from oulipoly_engine.web.api import listing, streams
from oulipoly_engine.web.serve import start

FIXTURES = Path(__file__).parents[2] / "fixtures" / "transcripts"
CLAUDE, CODEX = "d6adf073-418f-462a-b8aa-72e3f999ed21", "01a1fc51-d849-7dd3-9847-9872ccd15668"
PLAIN = "fe79deb1-8e40-423f-a72c-944bb4a749fd"  # of Claude Code
HOSTILE = "aaaa0001-418f-462a-b8aa-72e3f999ed21"
FILES = {"claude": "2.1.197/projects", "codex": "0.60.1/sessions"}
KINDS = {"claude": ("claude-code", "claude_code"), "codex": ("codex", "codex_session")}
STORAGE = """
[{0}.session_storage]
kind = "script"
cwd_script = "{1}-cwd {3}"
transcript_script = "{1}-locate-transcript {3}"
storage_type = "{2}"
"""
TOKEN = "abcdefghij0123456789abcdefghij"
SECRET = f"curl -H 'Authorization: Bearer {TOKEN}' x"


def record(number, role, *chunks, session=HOSTILE, **more):
    """Return a line of Claude Code's. number: the second of its time, and its id."""
    at = f"2026-11-21T05:00:{number:02}.000Z"
    message = {"role": role, "content": list(chunks)}
    fields = {"sessionId": session, "uuid": f"{session[:8]}-{number}", "timestamp": at, "cwd": "/work"}
    return json.dumps({"type": role, "message": message} | fields | more) + "\n"


def text(words):
    return {"type": "text", "text": words}


def call(tool, given, call_id="c1"):
    return {"type": "tool_use", "id": call_id, "name": tool, "input": given}


def result(call_id, said):
    return {"type": "tool_result", "tool_use_id": call_id, "content": said, "is_error": True}


HOSTILE_LINES = (
    record(1, "user", text(f"<script>{SECRET}\x1b[31m\u202e")),
    record(2, "assistant", {"type": "thinking", "thinking": f"**Look**\n\ntoken={TOKEN}"}),
    record(3, "assistant", call("Bash", {"command": f"{SECRET} && \x1b[2Jls 'not closed"})),
    record(4, "user", result("c1", f"Exit code {'9' * 5000}")),
    record(5, "assistant", call("Bash", {"command": ["ls"]}, "c2"), call("Bash", "ls", "c3"), call("Bash", {}, "c4")),
    record(7, "assistant", call("Bash", {"command": "ls of a sub-agent"}, "c6"), isSidechain=True),
    record(8, "user", text("[Request interrupted by user]")),
    record(9, "assistant", call("Bash", {"command": "ls of no time"}, "c7"), timestamp="soon"),
    "{" * 3000 + "\n",
)


@pytest.fixture
def recorded(world, engine):
    """A home in which Claude Code and Codex have had sessions; gives Claude's folder."""
    for name, folder in FILES.items():
        root = world.home / folder
        shutil.copytree(FIXTURES / name / folder, root)
        world.account(name, "true", STORAGE.format(name, *KINDS[name], root))
        with (world.config / "sessions.toml").open("a") as file:
            file.write(f"[{name}]\nturn_script = '{KINDS[name][0]}-turns {root}'\n")
    folder = world.home / FILES["claude"] / "-home-user-proj"
    (folder / f"{HOSTILE}.jsonl").write_text("".join(HOSTILE_LINES))
    engine.web.make_code("", ("view",))  # it makes the state file
    while engine.sessions.transcripts.glance().left:  # one look takes a moment at most
        pass
    return folder


def read_pages(client, session, limit):
    """Return the events of a session, read by so many at a time."""
    events, page = [], {"after": 0, "more": True}
    while page["more"]:
        page = client.get(f"/sessions/{session}/events?after={page['after']}&limit={limit}").json()
        events += page["events"]
    assert {"events": [], "after": page["after"], "more": False} == client.get(
        f"/sessions/{session}/events?after={page['after']}"
    ).json()
    return events


@pytest.mark.parametrize("session", [CLAUDE, CODEX])
def test_what_a_cli_has_written_comes_as_events_page_by_page(recorded, browse, session):
    client = browse("view")
    events = client.get(f"/sessions/{session}/events").json()["events"]
    messages = client.get(f"/sessions/{session}/messages").json()
    said = [event["item"] for event in events]

    assert events == read_pages(client, session, 3)
    assert sorted({event["seq"] for event in events}) == [event["seq"] for event in events]
    assert {"item_ended"} == {event["type"] for event in events}
    assert [message["id"] for message in messages] == [item["id"] for item in said]
    assert {"user_message", "agent_message"} <= {item["kind"] for item in said}
    assert "run [[sh:echo hi; pwd]]" in [item["text"] for item in said]


@pytest.mark.parametrize(
    ("session", "shown"),
    [
        (
            CLAUDE,
            [
                ("exec", "echo hi; pwd", "completed", None),
                ("list", "ls /nonexistent", "failed", 2),
                ("exec", "touch denied.txt", "failed", None),
            ],
        ),
        (CODEX, [("exec", "echo hi; pwd", "completed", 0), ("list", "ls /nonexistent", "failed", 2)]),
    ],
)
def test_what_a_cli_has_done_is_its_trace(recorded, browse, session, shown):
    client = browse("view")
    runs = client.get(f"/sessions/{session}/trace").json()
    tools = [tool for run in runs for tool in run["tools"]]

    assert shown == [(tool["label"], tool["command"], tool["status"], tool["exit_code"]) for tool in tools]
    assert {"unknown"} == {run["status"] for run in runs}
    assert ["stub thought"] == [section["text"] for run in runs for section in run["sections"]]
    assert all(tool["duration_ms"] >= 0 for tool in tools)


def test_the_command_shows_what_rest_has(recorded, browse, world):
    document = json.loads(world.run("trace", CODEX, "--json").stdout)
    lines = world.run("trace", CODEX[:8]).stdout.decode().splitlines()

    assert browse("view").get(f"/sessions/{document['chain_id']}/trace").json() == document["turns"]
    assert ["  echo hi; pwd (completed, exit code 0)", "  thought: stub thought"] == [lines[1], lines[6]]
    assert TOKEN.encode() not in world.run("trace", HOSTILE).stdout
    for words in (("past",), (HOSTILE, "--why")):  # nothing of that id, and what only a run can show
        assert b"no recorded runs begin with" in world.run("trace", *words).stderr


def test_no_secret_goes_out_and_nothing_is_made_up(recorded, browse):
    client = browse("view")
    answers = [client.get(f"/sessions/{HOSTILE}/{place}") for place in ("events", "trace")]
    (run,) = answers[1].json()

    assert [200, 200] == [answer.status_code for answer in answers]
    assert TOKEN not in answers[0].text + answers[1].text
    assert ["<script>curl" in event["item"]["text"] for event in answers[0].json()["events"][:2]] == [True, False]
    assert [("c1", "exec", "failed", None)] == [
        (tool["call_id"], tool["label"], tool["status"], tool["exit_code"]) for tool in run["tools"]
    ]
    assert ["Look"] == [section["title"] for section in run["sections"]]
    assert (None, None) == (run["plan"], run["usage"])


def test_a_session_that_is_written_goes_on_behind_the_last_number(recorded, browse, engine, monkeypatch):
    monkeypatch.setattr(listing, "_GLANCE_EVERY_S", 0.0)
    client = browse("view")
    last = client.get(f"/sessions/{CLAUDE}/events").json()["after"]
    with (recorded / f"{CLAUDE}.jsonl").open("a") as file:
        file.write(record(1, "user", text("later"), session=CLAUDE))
        file.write(record(2, "user", text("written last, of before"), session=CLAUDE, timestamp="2026-11-20T05:00:00Z"))
    events = client.get(f"/sessions/{CLAUDE}/events?after={last}").json()["events"]

    assert ["later", "written last, of before"] == [event["item"]["text"] for event in events]


def test_a_stream_tells_what_is_written_as_it_comes(recorded, engine, monkeypatch):
    monkeypatch.setattr(listing, "_GLANCE_EVERY_S", 0.0)
    monkeypatch.setattr(streams, "_NO_HOST_S", 0.01)
    monkeypatch.setattr(streams, "_NO_CHANGE_S", 0.01)
    token = engine.web.redeem(engine.web.make_code("", ("view",)).code, "", "here").token
    headers = {"authorization": f"Bearer {token}", "accept": "text/event-stream"}
    with start(engine, address="127.0.0.1", port=0) as server:
        thread = threading.Thread(target=server.run)
        thread.start()
        try:
            url = f"{server.url}/sessions/{PLAIN}/events"
            known = httpx.get(url, headers=headers | {"accept": "*/*"}, trust_env=False).json()["events"]
            headers["last-event-id"] = str(known[-3]["seq"])
            with httpx.stream("GET", url, headers=headers, timeout=60, trust_env=False) as answer:
                lines = (json.loads(line[6:]) for line in answer.iter_lines() if line.startswith("data: "))
                shown = [next(lines), next(lines)]
                with (recorded / f"{PLAIN}.jsonl").open("a") as file:
                    file.write(record(1, "user", text("later"), session=PLAIN))
                shown.append(next(lines))
                assert 1 == len(server.app.state.hub.device_ids())  # one that is revoked hears no more
        finally:
            server.stop()
            thread.join(60)

    assert known[-2:] == shown[:2]
    assert "later" == shown[2]["item"]["text"]
