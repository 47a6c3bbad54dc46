"""The way of a person with a phone: pair, begin, approve, read, merge, lose the connection and come back."""

import re
from pathlib import Path

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]


def begin(page, server, prompt):
    """Begin a session with the form; returns the page on it."""
    fill_in(page, server, prompt)
    page.wait_for_url(re.compile(r"/sessions/[0-9a-f-]{36}"))
    return page.url.rpartition("/")[2].partition("#")[0]


def fill_in(page, server, prompt):
    """Send the form of a new session."""
    page.goto(f"{server.url}/sessions/new")
    page.get_by_label("Repository").fill(str(server.repository))
    page.get_by_label("What is to be done").fill(prompt)
    page.get_by_label("Model").select_option("demo-live")
    page.get_by_role("button", name="Begin").tap()


def approve(page, title):
    """Approve a request that is on the page, as a thumb does: once it stands still."""
    button = page.locator(f"article.card[data-request*='{title}']").get_by_role("button", name="Approve", exact=True)
    button.wait_for()
    said = page.locator("#say")
    refused = True
    while refused:
        page.wait_for_timeout(600)
        said.evaluate("(one) => { one.textContent = ''; }")
        button.tap()
        refused = "has just changed" in said.text_content()


def test_from_the_first_code_to_the_merge(phone, server):
    begin(phone, server, "add a file [[edit:a.txt]] [[approve:rm -r build]]")
    approve(phone, "a.txt")
    approve(phone, "rm -r build")
    phone.locator("#standing", has_text="ready").wait_for()
    phone.get_by_role("link", name="Changes").tap()
    phone.get_by_role("link", name="a.txt untracked").tap()
    phone.locator("i.a", has_text="A line that a demo agent has added.").wait_for()
    phone.get_by_role("link", name="All changes").tap()
    phone.get_by_label("Message").fill("Add a file")
    phone.get_by_role("button", name="Commit").tap()
    phone.get_by_text("Committed.").wait_for()
    phone.get_by_role("link", name="a.txt added").wait_for()
    phone.get_by_role("link", name="Merge into main").tap()
    phone.get_by_text("main gets 1 commit").wait_for()
    phone.get_by_role("button", name="Merge").tap()
    phone.get_by_text("Merged.").wait_for()

    assert "Add a file" in server.git("log", "--format=%s", "main")
    assert "A line that a demo agent has added.\n" in (server.repository / "a.txt").read_text()
    assert [] == phone.said


def test_changes_are_commented_on_in_one_prompt(phone, server):
    key = begin(phone, server, "add files [[edit:a.txt]] [[edit:b.txt]]")
    approve(phone, "a.txt")
    approve(phone, "b.txt")
    phone.locator("#standing", has_text="ready").wait_for()

    for name in ("a.txt", "b.txt"):
        phone.goto(f"{server.url}/sessions/{key}/diff?side=worktree&path={name}")
        phone.locator("i.a", has_text="A line").first.tap()
        phone.get_by_label("What is to change").fill(f"say more in {name}")
        phone.get_by_role("button", name="Collect").tap()
    phone.get_by_role("button", name="Send all as one prompt").tap()

    last = phone.locator("article.user").last
    last.get_by_text("say more in b.txt").wait_for()
    assert "a.txt, line 1:\n> A line that a demo agent has added.\nsay more in a.txt" in last.inner_text()


def test_conflict_is_known_first_and_handed_to_the_agent(phone, server):
    key = begin(phone, server, "hello")
    phone.locator("#standing", has_text="ready").wait_for()
    folder = Path(server.live.engine.work.find(key).worktree.path)
    for place, text in ((folder, "theirs"), (server.repository, "ours")):
        (place / "README.md").write_text(f"{text}\n")
        server.git("-C", str(place), "commit", "-qam", text)

    phone.goto(f"{server.url}/sessions/{key}/move?act=merge")
    phone.get_by_text("Nothing has moved").wait_for()
    phone.get_by_role("button", name="Have the agent resolve it").tap()
    phone.get_by_text("The agent was asked").wait_for()
    phone.goto(f"{server.url}/sessions/{key}")

    phone.locator("article.user", has_text="git merge main").wait_for()
    assert "ours\n" == (server.repository / "README.md").read_text()


def test_message_waits_is_edited_and_sent_after_the_turn(phone, server):
    begin(phone, server, "wait [[approve:true]]")
    phone.get_by_role("button", name="Approve", exact=True).wait_for()
    phone.get_by_label("Message", exact=True).fill("and then this")
    phone.get_by_role("button", name="Queue").tap()
    waiting = phone.get_by_label("Message 1", exact=True)
    waiting.wait_for()
    assert "" == phone.get_by_label("Message", exact=True).input_value()
    waiting.fill("and then that")
    phone.get_by_role("button", name="Save").tap()
    phone.get_by_text("Done.").wait_for(state="attached")
    approve(phone, "true")

    phone.locator("article.user", has_text="and then that").wait_for()


def turns_ended(server, key):
    """Return how the turns of a session have ended."""
    events = server.live.engine.live.events(key, limit=10_000)
    return [one.event.status for one in events if type(one.event).__name__ == "TurnEnded"]


def test_running_turn_is_steered(phone, server):
    key = begin(phone, server, "wait [[approve:one]]")
    phone.get_by_role("button", name="Approve", exact=True).wait_for()
    phone.get_by_label("Message", exact=True).fill("and mind this")
    phone.get_by_role("button", name="Steer").tap()
    phone.get_by_text("Done.").wait_for(state="attached")
    assert "" == phone.get_by_label("Message", exact=True).input_value()
    approve(phone, "one")

    phone.locator("article.user", has_text="and mind this").wait_for()
    phone.locator("#standing", has_text="ready").wait_for()
    assert ["completed"] == turns_ended(server, key)


def test_running_turn_is_interrupted_and_the_session_goes_on(phone, server):
    key = begin(phone, server, "wait [[approve:one]]")
    phone.get_by_role("button", name="Approve", exact=True).wait_for()
    phone.get_by_role("button", name="Interrupt the turn").tap()
    phone.get_by_text("The turn was interrupted.").wait_for()
    phone.locator("#standing", has_text="ready").wait_for()
    assert 0 == phone.locator("article.card").count()
    phone.get_by_label("Message", exact=True).fill("then hello")
    phone.get_by_role("button", name="Send").tap()

    phone.locator("article.agent", has_text="then hello").wait_for()
    server.until(lambda: turns_ended(server, key) == ["interrupted", "completed"])


def test_a_line_with_a_slash_says_what_it_did_and_leads_to_a_fork(phone, server):
    key = begin(phone, server, "hello")
    phone.locator("#standing", has_text="ready").wait_for()

    def say(line):
        phone.get_by_label("Message", exact=True).fill(line)
        phone.get_by_role("button", name="Send").tap()

    say("/name red roof")
    phone.locator("#problem.told", has_text="it is called red roof").wait_for()
    say("/nosuch")
    phone.locator("#problem:not(.told)", has_text="there is no command /nosuch").wait_for()
    assert "/nosuch" == phone.get_by_label("Message", exact=True).input_value()
    say("/fork")
    phone.wait_for_url(lambda url: key not in url)


def test_cancelled_session_stays_cancelled_until_the_next_message(phone, server):
    key = begin(phone, server, "wait [[approve:one]]")
    phone.get_by_role("button", name="Approve", exact=True).wait_for()
    phone.locator("summary", has_text="More").last.tap()
    phone.get_by_role("button", name="Cancel the session").tap()
    phone.get_by_role("heading", name="Cancel?").wait_for()
    phone.get_by_role("button", name="Cancel").tap()
    phone.locator("#standing", has_text="canceled").wait_for()
    server.until(lambda: server.live.engine.work.find(key).pid is None)
    assert 0 == phone.locator("article.card").count()
    phone.get_by_label("Message", exact=True).fill("once more")
    phone.get_by_role("button", name="Send").tap()

    phone.locator("#standing", has_text="ready").wait_for()
    phone.locator("article.user", has_text="once more").wait_for()


def test_set_up_commands_are_read_and_allowed_once(phone, server, axe):
    (server.repository / ".agent-runner.toml").write_text("[worktree]\nsetup = 'touch prepared'\n")
    server.git("add", ".")
    server.git("commit", "-qm", "Settings")
    fill_in(phone, server, "hello")
    phone.get_by_text("touch prepared").wait_for()
    assert [] == axe(phone)
    phone.get_by_role("button", name="Deny").tap()
    phone.get_by_text("Its set-up commands: not allowed yet").wait_for()
    assert "hello" == phone.get_by_label("What is to be done").input_value()
    phone.get_by_role("button", name="Begin").tap()
    phone.get_by_role("button", name="Allow and begin").tap()
    phone.locator("#standing", has_text="ready").wait_for()

    key = phone.url.rpartition("/")[2]
    assert (Path(server.live.engine.work.find(key).worktree.path) / "prepared").exists()
    begin(phone, server, "and another")
    assert [] == [one for one in phone.said if "403" not in one]  # a browser tells of a question's status so


def test_artifact_is_downloaded_and_not_shown(phone, server):
    key = begin(phone, server, "hello")
    phone.locator("#standing", has_text="ready").wait_for()
    files = server.live.engine.work.files_of(server.live.live.find(key))
    (Path(files.artifacts) / "report.html").write_text("<script>alert(1)</script>")
    phone.reload()
    phone.get_by_role("link", name="Artifacts: 1").tap()
    with phone.expect_download() as told:
        phone.get_by_role("link", name="report.html").tap()

    assert "report.html" == told.value.suggested_filename
    assert "<script>alert(1)</script>" == Path(told.value.path()).read_text()
    assert phone.url.endswith("/artifacts")


def test_code_leaves_the_history_and_works_once(phone, pair, server):
    code = server.code
    other = pair(code)

    assert "#" not in other.evaluate("location.href")
    late = other.context.browser.new_page()
    late.goto(f"{server.url}/pair#{code}")
    late.get_by_text("this code is wrong, was used, or is too old").wait_for()
    late.close()
