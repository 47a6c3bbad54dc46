"""Usable with one thumb, by keyboard, by a screen reader, with large text, without the script; quick and small."""

import re
from pathlib import Path

import pytest
from test_phone import approve, begin

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]

HEAVIEST, FIRST_PAINT_MS, THUMB = 60 << 10, 300, 44
LONG = "long/word" * 40
HOSTILE = f"<script>alert(1)</script> \u202egnp.exe \u2066 \u05d0\u05d1 {LONG} {'many words ' * 18_000}"
# Whether a sticky part lies over what has the focus.
COVERED = """() => {
  const one = document.activeElement, box = one.getBoundingClientRect();
  const x = Math.min(Math.max(box.left + box.width / 2, 1), innerWidth - 1);
  return [box.top + Math.min(box.height / 2, 20), box.bottom - Math.min(box.height / 2, 20)].some((y) => {
    const hit = document.elementFromPoint(x, y);
    return !hit || !((one.closest('label') || one).contains(hit) || hit.contains(one));
  });
}"""
# Links within a sentence are the one exception that WCAG makes; there are none.
TARGETS = """() => [...document.querySelectorAll('a, button, input:not([type=hidden]), select, textarea, summary')]
  .filter((one) => one.checkVisibility() && !one.closest('.skip'))
  .map((one) => one.closest('label.choice') || one)
  .map((one) => [one.outerHTML.slice(0, 90), one.getBoundingClientRect().width, one.getBoundingClientRect().height])"""


@pytest.fixture
def places(phone, server):
    """All pages, with something on each."""
    orders = f"[[run:ls -la {LONG}]] [[think:hmm]] [[edit:a.txt]] [[approve:rm -r build/{LONG}]]"
    key = begin(phone, server, f"make **it** good {HOSTILE} {orders}")
    work = server.live.engine.work.find(key)
    for folder in (work.worktree.path, server.live.engine.work.files_of(work.session).artifacts):
        Path(folder, f"\u202e{'x' * 200}.txt").write_text(f"{HOSTILE}\n")
    approve(phone, "a.txt")
    phone.locator("article.card", has_text="rm -r build").wait_for()
    phone.get_by_label("Message", exact=True).fill("and this")
    phone.get_by_role("button", name="Queue").tap()
    phone.get_by_label("Message 1", exact=True).wait_for()
    own = f"/sessions/{key}"
    diff = f"{own}/diff?side=worktree&path=a.txt"
    some = (
        "/",
        "/sessions",
        "/sessions/new",
        "/requests",
        "/devices",
        "/browse",
        "/pair",
        "/confirm",
        "/sessions/none",
        "/running-agents",
    )
    more = ("log", "changes", "artifacts", "move?act=merge", "promote")
    return (*some, own, diff, *(f"{own}/{name}" for name in more))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_serious_stands_in_the_way_of_anybody(phone, server, places, axe, scheme):
    phone.emulate_media(color_scheme=scheme)
    found = {}
    for place in places:
        phone.goto(server.url + place)
        phone.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        if wrong := axe(phone):
            found[place] = wrong

    assert {} == found


def test_every_target_takes_a_thumb_and_no_page_is_wider_than_the_phone(phone, server, places):
    small, wide = {}, []
    for place in places:
        phone.goto(server.url + place)
        found = [one for one in phone.evaluate(TARGETS) if one[1] < THUMB or one[2] < THUMB - 0.5]
        if found:
            small[place] = found
        for size in ("100%", "200%"):
            phone.evaluate("(size) => { document.documentElement.style.fontSize = size; }", size)
            if phone.evaluate("document.documentElement.scrollWidth") > 390:
                wide.append((place, size))

    assert {} == small
    assert [] == wide


def test_pages_are_small_and_painted_soon(phone, server, places):
    heavy, slow = {}, {}
    for place in places:
        weights = []
        phone.on("response", lambda answer, weights=weights: weights.append(answer))
        paints = []
        for _ in range(6):  # what else this machine does must not count
            phone.goto(server.url + place)
            paints.append(
                phone.evaluate(
                    "new Promise((done) => { const look = () => { const one = performance.getEntriesByName("
                    "'first-contentful-paint')[0]; one ? done(one.startTime) : setTimeout(look, 10); }; look(); })"
                )
            )
            if paints[-1] <= FIRST_PAINT_MS:
                break
        document = len(phone.request.get(server.url + place, headers={"accept": "text/html"}).body())
        parts = {answer.url for answer in weights if "/static/" in answer.url}
        weight = document + sum(len(phone.request.get(url).body()) for url in parts)
        if weight > HEAVIEST:
            heavy[place] = weight
        if min(paints) > FIRST_PAINT_MS and "/move" not in place:  # where git tries a merge first
            slow[place] = paints

    assert {} == heavy
    assert {} == slow


def test_approve_never_stands_where_deny_stood(phone, server, places):
    deny, approving = [], []
    for place in places:
        phone.goto(server.url + place)
        phone.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        for selector, boxes in ((".no", deny), (".yes", approving)):
            boxes += [one.bounding_box() for one in phone.locator(selector).all()]

    assert deny
    assert approving
    assert max(box["x"] + box["width"] for box in deny) + THUMB < min(box["x"] for box in approving)


def test_approval_that_has_just_come_takes_no_tap(phone, server):
    key = begin(phone, server, "tidy [[approve:one]] [[approve:two]]")
    approve(phone, "one")
    # The thumb is still there when the next one comes.
    phone.evaluate(
        """() => new Promise((done) => {
            const look = () => {
              const button = document.querySelector('[data-request*="two"] [data-arm]');
              if (!button) { requestAnimationFrame(look); return; }
              button.click(); done();
            };
            look();
        })"""
    )
    phone.get_by_text("The page has just changed").wait_for(state="attached")

    assert server.live.engine.work.find(key).pending_approval
    approve(phone, "two")
    phone.locator("#standing", has_text="ready").wait_for()


def test_keyboard_alone_reaches_and_does_it_all(pair, server):
    page = pair(is_mobile=False, has_touch=False)
    page.keyboard.press("Tab")
    assert "Skip to the content" == page.evaluate("document.activeElement.textContent")
    begin_by_keyboard(page, server)
    page.get_by_label("Message", exact=True).focus()
    page.keyboard.type("hello again")
    page.keyboard.press("Control+Enter")

    page.locator("article.user", has_text="hello again").wait_for()
    assert "content" == page.evaluate("document.activeElement.id")


def test_what_has_the_focus_is_seen(pair, server):
    page = pair(reduced_motion="reduce")
    page.goto(server.url)
    key = begin(page, server, "talk " * 200 + "[[run:ls]] [[run:ls -la]] [[approve:one]]")
    page.locator("article.card[data-request*=one]").wait_for()
    covered = []
    for place in (f"/sessions/{key}", "/requests", "/sessions/new"):
        for size in ("100%", "200%"):
            page.goto(server.url + place)
            page.evaluate("(size) => { document.documentElement.style.fontSize = size; scrollTo(0, 0); }", size)
            for _ in range(24):
                page.keyboard.press("Tab")
                if page.evaluate("document.activeElement !== document.body") and page.evaluate(COVERED):
                    covered.append((place, size, page.evaluate("document.activeElement.outerHTML.slice(0, 90)")))

    assert [] == covered


def begin_by_keyboard(page, server):
    page.goto(f"{server.url}/sessions/new?agent_id=demo-live&prompt=hello")
    page.get_by_label("Repository").focus()
    page.keyboard.type(str(server.repository))
    page.keyboard.press("Enter")
    page.locator("#standing", has_text="ready").wait_for()


def test_screen_reader_finds_landmarks_and_hears_what_is_new(phone, server):
    key = begin(phone, server, "hello")
    phone.locator("#standing", has_text="ready").wait_for()
    server.live.engine.live.send(key, "and now [[approve:one]]")
    phone.locator("article.card", has_text="one").wait_for()

    assert 1 == phone.get_by_role("main").count()
    assert 1 == phone.get_by_role("navigation").count()
    assert 1 == phone.get_by_role("log").count()
    assert phone.locator("#say").inner_text().startswith("It asks: one")


def test_focus_stays_when_the_page_changes(phone, server):
    key = begin(phone, server, "hello [[approve:one]]")
    phone.locator("summary", has_text="More answers").focus()
    phone.keyboard.press("Enter")
    reason = phone.get_by_label("Why not")
    reason.fill("because")
    server.live.engine.live.send(key, "another one")
    phone.get_by_label("Message 1", exact=True).wait_for()

    assert "reason" == phone.evaluate("document.activeElement.name")
    assert "because" == reason.input_value()


def test_without_the_script_one_can_read_and_answer(chromium, server):
    engine = server.live.engine
    context = chromium.new_context(viewport={"width": 390, "height": 844}, java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{server.url}/pair")
    page.get_by_label("Code", exact=True).fill(engine.web.make_code("old", ("view", "answer", "operate")).code)
    page.get_by_role("button", name="Pair").click()
    begin_without_script(page, server)
    engine_request = server.live.request(page.url.rpartition("/")[2])
    page.reload()
    page.get_by_role("button", name="Approve", exact=True).click()
    server.until(lambda: engine.live.find_request(engine_request.request_id).status == "answered")
    page.get_by_label("Message", exact=True).wait_for()
    context.close()

    assert "old" == engine.live.find_request(engine_request.request_id).answered_by


def begin_without_script(page, server):
    page.goto(f"{server.url}/sessions/new")
    page.get_by_label("Repository").fill(str(server.repository))
    page.get_by_label("What is to be done").fill("hello [[approve:one]]")
    page.get_by_label("Model").select_option("demo-live")
    page.get_by_role("button", name="Begin").click()
    page.wait_for_url(re.compile(r"/sessions/[0-9a-f-]{36}"))
