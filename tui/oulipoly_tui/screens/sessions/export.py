"""Export: format, place and redaction on one screen, with a look at what comes out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input

from oulipoly_engine.core.sessions.session_table import short_path
from oulipoly_engine.facade.sessions.values import Exported, ExportOptions, FileExists
from oulipoly_engine.paths import expand_user
from oulipoly_tui.base.app_interface import app_of, engine_of
from oulipoly_tui.screens.box import Box
from oulipoly_tui.view.frame.hints import BACK, link
from oulipoly_tui.view.sessions.export import FORMATS, LOSSLESS, option_lines, preview_lines
from oulipoly_tui.view.sessions.sessions import quote_title, title_of
from oulipoly_tui.view.transcript.spans import wrap_lines
from oulipoly_tui.widgets.lines import Lines
from oulipoly_tui.widgets.standing import close_by_itself, is_standing

if TYPE_CHECKING:
    from oulipoly_engine.core.sessions.sessions import Session


_OPTIONS = ("format", "redacting", "tools", "thinking")  # as they stand below each other


class Export(ModalScreen[Mapping[str, Path]]):
    """Writes one session to a file, or several into a folder; tells where each lossless one lies, by chain."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "cancel", priority=True),
        Binding("f2,ctrl+s", "write", "write", priority=True),
        # These stand in the box, each beside what it changes.
        Binding("ctrl+o", "turn('format')", "format", show=False, priority=True),
        Binding("ctrl+r", "turn('redacting')", "secrets", show=False, priority=True),
        Binding("ctrl+t", "turn('tools')", "tools", show=False, priority=True),
        Binding("ctrl+k", "turn('thinking')", "thinking", show=False, priority=True),
        Binding("ctrl+x", "stop", "stop", priority=True),
        Binding("pagedown", "scroll(10)", show=False, priority=True),
        Binding("pageup", "scroll(-10)", show=False, priority=True),
    ]
    DEFAULT_CSS = """
    Export > Box { height: 92%; }
    Export #export-options { height: auto; max-height: 8; }
    Export Input { border: tall $panel; height: 3; }
    Export Input:focus { border: tall $accent; }
    Export #export-preview { height: 1fr; border-top: solid $panel; border-title-color: $foreground-muted; }
    """

    def __init__(self, chosen_sessions: Sequence[Session]) -> None:
        super().__init__()
        self._chosen_sessions = tuple(chosen_sessions)
        self._wish = ExportOptions()
        self._force = ("", "")  # place and format that may be written over: it was said that there is something
        self._is_asking = self._is_dirty = False
        self._answer: Any = None  # a Preview, a text, or what is wrong; None: none yet

    def compose(self) -> ComposeResult:
        """Lay out options, place and preview."""
        count = len(self._chosen_sessions)
        what = f"{count} sessions" if count > 1 else quote_title(title_of(self._chosen_sessions[0]))
        with Box() as box:
            box.border_title = Content(f"Export {what}")
            box.border_subtitle = f"{link('enter or F2: write', 'screen.write')} · {BACK}"
            yield Lines(id="export-options")
            yield Input(self._suggest_path())
            preview = Lines(id="export-preview")
            preview.border_title = " preview of the first one " if count > 1 else " preview "
            yield preview

    def on_mount(self) -> None:
        """Begin with the place."""
        self.query_one(Input).focus()
        self._draw()
        self._ask()

    def action_turn(self, what: str) -> None:
        """Change one of the options; the place goes with the format as long as it is the offered one."""
        from oulipoly_engine.records import replace  # noqa: PLC0415 - loaded already

        line = self.query_one(Input)
        was_offered = line.value == self._suggest_path()
        if what == "format":
            following = FORMATS[(FORMATS.index(self._wish.format) + 1) % len(FORMATS)]
            self._wish = replace(self._wish, format=following)
        elif what == "redacting":
            self._wish = replace(self._wish, redacting=not self._wish.redacting)
        elif what == "tools":
            self._wish = replace(self._wish, tools=not self._wish.tools)
        else:
            self._wish = replace(self._wish, thinking=not self._wish.thinking)
        if was_offered:
            line.replace(self._suggest_path(), 0, len(line.value))  # with the cursor at its end
        self._draw()
        self._ask()

    def action_scroll(self, by: int) -> None:
        """Scroll the preview."""
        self.query_one("#export-preview", Lines).scroll_relative(y=by, animate=False)

    def on_click(self, event: events.Click) -> None:
        """Change the option that was clicked."""
        inside = event.get_content_offset(self.query_one("#export-options"))
        if inside is not None and inside.y < len(_OPTIONS):
            self.action_turn(_OPTIONS[inside.y])

    async def action_stop(self) -> None:
        """Stop the writing."""
        app = app_of(self)
        await app.action_press("frame.stop")

    def action_write(self) -> None:
        """Write the file or the files."""
        text = self.query_one(Input).value.strip()
        app = app_of(self)
        if not text:
            app.say("Name a file", severity="warning")
            return
        work = partial(_write, engine_of(app).sessions, self._chosen_sessions, self._wish, expand_user(text))
        asked = (text, self._wish.format)
        force = self._force == asked
        title = f"writing {Path(text).name}"
        app.work("export", partial(work, force=force), partial(self._report_export, asked), title=title, can_stop=True)

    @on(Input.Submitted)
    def _handle_submit(self) -> None:
        self.action_write()

    def _report_export(self, asked: tuple[str, str], done: Sequence[Exported] | str) -> None:
        app = app_of(self)
        if isinstance(done, str):
            self._force = asked
            app.say(f"{done}: once more writes over it", severity="warning")
            return
        size = sum(one.size_bytes for one in done)
        written = done[0].path if len(done) == 1 else done[0].path.parent
        place = short_path(str(written.absolute()), str(Path.home()))
        app.say(f"{place}: {size:,} bytes" if len(done) == 1 else f"{len(done)} files in {place}: {size:,} bytes")
        is_lossless = self._wish.format == LOSSLESS
        chains = [one.chain_id for one in self._chosen_sessions]
        paths = dict(zip(chains, (one.path for one in done), strict=True))
        close_by_itself(self, paths if is_lossless else {})

    def _suggest_path(self) -> str:
        if len(self._chosen_sessions) > 1:
            return "exports/"
        app = app_of(self)
        names: tuple[str, ...] = engine_of(app).sessions.files.names(self._chosen_sessions, self._wish)
        return names[0]

    def _ask(self) -> None:
        """Have the beginning rendered, one wish at a time."""
        app = app_of(self)
        if self._is_asking:
            self._is_dirty = True
            return
        self._is_asking = True
        self.query_one("#export-preview", Lines).show_lines(((("…", "dim"),),))
        chain = self._chosen_sessions[0].chain_id
        app.work(
            "preview",
            partial(_preview, engine_of(app).sessions, chain, self._wish),
            self._take_answer,
            self._take_answer,
        )

    def _take_answer(self, found: Any) -> None:  # noqa: ANN401 - a Preview, a text, or what is wrong
        self._is_asking = False
        self._answer = found
        self._draw_preview()
        if self._is_dirty:
            self._is_dirty = False
            self._ask()

    def on_resize(self) -> None:
        """Wrap the preview to the width."""
        self.call_after_refresh(self._draw_preview)

    def _draw_preview(self) -> None:
        if self._answer is not None and is_standing(self):
            shown = self.query_one("#export-preview", Lines)
            width = max(20, shown.content_region.width - 1)  # beside the scrollbar, there or not
            shown.show_lines(wrap_lines(preview_lines(self._answer, width), width))

    def _draw(self) -> None:
        self.query_one("#export-options", Lines).show_lines(option_lines(self._wish))


def _preview(sessions: Any, chain: str, wish: ExportOptions) -> object:  # noqa: ANN401 - engine.sessions, deferred
    from oulipoly_engine.errors import RunnerError  # noqa: PLC0415 - loaded already

    try:
        found: object = sessions.files.preview(chain, wish)
    except RunnerError as error:
        return error
    return found


def _write(
    sessions: Any,  # noqa: ANN401 - as above
    chosen_sessions: Sequence[Session],
    wish: ExportOptions,
    target: Path,
    *,
    force: bool,
) -> Sequence[Exported] | str:
    """Write them; return the sentence where something is in the way."""
    names = sessions.files.names(chosen_sessions, wish)
    is_file = len(chosen_sessions) == 1 and not target.is_dir()
    paths = [target] if is_file else [target / name for name in names]
    try:
        if len(chosen_sessions) > 1:
            target.mkdir(parents=True, exist_ok=True)
        return [
            sessions.files.export(one.chain_id, wish, path, force=force)
            for one, path in zip(chosen_sessions, paths, strict=True)
        ]
    except FileExists as error:
        return error.message.partition(":")[0]
