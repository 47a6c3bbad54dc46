"""Events of a live session as a conversation and as lines. Pure."""

import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.app import App

from oulipoly_engine.core.live import events as ev
from oulipoly_engine.core.live.events import FileChange, Item, Numbered, Prompt, Question, Usage
from oulipoly_engine.core.live.sessions import LiveSession, SessionOptions
from oulipoly_engine.core.text.control_characters import visible_line
from oulipoly_engine.facade.live.sessions import LiveStatus
from oulipoly_engine.records import replace
from oulipoly_tui.view.live.block_lines import block_lines, stream_lines
from oulipoly_tui.view.live.conversation import Conversation, OpenRequest
from oulipoly_tui.view.live.lists import start_rows
from oulipoly_tui.view.live.request_lines import answer_line, break_answers, can, request_lines
from oulipoly_tui.view.live.stream import StreamLines
from oulipoly_tui.view.live.working_line import Standing, composer_hint, working_line
from oulipoly_tui.view.transcript.markdown import markdown
from oulipoly_tui.view.transcript.spans import cells, plain
from oulipoly_tui.widgets.live.conversation_view import ConversationLayout, ConversationView

NOW = datetime(2026, 11, 22, tzinfo=UTC)
AT = "2026-11-22T06:27:00Z"
HOSTILE = "a\x1b[31mb\u202ec\x9b2Jd\x07[red]e[/] [@click=app.quit]x[/]\r\x00"


def numbered(*events, first=1):
    return [Numbered(first + place, AT, event) for place, event in enumerate(events)]


def told(*events):
    talk = Conversation()
    talk.apply(numbered(*events))
    return talk


def text_of(talk, width=60, *, is_open=False):
    return "\n".join(plain(line.line) for block in talk.blocks for line in block_lines(block, width, is_open=is_open))


def test_deltas_grow_an_item_and_its_end_is_all_of_it():
    talk = told(
        ev.TurnStarted("n", "t", "user"),
        ev.ItemStarted(Item("m", "agent_message"), "t"),
        ev.ItemDelta("m", "Hel"),
        ev.ItemDelta("m", "lo"),
    )
    assert "Hello" == talk.blocks[0].text
    changed = talk.apply(numbered(ev.ItemEnded(Item("m", "agent_message", "completed", "Hello!"), "t"), first=3))

    assert {0} == changed
    assert "Hello!" == talk.blocks[0].text
    assert "t" == talk.turn.turn_id


def test_a_message_for_the_running_turn_is_grey_until_it_is_taken():
    steered = Item("steer/1", "user_message", "running", "go left", native_kind=ev.STEERS)
    talk = told(ev.TurnStarted("n", "t"), ev.ItemStarted(steered, "t"))

    def lines():
        return [line.line for line in block_lines(talk.blocks[0], 60, is_open=False)]

    assert "not taken yet" in text_of(talk)
    assert {"dim"} == {tone for text, tone in lines()[-1] if text.strip()}
    for status, words in (("declined", "not taken"), ("interrupted", "perhaps not taken")):
        talk.apply(numbered(ev.ItemEnded(replace(steered, status=status), "t"), first=3))
        assert words in text_of(talk)
        assert "go left" in text_of(talk)
    talk.apply(numbered(ev.ItemEnded(replace(steered, status="completed"), "t"), first=4))
    assert "taken" not in text_of(talk)
    assert {""} == {tone for text, tone in lines()[-1] if text.strip()}


def test_an_item_that_comes_again_when_one_attaches_is_no_second_one():
    talk = told(ev.ItemStarted(Item("m", "agent_message")), ev.ItemDelta("m", "Hel"))
    talk.apply(numbered(ev.ItemStarted(Item("m", "agent_message", text="Hello"))))

    assert ["Hello"] == [one.text for one in talk.blocks]


def test_older_events_come_before_and_what_is_known_already_is_not_doubled():
    talk = told(ev.ItemEnded(Item("c", "command", "completed", "out", "ls")), ev.Notice("later"))
    older = numbered(
        ev.ItemEnded(Item("u", "user_message", "completed", "list it")), ev.ItemStarted(Item("c", "command"))
    )
    assert 1 == talk.prepend(older)

    assert ["list it", "out", "later"] == [one.text for one in talk.blocks]
    talk.apply(numbered(ev.ItemDelta("x", "new"), first=9))
    assert "new" == talk.blocks[-1].text


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (ev.TurnEnded("failed", "no quota", "usage_limit"), "✗ the turn failed: no quota (usage_limit)"),
        (ev.TurnEnded("interrupted"), "■ interrupted"),
        (
            ev.TurnEnded("completed", usage=Usage(12_000, None, 40, cost_usd=0.5)),
            "✓ done · 12k in 40 out tokens · $0.50",
        ),
        (ev.TurnRetrying("overloaded"), "tries again: overloaded"),
        (ev.SessionClosed("exited", "exit code 3"), "its process has ended: exit code 3"),
        (ev.SessionFailed("thread_lost", "no such thread"), "the session cannot be opened: no such thread"),
        (ev.OrderFailed("fork", "not now"), "fork was refused: not now"),
    ],
)
def test_what_a_person_should_know_is_said(event, words):
    assert words in text_of(told(event), 100)


def test_a_turn_that_its_clis_end_has_left_can_be_resumed():
    talk = told(ev.TurnStarted(turn_id="t"), ev.SessionClosed("killed", "by signal 9", -9, "t"))

    assert "t" == talk.left_turn
    talk.apply(numbered(ev.SessionOpened("n"), first=3))
    assert "" == talk.left_turn


def test_an_answered_request_is_open_no_more():
    opened = ev.RequestOpened("n", "command_approval", Prompt("Run ls", "ls"), "r1")
    talk = told(opened)
    assert ["r1"] == list(talk.requests)
    talk.apply(numbered(ev.RequestResolved("n", "r1", "answered", "ann@host")))

    assert {} == talk.requests
    assert "? Run ls · answered by ann@host" in text_of(talk)


@pytest.mark.parametrize("is_first", [True, False], ids=["request first", "item first"])
def test_a_command_that_waits_for_a_yes_does_not_run_yet(is_first):
    asked = ev.RequestOpened("n", "command_approval", Prompt("Run rm -rf dist", "rm -rf dist", item_id="c"), "r1")
    begun = ev.ItemStarted(Item("c", "command", title="rm -rf dist"), "t")
    talk = told(*((asked, begun) if is_first else (begun, asked)))

    assert "  ▸ $ rm -rf dist  WAITS FOR YOU" == text_of(talk)
    assert 0 in talk.apply(numbered(ev.RequestResolved("n", "r1", "answered", "ann@host"), first=3))
    assert "$ rm -rf dist  running" in text_of(talk)


def test_what_is_asked_when_one_attaches_waits_and_with_its_process_no_more():
    talk = told(ev.ItemStarted(Item("c", "command", title="make"), "t"))
    talk.take_requests([OpenRequest("r1", "command_approval", Prompt("make", "make", item_id="c"))])
    assert "WAITS FOR YOU" in text_of(talk)

    assert 0 in talk.lose_process()
    assert "WAITS FOR YOU" not in text_of(talk)


def test_a_plan_that_is_told_anew_takes_the_place_of_the_last_one():
    talk = Conversation()
    for number, done in enumerate((0, 1, 2)):
        steps = tuple((text, "completed" if at < done else "pending") for at, text in enumerate(("read", "write")))
        changed = talk.apply(
            numbered(ev.ItemEnded(Item(f"p{number}", "plan", "completed", steps=steps), "t"), first=number + 1)
        )
        assert set(range(max(0, number - 1), number + 1)) == changed

    assert ["  plan  0 of 2 done", "  plan  1 of 2 done", "  plan", "    [x] read", "    [x] write"] == [
        line.rstrip() for line in text_of(talk).split("\n")
    ]


def test_output_is_folded_to_its_end_and_unfolded_whole():
    output = "".join(f"line {number}\n" for number in range(100))
    talk = told(ev.ItemEnded(Item("c", "command", "completed", output, "make", exit_code=2)))

    folded = text_of(talk)
    assert "▸ $ make  exit 2" in folded
    assert "… 97 more lines" in folded
    assert "line 99" in folded
    assert "line 3\n" not in folded
    assert "line 3\n" in text_of(talk, is_open=True)


def test_a_diff_is_shown_with_its_tones_and_counted():
    change = FileChange("a.txt", "update", "@@ -1 +1 @@\n-old\n+new")
    talk = told(ev.ItemEnded(Item("f", "file_change", "completed", changes=(change,))))
    lines = [line.line for line in block_lines(talk.blocks[0], 60, is_open=False)]

    assert "a.txt  +1 -1" in plain(lines[0])
    assert ("+new", "good") in [span for line in lines for span in line]
    assert ("-old", "bad") in [span for line in lines for span in line]


@given(st.text(st.characters(exclude_categories=[]), max_size=200), st.integers(20, 120))
def test_no_text_reaches_the_terminal_raw_or_is_wider_than_its_place(text, width):
    item = Item("x", "agent_message", "completed", HOSTILE + text, text)
    events = [
        ev.ItemEnded(item),
        *(ev.ItemEnded(Item(kind, kind, "failed", text, HOSTILE, native_kind=text)) for kind in ("command", "tool")),
        ev.ItemEnded(Item("r", "reasoning", "completed", text)),
        ev.ItemEnded(Item("p", "plan", steps=((HOSTILE + text, "pending"),))),
        ev.ItemEnded(Item("f", "file_change", changes=(FileChange(HOSTILE, text, "+" + text),))),
        ev.Notice(HOSTILE + text),
        ev.TurnEnded("failed", text, HOSTILE),
    ]
    talk = told(*events)
    for is_open in (False, True):
        for block in talk.blocks:
            for line in block_lines(block, width, is_open=is_open):
                shown = plain(line.line)
                assert visible_line(shown) == shown
                assert cells(shown) <= width


@given(st.lists(st.text("ab `\n", max_size=20), max_size=30))
def test_a_streamed_text_is_laid_out_once_as_it_would_be_at_the_end(pieces):
    talk, stream = told(ev.ItemStarted(Item("m", "agent_message"))), StreamLines(40)
    shown = []
    for piece in pieces:
        talk.apply(numbered(ev.ItemDelta("m", piece)))
        shown = stream.lines(talk.blocks[0])
    whole = StreamLines(40).lines(talk.blocks[0])

    assert whole == shown or not pieces


@given(st.text(st.characters(max_codepoint=0x2FF, exclude_characters="\n"), min_size=1, max_size=60))
def test_a_streamed_line_is_shown_as_the_markdown_that_it_is(line):
    talk = told(ev.ItemStarted(Item("m", "agent_message")), ev.ItemDelta("m", line))
    shown = [one.line for one in StreamLines(40).lines(talk.blocks[0])]

    assert [one.line for one in markdown(line, 40)] == shown or not line.strip()


def test_what_a_person_wrote_is_shown_as_typed_and_an_answer_as_markdown():
    typed = "+ return 1\n1. x\n# *not* a heading\n<b>"
    asked = told(ev.ItemEnded(Item("u", "user_message", "completed", typed)))
    answered = told(ev.ItemEnded(Item("a", "agent_message", "completed", typed)))
    lines = [plain(line.line).strip() for line in block_lines(asked.blocks[0], 60, is_open=False)]

    assert typed.split("\n") == lines[2:]
    assert typed.split("\n") == [
        plain(line.line).strip() for line in stream_lines(asked.blocks[0], 60).lines(asked.blocks[0])
    ]
    assert "• return 1" in text_of(answered)


def test_a_text_that_begins_again_shows_nothing_of_what_it_was():
    talk, stream = told(ev.ItemStarted(Item("m", "agent_message")), ev.ItemDelta("m", "old\nwords")), StreamLines(40)
    stream.lines(talk.blocks[0])
    talk.apply(numbered(ev.ItemStarted(Item("m", "agent_message")), ev.ItemDelta("m", "new")))

    assert ["new"] == [plain(one.line) for one in stream.lines(talk.blocks[0])]


def test_what_has_streamed_at_length_is_not_laid_out_again_when_it_ends():
    layout = ConversationLayout()
    text = "a word or two\n" * 10_000
    layout.begin(told(ev.ItemStarted(Item("m", "agent_message")), ev.ItemDelta("m", text)))
    before = layout.lines_at(0)
    layout.talk.apply(numbered(ev.ItemEnded(Item("m", "agent_message", "completed", text))))
    layout.drop(0)

    assert before is layout.lines_at(0)


def test_what_is_on_the_screen_is_laid_out_once_however_long_it_is():
    layout = ConversationLayout()
    outputs = [ev.ItemEnded(Item(f"c{one}", "command", "completed", "out\n" * 5_000)) for one in range(6)]
    layout.begin(told(*outputs, ev.Notice("the end")))
    layout.toggle_all()
    for _ in range(3):
        layout.end_top(5_020)
        list(layout.walk((4, 4_990), 5_020))
    assert 10_003 == layout.drawn

    for place in (0, 1, 2):
        list(layout.walk((place, 0), 1))
    drawn = layout.drawn
    list(layout.walk((0, 0), 1))
    assert drawn + 5_001 == layout.drawn  # what is out of sight is let go


class Shown(App):
    """An app that shows a conversation alone."""

    def compose(self):
        yield ConversationView(lambda: None)

    def get_css_variables(self):
        return {**super().get_css_variables(), "cursor": "blue", "cursor-style": "bold"}


async def test_what_streams_in_is_painted_at_once_and_nothing_else(monkeypatch):
    async with Shown().run_test(size=(40, 12)) as pilot:
        view, talk = pilot.app.query_one(ConversationView), told(ev.ItemStarted(Item("m", "agent_message")))
        view.begin(talk)
        await pilot.pause()
        rows = [view.render_line(y).text for y in range(12)]
        painted = []

        def paint(_screen, picture):
            for part, strips in picture._parts:
                painted.extend(part.line_range)
                rows[part.y : part.bottom] = [strip.text for strip in strips]

        monkeypatch.setattr(pilot.app, "_display", paint)
        for number in range(30):
            painted.clear()
            text = f"word {number}\n" if number % 3 else "so "
            view.changed(talk.apply(numbered(ev.ItemDelta("m", text), first=number + 2)))

            assert [view.render_line(y).text for y in range(12)] == rows
            assert len(painted) <= 2 or number > 10


async def test_another_height_lays_nothing_out_anew():
    async with Shown().run_test(size=(80, 24)) as pilot:
        view = pilot.app.query_one(ConversationView)
        view.begin(told(*(ev.Notice(f"note {number}") for number in range(100))))
        await pilot.pause()
        drawn = view.drawn
        await pilot.resize_terminal(80, 20)
        await pilot.pause()

        assert 20 == view.size.height
        assert view.is_at_end
        assert drawn == view.drawn


def test_a_delta_costs_the_same_however_long_the_text_is():
    def cost(talk, stream, count):
        begin = time.thread_time()
        for _ in range(count):
            talk.apply(numbered(ev.ItemDelta("m", "a word or two\n")))
            stream.lines(talk.blocks[0])
        return time.thread_time() - begin

    talk, stream = told(ev.ItemStarted(Item("m", "agent_message"))), StreamLines(80)
    first = cost(talk, stream, 200)
    talk.apply(numbered(*(ev.ItemDelta("m", "a word or two\n") for _ in range(5_000))))
    stream.lines(talk.blocks[0])

    assert cost(talk, stream, 200) < first * 20 + 0.5


def test_hidden_characters_of_a_command_are_seen_before_it_is_approved():
    prompt = Prompt("Run", "echo safe\u202e\u200b\x1b[2K; rm -rf /", "/work", reach="")
    lines = "\n".join(map(plain, request_lines(OpenRequest("r", "command_approval", prompt), 80)))

    assert "rm -rf /" in lines
    assert "\x1b" not in lines
    assert "\u202e" not in lines
    assert "safe;" not in lines.replace(" ", "")  # something stands where they are


def test_what_cannot_be_answered_here_says_why():
    keys = {"approve": "a", "approve_for_session": "s", "deny": "d", "cancel_request": "c"}
    other = OpenRequest("r", "other", Prompt("Sign in", note="in the browser"))
    asks = OpenRequest("r", "user_input", Prompt("Colour?", questions=(Question("q", "Colour?"),)))
    once = OpenRequest("r", "command_approval", Prompt("Run", "ls"))

    assert "c deny, interrupt" == plain(answer_line(other, keys))
    assert "in the browser" in can(other, "approve")
    assert plain(answer_line(asks, keys)).startswith("a answer")
    assert ["Colour?"] == list(map(plain, request_lines(asks, 80)))
    assert " s " not in plain(answer_line(once, keys))
    assert ["a approve  d deny", "c deny, interrupt"] == [
        plain(line) for line in break_answers(answer_line(once, keys), 25)
    ]


@pytest.mark.parametrize("width", [20, 40, 76, 200])
def test_the_working_line_fits_and_says_first_what_matters(width):
    talk = told(ev.SessionOpened("n", "opus", policy="supervised"), ev.TurnStarted("n", "t"))
    talk.usage = Usage(context=43_000, window=100_000)
    line = plain(working_line(talk, Standing("claude2", ("5h", 0.35), 12.0, "ctrl+c", is_attached=True), width))

    assert cells(line) <= width
    assert line.startswith("● running 12 s")
    assert width < 76 or all(one in line for one in ("ctrl+c interrupts", "claude2 5h 35 %", "context 43 %"))
    assert width < 200 or "opus" in line
    assert width < 200 or "supervised" in line


def test_an_interrupt_and_what_runs_after_it_are_said():
    talk = told(ev.SessionOpened("n"), ev.TurnStarted("n", "t"), ev.QueueChanged((("m", "paint it", ""),)))
    line = plain(working_line(talk, Standing(interrupt_key="X", is_attached=True, is_interrupting=True), 76))
    assert line.startswith("● interrupting … · then what is queued runs")

    talk.apply(numbered(ev.TurnEnded("interrupted", turn_id="t"), ev.QueueChanged(()), ev.TurnStarted("n", "m")))
    line = plain(working_line(talk, Standing(elapsed_s=3.0, interrupt_key="X", is_attached=True), 76))
    assert line.startswith("● running what was queued 3 s · X interrupts")


def test_what_an_agent_without_policies_may_do_is_said_as_it_is():
    session = LiveSession("s", "/w", "r", "acp", "m", NOW, NOW, opening=SessionOptions(profile="supervised"))
    talk = Conversation()
    talk.take_status(LiveStatus(session, "waiting_input"))
    assert "its own settings decide" == talk.may_do
    talk.apply(numbered(ev.SessionOpened("n", policy="default")))
    assert "supervised (default)" == talk.may_do

    rows = {
        kind: [plain(row.line) for row in start_rows(kind, has_terminal=False)] for kind in ("claude", "plain", "codex")
    }
    assert "asks before commands alone" in rows["claude"][1]
    assert "on-request" in rows["codex"][1]
    assert all("its own settings decide" in row for row in rows["plain"])


def test_the_empty_line_says_what_enter_does():
    idle, running = told(ev.SessionOpened("n")), told(ev.TurnStarted("n", "t"))
    attached = Standing(is_attached=True)

    assert "enter sends" in composer_hint(idle, attached, can_steer=True)
    assert "enter steers" in composer_hint(running, attached, can_steer=True)
    assert "enter queues" in composer_hint(running, attached, can_steer=False)
    assert "starts the session again" in composer_hint(idle, Standing(), can_steer=True)
    assert "lost · F forks it" in composer_hint(idle, Standing(fence="lost", fork_key="F"), can_steer=True)


def test_an_event_that_was_read_after_the_status_counts_more():
    session = LiveSession("s", "/w", "r", "codex", "m", NOW, NOW)
    talk = Conversation()
    talk.take_status(LiveStatus(session, "starting"))
    talk.apply(numbered(ev.SessionOpened("n"), ev.TurnStarted("n", "t")))
    assert talk.is_open
    assert "t" == talk.turn.turn_id
    talk.lose_process()

    assert talk.turn is None


def test_the_text_that_resumes_a_turn_is_ours():
    item = Item("user/t", "user_message", "completed", "Go on.", native_kind=ev.RESUMES)
    talk = told(ev.ItemEnded(item))
    drawn = "\n".join(plain(one.line) for one in block_lines(talk.blocks[0], 60, is_open=False))

    assert "▌ agent-runner" in drawn
    assert "you" not in drawn
    assert [] == talk.messages()


def test_a_turn_that_waits_to_be_tried_again_says_so_until_it_is():
    retrying = ev.TurnRetrying("no answer", "unknown", "t", 1, 3, 5000, "network")
    talk = told(ev.TurnStarted("n", "t", "user"), retrying)
    standing = Standing(elapsed_s=3.0, interrupt_key="X", is_attached=True)

    assert "● Retry 1/3 in 5 s: network. Esc: stop" == plain(working_line(talk, standing, 76))
    assert "Retry 1/3 in 5 s: network · no answer" in text_of(talk)

    talk.apply(numbered(ev.TurnStarted("n", "t", "user"), first=3))
    assert "● running 3 s · X interrupts" == plain(working_line(talk, standing, 76))
