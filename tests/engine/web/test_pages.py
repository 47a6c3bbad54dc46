"""The pages without a browser: nothing that an agent writes runs, forms lead on, every page is small."""

import re
import subprocess
from html import escape, unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from oulipoly_engine.core.live import orders
from oulipoly_engine.facade.agents.agents import AgentWish
from oulipoly_engine.facade.worktrees.work import NewWork
from oulipoly_engine.store.web import devices
from oulipoly_engine.web.access.gate import Serving
from oulipoly_engine.web.app import make_app
from oulipoly_engine.web.base.page_route import prefers_html
from oulipoly_engine.web.base.templates import KINDS, static_file
from oulipoly_engine.web.pages.page import PART

SCOPES = ("view", "answer", "operate")
HEAVIEST = 60 << 10
HOSTILE = "<script>alert(1)</script> <img src=x onerror=alert(1)> "
HOSTILE += "javascript:alert(1) \"'> \u202egnp.exe \u2066\x1b[31m {{7*7}}"
HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
PLACES = (
    "/",
    "/sessions",
    "/sessions?q=is:work",
    "/sessions/new",
    "/requests",
    "/devices",
    "/browse",
    "/pair",
    "/confirm",
)


class Looked(HTMLParser):
    """What a page consists of."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.bad = [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.tags.append((tag, given))
        if tag == "script" and not re.fullmatch(r"/static/[0-9a-f]{12}/(app|push)\.js", given.get("src") or ""):
            self.bad.append((tag, attrs))
        if tag in ("style", "iframe", "object", "embed", "img", "base", "meta") and "http-equiv" in given:
            self.bad.append((tag, attrs))
        for name, value in attrs:
            if name.startswith("on") or name == "style":
                self.bad.append((tag, name, value))
            if name in ("href", "src", "action") and not re.match(r"[/?#]|data:,$", value or ""):
                self.bad.append((tag, name, value))


class Browser:
    """A paired browser."""

    def __init__(self, live, client_for):
        self.engine, self.live = live.engine, live
        self.client = client_for(
            make_app(live.engine, Serving(port=80)),
            base_url="http://127.0.0.1",
            headers={"accept": "text/html"},
            follow_redirects=False,
        )
        code = self.engine.web.make_code("phone", SCOPES).code
        assert 303 == self.post("/pair", code=code, name="a phone").status_code

    def get(self, place):
        return self.client.get(place)

    def post(self, place, **fields):
        return self.client.post(place, data=fields)

    def page(self, place, status=200):
        """Return a page that is as every page has to be."""
        answer = self.get(place)
        assert (status, "text/html; charset=utf-8") == (answer.status_code, answer.headers["content-type"]), answer.text
        looked = Looked(answer.text)
        assert [] == looked.bad
        assert not HIDDEN.search(answer.text)
        weight = len(answer.content) + sum(len(static_file(name)) for name in KINDS)
        assert weight <= HEAVIEST, weight
        return answer.text

    def allow_commits(self):
        """Have devices commit, as a person allows it on the computer."""
        config = self.live.demo.config / "config.toml"
        config.write_text(f"serve_commit = true\n{config.read_text()}")

    def begin(self, prompt, repository):
        """Begin a session that works in a repository; returns its id."""
        begun = self.engine.work.begin(NewWork(repository, runtime="demo-codex1", prompt=prompt))
        return begun.session.session_id


@pytest.fixture
def browser(live, client_for):
    """A paired browser before a demo world, which may look at its folders."""
    return Browser(live, client_for)


@pytest.fixture
def repository(live):
    """A git repository with a commit."""
    folder = live.root / "repo"
    folder.mkdir()
    (folder / "README.md").write_text("hi\n")
    for words in (
        ["init", "-q", "-b", "main"],
        ["config", "user.name", "A"],
        ["config", "user.email", "a@example.invalid"],
        ["add", "."],
        ["commit", "-q", "-m", "Begin"],
    ):
        subprocess.run(["git", *words], cwd=folder, check=True)
    return folder


def test_what_an_agent_writes_is_text_on_every_page(browser, repository):
    key = browser.begin(f"{HOSTILE} [[run:{HOSTILE}]] [[approve:{HOSTILE}]]", repository)
    browser.live.request(key)

    for place in (*PLACES, f"/sessions/{key}", f"/sessions/{key}/log", f"/sessions/{key}/changes"):
        browser.page(place)
    page = browser.page(f"/sessions/{key}")
    assert "&lt;script&gt;alert(1)" in page
    assert "{{7*7}}" in page


def test_pages_stand_beside_rest_on_the_same_paths(browser):
    assert browser.client.get("/sessions", headers={"accept": "application/json"}).json() == []
    assert browser.client.get("/sessions", headers={"accept": "*/*"}).json() == []
    assert "<!doctype html>" in browser.get("/sessions").text
    assert 400 == browser.client.post("/sessions", json={}).status_code


@pytest.mark.parametrize(
    ("accept", "is_page"),
    [
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", True),
        ("application/json, text/html;q=0.9", False),
        ("text/html;q=0, */*", False),
        ("*/*", False),
        ("", False),
        ("text/html;q=x", False),
    ],
)
def test_who_asks_for_html_gets_a_page(accept, is_page):
    assert is_page == prefers_html(accept)


def test_policy_lets_nothing_run_that_is_not_ours(browser):
    policy = browser.get("/").headers["content-security-policy"]

    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_form_begins_a_session_and_leads_to_it(browser, repository):
    answer = browser.post("/sessions", repo_path=str(repository), agent_id="demo-live", initial_message="hello")

    assert 303 == answer.status_code
    assert "demo-live" in browser.page(answer.headers["location"])


def test_form_that_cannot_be_obeyed_says_why_and_keeps_what_was_typed(browser):
    answer = browser.post("/sessions", repo_path="/nowhere", agent_id="demo-live", initial_message="do <this>")

    assert 400 == answer.status_code
    assert "/nowhere" in answer.text
    assert "do &lt;this&gt;" in answer.text


def test_request_is_approved_once_and_only_as_it_was_shown(browser, repository):
    key = browser.begin("tidy up [[approve:rm -r build]]", repository)
    request = browser.live.request(key)
    seen = re.search(r'name="seen" value="(\w+)"', browser.page("/requests"))[1]

    place = f"/requests/{request.request_id}"
    changed = browser.post(place, decision="approve", seen="0" * 16)
    done = browser.post(place, decision="approve", seen=seen, back=f"/sessions/{key}")
    late = browser.post(place, decision="deny", seen=seen)

    assert (409, True) == (changed.status_code, "has changed" in changed.text)
    assert (303, f"/sessions/{key}") == (done.status_code, done.headers["location"])
    assert (409, True) == (late.status_code, "approved by a phone already" in late.text)
    assert "approved by a phone" in browser.page(place)


def test_request_too_long_to_be_read_here_is_not_approved_here(browser, repository):
    key = browser.begin(f"tidy up [[approve:{'<' * 6000}]]", repository)
    place = f"/requests/{browser.live.request(key).request_id}"
    seen = re.search(r'name="seen" value="(\w+)"', browser.page("/requests"))[1]

    assert "Approve" not in browser.page(place)
    assert 400 == browser.post(place, decision="approve", seen=seen).status_code
    assert 303 == browser.post(place, decision="deny").status_code


def test_answer_leads_to_no_other_site(browser, repository):
    key = browser.begin("tidy up [[approve:rm -r build]]", repository)
    place = f"/requests/{browser.live.request(key).request_id}"

    assert "/requests" == browser.post(place, decision="deny", back="//evil.example").headers["location"]


def test_message_during_a_turn_is_queued_edited_and_taken_back(browser, repository):
    key = browser.begin("wait [[approve:true]]", repository)
    browser.live.request(key)
    place = f"/sessions/{key}"

    refused = browser.post(f"{place}/messages", content="and <that>")
    browser.post(f"{place}/messages", content="and <that>", how="queue")
    page = browser.page(place)
    message = re.search(rf'action="({place}/queue/[\w-]+)"', page)[1]
    browser.post(message, act="edit", text="or this")
    edited = browser.page(place)
    browser.post(message, act="remove")

    assert 409 == refused.status_code
    assert "and &lt;that&gt;" in refused.text
    assert "and &lt;that&gt;</textarea>" in page
    assert "or this</textarea>" in edited
    assert "or this" not in browser.page(place)


def test_page_goes_on_exactly_where_it_stood(browser, repository):
    key = browser.begin("".join(f"[[run:step {number}]]" for number in range(60)), repository)
    browser.live.until(key, lambda event: type(event).__name__ == "TurnEnded")

    seen, after, more = [], 0, True
    while more:
        page = browser.page(f"/sessions/{key}?after={after}")
        seen += [int(seq) for seq in re.findall(r'data-seq="(\d+)"', page)]
        after, more = int(re.search(r'data-cursor="(\d+)"', page)[1]), " data-more" in page

    kept = browser.engine.live.events(key, limit=10_000)
    shown = [one.seq for one in kept if type(one.event).__name__ == "ItemEnded"]
    assert shown == [seq for seq in seen if seq in shown]
    assert seen == sorted(set(seen))
    assert after == kept[-1].seq


def test_heavy_sessions_and_changes_stay_small(browser, repository):
    key = browser.begin("<" * 100_000 + "\u6f22" * 100_000 + " [[run:ls]]" * 3, repository)
    browser.live.until(key, lambda event: type(event).__name__ == "TurnEnded")
    folder = Path(browser.engine.work.find(key).worktree.path)
    for number in range(260):
        (folder / f"{number:03}-{'é' * 90}.txt").write_text("line\n" * 3)
    (folder / "README.md").write_text("".join(f"{number} <b> & {'<' * 60}\n" for number in range(4000)))

    whole = re.search(r'href="(/sessions/\S+/entries/\d+)"', browser.page(f"/sessions/{key}"))[1]
    assert "Next part" in browser.page(whole)
    browser.page(f"/sessions/{key}/log")
    assert "more are not shown" in browser.page(f"/sessions/{key}/changes")
    page = browser.page(f"/sessions/{key}/diff?side=worktree&path=README.md")
    assert "3 &lt;b&gt; &amp; &lt;" in page
    later = re.search(r"from=(\d+)", page)[1]
    browser.page(f"/sessions/{key}/diff?side=worktree&path=README.md&from={later}")


def test_changes_are_staged_committed_and_merged_by_forms(browser, repository):
    key = browser.begin("hello", repository)
    browser.live.until(key, lambda event: type(event).__name__ == "TurnEnded")
    place, folder = f"/sessions/{key}", Path(browser.engine.work.find(key).worktree.path)
    name = "a b%41\udcff&<c>.txt"
    (folder / name).write_text("one\ntwo\n")
    assert "&amp;&lt;c&gt;.txt" in browser.page(f"{place}/move?act=merge").partition("commit first")[2]
    assert "unknown" not in browser.page(place)

    token = re.search(r'name="path" value="([^"]+)"', browser.page(f"{place}/changes"))[1]
    assert 303 == browser.post(f"{place}/git", op="stage", path=token).status_code
    assert "serve_commit" in browser.page(f"{place}/changes")
    assert 404 == browser.post(f"{place}/git", op="commit", message="Add it").status_code
    browser.allow_commits()
    assert 400 == browser.post(f"{place}/git", op="commit", message=" ").status_code
    assert 303 == browser.post(f"{place}/git", op="commit", message="Add it").status_code
    (link,) = re.findall(r'href="([^"]+side=branch[^"]+)"', browser.page(f"{place}/changes"))
    assert "+two" in browser.page(unescape(link))
    rest = {"accept": "application/json"}
    assert [name] == [one["path"] for one in browser.client.get(f"{place}/changes", headers=rest).json()["committed"]]
    assert 400 == browser.client.get(f"{place}/diff?path=x&side=head", headers=rest).status_code
    (folder / "plain").write_text("one\n")
    subprocess.run(["git", "add", "."], cwd=folder, check=True)
    subprocess.run(["git", "commit", "-qm", "More"], cwd=folder, check=True)
    assert "+one" in browser.client.get(f"{place}/diff?path=plain&side=branch", headers=rest).json()["diff"]
    told = browser.page(f"{place}/move?act=merge")
    done = browser.post(f"{place}/git", op="merge", into="main")

    assert "main gets 2 commits" in told
    assert 303 == done.status_code, done.text
    assert "one\ntwo\n" == (repository / name).read_text()
    assert "Undo" in browser.page(done.headers["location"])


def test_whatever_is_wrong_is_said_on_a_page(browser):
    for place, said in (
        ("/sessions/nothing-here", "no session has the id nothing-here: <code>agents session scan</code>"),
        ("/sessions/nothing-here/queue", "<code>agents session list --live</code> lists them"),
    ):
        assert said in browser.page(place, 404)
        assert "error" in browser.client.get(place, headers={"accept": "application/json"}).json()
    for place in ("/nowhere", "/static/1/none.js", "/sessions/x/y/z"):
        assert 'href="/">To the overview' in browser.page(place, 404)
        assert {"error"} == browser.client.get(place, headers={"accept": "*/*"}).json().keys()
    assert "does not take" in browser.page("/sessions/x/git", 405)
    assert "&lt;b&gt;" in browser.page("/sessions/`<b>`", 404)
    stranger = browser.client.get("/", headers={"host": "evil.example"})
    assert (421, "text/html; charset=utf-8") == (stranger.status_code, stranger.headers["content-type"])
    assert "number" in browser.page("/browse?from=x", 400)
    assert 400 == browser.post("/pair", code="").status_code
    assert "too old" in browser.post("/pair", code="wrong").text


def test_device_that_may_only_look_cannot_order(live, client_for):
    browser = Browser(live, client_for)
    code = browser.engine.web.make_code("viewer", ("view",)).code
    browser.client.cookies.clear()
    browser.post("/pair", code=code)

    key = live.begin("hello")
    live.until(key, lambda event: type(event).__name__ == "TurnEnded")
    for form in ("messages", "interrupt", "cancel", "queue/none", "comments", "conflict"):
        assert 403 == browser.post(f"/sessions/{key}/{form}", content="mine", act="remove").status_code, form

    assert "" == live.live.clients(key).controller
    assert 200 == browser.get("/").status_code
    assert 403 == browser.post("/sessions", repo_path="/tmp", agent_id="demo-live").status_code
    assert 403 == browser.get("/devices").status_code


def test_a_session_goes_on_behind_a_message_that_is_chosen_in_its_tree(browser, repository):
    key = browser.begin(f"first {HOSTILE}", repository)
    browser.live.until(key, lambda event: type(event).__name__ == "TurnEnded")
    browser.engine.live.send(key, "second", waits=True)
    place = f"/sessions/{key}/tree"
    assert place in browser.page(f"/sessions/{key}")
    row = re.compile(r'value="([^"]+)"(?: checked)?> <span dir="auto">(.*)</span>')
    rows = row.findall(browser.page(place))
    ids = [unescape(entry_id) for entry_id, _ in rows]
    assert ["You", "Agent", "You", "Agent"] == [text.split(":")[0] for _, text in rows]
    assert ["goes on here" in text for _, text in rows] == [False, False, False, True]

    assert 303 == browser.post(place, entry_id=ids[1], act="label", label="<b>here</b>").status_code
    assert "2 messages are in both" in browser.post(place, entry_id=ids[1], act="compare").text
    gone = browser.post(place, entry_id=ids[1], act="branch")
    assert f"/sessions/{key}#end" == gone.headers.get("location"), gone.text
    (text,) = (text for _, text in row.findall(browser.page(place)) if "goes on here" in text)
    assert "<b>&lt;b&gt;here&lt;/b&gt;</b>" in text
    first = unescape(row.findall(browser.page(place))[0][0])
    assert "branch_with_summary" not in browser.page(place)  # nobody could make one
    unsummed = browser.post(place, entry_id=first, act="branch_with_summary")
    assert "nothing was changed: name a model to sum up" in unescape(unsummed.text)
    labelled = browser.page(f"{place}?filter=labelled")
    assert (1, 1) == (labelled.count('type="radio"'), labelled.count("<b>&lt;b&gt;here&lt;/b&gt;</b>"))
    for fields in ({"act": "branch"}, {"entry_id": "none", "act": "branch"}, {"entry_id": ids[0], "act": "none"}):
        assert 400 == browser.post(place, **fields).status_code
    assert 400 == browser.get(f"{place}?filter=odd").status_code


def test_artifacts_are_listed_and_downloaded_and_never_shown(browser, repository):
    key = browser.begin("hello", repository)
    place, folder = f"/sessions/{key}", Path(browser.engine.work.files_of(browser.engine.live.find(key)).artifacts)
    browser.live.until(key, lambda event: type(event).__name__ == "TurnEnded")
    assert "Artifacts:" not in browser.page(place)
    name = "<b>\u202e %41\udcff.html"
    (folder / "below").mkdir()
    (folder / "below" / name).write_text(HOSTILE)
    (folder / "link").symlink_to("/etc/passwd")
    (folder / "up").symlink_to("/etc")

    assert "Artifacts: 1<" in browser.page(place)
    (link,) = re.findall(r'href="([^"]+)" download', browser.page(f"{place}/artifacts"))
    got = browser.get(unescape(link))
    assert HOSTILE == got.text
    assert got.headers["content-disposition"].startswith("attachment; filename*=UTF-8''%3Cb%3E%3CU%2B202E%3E")
    kept = {"content-type": "application/octet-stream", "x-content-type-options": "nosniff"}
    assert kept.items() <= got.headers.items()
    for path in ("link", "up/passwd", "../../agent-runner.db", "/etc/passwd", "below", "%2e%2e/x", "none", "a\0b", ""):
        for accept in ("text/html", "*/*"):
            refused = browser.client.get(f"{place}/artifacts/file", params={"path": path}, headers={"accept": accept})
            assert refused.status_code in (400, 404), path
            assert "root:" not in refused.text

    (folder / "report.txt").write_text("plain")
    rest = {"accept": "application/json"}
    listed = browser.client.get(f"{place}/artifacts", headers=rest).json()
    assert ["report.txt", 5] == [listed[0]["name"], listed[0]["size"]]
    assert "plain" == browser.client.get(f"{place}/artifacts/file?path=report.txt", headers=rest).text
    for number in range(120):
        (folder / f"{number:03}-{'é' * 100}").touch()
    assert "There are more" in browser.page(f"{place}/artifacts")


def write_setup(repository, text):
    (repository / ".agent-runner.toml").write_text(f"[worktree]\n{text}\n")
    subprocess.run(["git", "add", "."], cwd=repository, check=True)
    subprocess.run(["git", "commit", "-q", "-m", "Settings"], cwd=repository, check=True)


def decide(browser, page, decision, **more):
    """Answer the page that shows set-up commands."""
    hidden = {name: unescape(value) for name, value in re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', page)}
    return browser.post("/setup", **hidden, decision=decision, **more)


def test_set_up_commands_are_shown_whole_and_run_once_allowed(browser, repository):
    write_setup(repository, "setup = ['echo \"<b>\u202e\" > seen']\nteardown = 'true # <down>'\ncopy = ['.env']")
    wish = {"repo_path": str(repository), "agent_id": "demo-live", "initial_message": "a \u200d <wish>\nof two"}
    assert "not allowed yet" in browser.page(f"/sessions/new?repo_path={repository}")

    asked = browser.post("/sessions", **wish)
    for text in (
        "echo &#34;&lt;b&gt;&lt;U+202E&gt;&#34; &gt; seen",
        "true # &lt;down&gt;",
        ".env",
        "no session begins",
    ):
        assert text in asked.text
    assert (403, [], ()) == (asked.status_code, Looked(asked.text).bad, browser.engine.work.list(9))
    assert ["worktree"] == [request.origin for request in browser.engine.live.requests()]
    assert "of two</textarea>" in decide(browser, asked.text, "deny").text
    assert () == browser.engine.live.requests()
    begun = decide(browser, asked.text, "allow")
    assert (
        "a \u200d <wish>\nof two"
        in browser.engine.work.messages(begun.headers["location"].rpartition("/")[2])[0].content
    )
    assert "allowed on" in browser.page(f"/sessions/new?repo_path={repository}")
    assert 303 == browser.post("/sessions", **wish).status_code

    write_setup(repository, "setup = ['touch other']")
    assert "changed since you allowed them" in browser.page(f"/sessions/new?repo_path={repository}")
    changed = browser.post("/sessions", **wish)
    write_setup(repository, "setup = ['touch third']")
    late = decide(browser, changed.text, "allow")
    assert "have <b>changed</b>" in changed.text
    assert (400, True) == (late.status_code, "read them again" in late.text)
    plain = decide(browser, late.text, "without").headers["location"]
    folder = Path(browser.engine.work.find(plain.rpartition("/")[2]).worktree.path)
    assert not (folder / "third").exists()


def test_set_up_commands_take_a_fresh_confirmation_and_a_page_that_holds_them(browser, repository):
    write_setup(repository, "setup = ['touch seen']")
    wish = {"repo_path": str(repository), "agent_id": "demo-codex1"}
    web = browser.engine.web
    (device,) = web.devices()
    with web._home.lend_store() as store:
        devices.confirm(store, device.device_id, device.created_at)
    asked = browser.post("/sessions", **wish).text

    assert "agents device confirm" in decide(browser, asked, "allow").text
    assert "is wrong" in decide(browser, asked, "allow", code="wrong").text
    assert 303 == decide(browser, asked, "allow", code=web.make_code().code).status_code
    write_setup(repository, f"setup = ['touch {'<' * 6000}']")
    long = browser.post("/sessions", **wish).text
    assert "too long" in long
    assert "Allow and begin" not in long
    assert 400 == decide(browser, long, "allow").status_code
    assert 400 == browser.post("/setup", session="[]", decision="allow").status_code


def test_page_says_who_else_writes_and_who_has_taken_over(browser, repository):
    key = browser.begin("hello", repository)
    browser.live.until(key, lambda event: type(event).__name__ == "TurnEnded")
    place, desk = f"/sessions/{key}", browser.engine.live.acting_as("ann@desk (app on pts/1)", is_person=True)
    assert 303 == browser.post(f"{place}/messages", content="from the sofa", how="queue").status_code
    alone = browser.page(place)
    with desk.connect(key) as client:
        client.follow(0)
        client.order(orders.AskStatus())
        watched = browser.page(place)
        client.order(orders.Rename("another"))
        shown = browser.page(place)
        told = browser.client.get(place, headers={"accept": "application/json"}).json()
    gone = browser.page(place)

    line = "ann@desk (app on pts/1) is writing here; what you send takes over."
    assert [False, False, True, False] == [line in page for page in (alone, watched, shown, gone)]
    assert ["1 other watches" in page for page in (alone, watched, shown)] == [False, True, False]
    assert 1 == shown.count("ann@desk (app on pts/1) has taken over from you")
    assert (desk.name, [desk.name]) == (told["controller"], told["attached"])
    assert told["created_at"] < told["controlled_since"]


def test_a_session_whose_account_is_exhausted_offers_another_one(browser):
    key, turn = browser.live.begin_turn("hello [[quota]]")
    browser.live.live.wait(key, turn)
    browser.live.live.order(key, orders.Close(), starts=False)
    browser.live.until_closed(key)
    page = browser.page(f"/sessions/{key}")
    script = {"accept": "application/json"}
    refused = browser.client.post(f"/sessions/{key}/messages", json={"content": "go on"}, headers=script)

    assert "The account demo-codex1 is exhausted" in page
    assert (409, "account-exhausted") == (refused.status_code, refused.json()["error"]["code"])
    other = re.search(r"<option>([^<]+)</option>", page)[1]
    place = browser.post(f"/sessions/{key}/fork", runtime_id=other).headers["location"]
    assert other == browser.client.get(place, headers=script).json()["runtime_id"]


def test_a_message_whose_cli_dies_before_it_says_it_again_is_on_the_page(browser):
    key, _ = browser.live.begin_turn("greet the walrus", runtime=browser.live.scripted("dies-at-a-turn"))
    browser.live.until_closed(key)
    page = browser.page(f"/sessions/{key}")

    (said,) = re.findall(r'<article class="entry user".*?</article>', page, re.DOTALL)
    assert '<div class="text" dir="auto">greet the walrus</div>' in said
    assert "Its process has ended (exited)" in page


def test_what_a_person_wrote_is_on_the_page_as_typed(browser):
    typed = "+ return 1\n1. x\n# x\n  * `y`\n<b>"
    key, turn = browser.live.begin_turn(typed)
    browser.live.live.wait(key, turn)

    assert f'<div class="text" dir="auto">{escape(typed)}</div>' in browser.page(f"/sessions/{key}")
    assert b".text { white-space: pre-wrap;" in static_file("app.css")


def test_a_session_has_its_id_and_name_of_the_list_in_rest_and_on_the_page(browser):
    key, turn = browser.live.begin_turn("hello")
    browser.live.live.wait(key, turn)
    browser.engine.sessions.notes.rename(key, "Alpha")
    script = {"accept": "application/json"}
    (row,) = browser.client.get("/sessions", headers=script).json()
    shown = browser.client.get(f"/sessions/{key}", headers=script).json()

    assert [(key, "Alpha")] * 2 == [(one["id"], one["title"]) for one in (row, shown)]
    assert f'href="/sessions/{key}"' in browser.page("/sessions")
    assert "Alpha</h1>" in browser.page(f"/sessions/{key}")


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        ("Mozilla/5.0 (Linux; Android 15; Pixel 8) AppleWebKit/537.36", "Android"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X)", "iPhone"),
        ("Mozilla/5.0 (X11; Linux x86_64; rv:140.0)", "Linux"),
        ("curl/8.0", "a browser"),
    ],
)
def test_a_browser_that_nobody_has_named_is_called_by_its_system(engine, browse, agent, name):
    client = browse(accept="text/html", origin="http://localhost:8787", **{"user-agent": agent})
    client.post("/pair", data={"code": engine.web.make_code(scopes=SCOPES).code})

    assert [name] == [device.name for device in engine.web.devices()]


def test_a_line_with_a_slash_is_a_command_or_refused_and_two_slashes_send_one(browser, repository):
    key = browser.begin("hello <there>", repository)
    live = browser.engine.live
    live.wait(key, live.turns(key)[0].turn_id)
    place = f"/sessions/{key}/messages"

    def say(line, **headers):
        answer = browser.client.post(place, data={"content": line}, headers=headers)
        return answer.status_code, unescape(answer.text), answer.headers.get("location")

    for line, status, words in (
        ("/nosuch", 400, "there is no command /nosuch"),
        ("/etc/<b> is", 400, "//etc/<b> sends it"),
        ("/export html /tmp/x", 403, "/export is done at the computer alone"),
        ("/settings", 403, "the app has them"),
        ("/help", 200, "/provider"),
        ("/session", 200, f"{key}  hello <there>"),
        ("/provider", 200, "runtime: demo-codex1"),
        ("/tools", 200, "can:"),
        ("/name red <roof>", 200, "it is called red <roof>"),
        ("/model demo-opus-1", 200, "later turns are done by demo-opus-1"),
    ):
        answer = say(line)
        assert (status, None, True) == (answer[0], answer[2], words in answer[1]), answer

    assert (303, "/sessions/new") == say("/new")[::2]
    fork = say("/fork")[2]
    assert key == live.find(fork.rpartition("/")[2]).forked_from
    # Our script stays on the page, and follows the link.
    assert 'href="/sessions/new"' in say("/new", **{PART: "1"})[1]
    assert f'href="/sessions/{key}"' in say("/queue", **{PART: "1"})[1]
    assert 1 == len(live.turns(key))
    assert 303 == say("//nosuch")[0]
    assert "/nosuch" == live.turns(key)[-1].input
    looker = TestClient(browser.client.app, base_url="http://127.0.0.1", headers={"accept": "text/html"})
    code = browser.engine.web.make_code("looks", ("view", "answer")).code
    looker.post("/pair", data={"code": code, "name": "looks"})
    assert {403} == {looker.post(place, data={"content": line}).status_code for line in ("/help", "/name x", "/fork")}


def test_a_slash_command_of_an_extension_is_for_who_may_operate(browser, repository):
    key = browser.begin("hello", repository)
    live = browser.engine.live
    live.wait(key, live.turns(key)[0].turn_id)
    place = browser.engine.paths.extensions / "waver"
    place.mkdir(parents=True)
    commands = "[[commands]]\nname = 'wave'\n[[commands]]\nname = 'help'\n"
    (place / "extension.toml").write_text(f"name = 'waver'\n{commands}")
    functions = "{'wave': lambda words: f'waved at <{words}>', 'help': lambda words: 'helped'}"
    code = f"class extension:\n    commands = {functions}\n"
    (place / "extension.py").write_text(code)
    browser.engine.extensions.allow(browser.engine.extensions.find("waver"))

    def say(client, line):
        answer = client.post(f"/sessions/{key}/messages", data={"content": line})
        return answer.status_code, unescape(answer.text)

    for line, words in (("/wave bob", "waved at <bob>"), ("/waver:help", "helped"), ("/help", "/waver:help")):
        status, text = say(browser.client, line)
        assert (200, True) == (status, words in text), text
    looker = TestClient(browser.client.app, base_url="http://127.0.0.1", headers={"accept": "text/html"})
    looker.post("/pair", data={"code": browser.engine.web.make_code("looks", ("view", "answer")).code, "name": "looks"})
    assert 403 == say(looker, "/wave bob")[0]
    browser.engine.extensions.close()


def test_agent_is_listed_prompted_and_stopped_after_a_question(browser):
    folder = browser.live.root / "x"
    folder.mkdir()
    (folder / "Agentfile").write_text(f"FROM scratch\nNAME x\nMODEL demo-codex\nCONTEXT SOUL <<E\n{HOSTILE}\nE\n")
    agent = browser.engine.agents.run(AgentWish(str(folder), "calm", "none"))
    empty, place = browser.page("/running-agents"), f"/running-agents/{agent.agent_id}"
    shown = browser.page(place)
    begun = browser.post(f"{place}/prompt", text="hello")
    key = begun.headers["location"].rpartition("/")[2]
    after, asked = browser.page(place), browser.post(f"{place}/stop", name="calm", back=place).text
    still = browser.engine.agents.find("calm").status
    browser.post(f"{place}/stop", sure="yes")

    assert all(word in empty for word in ("calm", "ready", "none"))
    assert "ready, isolation none" in shown
    assert f'href="/sessions/{key}"' in after
    assert "demo-codex" in after
    assert "Stop agent?" in asked
    assert ("stopped", False) == (browser.engine.agents.find("calm").status, still == "stopped")
    assert "It takes no prompts: it is stopped." in browser.page(place)
