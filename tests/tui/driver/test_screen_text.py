"""Whatever a widget is given to draw, nothing but Textual's own sequences reaches the terminal."""

import base64
import re

import pytest
from rich.segment import Segment, Segments
from rich.style import Style
from textual.color import Color
from textual.widgets import Static

from oulipoly_tui.app import AgentsApp
from oulipoly_tui.driver import copying
from oulipoly_tui.driver.screen_text import CleanApp, CleanText
from oulipoly_tui.single.bare_terminal import BareTerminal
from oulipoly_tui.widgets.lines import Lines

HOSTILE = "a\x1b]0;x\x07\x9b2J\u202e\u2066\u200b\u2028\u2029\U000e0041\xadz"
OURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class _Screen(CleanApp[None]):
    def compose(self):
        yield Static(HOSTILE, markup=False)
        yield Lines([((HOSTILE, "bad"),)])


async def test_no_widget_draws_a_text_raw():
    app = _Screen()
    async with app.run_test(size=(80, 6)) as pilot:
        await pilot.pause()
        drawn = app.screen._compositor.render_update(full=True).render_segments(app.console)

    assert 2 == len(re.findall("a[^z\n]*z", OURS.sub("", drawn)))
    assert {*()} == {one for one in OURS.sub("", drawn) if not one.isprintable()} - {"\n", "\r"}


@pytest.mark.parametrize("app", [AgentsApp, BareTerminal])
def test_every_app_draws_so(app):
    assert issubclass(app, CleanApp)


def test_styles_stay():
    style = Style(bold=True)
    segments = [Segment("ok", style), Segment("x\x1by👨\u200d👩", style)]

    shown = CleanText().apply(segments, Color(0, 0, 0))

    assert [("ok", style), ("xy👨\u200d👩", style)] == [(one.text, one.style) for one in shown]


async def test_what_is_said_after_a_crash_is_harmless(capsys):
    app = CleanApp()
    app._exit_renderables.append(Segments([Segment(f"{HOSTILE}\n", Style(bold=True)), Segment("next\n")]))

    app._print_error_renderables()

    said = capsys.readouterr().err
    assert "next" in said
    assert {"\n"} == {one for one in OURS.sub("", said) if not one.isprintable()}


class _Recorder:
    """An app as copying knows it."""

    def __init__(self):
        self._driver, self.written, self.said = self, "", []

    def write(self, text):
        self.written += text

    def say(self, text, severity="information"):
        self.said.append((text, severity))


@pytest.mark.parametrize(
    ("copy", "copied"), [(copying.copy_line, "id␛[2J␊rm <U+202E>"), (copying.copy, "id\x1b[2J\nrm \u202e")]
)
def test_an_id_is_copied_as_one_line_and_a_message_as_it_is(copy, copied, monkeypatch):
    for name in ("TMUX", "STY"):
        monkeypatch.delenv(name, raising=False)
    app = _Recorder()

    copy(app, "id\x1b[2J\nrm \u202e")

    assert f"\x1b]52;c;{base64.b64encode(copied.encode()).decode()}\a" == app.written
