"""The terminal widget: what it draws of the host's pictures, and what it sends of the user's keys."""

import time

import pytest
from rich.color import Color
from textual import events
from textual.app import App
from textual.geometry import Region
from textual.screen import ModalScreen

from oulipoly_engine.terminal.protocol import messages
from oulipoly_engine.terminal.protocol.screen import PALETTE, TRUE_COLOUR, Attr, Mods
from oulipoly_tui.widgets.terminal_view import LEAVE, TerminalView

RED = (1, 1, None, int(Attr.BOLD), None)
TRUE = (2, TRUE_COLOUR | 0x102030, None, 0, "https://example.org/")


class Bench(App, inherit_bindings=False):
    """One terminal, the messages that it sent, and the messages that it posted."""

    ENABLE_COMMAND_PALETTE = False

    def __init__(self):
        super().__init__()
        self.sent = []
        self.posted = []
        self.view = TerminalView(self.sent.append)

    def compose(self):
        yield self.view

    def on_mount(self):
        self.view.focus()

    def on_terminal_view_left(self, message):
        self.posted.append("left")

    def on_terminal_view_copied(self, message):
        self.posted.append((message.text, message.by_child))

    def on_terminal_view_link_chosen(self, message):
        self.posted.append(message.address)

    def keys(self):
        return [message for message in self.sent if isinstance(message, messages.KeyInput)]

    def of(self, kind):
        return [message for message in self.sent if isinstance(message, kind)]


def picture(number=1, rows=((0, (("hello", 1, 5),)),), **more):
    values = {
        "number": number,
        "columns": 40,
        "rows": 10,
        "full": number == 1,
        "styles": ((0, None, None, 0, None), RED, TRUE) if number == 1 else (),
        "changed": rows,
        "cursor": (2, 0, True, "block"),
        "scrollback": 0,
        "offset": 0,
        "alternate": False,
        "mouse": False,
    }
    return messages.Picture(**{**values, **more})


@pytest.fixture
async def bench():
    """A terminal of 40 x 10 with a first picture."""
    app = Bench()
    async with app.run_test(size=(40, 10)) as pilot:
        app.view.take(picture())
        await pilot.pause()
        app.pilot = pilot
        yield app


def line(app, y):
    return app.view.render_line(y).text.rstrip()


async def test_it_asks_for_pictures_of_its_own_size_and_acknowledges_them(bench):
    assert [(40, 10)] == [(message.columns, message.rows) for message in bench.of(messages.Attach)]
    assert [1] == [message.number for message in bench.of(messages.PictureReceipt)]


async def test_a_row_is_drawn_in_its_style_with_the_cursor_on_top(bench):
    drawn = [(part.text, part.style.bold, part.style.reverse) for part in bench.view.render_line(0)]

    assert [("he", True, None), ("l", True, True), ("lo", True, None)] == drawn[:3]
    assert "hello" == line(bench, 0)


async def test_only_changed_rows_come_and_the_others_stay(bench):
    bench.view.take(picture(2, ((1, (("漢字", 2, 4), ("x", 0, 1))),)))

    assert ("hello", "漢字x") == (line(bench, 0), line(bench, 1))
    assert {40} == {bench.view.render_line(y).cell_length for y in range(10)}


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("a", messages.KeyInput("a", "a")),
        ("A", messages.KeyInput("A", "A")),
        ("enter", messages.KeyInput("enter")),
        ("ctrl+c", messages.KeyInput("c", "", int(Mods.CTRL))),
        ("shift+up", messages.KeyInput("up", "", int(Mods.SHIFT))),
        ("ctrl+q", messages.KeyInput("q", "", int(Mods.CTRL))),
        ("ctrl+p", messages.KeyInput("p", "", int(Mods.CTRL))),
        ("escape", messages.KeyInput("escape")),
        ("tab", messages.KeyInput("tab")),
        ("exclamation_mark", messages.KeyInput("exclamation_mark", "!")),
    ],
)
async def test_every_key_goes_to_the_program(bench, key, expected):
    await bench.pilot.press(key)

    assert [expected] == bench.keys()


async def test_one_chord_leads_out_and_is_not_sent(bench):
    await bench.pilot.press("ctrl+right_square_bracket")

    assert ["left"] == bench.posted
    assert [] == bench.keys()


async def test_the_wheel_looks_back_or_is_the_programs(bench):
    await bench.pilot._post_mouse_events([events.MouseScrollUp], bench.view, button=0)
    bench.view.take(picture(2, (), mouse=True))
    await bench.pilot._post_mouse_events([events.MouseScrollUp], bench.view, button=0)

    assert [-3] == [message.delta for message in bench.of(messages.ScrollRequest)]
    assert [("press", 4)] == [(message.action, message.button) for message in bench.of(messages.MouseInput)]


async def test_a_click_is_passed_on_where_the_program_wants_it(bench):
    bench.view.take(picture(2, (), mouse=True))
    await bench.pilot.click(bench.view, offset=(3, 2))

    assert [("press", 1, 3, 2), ("release", 1, 3, 2)] == [
        (message.action, message.button, message.x, message.y) for message in bench.of(messages.MouseInput)
    ]


async def test_a_selection_by_mouse_is_copied(bench):
    await bench.pilot.mouse_down(bench.view, offset=(0, 0))
    await bench.pilot.hover(bench.view, offset=(3, 0))
    await bench.pilot.mouse_up(bench.view, offset=(3, 0))
    await bench.pilot.pause()

    assert [("hell", False)] == bench.posted


async def test_copy_mode_asks_for_what_it_shows_and_copies_what_is_selected(bench):
    bench.view.take(picture(2, (), scrollback=50))
    bench.view.begin_copying()
    wanted = bench.of(messages.RowsRequest)[-1]
    rows = tuple((y, ((f"row {y}", 0, len(f"row {y}")),)) for y in range(wanted.first, wanted.first + wanted.count))
    bench.view.take(messages.RowsAnswer(wanted.request, wanted.first, (), rows))
    await bench.pilot.press("0", "v", "j", "dollar_sign", "y")

    top = bench.view.scrollback
    assert [(f"row {top}\nrow {top + 1}", False)] == bench.posted
    assert [] == bench.keys()


def told(first, texts, request=0):
    rows = tuple((number, ((text, 0, len(text)),)) for number, text in enumerate(texts, first))
    goes_on = tuple(number for number, text in enumerate(texts, first) if len(text) == 40)
    return messages.LinesAnswer(request, (), rows, goes_on)


NEW_HOST = messages.Hello(name=f"{messages.NAME} {messages.NUMBERS}")


async def test_styles_are_told_once_for_the_screen_and_its_past(bench):
    bench.view.begin_copying()
    bench.view.take(messages.RowsAnswer(1, 0, ((3, None, None, int(Attr.ITALIC), None),), ((1, (("bold", 1, 4),)),)))
    past = [(part.text, part.style.bold) for part in bench.view.render_line(1)]

    bench.view.end_copying()
    bench.view.take(picture(2, ((1, (("italic", 3, 6),)),)))

    assert ("bold", True) == past[0]
    assert ("italic", True) == next((part.text, part.style.italic) for part in bench.view.render_line(1))


async def test_program_can_know_the_colours_of_the_theme(bench):
    bench.theme = "textual-dark"
    bench.view.take(messages.Hello(name=f"{messages.NAME} {messages.COLOURS}"))
    bench.view.take(picture(2, ()))
    bench.view.take(picture(3, ()))
    assert [True] == [message.dark for message in bench.of(messages.Colours)]

    bench.theme = "textual-light"
    end = time.monotonic() + 60
    while len(bench.of(messages.Colours)) < 2:
        assert time.monotonic() < end
        await bench.pilot.pause(0.02)

    told = bench.of(messages.Colours)[-1]
    drawn = bench.view.rich_style
    assert (drawn.color.triplet.hex, drawn.bgcolor.triplet.hex, False) == (
        f"#{told.foreground:06x}",
        f"#{told.background:06x}",
        told.dark,
    )


async def test_host_of_an_older_release_is_asked_as_it_understands(bench):
    bench.view.take(messages.Hello(name="host"))
    bench.view.begin_copying()

    assert [] == bench.of(messages.LineNumbersRequest) + bench.of(messages.LinesRequest) + bench.of(messages.Colours)
    assert bench.of(messages.RowsRequest)


async def test_lines_that_were_broken_are_copied_whole(bench):
    bench.view.take(NEW_HOST)
    bench.view.take(picture(2, ((0, (("x" * 40, 0, 40),)), (1, (("y" * 5, 0, 5),)))))
    await bench.pilot.mouse_down(bench.view, offset=(38, 0))
    await bench.pilot.hover(bench.view, offset=(1, 1))
    await bench.pilot.mouse_up(bench.view, offset=(1, 1))
    assert bench.posted == [] != bench.of(messages.LineNumbersRequest)

    bench.view.take(told(0, ["x" * 40, "y" * 5]))
    await bench.pilot.pause()

    assert [("xxyy", False)] == bench.posted


async def test_selection_of_a_terminal_whose_host_has_gone_is_copied_as_it_was_seen(bench):
    bench.view.take(NEW_HOST)
    await bench.pilot.mouse_down(bench.view, offset=(0, 0))
    await bench.pilot.hover(bench.view, offset=(3, 0))
    await bench.pilot.mouse_up(bench.view, offset=(3, 0))

    end = time.monotonic() + 60
    while not bench.posted:
        assert time.monotonic() < end
        await bench.pilot.pause(0.02)
    assert [("hell", False)] == bench.posted


async def test_what_was_selected_is_copied_when_the_scrollback_has_lost_it_meanwhile(bench):
    bench.view.take(NEW_HOST)
    bench.view.take(messages.TrimReport(1000))
    bench.view.take(picture(2, (), scrollback=50, cursor=(0, 5, True, "block")))
    bench.view.begin_copying()
    assert (1050, 10) == ((wanted := bench.of(messages.LinesRequest)[-1]).first, wanted.count)
    bench.view.take(told(1050, [f"row {number}" for number in range(1050, 1060)]))
    await bench.pilot.press("V")

    bench.view.take(messages.TrimReport(90_000))
    bench.view.take(picture(3, (), scrollback=50))
    await bench.pilot.press("k")
    bench.view.take(told(90_000, []))
    shown = [line(bench, y) for y in (4, 5)]
    await bench.pilot.press("y")

    assert ["row 1054", "row 1055"] == shown
    assert [("row 1054\nrow 1055", False)] == bench.posted


async def test_hits_are_gone_to_by_their_numbers(bench):
    bench.view.take(NEW_HOST)
    bench.view.take(messages.TrimReport(1000))
    bench.view.take(picture(2, (), scrollback=50))
    bench.view.search("row")

    bench.view.take(messages.TrimReport(1010))
    bench.view.take(messages.SearchAnswer(1, ((5, 0, 3),)))

    assert (1015, 0) == bench.view.copy_mode.cursor


async def test_a_link_is_followed_with_ctrl(bench):
    bench.view.take(picture(2, ((0, (("here", 2, 4),)),)))
    await bench.pilot.click(bench.view, offset=(1, 0), control=True)

    assert ["https://example.org/"] == bench.posted


async def test_the_programs_clipboard_wish_is_told_as_its_own(bench):
    bench.view.take(messages.SideEffectReport(copied=("secret",)))
    await bench.pilot.pause()

    assert [("secret", True)] == bench.posted


async def test_a_paste_is_sent_whole(bench):
    bench.view.post_message(events.Paste("one\ntwo"))
    await bench.pilot.pause()

    assert ["one\ntwo"] == [message.text for message in bench.of(messages.PasteInput)]


async def test_new_lines_are_counted_while_the_view_stands_above(bench):
    bench.view.take(picture(2, (), scrollback=20, offset=5))
    bench.view.take(picture(3, (), scrollback=27, offset=12))

    assert (27, 12) == (bench.view.scrollback, bench.view.above)
    assert bench.view.new_lines == 7
    assert "12 lines back, 7 new below" in line(bench, 9)


async def test_shift_and_a_page_key_look_back_by_a_page(bench):
    await bench.pilot.press("shift+pageup", "shift+pagedown")

    assert [-9, 9] == [message.delta for message in bench.of(messages.ScrollRequest)]


async def test_a_click_on_the_mark_returns_to_the_end(bench):
    bench.view.take(picture(2, (), scrollback=20, offset=5))
    await bench.pilot.click(bench.view, offset=(35, 9))

    assert [0] == [message.delta for message in bench.of(messages.ScrollRequest)]


@pytest.mark.parametrize(("allowed", "expected"), [(True, ["left"]), (False, [])])
async def test_escape_twice_leads_out_only_where_it_may(bench, allowed, expected):
    bench.view._escape_leaves = allowed
    await bench.pilot.press("escape", "escape")

    assert expected == bench.posted
    assert len(bench.keys()) == 2 - allowed


async def test_a_row_beyond_the_screen_is_no_matter(bench):
    bench.view.take(picture(2, ((99, (("gone", 0, 4),)),)))

    assert "hello" == line(bench, 0)


def test_picture_is_painted_before_the_host_is_told_that_it_was(bench, monkeypatch):
    painted = []
    monkeypatch.setattr(
        bench, "_display", lambda screen, update: painted.append(bench.of(messages.PictureReceipt)[-1].number)
    )

    bench.view.take(picture(2, ((3, (("later", 1, 5),)),)))

    assert painted == [1]
    assert bench.of(messages.PictureReceipt)[-1].number == 2


LOOKS = (("plain ", 0, 6), ("bold", 1, 4), (" link", 2, 5), ("漢字", 2, 4))


@pytest.mark.parametrize("theme", ["textual-dark", "textual-light", "ansi-dark"])
@pytest.mark.parametrize("environ", [{}, {"NO_COLOR": "1"}], ids=["colours", "none"])
async def test_rows_painted_at_once_look_as_textual_draws_them(monkeypatch, environ, theme):
    with monkeypatch.context() as patch:
        for name, value in environ.items():
            patch.setenv(name, value)
        app = Bench()
    async with app.run_test(size=(40, 10)) as pilot:
        app.theme = theme
        app.view.take(picture())
        await pilot.pause()
        drawn = []
        monkeypatch.setattr(app, "_display", lambda screen, update: drawn.append(update.render_segments(app.console)))

        app.view.take(picture(2, ((3, LOOKS), (4, (("漢", 1, 2),))), cursor=(3, 3, True, "block")))

        rows = app.view.render_lines(Region(0, 0, 40, 10))
        expected = {y: f"\x1b[{y + 1};1H{rows[y].render(app.console)}" for y in (0, 3, 4)}  # the cursor has left row 0
        assert ["".join(expected.values())] == drawn


ALL_16 = tuple((f"{number:x}", 10 + number, 1) for number in range(16))


@pytest.mark.parametrize(
    ("theme", "system", "expected"),
    [
        ("textual-dark", "truecolor", [f"#{colour:06x}" for colour in PALETTE]),
        ("ansi-dark", "truecolor", [f"color({number})" for number in range(16)]),
        ("textual-dark", "standard", [f"color({number})" for number in range(16)]),
    ],
    ids=["as told", "the terminal's own", "a terminal of 16"],
)
async def test_each_of_the_16_colours_is_drawn_as_the_program_is_told_it(bench, monkeypatch, theme, system, expected):
    monkeypatch.setattr(type(bench.console), "color_system", system)
    bench.theme = theme
    styles = tuple((10 + number, number, None, 0, None) for number in range(16))

    bench.view.take(picture(2, ((3, ALL_16),), styles=styles))

    (row,) = bench.view.render_lines(Region(0, 3, 40, 1))
    assert expected == [Color.parse(part.style.color.name).name for part in row][:16]


@pytest.mark.draws_at_once
async def test_rows_under_a_notice_are_drawn_by_textual(monkeypatch):
    drawn, app = [], Bench()
    async with app.run_test(size=(40, 10), notifications=True) as pilot:
        app.view.take(picture(cursor=(0, 0, False, "block")))
        app.notify("over the lowest rows", timeout=60)
        end = time.monotonic() + 60
        while not any(one.region.y for one in app.screen.query("Toast")):
            assert time.monotonic() < end
            await pilot.pause(0.01)
        toast = app.screen.query_one("Toast").region
        monkeypatch.setattr(app, "_display", lambda screen, update: drawn.append(type(update).__name__))

        app.view.take(picture(2, ((toast.y, (("under", 1, 5),)),), cursor=(0, 0, False, "block")))
        app.view.take(picture(3, ((0, (("beside", 1, 6),)),), cursor=(0, 0, False, "block")))

        assert ["ChopsUpdate", "_Rows"] == drawn


async def test_picture_behind_a_dialog_is_drawn_in_its_own_time(bench):
    await bench.push_screen(ModalScreen())

    bench.view.take(picture(2, ((3, (("later", 1, 5),)),)))

    assert bench.of(messages.PictureReceipt)[-1].number == 1
    await bench.pop_screen()
    end = time.monotonic() + 60
    while bench.of(messages.PictureReceipt)[-1].number < 2:
        assert time.monotonic() < end
        await bench.pilot.pause(0.01)
    assert "later" in bench.view.render_line(3).text


@pytest.mark.parametrize(("key", "expected"), [("a", True), ("enter", True), ("escape", False), (LEAVE, False)])
def test_only_keys_that_mean_nothing_here_are_passed_on_before_their_turn(bench, key, expected):
    before = len(bench.keys())

    assert bench.view.take_key(events.Key(key, key if len(key) == 1 else None)) is expected

    assert len(bench.keys()) == before + expected


@pytest.mark.parametrize(
    ("key", "character", "expected"),
    [
        ("alt+ctrl+right_square_bracket", "\x1b\x1d", ["left"]),
        ("alt+ctrl+right_square_bracket", None, []),  # in a protocol that tells it from two keys
        ("alt+ctrl+c", "\x1b\x03", []),
    ],
)
async def test_the_chord_leads_out_although_escape_came_in_the_same_breath(bench, key, character, expected):
    event = events.Key(key, character)
    bench.sent.clear()

    assert bench.view.take_key(event) is not bool(expected)
    if expected:
        bench.view.on_key(event)
        await bench.pilot.pause()

    assert expected == bench.posted
    if expected:
        assert [messages.KeyInput("escape")] == bench.keys()


def test_no_key_goes_past_copy_mode(bench):
    bench.view.begin_copying()

    assert not bench.view.take_key(events.Key("a", "a"))
