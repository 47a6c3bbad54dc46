"""Every key of live sessions: what answers a request, what changes the session, the queue, the inbox."""

from contextlib import asynccontextmanager

import pytest

from oulipoly_engine.core.live import orders
from oulipoly_engine.facade.live.sessions import NewSession
from oulipoly_tui.screens import review
from oulipoly_tui.view.live import answer_guard
from oulipoly_tui.widgets.lines import VirtualList
from oulipoly_tui.widgets.live.composer import Composer
from oulipoly_tui.widgets.live.conversation_view import ConversationView
from oulipoly_tui.widgets.live.request_panel import RequestPanel

keys = pytest.mark.keys
COMMAND, OTHER = "rm -rf build", "rm -rf dist"  # the second was not approved for the session
ASK = f"[[approve:{COMMAND}]] please"


@pytest.fixture
def talking(live_world, hand):
    """Open the app over a session of the demo: `async with talking() as one`."""

    @asynccontextmanager
    async def opens(**options):
        options.setdefault("panes", ("pools", "live"))
        async with hand(size=(120, 30), **options) as one:
            begun = one.app.engine.live.begin(NewSession(live_world.project, model="demo-codex"))
            one.app.order("live open", [begun.session.session_id])
            await one.until(lambda: one.app.frame.find("live") is not None)
            one.live = one.app.frame.find("live")
            one.session_id = begun.session.session_id
            await one.until(lambda: one.live.talk.is_open)
            yield one

    return opens


async def write(one, text):
    composer = one.live.query_one(Composer)
    composer.focus()
    composer.put(text)
    await one.press("enter")


async def leave_line(one):
    """Let the keys be the pane's."""
    one.live.query_one(ConversationView).focus()
    await one.pilot.pause()


async def asked(one, text=ASK):
    """Have something asked, and look at it for long enough."""
    await write(one, text)
    await one.until(lambda: one.live.request is not None)
    one.live.query_one(RequestPanel).focus()
    await one.pilot.pause(answer_guard.PAUSE_S + 0.1)


def is_done(one):
    return one.live.request is None and one.live.talk.turn is None


@keys("live.list", "l")
@keys("live.approve", "a")
@keys("live.approve_for_session", "s")
@keys("live.deny", "d")
@keys("live.deny_with_reason", "D")
@keys("live.cancel_request", "c")
@keys("live.interrupt", "ctrl+c", "X")
@keys("live.tree", "H")
@keys("live.queue", "Q")
@keys("QueueScreen", "escape", "q", "e", "x", "J", "K")
@keys("frame.inbox", "I")
@keys("frame.pane6", "6")
@keys("Inbox", "escape", "q")
async def test_what_is_asked_and_what_waits_is_listed_and_answered_and_a_turn_interrupted(talking):
    async with talking() as one:
        await come_by_a_digit_and_write_to_nobody(one)
        await go_from_the_inbox_to_what_is_asked(one)
        await approve_and_deny(one)
        await interrupt(one)
        await see_the_tree_and_go_back_only_when_no_turn_runs(one)
        await change_what_waits(one)


async def come_by_a_digit_and_write_to_nobody(one):
    """Only `i` gives the line the keys."""
    await one.press("1", "6")
    await one.until(lambda: one.pane == "live" and one.live.query_one(ConversationView).has_focus)
    await one.press("l")
    await one.until(lambda: len(one.app.screen_stack) > 1)
    await one.back()
    await one.press("i", "h", "i")

    assert "hi" == one.live.query_one(Composer).text


async def go_from_the_inbox_to_what_is_asked(one):
    """`I` lists it over all sessions, `6` goes to the session."""
    await asked(one)
    await one.turn_to("pools")
    await one.press("I")
    await one.at("Inbox")
    await one.sees("wants to run a command", COMMAND)
    await one.press("q")
    await one.at("Frame")
    await one.press("I")
    await one.at("Inbox")
    await one.press("escape")
    await one.at("Frame")
    await one.press("6")
    await one.until(lambda: one.pane == "live")
    assert one.live.request is not None


async def look(one):
    """Look at what is asked for long enough."""
    one.live.query_one(RequestPanel).focus()
    await one.pilot.pause(answer_guard.PAUSE_S + 0.1)


async def approve_and_deny(one):
    """What is asked already is approved; then one is denied, one for a reason, one approved for the session."""
    await look(one)
    await one.press("a")
    await one.until(lambda: is_done(one))
    await asked(one)
    await one.press("d")
    await one.until(lambda: is_done(one))
    await one.sees("declined")
    await asked(one)
    await one.press("D")
    await one.at("Question")
    await one.type("not now")
    await one.press("enter")
    await one.until(lambda: is_done(one))
    await asked(one)
    await one.press("s")
    await one.at("Review")
    await one.pilot.pause(review.PAUSE_S + 0.05)
    await one.press("y")
    await one.until(lambda: is_done(one))
    statuses = {one.decision for one in one.app.engine.live.requests(all_states=True)}
    assert {"approve", "deny", "approve_for_session"} == statuses


async def interrupt(one):
    """`c` denies what is asked and interrupts; ctrl+c and `X` interrupt."""
    await asked(one, f"[[approve:{OTHER}]] please")
    await one.press("c")
    await one.until(lambda: is_done(one))
    await one.sees("■ interrupted")
    for key in ("ctrl+c", "X"):
        await stall(one)
        await leave_line(one)
        await one.press(key)
        await one.until(lambda: is_done(one))


async def stall(one):
    """Have a turn run that does not end by itself."""
    await write(one, "[[stall:600]] wait")
    await one.until(lambda: one.live.talk.turn is not None)


async def see_the_tree_and_go_back_only_when_no_turn_runs(one):
    await stall(one)
    await leave_line(one)
    await one.press("H")
    await one.at("TreeScreen")
    await one.until(lambda: one.app.screen.query_one(VirtualList).cursor_key)
    await one.press("g", "b")
    await one.at("Confirm")
    await one.press("y")
    await one.told("a turn runs")
    await one.back()
    await one.press("X")
    await one.until(lambda: is_done(one))


async def change_what_waits(one):
    await stall(one)
    for text in ("first", "second"):
        one.live.orders.order(orders.Send(text))
    await one.until(lambda: 2 == len(one.live.talk.queue))
    await leave_line(one)
    await one.press("Q")
    await one.at("QueueScreen")
    await one.press("q")
    await one.at("Frame")
    await one.press("Q")
    await one.at("QueueScreen")
    await one.sees("1. first", "2. second")
    await one.press("J")
    await one.sees("1. second", "2. first")
    await one.press("K")
    await one.sees("1. first", "2. second")
    await one.press("e")
    await one.at("Prompt")
    await one.press("end")
    await one.type(" of all")
    await one.press("ctrl+s")
    await one.sees("1. first of all")
    await one.press("x")
    await one.sees("1. second")
    await one.press("escape")
    await one.at("Frame")


@keys("live.write", "i")
@keys("live.unfold", "o")
@keys("live.unfold_all", "O")
@keys("live.copy", "y")
@keys("live.changes", "v")
@keys("live.rename", "e")
@keys("live.model", "m")
@keys("live.list", "l")
@keys("live.compact", "C")
@keys("live.review", "V")
@keys("live.fork", "f")
@keys("live.close", "x")
@keys("live.new", "n")
@keys("ModelPicker", "escape", "q", "R")
async def test_a_session_is_read_renamed_compacted_reviewed_forked_and_ended_and_another_begun(talking):
    async with talking() as one:
        await unfold_copy_and_see_changes(one)
        await rename_and_choose(one)
        await compact_and_review(one)
        await fork_and_end(one)
        await begin_another(one)


async def unfold_copy_and_see_changes(one):
    await write(one, "[[think:of red roofs]] [[edit:notes.txt]] go on")
    await one.until(lambda: one.live.request is not None)
    await look(one)
    await one.press("a")
    await one.until(lambda: is_done(one))
    await leave_line(one)
    await one.press("O")
    await one.sees("▾ thinking", "│ of red roofs")
    await one.press("O")
    await one.sees("▸ thinking")
    view = one.live.query_one(ConversationView)
    place = next(at for at, block in enumerate(one.live.talk.blocks) if block.item and block.item.kind == "reasoning")
    view.go_to(place)
    await one.press("o")
    await one.sees("▾ thinking")
    await one.press("y")
    await one.until(lambda: "of red roofs" in one.app.clipboard)
    await one.press("v")
    await one.at("Reading")
    await one.sees("notes.txt")
    await one.back()
    await one.press("i")
    assert one.live.query_one(Composer).has_focus
    await leave_line(one)


async def rename_and_choose(one):
    """`e` renames, `m` offers the models, `l` the sessions."""
    await one.press("e")
    await one.at("Question")
    await one.press("ctrl+u")
    await one.type("roofs")
    await one.press("enter")
    await one.sees("Live · roofs")
    await one.press("m")
    await one.at("Choice")
    await one.back()
    await leave_line(one)
    await one.press("l")
    await one.at("Choice")
    await one.sees("roofs")
    await one.back()
    await leave_line(one)


async def compact_and_review(one):
    await one.press("C")
    await one.sees("compacted here")
    await one.until(lambda: is_done(one))
    await one.press("V")
    await one.at("Question")
    await one.press("enter")
    await one.until(lambda: any(block.item and block.item.kind == "review" for block in one.live.talk.blocks))
    await one.until(lambda: is_done(one))


async def fork_and_end(one):
    """What needs a process says so once it has ended."""
    await one.press("f")
    await one.at("Confirm")
    await one.press("y")
    await one.until(lambda: one.live.session.session_id != one.session_id and one.live.talk.is_open)
    await write(one, "/close")
    await one.at("Confirm")
    await one.press("n")
    await one.at("Frame")
    await leave_line(one)
    await one.press("x")
    await one.at("Confirm")
    await one.press("y")
    await one.sees("● ended")
    await write(one, "/interrupt")
    await one.told("no turn runs")
    await write(one, "/close")
    await one.told("this session has no process now")


async def begin_another(one):
    """`n` offers pools and the models of runtimes, which `R` asks."""
    before = one.live.session.session_id
    await leave_line(one)
    await one.press("n")
    await one.at("ModelPicker")
    await one.sees("pools", "demo-codex", "demo-codex1", "not checked yet · R checks")
    await one.press("q")
    await one.at("Frame")
    await one.press("n")
    await one.at("ModelPicker")
    await one.press("R")
    await one.sees("demo-codex1   ready")
    await one.press("escape")
    await one.at("Frame")
    await one.press("n")
    await one.at("ModelPicker")
    await one.press("enter")
    await one.at("Choice")
    await one.press("enter")
    await one.until(lambda: one.live.session.session_id != before and one.live.talk.is_open)
