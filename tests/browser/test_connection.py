"""What is lost on the way comes again, whole and once; what is typed is kept; the page says how it stands."""

import re
import time

import pytest
from test_phone import approve, begin

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]
MANY = "".join(f"[[run:step {number}]]" for number in range(40))


def shown(page):
    """Return the numbers of what the page shows."""
    return page.eval_on_selector_all("#entries > article", "all => all.map((one) => Number(one.dataset.seq))")


def kept(server, key):
    """Return the numbers of what there is to show."""
    events = server.live.engine.live.events(key, limit=10_000)
    return [one.seq for one in events if type(one.event).__name__ in ("ItemEnded", "RequestResolved")]


def check_whole(page, server, key):
    """Look that the page has everything, in order and once, from where it began."""
    numbers = server.until(lambda: (found := shown(page))[-1:] == kept(server, key)[-1:] and found)
    assert kept(server, key)[-len(numbers) :] == numbers


def test_phone_that_was_offline_misses_nothing(phone, server, offline):
    key = begin(phone, server, "first [[approve:one]]")
    phone.get_by_role("button", name="Approve", exact=True).wait_for()
    assert "Connected" == phone.locator("#connection").inner_text()

    with offline(phone):
        phone.locator("#connection", has_text="Offline").wait_for()
        live = server.live.engine.live
        live.answer(server.live.request(key).request_id, "approve")
        server.until(lambda: not server.live.engine.work.find(key).busy)
        live.send(key, f"second {MANY}", waits=True)
    phone.locator("#connection", has_text="Connected").wait_for()

    check_whole(phone, server, key)
    assert len(shown(phone)) > 40


def test_page_goes_on_when_the_server_was_killed_meanwhile(phone, server):
    key = begin(phone, server, f"first {MANY} [[approve:one]]")
    phone.get_by_role("button", name="Approve", exact=True).wait_for()

    server.restart()
    phone.locator("#connection", has_text="Reconnecting").wait_for()
    phone.locator("#connection", has_text="Connected").wait_for()
    approve(phone, "one")

    phone.locator("#standing", has_text="ready").wait_for()
    check_whole(phone, server, key)


def test_page_that_slept_asks_again_at_once(phone, server):
    key = begin(phone, server, "first")
    phone.locator("#standing", has_text="ready").wait_for()
    # A phone that sleeps drops connections without a word; nothing tells the page until it is looked at again.
    phone.route("**/sessions/*/events*", lambda route: route.abort())
    phone.reload()
    server.live.engine.live.send(key, f"second {MANY}", waits=True)
    phone.unroute("**/sessions/*/events*")
    begun = time.monotonic()
    phone.evaluate("document.dispatchEvent(new Event('visibilitychange'))")

    check_whole(phone, server, key)
    assert time.monotonic() - begun < 3


def test_message_that_cannot_be_sent_is_kept(phone, server, offline):
    begin(phone, server, "first")
    phone.locator("#standing", has_text="ready").wait_for()
    box = phone.get_by_label("Message", exact=True)

    with offline(phone):
        box.fill("a long thought")
        phone.get_by_role("button", name="Send").tap()
        phone.get_by_text("It was not sent").wait_for()
        assert "a long thought" == box.input_value()
    phone.locator("#connection", has_text="Connected").wait_for()
    phone.reload()
    assert "a long thought" == box.input_value()
    phone.get_by_role("button", name="Send").tap()

    phone.locator("article.user", has_text="a long thought").wait_for()
    assert 1 == phone.locator("article.user", has_text="a long thought").count()


def test_message_whose_answer_was_lost_is_taken_once(phone, server):
    key = begin(phone, server, "first")
    phone.locator("#standing", has_text="ready").wait_for()

    def lose(route):
        route.fetch()
        route.abort()

    phone.route("**/messages", lose)
    phone.get_by_label("Message", exact=True).fill("just once")
    phone.get_by_role("button", name="Send").tap()
    phone.get_by_text("It was not sent").wait_for()
    phone.unroute("**/messages")
    server.until(lambda: not server.live.engine.work.find(key).busy)
    phone.locator("#standing", has_text="ready").wait_for()
    phone.get_by_role("button", name="Send").tap()
    phone.get_by_text("It was not sent").wait_for(state="hidden")

    check_whole(phone, server, key)
    assert 1 == phone.locator("article.user", has_text="just once").count()


def test_flood_of_words_is_followed_and_ends_whole(phone, server):
    key = begin(phone, server, "talk [[flood:1500]]")

    phone.locator("#standing", has_text="ready").wait_for()
    check_whole(phone, server, key)
    phone.locator("#typing").wait_for(state="hidden")
    assert [] == phone.said


def test_revoked_phone_is_out_at_once(phone, server):
    begin(phone, server, "first")
    web = server.live.engine.web
    web.revoke(next(one for one in web.devices() if one.name).device_id)

    phone.wait_for_url(re.compile("/pair$"))
