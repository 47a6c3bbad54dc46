"""The way of a person with a phone: pair, begin, approve, read, merge, lose the connection and come back."""

import re

import pytest

pytestmark = pytest.mark.browser


def begin(page, server, prompt):
    """Begin a session with the form; returns the page on it."""
    page.goto(f"{server.url}/sessions/new")
    page.get_by_label("Repository").fill(str(server.repository))
    page.get_by_label("What is to be done").fill(prompt)
    page.get_by_label("Model").select_option("demo-live")
    page.get_by_role("button", name="Begin").tap()
    page.wait_for_url(re.compile(r"/sessions/[0-9a-f-]{36}"))
    return page.url.rpartition("/")[2].partition("#")[0]


def approve(page, title):
    """Approve a request that is on the page, as a thumb does: once it stands still."""
    button = page.locator("article.card", has_text=title).get_by_role("button", name="Approve", exact=True)
    button.wait_for()
    page.wait_for_timeout(600)
    button.tap()


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
    phone.get_by_role("link", name="Merge into main").tap()
    phone.get_by_text("main gets 1 commit").wait_for()
    phone.get_by_role("button", name="Merge").tap()
    phone.get_by_text("Merged.").wait_for()

    assert "Add a file" in server.git("log", "--format=%s", "main")
    assert "A line that a demo agent has added.\n" in (server.repository / "a.txt").read_text()
    assert [] == phone.said


def test_code_leaves_the_history_and_works_once(phone, pair, server):
    code = server.code
    other = pair(code)

    assert "#" not in other.evaluate("location.href")
    late = other.context.browser.new_page()
    late.goto(f"{server.url}/pair#{code}")
    late.get_by_text("this code is wrong, was used, or is too old").wait_for()
    late.close()
