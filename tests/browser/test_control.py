"""Two phones at one session: each sees that the other writes, who takes over, and that it is gone."""

import pytest
from test_phone import begin

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]

SCOPES = ("view", "answer", "operate")
LINE = "{} is writing here; what you send takes over."


def test_two_phones_take_over_from_each_other_and_say_so(pair, server, axe):
    ann, ben = (pair(server.live.engine.web.make_code(name, SCOPES).code) for name in ("Ann's phone", "Ben's phone"))
    key = begin(ann, server, "hello")
    ann.locator("#standing", has_text="ready").wait_for()
    ben.goto(f"{server.url}/sessions/{key}")
    ben.get_by_text(LINE.format("Ann's phone")).wait_for()
    ann.get_by_text("1 other watches.").wait_for()
    serious = axe(ben)
    ben.get_by_label("Message", exact=True).fill("from the sofa")
    ben.get_by_role("button", name="Send").tap()
    ann.get_by_text("Ben's phone has taken over from you").wait_for()
    ann.get_by_text(LINE.format("Ben's phone")).wait_for()
    ben.get_by_text("1 other watches.").wait_for()
    ben.close()
    ann.get_by_text(LINE.format("Ben's phone")).wait_for(state="detached")

    assert [] == serious
    assert 1 == ann.get_by_text("has taken over from you").count()
    assert [] == ann.said
