"""Talking to a live session in the app: what is sent, seen, approved and not approved by accident."""

import os
import signal
import sys
from pathlib import Path

from textual.events import Paste

from oulipoly_engine.clock import SystemClock
from oulipoly_engine.core.live import orders
from oulipoly_engine.core.live.events import Item, ItemEnded
from oulipoly_engine.errors import ReadOnly
from oulipoly_engine.service.live import hosts
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.live import live_sessions
from oulipoly_engine.store.quota import quotas
from oulipoly_tui.commands.palette import offers
from oulipoly_tui.panes.live.jobs import WINDOW
from oulipoly_tui.screens import review
from oulipoly_tui.screens.menu import Menu
from oulipoly_tui.view.live import answer_guard
from oulipoly_tui.widgets.lines import VirtualList
from oulipoly_tui.widgets.live.conversation_view import ConversationView

COMMAND = "rm -rf build"
SCRIPTED = Path(__file__).resolve().parents[2] / "fixtures" / "scripted_cli.py"


async def ask_for_leave(one, command=COMMAND):
    """Have the session ask whether it may run a command."""
    await one.write(f"[[approve:{command}]] please")
    await one.until(lambda: one.pane.request is not None and command in one.pane.request.prompt.command)


async def test_a_session_is_talked_to_line_by_line_and_goes_on_when_its_process_has_ended(live):
    async with live() as one:
        (one.world.project / "notes").mkdir()
        (one.world.project / "notes" / "plan.md").write_text("x")
        await one.press("6")
        await one.sees("No live session is open.")
        await one.press("n")  # how one begins
        await one.until(lambda: 2 == len(one.app.screen_stack))
        await one.press("escape")
        await one.until(lambda: 1 == len(one.app.screen_stack))

        session = await one.begin()
        await one.write("hello there")
        await one.sees("▌ you", "hello there", "▌ assistant", "✓ done", "● ready", "6 Live · hello there")
        assert "" == one.composer.text

        one.composer.put("draft")  # what was sent comes back
        await one.press("up")
        assert "hello there" == one.composer.text
        await one.press("down")
        assert "draft" == one.composer.text

        one.composer.put("")
        await one.press("a", "alt+enter", "b", "ctrl+j", "c")
        assert "a\nb\nc" == one.composer.text

        one.composer.put("")  # commands and files are completed
        await one.press(*"/re")
        await one.sees("/review", "/rename", "tab take it", "esc close the list")
        await one.press("down", "tab")
        assert "/resume " == one.composer.text
        one.composer.put("")
        await one.press(*"see @no")
        await one.sees("@notes/")
        await one.press("tab")
        await one.sees("@notes/plan.md")
        await one.press("tab")
        assert "see @notes/plan.md " == one.composer.text

        one.composer.put("")
        one.app.engine.live.order(session.session_id, orders.Close(), starts=False)
        await one.until(lambda: one.pane.following.connection is None)
        await one.sees("● ended", "its process has ended", "enter sends, and starts the session again")
        await one.write("two")
        await one.sees("● ready", "You said: two")


async def test_a_session_goes_on_without_the_app_and_what_was_written_is_kept(live, live_world):
    program = live_world.root / "dying"
    program.write_text(f"#!{sys.executable} -IS\n{SCRIPTED.read_text()}")
    program.chmod(0o755)
    with (live_world.config / "config.toml").open("a") as config:
        words = [f"program = {str(program)!r}", 'kind = "codex"', 'env = { SCRIPTED = "dies-at-a-turn" }']
        config.write("\n".join(["", "[runtimes.dying]", *words, ""]))
    # What a message is told whose CLI dies before it says it again.
    fate = ("greet the walrus", "exit code 1", "turn cut off", "/resume goes on with the turn")
    async with live() as one:
        cut_off = await one.begin(model=None, runtime="dying")
        await one.write("greet the walrus")
        await one.sees(*fate)
        session = await one.begin()
        await ask_for_leave(one)
        kept = []
        one.app.keep = kept.append
        one.composer.put("and then")
        await one.until(lambda: "and then" in str(kept))  # without an end of the app, which may be killed
        saved = kept[-1]

    async with live(saved=saved) as again:
        assert "pools" == again.app.frame.current.id  # what is typed by habit is not sent
        await again.press("6")
        await again.until(lambda: again.pane is not None and again.pane.request is not None)
        await again.sees(COMMAND, "waits for you", "and then")
        assert session.session_id == again.pane.session.session_id
        await again.open(cut_off.session_id)  # who looks later is shown the same
        await again.sees(*fate)

    async with live(read_only=True) as reader:
        await reader.open(session.session_id)
        await reader.write("hello")
        assert ReadOnly("send anything").message in reader.said


async def test_what_the_session_may_do_is_always_in_view(live):
    async with live((60, 20)) as one:
        await one.begin()
        await one.sees("supervised")
        await one.write(f"[[approve:{COMMAND}]] please")
        for size in ((60, 20), (80, 24), (200, 50)):
            await one.pilot.resize_terminal(*size)
            await one.until(lambda height=size[1]: len(one.text().split("\n")) == height)
            await one.sees(COMMAND, "supervised")


async def test_no_key_but_one_that_is_pressed_on_purpose_answers_a_request(live, monkeypatch):
    async with live() as one:
        await one.begin()
        await ask_for_leave(one)

        await one.focus(one.composer)  # keys that are written into a message
        await one.pause()
        await one.press(*"asdDc")
        assert "asdDc" == one.composer.text
        assert one.pane.request is not None
        assert 1 == len(one.app.screen_stack)
        one.composer.put("")

        with monkeypatch.context() as patch:  # a key that comes as the request comes up
            patch.setattr(answer_guard, "SEEN_S", 3600.0)
            await one.focus(one.panel)
            await one.press("a")
            assert one.pane.request is not None
            assert "Too soon after it came up or got the keys: press it again" in one.said

        await one.asked()  # enter, and a paste
        await one.press("enter")
        one.app.post_message(Paste("a\na\n"))
        await one.pilot.pause(0.2)
        assert one.pane.request is not None
        assert 1 == len(one.app.screen_stack)

        with monkeypatch.context() as patch:  # a key that is held down, however long the app takes to hear it
            for name in ("PAUSE_S", "HELD_S"):
                patch.setattr(answer_guard, name, 3600.0)
            await one.press("j", *"a" * 20)
            assert one.pane.request is not None
            assert any("in the middle of others" in text for text in one.said)

        await one.pilot.pause(answer_guard.HELD_S + 0.05)
        await one.sees(COMMAND, str(one.world.project), "a approve", "d deny", "for the session:")
        await one.press("a")
        await one.until(lambda: one.pane.request is None)
        await one.sees("· approved by", "✓ done")


async def test_a_long_request_is_shown_from_its_beginning_and_approved_when_its_end_was_seen(live):
    async with live() as one:
        await one.begin()
        commands = [f"echo {sign * 2000}; rm -rf {sign}" for sign in "vw"]
        await one.write(" ".join(f"[[approve:{command}]]" for command in commands))
        await one.asked()
        await one.sees("shows the rest: approve when it was seen", "d deny")
        await one.press("a")
        assert any("its end was not on the screen yet" in text for text in one.said)
        await one.press("G")
        await one.sees("rm -rf v", "a approve")
        assert "more below" not in one.text()
        await one.pilot.pause(answer_guard.HELD_S + 0.05)
        await one.press("a")
        await one.until(lambda: one.pane.request is not None and "rm -rf w" in one.pane.request.prompt.command)
        await one.sees("echo w", "shows the rest: approve", "more below")

        assert 0 == one.panel.scroll_y


async def test_no_menu_that_lies_over_a_request_offers_to_answer_it(live):
    async with live() as one:
        await one.begin()
        await one.write(f"[[approve:{COMMAND}]] please")
        await one.asked()
        answers = {"approve", "approve_for_session", "deny", "deny_with_reason", "cancel_request"}
        assert answers <= {row.method for row in one.app.works_now()}
        await one.app.action_choose("live.approve")  # as the help does

        assert one.pane.request is not None
        assert any(text.startswith("a does it here") for text in one.said)
        told = {offer.action.method: offer for offer in offers(one.app) if offer.action.method in answers}
        assert "with what is asked in view, key a" == told["approve"].help
        told["approve"].act()
        await one.until(lambda: 2 == sum(text.startswith("a does it here") for text in one.said))
        assert one.pane.request is not None
        await one.press("full_stop")
        await one.until(lambda: isinstance(one.app.screen, Menu))
        assert not answers & {row.method for row in one.app.screen._offered}


async def test_requests_are_answered_for_the_session_in_a_form_and_not_too_late(live, monkeypatch):
    async with live() as one:
        session = await one.begin()
        await ask_for_leave(one)
        await one.asked()
        request = one.pane.request
        one.app.engine.live.answer(request.request_id, "deny")
        one.pane.talk.requests.setdefault(request.request_id, request)  # as if the news of it had not come yet
        one.pane.orders.order(orders.Answer(request_id=request.request_id, decision="approve"))
        await one.until(lambda: any("answered" in text or "stale" in text for text in one.said))
        answered = one.app.engine.live.find_request(request.request_id)
        assert ("answered", session.session_id) == (answered.status, answered.session_id)

        await one.open(session.session_id)
        await one.write("[[ask:Which colour|red|blue]] go")
        await one.until(lambda: one.pane.request is not None and one.pane.request.request_id != request.request_id)
        await one.asked()
        await one.sees("Which colour", "red", "blue")
        await one.press("a")
        await one.until(lambda: 2 == len(one.app.screen_stack))
        await one.press("down", "space", "f2")
        await one.until(lambda: one.pane.request is None)

        await ask_for_leave(one, "make door")
        await one.asked()
        await approve_for_the_session(one, monkeypatch)


async def approve_for_the_session(one, monkeypatch):
    """Approve for the session: what that covers is said and asked first, and nothing typed on answers it."""
    reach = one.pane.request.prompt.reach
    pause_s = review.PAUSE_S
    monkeypatch.setattr(review, "PAUSE_S", 3600.0)  # however long the app takes to hear it
    await one.press("s", "y")  # typed on: it answers nothing
    await one.until(lambda: 2 == len(one.app.screen_stack))
    monkeypatch.setattr(review, "PAUSE_S", pause_s)
    one.app.screen._pause._length_s = pause_s
    assert reach
    await one.sees(reach.split(",")[0], "Approve for the whole session?")
    assert one.pane.request is not None

    await one.pilot.pause(review.PAUSE_S + 0.05)
    await one.press("enter")  # no is what a careless enter answers
    await one.until(lambda: 1 == len(one.app.screen_stack))
    assert one.pane.request is not None

    await one.pilot.pause(answer_guard.HELD_S + 0.05)  # the same key again
    await one.press("s")
    await one.until(lambda: 2 == len(one.app.screen_stack))
    await one.pilot.pause(review.PAUSE_S + 0.05)
    await one.press("y")
    await one.until(lambda: one.pane.request is None)


async def test_a_running_turn_is_steered_and_interrupted_and_messages_for_later_are_queued(live):
    async with live() as one:
        await one.begin()
        await one.write("[[stall:600]] wait")
        await one.until(lambda: one.pane.talk.turn is not None)
        await one.sees("enter steers the turn · tab queues")
        for text in ("first", "second"):
            one.composer.put(text)
            await one.press("tab")
            await one.until(lambda text=text: text in [item.text for item in one.pane.talk.queue])
        await one.sees("queued 1 of 2: first")

        await one.press("escape", "Q")
        await one.until(lambda: 2 == len(one.app.screen_stack))
        await one.sees("1. first", "2. second")
        await one.press("J")
        await one.sees("1. second", "2. first")
        await one.press("x", "e", *" too", "enter", "!")  # at once: no key means a message that was taken back
        await one.press("ctrl+s")
        await one.until(lambda: ["second too\n!"] == [item.text for item in one.pane.talk.queue])
        await one.press("escape")
        await one.until(lambda: 1 == len(one.app.screen_stack))

        await one.write("this instead")
        await one.until(lambda: "Steers the running turn" in one.said or len(one.pane.talk.queue) > 1)

        await one.focus(one.composer)
        await one.press("escape", "escape")  # leaves the line alone
        assert one.pane.query_one(ConversationView).has_focus
        assert one.pane.talk.turn is not None
        turn = one.pane.talk.turn
        await one.press("ctrl+c")
        await one.until(lambda: one.pane.talk.turn != turn)
        await one.sees("■ interrupted")


async def test_a_turn_whose_process_was_lost_is_told_and_gone_on_with(live):
    async with live() as one:
        session = await one.begin()
        for victim, words in (("host_pid", "its process was lost while this turn ran"), ("pid", "by signal 9")):
            await one.write("[[stall:600]] paint the roof")
            await one.until(lambda: one.pane.talk.turn is not None)
            (host,) = hosts.survey(one.paths)
            os.kill(getattr(host, victim), signal.SIGKILL)
            await one.sees("● turn cut off", words, "/resume goes on with the turn")
            await one.open(session.session_id)
            await one.sees("● turn cut off")
            await one.write("/resume")
            await one.sees("✓ done", "● ready", "its process ended before it did")


async def test_the_inbox_and_the_next_alert_lead_to_a_request_from_elsewhere(live):
    async with live() as one:
        first = await one.begin()
        await ask_for_leave(one)
        await one.app.frame.turn_to("pools")
        await one.press("r")  # offers a live session
        await one.until(lambda: 2 == len(one.app.screen_stack))
        await one.sees("terminal", "asks before commands and edits")
        await one.press("down", "enter")
        await one.until(lambda: one.pane.session.session_id != first.session_id and one.pane.talk.is_open)

        await one.until(lambda: one.app.requests.open)
        await one.sees("? 1")
        await one.press("escape", "I")
        await one.until(lambda: 2 == len(one.app.screen_stack))
        await one.sees("wants to run a command", COMMAND)
        await one.press("enter")
        await one.until(lambda: one.pane.session.session_id == first.session_id and one.panel.has_focus)

        await one.app.frame.turn_to("pools")
        await one.press("f8")
        await one.until(lambda: one.app.frame.current is one.pane)
        assert first.session_id == one.pane.session.session_id


async def test_a_long_session_is_shown_from_its_end_and_older_parts_come_when_they_are_scrolled_to(
    live, stored, numbered
):
    async with live() as one:
        session = await one.begin()
        one.app.engine.live.order(session.session_id, orders.Close(), starts=False)
        await one.until(lambda: one.pane.following.connection is None)
        first = one.pane.talk.last + 1
        items = [Item(f"i{number}", "command", "completed", "out", f"command {number}") for number in range(1000)]
        stored(session.session_id, numbered(*map(ItemEnded, items), first=first))
        one.pane.following.open_session(session.session_id, anew=True)
        await one.sees("command 999")
        assert WINDOW >= len(one.pane.talk.blocks)

        one.pane.view.focus()
        for _ in range(8):
            await one.press("home")
            await one.until(lambda: not one.app.busy)
        await one.until(lambda: 1000 <= len(one.pane.talk.blocks))
        await one.press("home")
        await one.sees("command 0 ")


async def test_a_session_that_cannot_go_on_offers_a_fork(live):
    async with live() as one:
        session = await one.begin()
        await one.write("hello")
        await one.sees("✓ done")
        one.app.engine.live.order(session.session_id, orders.Close(), starts=False)
        await one.until(lambda: one.pane.following.connection is None)
        store = open_store(one.paths.state_db)
        live_sessions.update(
            store, session.session_id, SystemClock().now(), status="fenced", status_reason="it is lost"
        )
        store.close()
        one.pane.following.open_session(session.session_id, anew=True)
        await one.sees("● blocked", "it is lost", "f forks it")
        await one.write("go on")
        assert "go on" == one.composer.text
        await one.press("escape", "f")
        await one.until(lambda: 2 == len(one.app.screen_stack))
        await one.press("y")
        await one.until(lambda: one.pane.session.session_id != session.session_id and one.pane.talk.is_open)


async def test_a_message_to_an_exhausted_account_goes_to_a_fork_on_the_account_that_is_chosen(live):
    async with live() as one:
        session = await one.begin(account="demo-codex1")
        await one.write("hello")
        await one.sees("✓ done")
        one.app.engine.live.order(session.session_id, orders.Close(), starts=False)
        await one.until(lambda: one.pane.following.connection is None)
        store = open_store(one.paths.state_db)
        quotas.mark_exhausted(store, "demo-codex1", SystemClock().now())
        store.close()
        await one.write("go on")
        await one.sees("demo-codex1 is exhausted: fork “hello” where?", "demo-codex2")
        await one.press("escape")

        assert ("go on", session.session_id) == (one.composer.text, one.pane.session.session_id)

        await one.write("go on")
        await one.sees("fork “hello” where?", "demo-codex2")
        choice = one.app.screen.query_one(VirtualList)
        choice.go_to("demo-codex2")
        await one.press("enter")
        await one.until(lambda: one.pane.session.session_id != session.session_id and "✓ done" in one.text())

        assert "demo-codex2" == one.pane.session.account
        assert ["go on"] == [turn.input for turn in one.app.engine.live.turns(one.pane.session.session_id)]
        assert "" == one.composer.text


async def test_a_fork_says_which_turn_it_ends_with_and_where_its_past_is(live):
    async with live() as one:
        session = await one.begin()
        for number, text in enumerate(("paint", "mend the door"), 1):
            await one.write(text)
            await one.until(lambda count=number: count == one.text().count("✓ done"))
        await one.press("escape", *"gjj", "f")
        await one.sees("to the end of the turn “paint”")
        await one.press("y")
        await one.until(lambda: one.pane.session.session_id != session.session_id)
        await one.sees(f"goes on from session {session.session_id[:8]}")


async def test_who_writes_elsewhere_is_shown_and_taking_over_is_told_once(live):
    async with live((80, 24)) as one:
        session = (await one.begin()).session_id
        await one.write("hello there")
        await one.sees("✓ done")
        alone = one.text()
        phone = one.app.engine.live.acting_as("Ann's phone", is_person=True)
        with phone.connect(session) as client:
            client.follow(0)
            await one.sees("1 other watches")
            client.order(orders.Rename("another name"))
            await one.sees("Ann's phone is writing here; what you send takes over", "● ready")
            shown = one.text()
            await one.write("and this")
            await one.sees("1 other watches")
        await one.until(lambda: "watches" not in one.text())

        assert "takes over" not in alone
        assert "watch" not in alone
        assert "watches" not in shown
        assert "takes over" not in one.text()
        assert ["Ann's phone has taken over from you"] == [text for text in one.said if "taken over" in text]


async def test_a_line_with_a_slash_is_a_command_or_refused_and_two_slashes_send_one(live):
    prompts = "---\ndescription: greets somebody\n---\nGreet the $1.\n"
    async with live() as one:
        folder = one.world.config / "prompts"
        folder.mkdir()
        session = await one.begin()

        for text, refusal in (
            ("/modle x", "did you mean /model"),
            ("/etc/hosts is broken", "//etc/hosts sends it"),
            ("/interrupt", "no turn runs"),
            ("/export markdown", "write /export FORMAT FILE"),
        ):
            await one.write(text)
            await one.until(lambda refusal=refusal: any(refusal in said for said in one.said))
            assert text == one.composer.text  # it stays as it is written

        one.composer.put("")  # names, files of prompts and arguments are completed
        (folder / "greet.md").write_text(prompts)
        await one.press("slash")
        await one.sees("/compact")
        await one.press("g")
        await one.sees("/greet")
        await one.press("tab", *"walrus", "enter")
        await one.sees("Greet the walrus.", "● ready")
        await one.press(*"/model ")
        await one.sees("/model demo-gpt-1")
        await one.press("down", "tab", "enter")
        await one.until(lambda: any(said == "Model demo-opus-1" for said in one.said))

        await one.write("//etc")
        await one.sees("You said: /etc")
        await one.write("/copy")
        await one.until(lambda: "You said: /etc" in str(one.app.clipboard))
        await one.write(f"/export markdown {one.world.root / 'talk.md'}")
        await one.until((one.world.root / "talk.md").exists)
        await one.write("/name red roof")
        await one.sees("6 Live · red roof")
        await one.write("/session")  # what other faces print is read
        await one.sees(f"{session.session_id}  red roof", f"runtime:  {session.runtime_id}")
        await one.press("escape")
        await one.write("/help")
        await one.sees("/provider", "/compact")
        await one.press("escape")
        await one.write("/provider")
        await one.sees("fork it where?", "demo-claude1")
        await one.press("escape")
        texts = [turn.input for turn in one.app.engine.live.turns(session.session_id)]
        assert ["Greet the walrus.", "/etc"] == texts

        await one.write("/settings")
        await one.until(lambda: 2 == len(one.app.screen_stack))
        await one.press("escape")
        await one.write("/save blue door")
        await one.sees("Live · blue door")

    async with live(read_only=True) as reader:
        await reader.open(session.session_id)
        await reader.write("/fork")
        await reader.until(lambda: ReadOnly("run /fork").message in reader.said)


async def test_escape_stops_a_turn_that_waits_to_be_tried_again(live):
    async with live() as one:
        config = one.world.config / "config.toml"
        config.write_text(f"retry_base_ms = 600000\nretry_cap_ms = 600000\n{config.read_text()}")
        await one.press("6")
        await one.begin()
        await one.write("[[network:1]] hello")
        await one.sees("● Retry 1/3 in", "network. Esc: stop")
        await one.press("escape")
        await one.sees("■ interrupted: it was stopped before it was tried again", "● ready")

        assert one.composer.has_focus


async def test_a_slash_command_of_an_extension_is_offered_and_says_what_it_has_to_say(live):
    async with live() as one:
        place = one.world.config / "extensions" / "waver"
        place.mkdir(parents=True)
        command = "[[commands]]\nname = 'wave'\nsummary = 'wave at somebody'\n"
        (place / "extension.toml").write_text(f"name = 'waver'\n{command}")
        code = "class extension:\n    commands = {'wave': lambda who: f'waved at {who}'}\n"
        (place / "extension.py").write_text(code)
        engine = one.app.engine
        engine.extensions.allow(engine.extensions.find("waver"))
        await one.begin()
        await one.write("hello")
        await one.sees("✓ done", "● ready")

        await one.press("slash", *"wav")
        await one.sees("/wave", "wave at somebody")
        await one.press("tab", *"bob", "enter")
        await one.sees("waved at bob")
        await one.press("escape")
        engine.extensions.close()
