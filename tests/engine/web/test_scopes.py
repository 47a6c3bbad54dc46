"""Who may do what: every operation of the OpenAPI document and every form of the pages, for every kind of viewer.

A new operation fails here until it has a row.
"""

import re
import subprocess
import uuid
from datetime import UTC, datetime, timedelta

import pytest

from oulipoly_engine.core.agents.agents import Agent, AgentPlan
from oulipoly_engine.core.agents.tokens import write_token
from oulipoly_engine.core.commands.table import find
from oulipoly_engine.core.live.events import Prompt
from oulipoly_engine.core.live.sessions import LiveRequest, LiveSession, SessionOptions
from oulipoly_engine.facade.engine import Engine
from oulipoly_engine.process.liveness import own_mark
from oulipoly_engine.service.agents.tokens import load_secret, make_token
from oulipoly_engine.store.agents import agents
from oulipoly_engine.store.live import live_requests, live_sessions
from oulipoly_engine.web.access.gate import Gate, Serving
from oulipoly_engine.web.access.viewer import OWN_USER, SCOPES, Viewer
from oulipoly_engine.web.app import make_app
from oulipoly_engine.web.base.page_route import PageRoute

NOW = datetime(2026, 11, 28, tzinfo=UTC)
OLD = ("view", "answer", "operate", "terminal")  # as devices were paired before
SUBSETS = {
    "link": ("view",),
    "view": ("view",),
    "view+answer": ("view", "answer"),
    "view+operate": ("view", "operate"),
    "view+answer+operate": ("view", "answer", "operate"),
    "with terminal": OLD,
}
VIEWERS = {
    "unpaired": (),
    **SUBSETS,
    **{f"{name}, step-up run out": SUBSETS[name] for name in ("view+answer", "view+operate", "view+answer+operate")},
    "own user": SCOPES,
    "token of an agent": (),
}
S, FULL, FAR = "/sessions/aaaa0001", "/sessions/aaaa0002", "/sessions/aaaa0003"
LINKED, DOTTED = "/sessions/aaaa0004", "/sessions/aaaa0005"  # in folders that only seem to lie below the roots
BEGIN = {"agent_id": "mine"}
TEXT = {"content": " "}  # refused as empty, after the check
LINES = {"comments": [{"path": "a", "line": 1, "text": "x"}]}

# What a viewer needs. open: nothing. look: to be paired. order: not to be a link. answer, operate: the scope.
# grant: `operate`, `answer` and a fresh confirmation. code: `operate` and the confirmation.
# yes: `answer` and the confirmation. token: the token of an agent, which is let in nowhere else. none: nobody, for what
# is asked is refused to all but the own user.
ROWS = [
    ("open", "GET", "/health", None),
    ("look", "GET", "/me", None),
    ("look", "GET", "/config", None),
    ("look", "GET", "/agents", None),
    ("look", "GET", "/pools", None),
    ("look", "GET", "/quota", None),
    ("look", "GET", "/why/{model}", None),
    ("look", "GET", "/browse", None),
    ("look", "GET", "/requests", None),
    ("look", "GET", "/sessions", None),
    ("look", "GET", "/sessions/{session_id}", None),
    ("look", "GET", "/sessions/{session_id}/messages", None),
    ("look", "GET", "/sessions/{session_id}/queue", None),
    ("look", "GET", "/sessions/{session_id}/log", None),
    ("look", "GET", "/sessions/{session_id}/artifacts", None),
    ("look", "GET", "/sessions/{session_id}/artifacts/file?path=a", None),
    ("look", "GET", "/sessions/{session_id}/trace", None),
    ("look", "GET", "/sessions/{session_id}/tree", None),
    ("look", "GET", "/sessions/{session_id}/branch", None),
    ("look", "GET", "/sessions/{session_id}/compare?left=a", None),
    ("look", "GET", "/sessions/{session_id}/events", None),
    ("look", "GET", "/sessions/{session_id}/changes", None),
    ("look", "GET", "/sessions/{session_id}/diff?path=a", None),
    ("look", "GET", "/sessions/{session_id}/file?path=a", None),
    ("look", "GET", "/sessions/{session_id}/promote/preflight", None),
    ("look", "GET", "/requests/{request_id}", None),
    ("look", "GET", "/setup?repo_path=~", None),
    ("outside", "GET", "/setup?repo_path=/etc", None),
    ("outside", "GET", "/setup?repo_path=~root", None),
    ("look", "GET", "/me/push", None),
    ("look", "GET", "/running-agents", None),
    ("look", "GET", "/running-agents/{agent_id}", None),
    ("look", "GET", "/running-agents/{agent_id}/log", None),
    ("look", "GET", "/jobs", None),
    ("look", "GET", "/images", None),
    ("code", "POST", "/running-agents/{agent_id}/start", None),
    ("operate", "POST", "/running-agents/{agent_id}/stop", None),
    ("grant", "POST", "/running-agents/{agent_id}/prompt", {"text": "hello"}),
    ("token", "GET", "/agent-tools", None),
    ("token", "POST", "/agent-tools", {"name": "note-list"}),
    ("operate", "GET", "/devices", None),
    ("open", "GET", "/authority.pem", None),
    ("open", "POST", "/pair", {"code": "no"}),
    ("order", "PUT", "/me/push", {"endpoint": "x", "keys": {"p256dh": "x", "auth": "x"}}),
    ("order", "DELETE", "/me/push", None),
    ("answer", "POST", "/confirm", {"code": "no"}),
    ("answer", "POST", "/confirm", {}),
    ("order", "POST", "/requests/{request_id}", {"decision": "deny"}),
    ("answer", "POST", "/requests/{request_id}", {"decision": "approve"}),
    ("answer", "POST", "/requests/{request_id}", {"decision": "cancel"}),
    ("answer", "POST", "/requests/{request_id}", {"decision": "answer"}),
    ("yes", "POST", "/requests/{request_id}", {"decision": "approve_for_session"}),
    ("order", "POST", "/sessions/{session_id}/approvals", {"call_id": "none", "decision": "deny"}),
    ("operate", "DELETE", "/devices/{device_id}", None),
    ("operate", "POST", "/sessions", BEGIN),
    ("grant", "POST", "/sessions", BEGIN | {"profile": "full_access"}),
    ("grant", "POST", "/sessions", BEGIN | {"profile": "auto_accept_edits"}),
    ("grant", "POST", "/sessions", BEGIN | {"params": {"profile": "full_access"}}),
    ("grant", "POST", "/sessions", {"agent_id": "hers", "approval_policy": "never"}),
    ("grant", "POST", "/sessions", {"agent_id": "own"}),  # whose own settings decide what it asks for
    ("grant", "POST", "/sessions", BEGIN | {"use_worktree": False, "branch": "none"}),
    ("grant", "POST", "/sessions", BEGIN | {"isolation": "none"}),  # less than `work_isolation` says
    ("operate", "POST", "/sessions", BEGIN | {"isolation": "guarded"}),
    ("outside", "POST", "/sessions", BEGIN | {"repo_path": "/etc"}),
    ("outside", "POST", "/sessions", BEGIN | {"repo_path": "~root"}),
    ("operate", "PATCH", "/sessions/{session_id}", {"block_while_running": True}),
    ("operate", "POST", "/sessions/{session_id}/cancel", None),
    ("operate", "POST", "/sessions/{session_id}/fork", {"at_turn": "none"}),
    ("operate", "POST", "/sessions/{session_id}/branch", {"entry_id": "none"}),
    *(
        (who, "POST", f"{place}/branch", {"entry_id": "x", "restore": "files"})
        for who, place in (("code", S), ("grant", FULL), ("grant", FAR))
    ),
    ("operate", "POST", "/sessions/{session_id}/label", {"entry_id": "none"}),
    ("grant", "POST", "/sessions/{session_id}/fork", {"runtime_id": "own", "at_turn": "none"}),
    ("grant", "POST", f"{FULL}/fork", {"at_turn": "none"}),
    ("grant", "POST", f"{FAR}/fork", {"at_turn": "none"}),
    ("operate", "POST", "/sessions/{session_id}/messages", TEXT),
    ("grant", "POST", f"{FULL}/messages", TEXT),
    ("grant", "POST", f"{FAR}/messages", TEXT),
    ("grant", "POST", f"{LINKED}/messages", TEXT),
    ("grant", "POST", f"{DOTTED}/messages", TEXT),
    ("operate", "POST", "/sessions/{session_id}/queue", TEXT),
    ("grant", "POST", f"{FULL}/queue", TEXT),
    ("operate", "POST", "/sessions/{session_id}/steer", TEXT),
    ("operate", "POST", "/sessions/{session_id}/interrupt", None),
    ("operate", "PATCH", "/sessions/{session_id}/queue/{message_id}", {}),
    ("operate", "PATCH", "/sessions/{session_id}/queue/{message_id}", {"text": "x"}),
    ("grant", "PATCH", f"{FULL}/queue/mmmm", {"text": "x"}),
    ("operate", "DELETE", "/sessions/{session_id}/queue/{message_id}", None),
    ("code", "PUT", "/sessions/{session_id}/file", {"path": ".git/x", "content": ""}),
    ("operate", "POST", "/sessions/{session_id}/git", {"op": "stage"}),
    ("code", "POST", "/sessions/{session_id}/git", {"op": "merge"}),
    ("operate", "POST", "/sessions/{session_id}/promote", {}),
    ("grant", "POST", f"{FULL}/comments", LINES),
    ("operate", "POST", "/sessions/{session_id}/comments", LINES),
    ("grant", "POST", f"{FULL}/conflict", {}),
    ("operate", "POST", "/sessions/{session_id}/conflict", {}),
    ("code", "POST", "/setup", {"repo_path": "~", "digest": "x"}),
]
WISH = '{"repo_path": "~", "agent_id": "mine"}'
SURE = {"sure": "yes"}  # the page that asks before something is destroyed
FORMS = [
    ("open", "/pair", {"code": "no"}),
    ("answer", "/confirm", {"code": "no"}),
    ("operate", "/devices/{device_id}", SURE),
    ("order", "/requests/{request_id}", {"decision": "deny"}),
    ("operate", "/sessions", BEGIN | {"repo_path": "~"}),
    ("grant", "/sessions", BEGIN | {"repo_path": "~", "profile": "full_access"}),
    ("grant", "/sessions", BEGIN | {"repo_path": "~", "isolation": "none"}),
    ("operate", "/setup", {"session": WISH, "decision": "without"}),
    ("grant", "/setup", {"session": WISH.replace("mine", "own"), "decision": "without"}),
    ("operate", "/sessions/{session_id}", {}),
    ("operate", "/sessions/{session_id}/messages", TEXT | {"how": "none"}),
    ("grant", f"{FULL}/messages", TEXT),
    ("operate", "/sessions/{session_id}/messages", {"content": "/help"}),
    ("operate", "/sessions/{session_id}/messages", {"content": "/model"}),
    ("grant", "/sessions/{session_id}/messages", {"content": "/provider none"}),
    ("grant", f"{FULL}/messages", {"content": "/fork"}),
    ("operate", "/sessions/{session_id}/interrupt", {}),
    ("operate", "/sessions/{session_id}/cancel", SURE),
    ("grant", "/sessions/{session_id}/fork", {"runtime_id": "none"}),
    ("operate", "/sessions/{session_id}/tree", {"entry_id": "none", "act": "branch"}),
    ("operate", "/sessions/{session_id}/tree", {"entry_id": "none", "act": "files"}),
    ("code", "/sessions/{session_id}/tree", {"entry_id": "none", "act": "restore both"}),
    ("grant", f"{FULL}/tree", {"entry_id": "none", "act": "restore files"}),
    ("operate", "/sessions/{session_id}/queue/{message_id}", {}),
    ("grant", f"{FULL}/queue/mmmm", {"act": "edit", "text": "x"}),
    ("operate", "/sessions/{session_id}/git", {"op": "stage"}),
    ("operate", "/sessions/{session_id}/promote", {}),
    ("operate", "/sessions/{session_id}/comments", {}),
    ("grant", f"{FULL}/comments", {}),
    ("operate", "/sessions/{session_id}/conflict", {}),
    ("grant", f"{FULL}/conflict", {}),
    ("grant", "/running-agents/{agent_id}/prompt", {"text": "hello"}),
    ("operate", "/running-agents/{agent_id}/stop", SURE),
]
FORM = "application/x-www-form-urlencoded"
ENDLESS = {("GET", "/events")}
NAMES = {
    "{session_id}": "aaaa0001",
    "{message_id}": "mmmm",
    "{request_id}": "rrrr",
    "{device_id}": "dddd",
    "{agent_id}": "nobody",
}


@pytest.fixture
def app(home):
    """The app over a home with three runtimes, five sessions without a process, and a request."""
    config = home / ".config" / "oulipoly-agent-runner"
    config.mkdir(parents=True)
    home.joinpath("linked").symlink_to("/etc")
    kinds = {"mine": "claude", "hers": "codex", "own": "acp"}
    config.joinpath("config.toml").write_text(
        'work_isolation = "guarded"\n'
        + "".join(f'[runtimes.{name}]\nkind = "{kind}"\nprogram = "/bin/false"\n' for name, kind in kinds.items())
    )
    engine = Engine()
    with engine.web._home.lend_store() as store:
        for place, folder, profile in (
            (S, home, "supervised"),
            (FULL, home, "full_access"),
            (FAR, "/etc", "supervised"),
            (LINKED, home / "linked", "supervised"),
            (DOTTED, home / "../../../../../../../../etc", "supervised"),
        ):
            key, opening = place.rpartition("/")[2], SessionOptions(profile=profile)
            session = LiveSession(key, str(folder), "mine", "claude", "m", NOW, NOW, opening=opening, generation=1)
            live_sessions.insert(store, session)
        prompt = Prompt(title="run ls", command="ls")
        live_requests.insert(
            store, LiveRequest("rrrr", S[-8:], "", "n", "command_approval", "pending", prompt, created_at=NOW)
        )
    yield make_app(engine, Serving(port=8787))
    engine.close()


@pytest.fixture
def become(app, client_of, monkeypatch):
    """Return a client that is one of `VIEWERS`, for as long as no other one is made."""
    engine, find_as_ever = app.state.engine, Gate._find_viewer

    async def find_own_user(*_):
        return Viewer("this computer", OWN_USER, SCOPES, is_confirmed=True)

    def make(viewer):
        scopes, headers = VIEWERS[viewer], {}
        monkeypatch.setattr(Gate, "_find_viewer", find_own_user if viewer == "own user" else find_as_ever)
        if viewer == "token of an agent":
            headers["authorization"] = f"Bearer {make_agent_token(engine.web._home)}"
        elif viewer == "link":
            headers["authorization"] = f"Bearer {engine.web.make_link().token}"
        elif scopes and viewer != "own user":
            confirmed_until = engine.web._home.now() + timedelta(minutes=-1 if viewer.endswith("run out") else 15)
            paired = engine.web._make("a device", scopes, confirmed_until=confirmed_until)
            headers["authorization"] = f"Bearer {paired.token}"
        return client_of(headers)

    return make


def make_agent_token(home):
    """Return the token of a new agent that keeps notes."""
    plan = AgentPlan(capabilities=("note-list",))
    agent = Agent(str(uuid.uuid4()), "calm", "x", "none", "ready", NOW, NOW, plan=plan)
    with home.lend_store() as store:
        agents.insert(store, agent)
        token = make_token(store, agent, "operator", home.now())
    return write_token(token, load_secret(home.paths.token_secret))


def expected(need, viewer):
    """Return what a viewer is to get: in, 401, 403, or outside (of the roots)."""
    scopes, is_confirmed = VIEWERS[viewer], "run out" not in viewer and viewer not in ("link", "unpaired")
    if need == "open":
        return "in"
    if viewer == "unpaired":
        return "401"
    if viewer == "token of an agent":
        return "in" if need == "token" else "403"
    may = {
        "token": False,
        "look": True,
        "order": viewer != "link",
        "answer": "answer" in scopes,
        "operate": "operate" in scopes,
        "grant": {"answer", "operate"} <= {*scopes} and is_confirmed,
        "code": "operate" in scopes and is_confirmed,
        "yes": "answer" in scopes and is_confirmed,
    }
    return "in" if may[need] else "403"


def rows_for(viewer, rows):
    """Return what a viewer asks: all, but one of each need where a scope is more that no order asks for any longer."""
    return list({row[0]: row for row in rows}.values()) if viewer == "with terminal" else rows


def place_of(path):
    """Return a path with something at its names."""
    for name, value in NAMES.items():
        path = path.replace(name, value)
    return path.replace("{model}", "none")


def outcome(answer):
    """Return in one word what became of a request."""
    text = answer.text
    if answer.status_code == 303 and answer.headers["location"] == "/pair":
        return "401"
    refused = any(word in text for word in ("not-allowed", "confirmation-needed", "may not do that", "fresh confirm"))
    return "401" if answer.status_code == 401 else "403" if answer.status_code == 403 and refused else "in"


@pytest.mark.parametrize("viewer", VIEWERS)
def test_each_viewer_may_do_what_the_table_says_and_nothing_else(viewer, become):
    client, wrong = become(viewer), []
    for need, method, path, body in rows_for(viewer, ROWS):
        body = {"repo_path": "~"} | body if path == "/sessions" and body else body
        answer = client.request(method, place_of(path), json=body)
        if need == "outside":
            is_let_in = "folder-refused" not in answer.text and answer.status_code not in (401, 403)
            if is_let_in != (viewer == "own user"):
                wrong.append((method, path, body, answer.text))
        elif outcome(answer) != expected(need, viewer):
            wrong.append((method, path, body, expected(need, viewer), answer.status_code, answer.text[:200]))
    for need, path, fields in rows_for(viewer, FORMS):
        answer = client.post(place_of(path), data=fields, headers={"content-type": FORM})
        if outcome(answer) != expected(need, viewer):
            wrong.append((path, fields, expected(need, viewer), answer.status_code, answer.text[-400:]))

    assert [] == wrong


def test_run_at_the_own_socket_begins_nothing_weaker_than_the_settings_say(app, client_of, monkeypatch):
    async def find_run(*_):
        return Viewer("this computer", OWN_USER, SCOPES, is_confirmed=True, is_run=True)

    monkeypatch.setattr(Gate, "_find_viewer", find_run)
    client = client_of({})
    answers = [
        client.post("/sessions", json=BEGIN | {"repo_path": "~", "isolation": level}) for level in ("none", "guarded")
    ]

    assert ["403", "in"] == [outcome(answer) for answer in answers]


def test_a_form_that_destroys_asks_first(openapi, become):
    client, asking = become("own user"), set()
    for path in {path for _, path, _ in FORMS}:
        if 'name="sure" value="yes"' in client.post(place_of(path), headers={"content-type": FORM}).text:
            asking.add(path)
    destroying = {
        path
        for path, operations in openapi["paths"].items()
        for operation in operations.values()
        if any(find(name).destroys for name in operation.get("x-commands", ()))
    }

    assert (
        {"/devices/{device_id}", "/sessions/{session_id}/cancel", "/running-agents/{agent_id}/stop"}
        == asking
        == destroying
    )


@pytest.mark.rows_share_fixtures
@pytest.mark.parametrize(
    ("viewer", "places"),
    [
        ("view", []),
        ("view+operate", [S]),
        ("view+operate, step-up run out", [S]),
        ("view+answer+operate, step-up run out", [S, FULL, FAR]),
        ("view+answer+operate", [S, FULL, FAR]),
    ],
)
def test_a_page_offers_to_write_where_a_message_may_be_taken(viewer, places, become):
    client = become(viewer)
    pages = {place: client.get(place, headers={"accept": "text/html"}).text for place in (S, FULL, FAR)}

    assert places == [place for place, page in pages.items() if 'id="composer"' in page]
    refused = viewer.startswith("view+operate")
    assert [refused] * 2 == ["takes a device that may approve" in pages[place] for place in (FULL, FAR)]


@pytest.mark.rows_share_fixtures
@pytest.mark.parametrize(
    ("body", "names"),
    [
        ({"agent_id": "hers", "profile": "supervised", "approval_policy": "never"}, ("profile", "approval_policy")),
        ({"agent_id": "hers", "profile": "supervised", "sandbox_mode": "danger-full-access"}, ("sandbox_mode",)),
        ({"profile": "supervised", "params": {"profile": "full_access"}}, ("profile", "params.profile")),
        ({"effort": "low", "params": {"effort": "high"}}, ("effort", "params.effort")),
        ({"prompt": "a", "initial_message": "b"}, ("prompt", "initial_message")),
    ],
)
def test_words_that_contradict_each_other_begin_nothing(body, names, become):
    client = become("own user")
    answer = client.post("/sessions", json={"agent_id": "mine", "repo_path": "~"} | body)

    assert 400 == answer.status_code
    assert all(name in answer.json()["error"]["message"] for name in (*names, "contradict"))


def test_what_lies_outside_the_roots_is_told_in_the_same_words_whether_it_is_there_or_not(become):
    client = become("view")
    texts = {
        client.get("/setup", params={"repo_path": path}).json()["error"]["message"].replace(path, "PATH")
        for path in ("/etc", "/etc/nothing-here", "/etc/hostname", "~root", "~nobody-of-that-name", "~root/.ssh")
    }

    assert 1 == len(texts)


def test_devices_begin_nothing_in_a_folder_whose_repository_lies_outside_the_roots(home, tmp_path, become):
    """Its worktrees are made outside, too."""
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(tmp_path / "outside"))
    subprocess.run(["git", "init", "-q", str(tmp_path / "outside")], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    subprocess.run([*git, "worktree", "add", "-q", str(home / "inside")], check=True)
    client = become("view+answer+operate")
    answers = [
        client.post("/sessions", json=BEGIN | {"repo_path": "~/inside"}),
        client.post("/setup", json={"repo_path": "~/inside", "digest": "x"}),
        client.get("/setup", params={"repo_path": "~/inside"}),
    ]

    assert ["folder-refused"] * 3 == [answer.json()["error"]["code"] for answer in answers]
    assert not (tmp_path / "outside" / ".worktrees").exists()


@pytest.mark.parametrize(
    ("viewer", "words"),
    [
        ("link", ()),
        ("view", ("Deny",)),
        ("view+answer", ("Deny", "Approve")),
        ("view+operate", ("Deny", "Send", "New")),
        ("view+answer+operate", ("Deny", "Approve", "Send", "New")),
    ],
)
def test_pages_show_what_their_viewer_may_do(app, viewer, words, monkeypatch, become):
    # The request stays open while a process of its session lives.
    monkeypatch.setattr(app.state.engine.live, "requests", lambda **_: (find_request(app),))
    client = become(viewer)
    page = client.get(S, headers={"accept": "text/html"}).text
    shown = set(re.findall(r">(Deny|Approve|Queue|Steer|Interrupt|Cancel|Send|New)</(?:button|a)>", page))

    assert {*words} == shown


@pytest.mark.rows_share_fixtures
@pytest.mark.parametrize("place", [f"{S}/move?act=merge", f"{S}/promote", "/confirm", "/sessions/new", "/devices"])
def test_who_may_only_look_gets_no_form_of_an_order(place, become):
    for viewer in ("link", "view"):
        page = become(viewer).get(place, headers={"accept": "text/html"})

        assert (403, False) == (page.status_code, "<form" in page.text)


EVERYBODY = {*VIEWERS} - {"unpaired", "link", "token of an agent"}
MAY = {  # (who asks, what is said) -> who may say it
    ("setup", "deny"): EVERYBODY,
    ("setup", "approve"): {viewer for viewer in EVERYBODY if "answer" in VIEWERS[viewer]},
    ("worktree", "deny"): EVERYBODY,
    ("worktree", "approve"): {"view+answer+operate", "with terminal", "own user"},
    ("device", "deny"): EVERYBODY,
    ("device", "approve"): {"own user"},
}


@pytest.mark.parametrize(("origin", "decision"), MAY)
def test_who_may_answer_what_by_who_asks(app, origin, decision, become):
    home, device = app.state.engine.web._home, app.state.engine.web._make("asks", ("view", "answer")).device.device_id
    asker = {"setup": own_mark(), "worktree": "/w/.git", "device": device}[origin]
    allowed = set()
    for place, viewer in enumerate(VIEWERS):
        prompt = Prompt(title="allow it", command="ls")
        words = (f"qqqq{place}", "", "", "d", "command_approval", "pending", prompt, home.now())
        with home.lend_store() as store:
            live_requests.insert(store, LiveRequest(*words, origin=origin, asker=asker))
        answer = become(viewer).post(f"/requests/qqqq{place}", json={"decision": decision})
        if answer.status_code == 200:
            allowed.add(viewer)

    assert MAY[origin, decision] == allowed
    grants = {grant.digest for grant in app.state.engine.grants.list()}
    assert ((origin, decision) == ("worktree", "approve")) is ("d" in grants)
    confirmed = {one.device_id for one in app.state.engine.web.devices() if one.is_confirmed(home.now())}
    assert ((origin, decision) == ("device", "approve")) is (device in confirmed)


def find_request(app):
    """Return the one request, as it was opened."""
    with app.state.engine.web._home.lend_store_to_read() as store:
        return live_requests.find(store, "rrrr")[0]


def test_every_operation_and_every_form_has_a_row(app, openapi):
    document = openapi["paths"]
    operations = {(method.upper(), path) for path, methods in document.items() for method in methods}
    forms = {route.path for route in app.routes if isinstance(route, PageRoute) and "POST" in route.methods}

    assert (
        operations == {(method, path.partition("?")[0]) for _, method, path, _ in ROWS if "aaaa" not in path} | ENDLESS
    )
    assert forms == {path for _, path, _ in FORMS if "aaaa" not in path}


OWN = {  # of the connection itself, not of what a user does
    *(("GET", path) for path in ("/health", "/authority.pem", "/me", "/me/push")),
    *(("PUT", "/me/push"), ("DELETE", "/me/push"), ("POST", "/pair")),
    *(("GET", "/agent-tools"), ("POST", "/agent-tools")),  # what an agent does
}
NEEDS = {  # a word of `ROWS` -> what a command of the table says
    "look": {("view", False)},
    "order": {("view", False)},
    "answer": {("answer", False)},
    "operate": {("operate", False)},
    "code": {("operate", True)},
    "yes": {("answer", True)},
}


def test_every_operation_is_a_command_of_the_table_with_its_words_and_its_scope(openapi):
    document = openapi["paths"]
    served = {
        (method.upper(), path): operation for path, methods in document.items() for method, operation in methods.items()
    }
    commands = {
        key: [find(name) for name in operation["x-commands"]] for key, operation in served.items() if key not in OWN
    }
    told = {key: "; ".join(command.sentence for command in each) for key, each in commands.items()}
    told_needs = {
        key: {(command.scope, command.is_confirmed) for command in each} for key, each in commands.items()
    } | {("POST", "/sessions/{session_id}/promote"): {("operate", False)}}  # the confirmation, once it is switched on

    assert told == {key: served[key]["summary"] for key in commands}
    assert {key for key in commands if key[0] == "GET"} == {
        key for key, each in commands.items() if not any(command.writes for command in each)
    }
    assert [] == [
        (need, method, path)
        for need, method, path, _ in ROWS
        if need in NEEDS
        and (key := (method, path.partition("?")[0])) in commands
        and not NEEDS[need] <= told_needs[key]
    ]
