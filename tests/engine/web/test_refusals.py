"""What is refused is answered with a status of its own, whoever has refused it; a 500 is a mistake of ours."""

import subprocess

import pytest

from oulipoly_engine.core.live import orders
from oulipoly_engine.facade.live.sessions import OrderRefused
from oulipoly_engine.facade.worktrees.work import NewWork
from oulipoly_engine.web.access.gate import Serving
from oulipoly_engine.web.app import make_app
from oulipoly_engine.web.base.errors import status_of

GONE = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
def repository(live):
    """A git repository with a commit and nothing to push to."""
    folder = live.root / "repo"
    folder.mkdir()
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.invalid")
    for words in (["init", "-q", "-b", "main"], [*identity, "commit", "-q", "--allow-empty", "-m", "Begin"]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    return folder


@pytest.fixture
def client(live, client_for):
    """A device that may do everything, before a demo world."""
    config = live.demo.config / "config.toml"
    config.write_text(f"serve_promote = true\n{config.read_text()}")
    app = make_app(live.engine, Serving(port=8787))
    code = live.engine.web.make_code("a test", ("view", "answer", "operate")).code
    client = client_for(app, "http://localhost:8787")
    client.headers["authorization"] = f"Bearer {client.post('/pair', json={'code': code}).json()['token']}"
    client.cookies.clear()
    return client


def refusal(answer):
    """Return the status and the code of an answer."""
    return answer.status_code, answer.json()["error"]["code"]


def test_a_link_sees_no_file_that_git_ignores(live, client, repository):
    session = live.engine.work.begin(NewWork(repository, runtime="demo-codex1", uses_worktree=False)).session.session_id
    within = repository / "within"
    within.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=within, check=True)
    names = [".env", "build/.env", "within/.env", "new.txt"]
    (repository / "build").mkdir()
    for name in names:
        (repository / name).write_text("SECRET=1\n")
    (repository / ".gitignore").write_text(".env\nbuild/\n")
    link = {"authorization": f"Bearer {live.engine.web.make_link('for Ann').token}"}

    def statuses(**more):
        places = [f"/sessions/{session}/{what}?path={name}" for what in ("file", "diff") for name in [*names, "none"]]
        return [client.get(place, **more).status_code for place in places]

    assert [404, 404, 404, 200, 404] * 2 == statuses(headers=link)
    assert [404, 404, 404, 200, 404] == statuses(headers=link | {"accept": "text/html"})[5:]
    assert [200] * 4 == statuses()[:4]
    assert b"SECRET" not in client.get(f"/sessions/{session}/changes", headers=link).content


@pytest.mark.parametrize("has_process", [True, False], ids=["with a process", "without a process"])
def test_what_is_over_is_refused_with_a_status_of_its_own(live, client, repository, has_process):
    begun = live.engine.work.begin(NewWork(repository, runtime="demo-codex1", prompt="hello"))
    key = begun.session.session_id
    live.until(key, lambda event: type(event).__name__ == "TurnEnded", within_s=60)
    if not has_process:
        live.engine.live.order(key, orders.Close(), starts=False)
        live.until_closed(key)

    assert (409, "no-turn") == refusal(client.post(f"/sessions/{key}/interrupt"))
    assert (404, "message-gone") == refusal(client.delete(f"/sessions/{key}/queue/{GONE}"))
    assert (404, "message-gone") == refusal(client.patch(f"/sessions/{key}/queue/{GONE}", json={"place": 1}))
    assert (409, "remote-missing") == refusal(client.post(f"/sessions/{key}/promote", json={}))


def test_commands_are_allowed_only_by_their_own_digest(client, repository):
    (repository / ".agent-runner.toml").write_text("[worktree]\nsetup = ['make']\n")
    asked = {"repo_path": str(repository)}
    shown = client.get("/setup", params=asked).json()

    assert (409, "setup-changed") == refusal(client.post("/setup", json=asked | {"digest": "0" * 64}))
    assert not client.get("/setup", params=asked).json()["is_allowed"]
    assert 200 == client.post("/setup", json=asked | {"digest": shown["digest"]}).status_code
    assert client.get("/setup", params=asked).json()["is_allowed"]


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        ("/sessions", "GET, POST"),
        (f"/sessions/abcd/queue/{GONE}", "DELETE, PATCH"),
        ("/me/push", "DELETE, GET, PUT"),
        ("/sessions/abcd/file", "GET, PUT"),
    ],
)
def test_a_method_that_is_not_taken_is_told_all_that_are(client, path, methods):
    answer = client.request("TRACE", path)
    browser = client.request("TRACE", "/sessions/abcd", headers={"accept": "text/html"})

    assert (405, methods) == (answer.status_code, answer.headers["allow"])
    assert "GET, HEAD, PATCH, POST" == browser.headers["allow"]


@pytest.mark.parametrize(
    ("slug", "status"),
    [("request-refused", 400), ("turn-in-flight", 409), ("not-supported", 400), ("operational-error", 500)],
)
def test_a_session_s_host_refuses_as_we_do(slug, status):
    assert status == status_of(OrderRefused({"slug": slug, "message": "no"}))
