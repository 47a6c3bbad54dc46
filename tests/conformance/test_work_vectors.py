"""The acceptance vectors of work sessions, each test named by its number, through REST and `agents serve`.

The agent is `fixtures/echo_proto.py`, as the contract describes it. `ELSEWHERE` names the tests that show the other
vectors; `DIFFERENCES` says where this product differs from a vector, and why.
"""

import ast
import json
import os
import re
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from oulipoly_engine.core.live import events as ev
from oulipoly_engine.core.live.states import TURN_END_EVENTS
from oulipoly_engine.core.text.lines import LineSplitter
from oulipoly_engine.core.worktrees.trace import build_trace
from oulipoly_engine.drivers.base import Opening
from oulipoly_engine.drivers.codex_proto import CodexProtoDriver
from oulipoly_engine.process.liveness import is_alive
from oulipoly_engine.records import replace
from oulipoly_engine.web.api import sessions
from oulipoly_engine.web.app import make_app

ROOT = Path(__file__).resolve().parents[2]
ELSEWHERE: dict[int, tuple[str, ...]] = {
    22: ("tests/engine/core/worktrees/test_names_and_prompts.py::test_the_page_of_a_pull_request",),
}
DIFFERENCES: dict[int, str] = {
    7: "the flag is for pages alone: a second message while a turn runs is refused either way (contract B6)",
    8: "`never` with `workspace-write` is kept as it is; other pairs have to be those of a permission profile",
    12: "the silence that a turn may keep is no field of REST: the test sets it where a body is read",
    18: "with `use_worktree`, which is the default, a folder without git is refused",
    21: "the device has to be confirmed as well: a commit runs the repository's hooks",
    23: "the same: what is pushed may be built elsewhere",
    30: "a one-shot's turn has an id as every turn has; the message is that of the turn, not of a file",
    35: "the process of a session outlives the server: it still runs, and nothing is lost. A CLI that can resume goes "
    "on by itself; one that cannot is told what was said before",
}
V8 = {
    "model": "gpt-5-high",
    "approval_policy": "never",
    "sandbox_mode": "workspace-write",
    "include_plan_tool": True,
    "web_search": True,
    "include_apply_patch_tool": False,
    "include_view_image_tool": True,
}


def git(folder, *words):
    given = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
    done = subprocess.run(["git", "-C", folder, *words], env={**os.environ, **given}, capture_output=True, check=True)
    return done.stdout.decode().strip()


def until(look, within_s=60.0):
    """Return what a look gives as soon as it is true."""
    deadline = time.monotonic() + within_s
    while not (seen := look()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return seen


class Rest:
    """The REST app over a demo world with an echoing agent and a repository."""

    def __init__(self, live, client_for):
        self.live = live
        self.repository = live.root / "repo"
        self.repository.mkdir()
        git(self.repository, "init", "-q", "-b", "main")
        (self.repository / "README.md").write_text("hello\n")
        git(self.repository, "add", ".")
        git(self.repository, "commit", "-qm", "first")
        self.agent()
        access = live.engine.web
        token = access.redeem(access.make_code(scopes=("view", "answer", "operate")).code, "a test", "here").token
        headers = {"authorization": f"Bearer {token}", "accept": "application/json"}
        self.client = client_for(make_app(live.engine), "http://localhost", headers=headers, follow_redirects=False)

    def agent(self, mood="", name="echo", kind="codex-proto"):
        """Add the agent in one of its moods."""
        return self.live.scripted(mood, name, cli="echo_proto.py", kind=kind)

    def begin(self, **more):
        """Begin a session; returns the answer's body."""
        body = {"repo_path": str(self.repository), "agent_id": "echo", **more}
        answer = self.client.post("/sessions", json=body)
        assert 200 == answer.status_code, answer.text
        return answer.json()

    def begin_id(self, **more):
        """Begin a session; returns its id."""
        return self.begin(**more)["id"]

    def detail(self, session):
        """Return a session's detail."""
        return self.client.get(f"/sessions/{session}").json()

    def post(self, session, content):
        """Send a message."""
        return self.client.post(f"/sessions/{session}/messages", json={"content": content})

    def messages(self, session):
        """Return the messages of a session."""
        return self.client.get(f"/sessions/{session}/messages").json()

    def reply(self, session, turn=1):
        """Return the answer of a turn, from 1, once it is over."""

        def look():
            said = [one for one in self.messages(session) if one["role"] == "assistant"]
            return len(said) >= turn and said[turn - 1]["status"] in TURN_END_EVENTS and said[turn - 1]

        return until(look)["content"]

    def log(self, session):
        """Return all of a session's log."""
        return self.client.get(f"/sessions/{session}/log", params={"tail": "all"}).text


@pytest.fixture
def rest(live, client_for):
    """REST over a demo world."""
    return Rest(live, client_for)


def test_01_05_32_a_session_is_begun_persistent_and_does_its_first_message(rest):
    told = rest.begin(initial_message="do it")

    assert "Echo: do it" in rest.reply(told["id"])
    assert isinstance(told["id"], str)
    assert len(told["id"]) > 8
    assert "persistent" == rest.detail(told["id"])["lifecycle"]


def test_02_a_message_is_answered(rest):
    session = rest.begin_id()

    assert 200 == rest.post(session, "Hello").status_code
    assert "Echo: Hello" == rest.reply(session)
    assert "Echo: Hello" == rest.messages(session)[-1]["content"]


def test_03_of_two_messages_at_once_one_is_refused(rest):
    session = rest.begin_id()
    until(lambda: rest.detail(session)["status"] == "running")
    codes = []
    threads = [
        threading.Thread(
            target=lambda: codes.append(rest.post(session, "REQUEST_APPROVAL, so that it lasts").status_code)
        )
        for _ in "ab"
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [200, 409] == sorted(codes)


def test_04_a_form_leads_to_the_session(rest):
    fields = {"repo_path": str(rest.repository), "initial_message": "hello", "agent_id": "echo"}
    answer = rest.client.post("/sessions", data=fields)

    assert (303, True) == (answer.status_code, answer.headers["location"].startswith("/sessions/"))
    assert "Echo: hello" == rest.reply(answer.headers["location"].rpartition("/")[2])


def test_06_a_message_is_taken_at_once_and_named(rest):
    session = rest.begin_id()
    until(lambda: rest.detail(session)["status"] == "running")
    told = rest.post(session, "REQUEST_APPROVAL, so that the turn lasts").json()

    assert told["assistant_message_id"] in [one["id"] for one in rest.messages(session)]
    assert 409 == rest.post(session, "too early").status_code  # the answer came before the turn's end
    assert {"turn_id", "user_message_id", "assistant_message_id", "message_id"} == set(told)
    assert {str} == {type(value) for value in told.values()}
    assert told["message_id"] == told["user_message_id"]


def test_07_whether_a_page_waits_can_be_changed(rest):
    session = rest.begin_id()
    before = rest.detail(session)["block_while_running"]
    answer = rest.client.patch(f"/sessions/{session}", json={"block_while_running": False})

    assert (True, 200, False) == (before, answer.status_code, rest.detail(session)["block_while_running"])


def test_08_what_a_session_was_given_is_read_back(rest):
    detail = rest.detail(rest.begin_id(**V8))

    assert {key: detail[key] for key in V8} == V8


def test_09_10_15_the_agent_works_in_the_worktree_with_all_that_it_was_given(rest):
    told = rest.begin(**V8 | {"include_apply_patch_tool": True}, initial_message="Hello integration")
    reply, log = rest.reply(told["id"]), rest.log(told["id"])
    argv = json.loads(re.search(r"ARGS:(\[.*\])", log)[1])

    assert "Echo: Hello integration" == reply
    assert f"CWD:{os.path.realpath(told['worktree_path'])}" in log
    assert ("proto", True, False) == (argv[-1], "-c" in argv, "-C" in argv)
    assert {
        *("model=gpt-5-high", "approval_policy=never", "sandbox_mode=workspace-write", "include_plan_tool=true"),
        *("tools.web_search=true", "include_apply_patch_tool=true", "include_view_image_tool=true"),
    } <= set(argv)


def test_11_busy_only_while_a_turn_runs(rest):
    session = rest.begin_id()
    idle = until(lambda: (detail := rest.detail(session))["status"] == "running" and detail)
    rest.post(session, "REQUEST_APPROVAL, so that it lasts")
    was_busy = until(lambda: rest.detail(session)["busy"])
    rest.live.live.answer(rest.live.request(session).request_id, "approve")
    until(lambda: not rest.detail(session)["busy"])

    assert (False, True) == (idle["busy"], was_busy)
    assert [False] == [one["busy"] for one in rest.client.get("/sessions").json() if one["id"] == session]


def test_12_no_turn_times_out_while_it_waits_for_an_answer(rest, monkeypatch):
    read = sessions.read_wish
    monkeypatch.setattr(sessions, "read_wish", lambda *given: _silent_for(read(*given), 2.0))
    session = rest.begin_id()
    until(lambda: rest.detail(session)["status"] == "running")
    rest.post(session, "REQUEST_APPROVAL please")
    until(lambda: rest.detail(session)["pending_approval"])
    time.sleep(2.1)  # longer than the turn may be silent
    (request,) = [one for one in rest.client.get("/requests").json() if one["session_id"] == session]
    body = {"call_id": request["call_id"], "decision": "approve", "scope": "once"}

    assert 409 == rest.client.post(f"/sessions/{session}/approvals", json=body | {"call_id": "other"}).status_code
    assert 400 == rest.client.post(f"/sessions/{session}/approvals", json=body | {"decision": "maybe"}).status_code
    assert 200 == rest.client.post(f"/sessions/{session}/approvals", json=body).status_code
    assert "Approval approve" in rest.reply(session)
    assert 409 == rest.client.post(f"/sessions/{session}/approvals", json=body).status_code


def _silent_for(wish, seconds):
    return replace(wish, turn_silence_s=seconds)


def entries(rest, session, side="unstaged"):
    """Return the paths that differ."""
    return {one["path"] for one in rest.client.get(f"/sessions/{session}/changes").json()[side]}


def order(rest, session, op, *paths, **more):
    """Have something done to changes; returns the answer's status."""
    body = {"op": op, "paths": list(paths), **more}
    return rest.client.post(f"/sessions/{session}/git", json=body).status_code


def set_up(rest, name):
    """Set a switch of the server."""
    config = rest.live.demo.config / "config.toml"
    config.write_text(f"{name} = true\n{config.read_text()}")


def test_16_a_new_file_is_seen_staged_and_its_diff_told(rest):
    told = rest.begin()
    session, folder = told["id"], Path(told["worktree_path"])
    (folder / "foo.txt").write_text("foo\n")
    before = entries(rest, session)
    git(folder, "add", "foo.txt")
    query = {"path": "foo.txt", "side": "index", "context": 2}
    diff = rest.client.get(f"/sessions/{session}/diff", params=query).json()

    assert ({"foo.txt"}, {"foo.txt"}) == (before, entries(rest, session, "staged"))
    assert (False, True) == (diff["isBinary"], "foo.txt" in diff["diff"])


def test_17_files_are_read_and_written_by_their_etag(rest):
    told = rest.begin()
    place = f"/sessions/{told['id']}/file"
    read = rest.client.get(place, params={"path": "README.md", "rev": "head"}).json()
    written = rest.client.put(place, json={"path": "bar.txt", "content": "abc\n"})
    etag = rest.client.get(place, params={"path": "bar.txt", "rev": "worktree"}).json()["etag"]
    body = {"path": "bar.txt", "content": "more\n", "expected_etag": etag}
    codes = [rest.client.put(place, json=body).status_code for _ in range(2)]

    assert (str, str, "hello\n") == (type(read["content"]), type(read["etag"]), read["content"])
    assert (200, [200, 409]) == (written.status_code, codes)
    assert "more\n" == (Path(told["worktree_path"]) / "bar.txt").read_text()


def test_18_a_folder_without_git(rest):
    folder = rest.live.root / "plain"
    folder.mkdir()
    session = rest.begin_id(repo_path=str(folder), use_worktree=False)

    assert not rest.client.get(f"/sessions/{session}/changes").json()["gitAvailable"]


@pytest.mark.parametrize("query", [{"path": "../etc/passwd"}, {"path": "README.md", "side": "head"}])
def test_19_no_path_leads_out_of_the_worktree(rest, query):
    session = rest.begin_id()

    assert 400 == rest.client.get(f"/sessions/{session}/diff", params=query).status_code


def test_20_files_are_staged_unstaged_and_discarded(rest):
    told = rest.begin()
    session, folder = told["id"], Path(told["worktree_path"])
    for name in ("b.txt", "c.txt"):
        (folder / name).write_text("x\n")
    seen = []
    for op in ("stage", "unstage", "discardWorktree"):
        assert 200 == order(rest, session, op, "b.txt")
        seen.append(("b.txt" in entries(rest, session, "staged"), "b.txt" in entries(rest, session)))
    codes = [order(rest, session, op, "c.txt") for op in ("stage", "discardIndex")]

    assert [(True, False), (False, True), (False, False)] == seen
    assert ([200, 200], False) == (codes, "c.txt" in entries(rest, session, "staged"))


def test_21_a_commit_where_it_is_allowed_takes_what_is_staged(rest):
    told = rest.begin()
    session, folder = told["id"], Path(told["worktree_path"])
    git(folder, "config", "user.name", "Ann")
    git(folder, "config", "user.email", "ann@example.com")
    for name in ("staged.txt", "unstaged.txt"):
        (folder / name).write_text("x\n")
    order(rest, session, "stage", "staged.txt")
    off = order(rest, session, "commit", message="one")
    set_up(rest, "serve_commit")
    codes = [order(rest, session, "commit", message=message) for message in ("", "one", "nothing is staged")]

    assert (404, [400, 200, 400]) == (off, codes)
    assert (set(), {"unstaged.txt"}) == (entries(rest, session, "staged"), entries(rest, session))


def test_23_24_a_branch_is_pushed_where_it_is_allowed(rest):
    remote = rest.live.root / "remote.git"
    git(rest.live.root, "init", "-q", "--bare", str(remote))
    git(rest.repository, "remote", "add", "origin", str(remote))
    git(rest.repository, "config", "user.name", "Ann")
    git(rest.repository, "config", "user.email", "ann@example.com")
    told = rest.begin()
    place = f"/sessions/{told['id']}/promote"
    (Path(told["worktree_path"]) / "new.txt").write_text("x\n")
    body = {"message": "All of it", "branch": "awrapper/test-branch"}
    off = [rest.client.get(f"{place}/preflight").status_code, rest.client.post(place, json=body).status_code]
    set_up(rest, "serve_promote")
    ready = rest.client.get(f"{place}/preflight")
    done = rest.client.post(place, json=body).json()

    assert ([404, 404], 200) == (off, ready.status_code)
    assert (True, "awrapper/test-branch", True) == (done["ok"], done["branch"], done["pushed"])
    assert "new.txt" in git(remote, "ls-tree", "--name-only", "refs/heads/awrapper/test-branch")


ONE = b'{"id":"run1","msg":{"type":"agent_message","message":"Hello"}}\n'
TWO = b'{"id":"run1","msg":{"type":"agent_message","message":"one"}}\n' + ONE.replace(b"Hello", b"two")


@pytest.mark.parametrize(
    ("chunks", "messages"),
    [pytest.param((ONE[:30], ONE[30:]), ["Hello"], id="13"), pytest.param((TWO,), ["one", "two"], id="14")],
)
def test_13_14_events_however_the_stream_is_cut(chunks, messages):
    driver, splitter = CodexProtoDriver(Opening(cwd="/w", new_id="n")), LineSplitter(1 << 20)
    driver.begin()
    driver.send("run1", "hello")
    for chunk in chunks:
        for line in splitter.feed(chunk):
            driver.receive(line)
    ended = [event.item for event in driver.take().events if isinstance(event, ev.ItemEnded)]

    assert messages == [item.text for item in ended if item.kind == "agent_message"]


STEPS = [{"step": "look", "status": "completed"}, {"step": "do", "status": "in_progress"}]
PLAN = {"type": "update_plan", "plan": [*STEPS, {"step": "test", "status": "pending"}], "explanation": "why"}


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        pytest.param([(1001, PLAN)], (3, "why", 1001), id="25"),
        pytest.param([(1001, PLAN), (1002, {"type": "update_plan", "plan": STEPS})], (2, "", 1002), id="26"),
        pytest.param(
            [
                (1001, {"type": "update_plan", "plan": STEPS[:1]}),
                (1002, {"type": "update_plan", "plan": [{"step": "look", "status": "done"}]}),
                (1003, {"type": "update_plan", "plan": []}),
            ],
            (1, "", 1001),
            id="27",
        ),
        pytest.param([(1001, {**PLAN, "type": "task_plan"})], (3, "why", 1001), id="28"),
    ],
)
def test_25_to_28_the_plan_is_the_last_one_that_is_valid(messages, expected):
    driver = CodexProtoDriver(Opening(cwd="/w", new_id="n"))
    driver.begin()
    driver.send("run1", "hello")
    kept = []
    for at, message in [(1000, {"type": "task_started"}), *messages, (1100, {"type": "task_complete"})]:
        driver.receive(json.dumps({"id": "run1", "msg": message}).encode())
        told = f"1970-01-01T00:00:0{at / 1000:.3f}Z"
        kept += [(told, event) for event in driver.take().events if hasattr(event, "turn_id")]
    events = [ev.Numbered(seq, at, _of_run(event)) for seq, (at, event) in enumerate(kept, 1)]
    (trace,) = build_trace(events)

    assert "success" == trace.status
    assert expected == (len(trace.plan.steps), trace.plan.explanation, trace.plan.updated_at)


def test_b8_the_trace_of_a_session_is_served(rest):
    session = rest.begin_id(initial_message="RUN it")
    reply = rest.reply(session)
    (run,) = rest.client.get(f"/sessions/{session}/trace").json()

    assert ("ran", "success", "Looking") == (reply, run["status"], run["sections"][0]["title"])
    assert [("search", "+1 cmd", 0)] == [(one["label"], one["more"], one["exit_code"]) for one in run["tools"]]


def test_b2_b6_what_cannot_be_done_is_said_by_its_status(rest):
    session = rest.begin_id()
    until(lambda: rest.detail(session)["status"] == "running")
    wish = {"repo_path": str(rest.repository), "agent_id": "echo"}
    begun = [
        rest.client.post("/sessions", json=wish | wrong).status_code
        for wrong in (
            {"repo_path": str(rest.live.root / "nowhere")},
            {"repo_path": str(rest.live.root)},
            {"agent_id": "nobody"},
            {"branch": "nobody"},
            {"use_worktree": False, "branch": "other"},
            {"lifecycle": "eternal"},
        )
    ]
    asked = [
        rest.post(session, " ").status_code,
        rest.client.get(f"/sessions/{session}/messages", params={"after": "nobody"}).status_code,
        rest.post("00000000-nobody", "hello").status_code,
        rest.detail("00000000-nobody")["error"]["code"],
    ]
    rest.client.post(f"/sessions/{session}/cancel")
    rest.live.until_closed(session)
    (rest.live.root / "echo").unlink()
    revived = rest.post(session, "hello").status_code
    answer = rest.client.post("/sessions", json=wish)

    assert [400] * 6 == begun
    assert [400, 400, 404, "not-found"] == asked
    assert (503, 500) == (revived, answer.status_code)
    assert "canceled" == rest.detail(session)["status"]


def _of_run(event):
    """Give an event its turn, as a session's host does."""
    return replace(event, turn_id="run1")


def test_30_a_one_shot_begins_by_itself_and_takes_no_message(rest):
    session = rest.begin_id(lifecycle="oneshot")
    reply = rest.reply(session)
    detail = until(lambda: (told := rest.detail(session))["status"] == "closed" and told)

    assert ("Echo: Start", 0) == (reply, detail["exit_code"])
    assert 1 == len([one for one in detail["messages"] if one["role"] == "assistant"])
    assert 400 == rest.post(session, "again").status_code


def test_31_a_child_that_ignores_term_is_killed_and_its_session_stays_cancelled(rest):
    rest.agent("stubborn")
    session = rest.begin_id(initial_message="work")
    until(lambda: "DEAF" in rest.log(session))
    pid = rest.live.host_of(session).pid
    answer = rest.client.post(f"/sessions/{session}/cancel")
    ended = rest.live.until_closed(session)[-1]

    assert (200, False) == (answer.status_code, is_alive(pid))
    assert -signal.SIGKILL == ended.exit_code
    assert "canceled" == rest.detail(session)["status"]


def test_33_what_comes_before_a_pause_is_one_reply(rest):
    rest.agent("quiet", kind="plain")
    session = rest.begin_id()
    until(lambda: rest.detail(session)["status"] == "running")
    began = time.monotonic()
    rest.post(session, "go")
    reply = rest.reply(session)

    assert "AB" == reply
    assert time.monotonic() - began >= 0.7  # B came after 0.1 s
    assert 2 == len(rest.messages(session))


def test_34_no_secret_is_in_the_log_or_the_transcript(rest):
    session = rest.begin_id(initial_message="SECRET")
    reply, log = rest.reply(session), rest.log(session)

    for text in (reply, log):
        assert "abcdefghijklmnop1234" not in text
        assert "OPENAI_API_KEY=" in text
        assert "[redacted]" in text


class Served:
    """`agents serve` as a process, reached as a script reaches it."""

    def __init__(self, commands):
        self.process = commands.start(["serve", "--port", "0", "--json"])
        self.first = json.loads(self.process.stdout.readline())
        self.url, self.token = self.first["url"], ""
        self.token = self.ask("/pair", {"code": self.first["code"]})["token"]

    def ask(self, path, body=None, accept="application/json"):
        """Return the answer; of HTML its text."""
        headers = {"accept": accept, "authorization": f"Bearer {self.token}", "content-type": "application/json"}
        if not self.token:
            del headers["authorization"]
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(urllib.request.Request(self.url + path, data, headers), timeout=60) as answer:
            text = answer.read().decode()
        return text if accept == "text/html" else json.loads(text)

    def end(self, number=signal.SIGKILL):
        """End the process."""
        self.process.send_signal(number)
        self.process.wait()


@pytest.fixture
def serve(commands):
    """Start servers; none is left."""
    begun = []

    def start():
        begun.append(Served(commands))
        return begun[-1]

    yield start
    for one in begun:
        one.end()


def test_29_35_a_served_session_outlives_the_server_and_its_own_host(rest, serve):
    first = serve()
    body = {"repo_path": str(rest.repository), "agent_id": "echo", "initial_message": "my name is Ann"}
    page = first.ask("/", accept="text/html")
    told = first.ask("/sessions", body)
    session = told["id"]
    until(lambda: (said := first.ask(f"/sessions/{session}/messages")) and said[-1]["status"] == "completed")
    first.ask(f"/sessions/{session}/messages", {"content": "REQUEST_APPROVAL please"})
    until(lambda: first.ask(f"/sessions/{session}")["pending_approval"])
    first.end()
    second = serve()
    lives_on = second.ask(f"/sessions/{session}")
    host = rest.live.host_of(session)
    rest.live.kill(host.host_pid)
    rest.live.kill(host.pid)
    until(lambda: rest.live.host_of(session) is None)
    lost = second.ask(f"/sessions/{session}")
    second.ask(f"/sessions/{session}/messages", {"content": "who am I?"})
    revived = until(
        lambda: (said := second.ask(f"/sessions/{session}/messages")[-1])["status"] == "completed" and said["content"]
    )

    assert int(first.url.rpartition(":")[2]) > 0
    assert "<html" in page
    assert ("running", True, True) == (lives_on["status"], lives_on["busy"], lives_on["pending_approval"])
    assert ("failed", True, False) == (lost["status"], lost["is_stale"], lost["busy"])
    assert Path(told["worktree_path"]).is_dir()
    assert "my name is Ann" in revived
    assert revived.endswith("who am I?")


# The table -----------------------------------------------------------------------------------------------------------
def _functions(path):
    tree = ast.parse((ROOT / path).read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def _numbers_here():
    found = set()
    for name in _functions("tests/conformance/test_work_vectors.py"):
        if match := re.match(r"test_((?:\d\d_|to_)+)", name):
            words = match[1].strip("_").split("_")
            numbers = [int(word) for word in words if word != "to"]
            found |= set(range(numbers[0], numbers[-1] + 1)) if "to" in words else set(numbers)
    return found


def test_every_vector_is_shown_somewhere():
    assert set(range(1, 36)) == _numbers_here() | set(ELSEWHERE)
    assert set() == _numbers_here() & set(ELSEWHERE)
    assert set(range(1, 36)) >= set(DIFFERENCES)


@pytest.mark.parametrize("number", sorted(ELSEWHERE))
def test_a_test_that_is_named_exists(number):
    for one in ELSEWHERE[number]:
        path, _, name = one.partition("::")
        assert name in _functions(path), one
