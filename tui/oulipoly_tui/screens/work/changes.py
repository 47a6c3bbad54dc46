"""The changes of a session: its files, the diff of one, and what is done with them, as hands from lazygit know it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content

from oulipoly_engine.core.commands.needs import Need
from oulipoly_engine.core.worktrees.prompts import Comment
from oulipoly_engine.errors import RunnerError
from oulipoly_tui.orders.work import find_committed, send_comments
from oulipoly_tui.screens import dialogs
from oulipoly_tui.screens.box import Box
from oulipoly_tui.screens.work.branch_orders import BranchOrders
from oulipoly_tui.view.frame.hints import key_links, link
from oulipoly_tui.view.transcript.spans import Line, Row, wrap_lines
from oulipoly_tui.view.work.changes import (
    COMMITTED,
    STAGED,
    Place,
    commit_title,
    diff_rows,
    file_rows,
    find_line,
    head_line,
    highlight_context,
    is_change,
    read_file_key,
    read_place,
)
from oulipoly_tui.widgets.lines import GUTTER, Lines, VirtualList
from oulipoly_tui.widgets.standing import is_standing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from oulipoly_engine.core.worktrees.changes import ChangeSet, FileDiff
    from oulipoly_engine.core.worktrees.porcelain import ChangeEntry
    from oulipoly_engine.facade.engine import Engine

_LOOK_S = 2.0  # between two looks of git
_WIDE = 76  # columns of the screen, from which files and diff stand side by side
_ON_FILES = frozenset(("toggle", "discard"))
_UNCOMMITTED = frozenset(("toggle", "toggle_line", "discard"))  # what works on such files alone
_KEYS = (
    ("space", "stage the file, or the hunk; once more unstages it"),
    ("s", "stage the line under the cursor alone"),
    ("S", "stage everything, or nothing where everything is"),
    ("d", "discard the file's changes, or the hunk: it asks, and u brings them back"),
    ("c", "commit what is staged; where nothing is, everything"),
    ("m, M", "merge into the branch that it began at, or into another one: shows first what would move"),
    ("b", "rebase: put the commits on top of the branch that it began at"),
    ("a", "apply: stage the branch's changes in the main checkout, without a commit"),
    ("p", "push, and open a pull request"),
    ("enter", "on a file: its diff; on a line: a comment"),
    ("C", "send the comments to the agent as one message"),
    ("H", "hand a conflict to the agent"),
    ("u", "undo the last discard, merge, rebase or apply"),
    ("tab", "between files and diff"),
    ("R", "look again"),
)


class ChangesScreen(BranchOrders):
    """Shows the changes of one session until escape."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "leave", "close", show=False),
        Binding("C", "act('send_comments')", "send"),
        Binding("space", "act('toggle')", "stage"),
        Binding("s", "act('toggle_line')", "line"),
        Binding("S", "act('toggle_all')", "stage all", show=False),
        Binding("d", "act('discard')", "discard"),
        Binding("c", "act('commit')", "commit"),
        Binding("m", "act('merge')", "merge"),
        Binding("M", "act('merge_into')", "merge into", show=False),
        Binding("b", "act('rebase')", "rebase", show=False),
        Binding("a", "act('apply')", "apply"),
        Binding("p", "act('push')", "push"),
        Binding("H", "act('hand_over')", "hand over", show=False),
        Binding("u", "act('undo')", "undo"),
        Binding("R", "look", "look again", show=False),
        Binding("tab,shift+tab", "other_side", "files, diff", show=False, priority=True),
        Binding("right,l", "to_diff", "diff", show=False),
        Binding("left,h", "to_files", "files", show=False),
        Binding("question_mark", "keys", "keys", show=False),
    ]
    DEFAULT_CSS = """
    ChangesScreen > Box { max-width: 220; width: 98%; height: 96%; }
    ChangesScreen #changes-head { height: 1; }
    ChangesScreen #changes-body { height: 1fr; layout: vertical; }
    ChangesScreen #changes-files { height: 2fr; scrollbar-gutter: stable; }
    ChangesScreen #changes-diff { height: 3fr; border-top: solid $panel; scrollbar-gutter: stable; }
    ChangesScreen #changes-diff:focus { border-top: solid $accent; }
    ChangesScreen.-wide #changes-body { layout: horizontal; }
    ChangesScreen.-wide #changes-files { width: 1fr; max-width: 48; min-width: 26; height: 100%; }
    ChangesScreen.-wide #changes-diff { width: 2fr; height: 100%; border-top: none; border-left: solid $panel; }
    ChangesScreen.-wide #changes-diff:focus { border-top: none; border-left: solid $accent; }
    """

    def __init__(self, session_id: str, title: str) -> None:
        super().__init__()
        self.session_id = session_id
        self._title = title
        self.found: ChangeSet | None = None
        self._diff: FileDiff | None = None
        self._syntax: dict[int, Line] = {}
        self._wrong = ""  # why the file cannot be shown
        self._comments: dict[tuple[str, int], str] = {}
        self._committed: tuple[ChangeEntry, ...] = ()
        self._committed_at: tuple[object, ...] = ()  # the commits that they were asked for
        self._is_looking = False

    def compose(self) -> ComposeResult:
        """Lay out the head, the files, the diff."""
        with Box() as box:
            box.border_title = Content(f"Changes of {self._title}")
            orders = key_links(self.BINDINGS, "act('apply')", "act('push')", "act('undo')")
            ends = (link("?: all keys", "screen.keys"), *key_links(self.BINDINGS, "leave"))
            box.border_subtitle = " · ".join((link("enter: comment", "screen.choose"), *orders, *ends))
            yield Lines(id="changes-head")
            with Container(id="changes-body"):
                yield VirtualList(id="changes-files")
                yield VirtualList(id="changes-diff")

    def on_mount(self) -> None:
        """Look, and look again as long as it is seen."""
        self._files.focus()
        self.set_interval(_LOOK_S, self._look_if_seen)
        self.action_look()
        self.call_after_refresh(self.redraw)

    def on_resize(self) -> None:
        """Fit the rows."""
        self.set_class(self.size.width >= _WIDE, "-wide")

    # ---- keys

    DOES: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("toggle", "toggle_line", "toggle_all", "discard", "comment"), "changes stage"),
        **dict.fromkeys(("merge", "merge_into", "rebase", "undo"), "merge"),
        "commit": "commit",
        "apply": "apply",
        "push": "promote",
        "hand_over": "conflict",
        "send_comments": "changes comment",
    }

    def lacks(self, need: Need) -> bool:
        """Return whether nothing is changed, or nothing is said of a change."""
        is_clean = self.found is not None and not self.found.staged and not self.found.unstaged
        return (need is Need.CHANGES and is_clean) or (need is Need.COMMENT and not self._comments)

    def obstacle(self, name: str) -> str | None:
        """Say what is not there of the file, the line or the branch that an action is about."""
        found, file, place = self.found, self._file, self._place
        if found is None or not found.git_available:
            return "there are no changes to look at"
        if name in _ON_FILES and file is None:
            return Need.FILE.value
        if name in _UNCOMMITTED and file is not None and file[0] == COMMITTED:
            return "this is committed: enter on a line of the diff comments it for the agent"
        if name in ("toggle_line", "comment"):
            if not self._is_in_diff or self._diff is None or place is None:
                return Need.LINE.value
            if name == "toggle_line" and not is_change(self._diff, place):
                return "this line is as it was: choose one that was added or removed"
        if name == "discard" and self._is_in_diff and file is not None and file[0] == STAGED:
            return "this hunk is staged: space unstages it first"
        if name == "toggle_all" and self.lacks(Need.CHANGES):
            return Need.CHANGES.value
        if name in ("merge", "rebase", "apply", "hand_over") and not found.base:
            return "the branch that it began at is not known: M merges into another one"
        return None

    def action_leave(self) -> None:
        """Go from the diff to the files; from there close it, and ask where comments would be lost."""
        if self._is_in_diff:
            self.action_to_files()
        elif self._comments:
            count = len(self._comments)
            text = f"{count} comment{'s were' if count != 1 else ' was'} not sent: C sends them"
            dialogs.confirm(self.app, "Close?", text, "close", self.dismiss)
        else:
            self.dismiss()

    def action_to_diff(self) -> None:
        """Go to the diff."""
        self._diff_list.focus()
        self._app.show_keys()

    def action_to_files(self) -> None:
        """Go to the files."""
        self._files.focus()
        self._app.show_keys()

    def action_other_side(self) -> None:
        """Go from the files to the diff, or back."""
        if self._is_in_diff:
            self.action_to_files()
        else:
            self.action_to_diff()

    def action_keys(self) -> None:
        """Show every key."""
        lines: list[Line] = [((f"{key:<8}", "key"), (text, "")) for key, text in _KEYS]
        dialogs.read(self.app, "Keys of changes", lines)

    def action_look(self) -> None:
        """Ask git again."""
        if not self._is_looking:
            self._is_looking = True
            work = partial(self._engine.changes.status, self.session_id)
            self._app.work("changes", work, self._take, self._skip)

    @on(VirtualList.Chosen, "#changes-files")
    def _handle_file(self) -> None:
        self.action_to_diff()

    @on(VirtualList.Chosen, "#changes-diff")
    def _handle_line(self) -> None:
        self.action_act("comment")

    def action_choose(self) -> None:
        """Do what enter does."""
        if self._is_in_diff:
            self.action_act("comment")
        else:
            self.action_to_diff()

    # ---- files, hunks, lines

    def _toggle(self) -> None:
        file, hunk = self._file, self._hunk
        if file is None:
            return
        side, path = file
        changes = self._engine.changes
        if hunk is None:
            order = changes.unstage if side == STAGED else changes.stage
            self.do("stage", partial(order, self.session_id, [path]))
        else:
            order_hunk = changes.unstage_hunk if side == STAGED else changes.stage_hunk
            self.do("stage", partial(order_hunk, self.session_id, path, hunk))

    def _toggle_line(self) -> None:
        file, hunk, place = self._file, self._hunk, self._place
        if file is not None and hunk is not None and place is not None:
            side, path = file
            changes = self._engine.changes
            order = changes.unstage_hunk if side == STAGED else changes.stage_hunk
            self.do("stage", partial(order, self.session_id, path, hunk, lines=[place.line]))

    def _toggle_all(self) -> None:
        changes = self._engine.changes
        order = changes.stage if self.found is not None and self.found.unstaged else changes.unstage
        self.do("stage", partial(order, self.session_id))

    def _discard(self) -> None:
        file, hunk = self._file, self._hunk
        if file is None:
            return
        side, path = file
        changes = self._engine.changes
        if hunk is None:
            work: Callable[[], Any] = partial(changes.discard, self.session_id, [path], side)
            what = f"the {'staged ' if side == STAGED else ''}changes of {path}"
        else:
            work = partial(changes.discard_hunk, self.session_id, path, hunk)
            what = f"this hunk of {path}"
        text = f"Discard {what}?\nIt can be undone: u brings it back."
        dialogs.confirm(self.app, "Discard", text, "discard", partial(self.do, "discard", work, self._note_discarded))

    def _note_discarded(self, discarded: Any) -> None:  # noqa: ANN401 - Discarded
        if discarded.reference:
            self.undoable.append(discarded.reference)
        self._app.say("Discarded. u: undo")

    def _commit(self) -> None:
        found = self.found
        if found is None:
            return

        def on_asked(message: str) -> None:
            work = partial(self._engine.changes.commit, self.session_id, message, stages_all=not found.staged)
            self.do("commit", work, lambda made: self._app.say(f"Committed {made.sha[:8]}"))

        text = "What it changes, in a line"
        dialogs.ask(self.app, commit_title(found), text, on_asked, refuse=_refuse_empty)

    # ---- comments

    def _comment(self) -> None:
        file, place, diff = self._file, self._place, self._diff
        at = None if diff is None or place is None else find_line(diff, place)
        if file is None or at is None:
            return
        key = (file[1], at)

        def on_asked(text: str) -> None:
            self._comments.pop(key, None)
            if text.strip():
                self._comments[key] = text
            self.redraw()

        text = "For the agent; C sends all comments as one message. Empty: none"
        dialogs.ask(self.app, f"{file[1]}, line {at}", text, on_asked, self._comments.get(key, ""))

    def _send_comments(self) -> None:
        comments = [Comment(path, line, text) for (path, line), text in self._comments.items()]
        self.do("send comments", partial(send_comments, self._engine, self.session_id, comments), self._note_sent)

    def _note_sent(self, count: int) -> None:
        self._comments.clear()
        self._app.say(f"Sent {count} comment{'s' * (count != 1)} to the agent")
        self.redraw()

    # ---- what comes of it

    def look_after(self) -> None:
        """Look again, whatever is under way."""
        if is_standing(self):
            self._is_looking = False  # what is under way was asked before
            self.action_look()

    def _look_if_seen(self) -> None:
        if self.is_current:
            self.action_look()

    def _take(self, found: ChangeSet) -> None:
        self._is_looking = False
        if is_standing(self):
            self.found = found
            self._ask_for_committed(found)
            self.redraw()
            self._read_diff()
            self._app.show_keys()

    def _ask_for_committed(self, found: ChangeSet) -> None:
        """Ask which files the commits of the branch change, whenever there are others."""
        at = (found.head, found.base, found.ahead)
        if at == self._committed_at:
            return
        self._committed_at = at

        def on_told(told: tuple[ChangeEntry, ...]) -> None:
            if is_standing(self) and at == self._committed_at:
                self._committed = told
                self.redraw()
                self._read_diff()

        self._app.work("changes", partial(find_committed, self._engine, self.session_id, found), on_told)

    def _skip(self, _error: Exception) -> None:
        self._is_looking = False

    @on(VirtualList.Highlighted, "#changes-files")
    def _read_diff(self) -> None:
        """Ask for the diff of the file under the cursor, the newest wish alone."""
        if self._file is None:
            self._show_diff(None, {}, "")
        else:
            self._app.work_newest("diff", self._ask_for_diff)

    def _ask_for_diff(self) -> None:
        file = self._file if is_standing(self) else None
        if file is not None:
            work = partial(_read, self._engine, self.session_id, file)
            self._app.work("diff", work, partial(self._take_diff, file))

    def _take_diff(self, file: tuple[str, str], told: tuple[FileDiff, dict[int, Line]] | RunnerError) -> None:
        if not is_standing(self) or file != self._file:
            return
        if isinstance(told, RunnerError):
            self._show_diff(None, {}, told.message)
        else:
            self._show_diff(*told, "")

    def _show_diff(self, diff: FileDiff | None, syntax: dict[int, Line], wrong: str) -> None:
        is_other = diff is None or self._diff is None or (diff.path, diff.side) != (self._diff.path, self._diff.side)
        self._diff, self._syntax, self._wrong = diff, syntax, wrong
        if is_other:
            self._diff_list.scroll_to(y=0, animate=False)
        self._draw_diff()
        if is_other:
            self._diff_list.action_first()

    def _draw(self) -> None:
        head = self.query_one("#changes-head", Lines)
        head.show_lines((head_line(self.found, self.session_id, len(self._comments)),))
        files = self._files
        width = max(12, files.scrollable_content_region.width - GUTTER)
        files.show_rows(file_rows(self.found, width, self._committed))
        self._draw_diff()

    def _draw_diff(self) -> None:
        shown = self._diff_list
        width = max(20, shown.scrollable_content_region.width - GUTTER)
        if self._diff is not None:
            at = {line for path, line in self._comments if path == self._diff.path}
            shown.show_rows(diff_rows(self._diff, width, at, self._syntax))
            return
        found, text = self.found, self._wrong
        if not text and found is not None:
            text = Need.CHANGES.fact if found.git_available else found.reason
        lines = wrap_lines((((text, "warn" if self._wrong else "dim"),),), width) if text else ()
        shown.show_rows([Row("", line, is_selectable=False) for line in lines])

    # ---- what the cursors are on

    @property
    def _files(self) -> VirtualList:
        return self.query_one("#changes-files", VirtualList)

    @property
    def _diff_list(self) -> VirtualList:
        return self.query_one("#changes-diff", VirtualList)

    @property
    def _is_in_diff(self) -> bool:
        return is_standing(self) and self._diff_list.has_focus

    @property
    def _file(self) -> tuple[str, str] | None:
        return read_file_key(self._files.cursor_key) if is_standing(self) else None

    @property
    def _place(self) -> Place | None:
        return read_place(self._diff_list.cursor_key) if is_standing(self) else None

    @property
    def _hunk(self) -> str | None:
        """Return the digest of the hunk under the cursor, while the diff has the keys."""
        place, diff = self._place, self._diff
        if not self._is_in_diff or place is None or diff is None or place.hunk >= len(diff.hunks):
            return None
        return diff.hunks[place.hunk].digest


def _read(engine: Engine, session_id: str, file: tuple[str, str]) -> tuple[FileDiff, dict[int, Line]] | RunnerError:
    """Return a file's diff and its lines in tones, or what is wrong: it stands in the diff's place then."""
    side, path = file
    try:
        diff = engine.changes.diff(session_id, path, side)
    except RunnerError as error:
        return error
    return diff, highlight_context(diff)


def _refuse_empty(text: str) -> str | None:
    return None if text.strip() else "A commit needs a message"
