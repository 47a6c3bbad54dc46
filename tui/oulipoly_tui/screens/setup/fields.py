"""The fields of a form: what is asked in the edge, what is typed or chosen, its help, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Static, TextArea

from oulipoly_engine.core.setup.dialogs import ANSWER, FormField, Option, read_value
from oulipoly_engine.core.text.control_characters import visible_line
from oulipoly_engine.errors import RequestRefused
from oulipoly_tui.view.setup.dialogs import split_lines
from oulipoly_tui.view.transcript.spans import Row, Tone
from oulipoly_tui.widgets.lines import VirtualList

Given = str | tuple[str, ...]
_MOST_ROWS = 8  # of a list of options
_TEXT_ROWS = 5
_EDGE = 36  # characters of a label that stand in the edge; a longer one has lines of its own
_YES = (Option("yes", "yes"),)
_MARKS: dict[tuple[bool, bool], tuple[str, Tone]] = {  # (several, chosen)
    (True, True): ("[x] ", "good"),
    (True, False): ("[ ] ", ""),
    (False, True): ("(o) ", "good"),
    (False, False): ("( ) ", ""),
}


class Options(VirtualList):
    """Options of which one or several are chosen; the mark says it without any colour."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("space", "choose", "choose", show=False)]

    def __init__(self, options: tuple[Option, ...], chosen: tuple[str, ...], *, are_several: bool) -> None:
        super().__init__()
        self._options = options
        self._are_several = are_several
        self.chosen = chosen

    def on_mount(self) -> None:
        """Show them, with the cursor on what is chosen."""
        self.styles.height = min(_MOST_ROWS, len(self._options))
        self._draw_options()
        place = next((at for at, one in enumerate(self._options) if one.value in self.chosen), 0)
        self.go_to(str(place))

    def action_choose(self) -> None:
        """Choose what is under the cursor, or no longer."""
        if self.cursor_key is None:
            return
        value = self._options[int(self.cursor_key)].value
        others = tuple(one for one in self.chosen if one != value) if self._are_several else ()
        wanted = {*others} if value in self.chosen else {*others, value}
        self.chosen = tuple(one.value for one in self._options if one.value in wanted)
        self._draw_options()
        self.post_message(self.Chosen(self, value))

    def on_click(self, event: events.Click) -> None:
        """Choose what is clicked."""
        offset = event.get_content_offset(self)
        place = -1 if offset is None else offset.y + self.scroll_offset.y
        if 0 <= place < len(self._options):
            event.prevent_default()
            self.go_to(str(place))
            self.action_choose()

    def _draw_options(self) -> None:
        self.show_rows([self._row(place, one) for place, one in enumerate(self._options)])

    def _row(self, place: int, option: Option) -> Row:
        mark = _MARKS[self._are_several, option.value in self.chosen]
        return Row(str(place), (mark, (option.label or option.value, "")))


class FieldBox(Vertical):
    """One field of a form."""

    DEFAULT_CSS = f"""
    FieldBox {{ height: auto; border: round $panel; border-title-color: $foreground; padding: 0 1; }}
    FieldBox:focus-within {{ border: round $accent; border-title-color: $text-accent; }}
    FieldBox TextArea {{ height: {_TEXT_ROWS}; }}
    FieldBox Input > .input--placeholder {{ color: $foreground-muted; }}
    FieldBox .label {{ height: auto; text-style: bold; }}
    FieldBox .help {{ height: auto; color: $foreground-muted; }}
    FieldBox .problem {{ height: auto; color: $text-error; text-style: bold; display: none; }}
    """

    def __init__(self, asked: FormField, given: Given | None = None) -> None:
        super().__init__()
        self.asked = asked
        self._given = _default_of(asked) if given is None else given

    def compose(self) -> ComposeResult:
        """Lay out the field."""
        title = visible_line(self.asked.title)
        needs = "required" if self.asked.required and self.asked.field_type != "checkbox" else ""
        if len(title) > _EDGE:
            yield Static(title, markup=False, classes="label")
            title = ""
        self.border_title = Content(" · ".join(filter(None, (title, needs))))
        yield self._make_input()
        if self.asked.help_text:
            yield Static(_shown(self.asked.help_text), markup=False, classes="help")
        yield Static(markup=False, classes="problem")

    @property
    def given(self) -> Given:
        """Return what is typed, or the values that are chosen."""
        match self._input:
            case Options() as options if self.asked.field_type == "checkbox":
                return "yes" if options.chosen else "no"
            case Options() as options:
                return options.chosen
            case TextArea() as area:
                return area.text
            case Input() as line:
                return line.value
            case _:
                return ""

    def focus_input(self) -> None:
        """Give the keys to the field."""
        self._input.focus()

    def show_problem(self, text: str) -> None:
        """Say what is wrong with it; nothing is."""
        shown = self.query_one(".problem", Static)
        shown.display = bool(text)
        shown.update(visible_line(f"✗ {text}") if text else "")

    def wipe(self) -> None:
        """Forget what was typed unseen."""
        if self.asked.field_type == "password":
            self._given = ""
            for line in self.query(Input):
                line.value = ""

    @on(Input.Changed)
    @on(TextArea.Changed)
    @on(VirtualList.Chosen)
    def _handle_change(self) -> None:
        self.show_problem("")

    @property
    def _input(self) -> Widget:
        return next(self._inputs())

    def _inputs(self) -> Iterator[Widget]:
        yield from (one for one in self.query("Input, TextArea, Options"))

    def _make_input(self) -> Widget:
        asked, given = self.asked, self._given
        if asked.field_type == "checkbox":
            return Options(_YES, ("yes",) if given == "yes" else (), are_several=True)
        if isinstance(given, tuple):
            return Options(asked.options, given, are_several=asked.field_type == "multi_select")
        if asked.field_type == "textarea":
            return TextArea(given, tab_behavior="focus", compact=True)
        hidden = asked.field_type == "password"
        hint = visible_line(asked.placeholder)
        return Input(given, placeholder=hint, password=hidden, compact=True, max_length=ANSWER, select_on_focus=False)


def _default_of(asked: FormField) -> Given:
    """Return what a field begins with: of options their values, and nothing where the default is none of them."""
    text = asked.default_text
    if asked.field_type in ("select", "multi_select"):
        try:
            value = read_value(asked, text)
        except RequestRefused:
            return ()
        return value if isinstance(value, tuple) else (str(value),) if value else ()
    if asked.field_type == "checkbox":
        return "yes" if text.strip().lower() in ("y", "yes", "true") else "no"
    return text


def _shown(text: str) -> str:
    return "\n".join(visible_line(line) for line in split_lines(text))
