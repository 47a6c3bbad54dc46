"""The tree of a session: all that was said in it, with the branches that a person has left."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Input

from oulipoly_engine.core.sessions.tree_lines import MOST_MATCHES, path_to
from oulipoly_engine.errors import RunnerError
from oulipoly_engine.records import replace
from oulipoly_tui.screens import dialogs
from oulipoly_tui.screens.box import Box
from oulipoly_tui.screens.work.acting import ActingScreen
from oulipoly_tui.view.frame.hints import key_links
from oulipoly_tui.view.sessions.sessions import title_of
from oulipoly_tui.view.sessions.tree import (
    FILTERS,
    TreeLook,
    TreeRows,
    comparison_lines,
    find_nearest,
    find_next,
    summary_rows,
)
from oulipoly_tui.view.sessions.turn_files import file_lines, part_rows, restored_lines
from oulipoly_tui.view.transcript.spans import Line, Row, cut, wrap_lines
from oulipoly_tui.widgets.lines import VirtualList
from oulipoly_tui.widgets.standing import is_standing

if TYPE_CHECKING:
    from oulipoly_engine.core.commands.needs import Need
    from oulipoly_engine.core.sessions.tree_lines import Comparison, TreeEntry
    from oulipoly_engine.facade.engine import Engine
    from oulipoly_engine.facade.sessions.branches import SessionTree
    from oulipoly_engine.facade.worktrees.turn_files import FilePlan, Restored

_TITLE = 40  # columns of a message in a question
_READING = 138  # columns that a text to read has at most
LAST_ENTRIES = 2_000  # of a longer session are shown while the others are read
_EDGES = 12  # columns of the screen that it has not


class TreeScreen(ActingScreen):
    """Shows the tree until escape."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "leave", "close"),
        Binding("o", "fold", "fold"),
        Binding("O", "fold_all", "fold all"),
        Binding("slash", "find", "find"),
        Binding("space", "mark", "mark"),
        Binding("f", "filter", "filter"),
        Binding("b", "act('branch')", "go on here"),
        Binding("l", "act('label')", "label"),
        Binding("c", "act('compare')", "compare"),
        Binding("n", "step_to_match(1)", "next match", show=False),
        Binding("N", "step_to_match(-1)", "previous match", show=False),
        Binding("R", "look", "read again", show=False),
    ]
    DEFAULT_CSS = """
    TreeScreen > Box { max-width: 220; width: 98%; height: 96%; }
    TreeScreen VirtualList { height: 1fr; scrollbar-gutter: stable; }
    TreeScreen Input { display: none; border: none; height: 1; padding: 0; }
    TreeScreen.-find Input { display: block; }
    """
    DOES: ClassVar[Mapping[str, str]] = {name: f"session {name}" for name in ("branch", "label", "compare")}

    def __init__(self, session: str) -> None:
        """session: an id that means it; empty: the one that was used last."""
        super().__init__()
        self._session = session
        self._title = ""
        self._kept = next(iter(FILTERS))
        self._tree: SessionTree | None = None  # None: nothing was read yet, or it failed
        self._rows: TreeRows | None = None  # that were drawn last
        self._state = ""  # that something is being read, or why nothing can be
        self._look = TreeLook()
        self._words = ""  # that were looked for last
        self._no_summary = ""  # why nobody can sum up what is left; empty: somebody can

    def compose(self) -> ComposeResult:
        """Lay out the tree and the line to find with."""
        with Box() as box:
            orders = ("fold", "filter", "act('branch')", "act('label')", "act('compare')", "leave")
            box.border_subtitle = " · ".join(key_links(self.BINDINGS, *orders))
            yield VirtualList()
            yield Input(placeholder="find …")

    def on_mount(self) -> None:
        """Give the keys to the tree, and read."""
        self.rows.focus()
        self.call_after_refresh(self.action_look)

    # ---- keys

    def action_leave(self) -> None:
        """Close the find line, or the screen."""
        if not self.has_class("-find"):
            self.dismiss()
            return
        self.remove_class("-find")
        self.rows.focus()

    def action_look(self) -> None:
        """Read the tree, the newest wish alone."""
        self._look_again(None)

    def _look_again(self, known: SessionTree | None) -> None:
        """Read what is not known of the tree; of one that is not shown yet the end first."""
        self._state = "reading …"
        self.redraw()
        last = LAST_ENTRIES if self._tree is None else -1
        if known is not None and known.is_part:
            known = None
        self._app.work_newest("tree", partial(self._ask, last, known))

    @on(VirtualList.Chosen)
    def action_fold(self) -> None:
        """Fold the branch under the cursor, or unfold it."""
        rows = self._rows
        key = self.rows.cursor_key
        if rows is None or key is None:
            return
        place = rows.fold_of(key)
        if place is None:
            self._app.say("No branch leaves here")
            return
        self._show_look(replace(self._look, folded=self._look.folded ^ {place}))
        self.rows.go_to(place)

    def action_fold_all(self) -> None:
        """Fold every branch, or unfold them."""
        if self._rows is not None:
            folded = frozenset() if self._look.folded else self._rows.find_branches()
            self._show_look(replace(self._look, folded=folded))

    def action_filter(self) -> None:
        """Show what the next filter shows."""
        names = [*FILTERS]
        self._kept = names[(names.index(self._kept) + 1) % len(names)]
        self._look_again(self._tree)

    def action_mark(self) -> None:
        """Mark the message that another one is compared with, or no longer."""
        key = self.rows.cursor_key or ""
        self._show_look(replace(self._look, marked="" if key == self._look.marked else key))

    def action_find(self) -> None:
        """Type what to find."""
        self.add_class("-find")
        self.query_one(Input).focus()

    def action_step_to_match(self, step: int) -> None:
        """Go to another message that was found, and unfold what hides it."""
        if not self._words or self._tree is None:
            self._app.say("Nothing is searched for: / finds")
            return
        key = find_next(self._tree.entry_ids, self._look.matches, self.rows.cursor_key, step)
        if key is None:
            self._app.say(f"{self._words!r} is in no message that this filter shows")
            return
        above = path_to(key, self._tree.parents)[:-1]
        self._show_look(replace(self._look, folded=self._look.folded.difference(above)))
        self.rows.go_to(key)

    @on(Input.Submitted)
    def _handle_submit(self, event: Input.Submitted) -> None:
        self.action_leave()
        self._words = event.value.strip()
        if self._words and self._tree is not None:
            work = partial(self._engine.sessions.branches.find, self._tree.chain_id, self._words)
            self._app.work("find", work, partial(self._take_matches, self._words), title="searching")

    def _take_matches(self, words: str, matches: frozenset[str]) -> None:
        if is_standing(self) and words == self._words:
            self._look = replace(self._look, matches=matches)
            self.redraw()
            self.action_step_to_match(1)
            if len(matches) >= MOST_MATCHES:
                self._app.say(f"{self._words!r} is in {MOST_MATCHES:,} messages or more: the latest are marked")

    # ---- orders

    def lacks(self, need: Need) -> bool:  # noqa: ARG002, RUF100 - a session, which there is
        """Return that nothing is missing but, perhaps, a message under the cursor."""
        return False

    def obstacle(self, name: str) -> str | None:  # noqa: ARG002, RUF100 - of each of them
        """Say that there is no message."""
        return "there is no message here" if self._chosen is None else None

    def _branch(self) -> None:
        if (entry := self._chosen) is None:
            return
        chain_id = self._session if self._tree is None else self._tree.chain_id
        work = partial(_preview, self._engine, self._session, chain_id, entry.entry_id)
        self._app.work("branch", work, partial(self._choose_parts, entry), title="looking at the files of then")

    def _choose_parts(self, entry: TreeEntry, parts: tuple[FilePlan | None, str]) -> None:
        if not is_standing(self):
            return
        plan = parts[0]
        self._no_summary = parts[1]
        title = f"Go on behind “{cut(entry.preview, _TITLE)}”?"
        text = "The session goes on behind this message; all that was said stays."
        if plan is None and not self._leaves(entry):
            dialogs.confirm(self.app, title, text, "go on there", partial(self._go_on, entry))
            return
        if plan is None:
            self._choose_summary(entry, title, text)
            return

        def on_chosen(parts: str) -> None:
            if parts == "chat" and self._leaves(entry):
                self._choose_summary(entry, title, text)
            elif parts == "chat":
                self._go_on(entry)
            else:
                restore = partial(self._restore, plan, with_chat=parts == "both")
                dialogs.review(self.app, "Restore files?", (), file_lines(plan), restore, yes="Restore", can_undo=True)

        dialogs.choose(self.app, title, part_rows(plan), on_chosen, text)

    def _leaves(self, entry: TreeEntry) -> bool:
        """Tell whether something lies between what a branch has and where the session goes on now."""
        tree = self._tree
        return tree is not None and tree.leaf is not None and tree.leaf not in path_to(entry.entry_id, tree.parents)

    def _choose_summary(self, entry: TreeEntry, title: str, text: str) -> None:
        if self._no_summary:  # it could only fail
            text = f"{text} No summary is made of what is left: {self._no_summary}."
            dialogs.confirm(self.app, title, text, "go on there", partial(self._go_on, entry))
            return

        def on_chosen(kind: str) -> None:
            if kind == "none":
                self._go_on(entry)
            elif kind == "default":
                self._sum_up(entry, "")
            else:
                asked = "What the model is to look at, in your words"
                dialogs.ask(self.app, "Summary of what is left", asked, partial(self._sum_up, entry))

        dialogs.choose(self.app, title, summary_rows(), on_chosen, text)

    def _sum_up(self, entry: TreeEntry, instructions: str) -> None:
        work = partial(self._engine.live.branch, self._session, entry.entry_id, instructions)
        self.do(
            "branch", work, lambda _: self._app.say("The session goes on there, with a summary"), title="summing up"
        )

    def _go_on(self, entry: TreeEntry) -> None:
        work = partial(self._engine.sessions.branches.branch, self._session, entry.entry_id)
        self.do("branch", work, lambda _: self._app.say("The session goes on there"))

    def _restore(self, plan: FilePlan, *, with_chat: bool) -> None:
        # What has changed since it was shown is kept, and comes back by the command that is shown then.
        restore = partial(self._engine.turn_files.restore, plan.tree.chain_id, plan.entry_id, plan.reference)
        work = partial(restore, with_chat=with_chat, agree=lambda _: True)
        self.do("branch", work, self._show_restored, title="restoring files")

    def _show_restored(self, done: Restored) -> None:
        if done.way_back:
            self.app.copy_to_clipboard(done.way_back)
            dialogs.read(self.app, "Files restored", restored_lines(done))
        else:
            self._app.say("No file was to be changed")

    def _label(self) -> None:
        if (entry := self._chosen) is None:
            return

        def on_asked(text: str) -> None:
            self.do("label", partial(self._engine.sessions.branches.label, self._session, entry.entry_id, text))

        title = f"Label of “{cut(entry.preview, _TITLE)}”"
        dialogs.ask(self.app, title, "What this message is called; empty: nothing", on_asked, entry.label)

    def _compare(self) -> None:
        if (entry := self._chosen) is None:
            return
        names = ("< This message", "> The marked one" if self._look.marked else "> Where it goes on")

        def on_compared(compared: tuple[SessionTree, Comparison]) -> None:
            def lay_out(width: int) -> tuple[Line, ...]:
                return comparison_lines(*compared, names, min(width - _EDGES, _READING))

            dialogs.read(self.app, "Two branches", lay_out)

        compare = self._engine.sessions.branches.compare
        self._app.work("compare", partial(compare, self._session, entry.entry_id, self._look.marked), on_compared)

    def look_after(self) -> None:
        """Read it again."""
        if is_standing(self):
            self.action_look()

    # ---- reading and drawing

    def _ask(self, last: int, known: SessionTree | None) -> None:
        if is_standing(self):
            work = partial(_read, self._engine, self._session, self._kept, last, known)
            self._app.work("tree", work, partial(self._take, self._kept))

    def _take(self, kept: str, answer: tuple[str, SessionTree] | RunnerError) -> None:
        if not is_standing(self) or kept != self._kept:
            return
        former = self._tree
        cursor = self.rows.cursor_key
        self._tree = None
        if isinstance(answer, RunnerError):
            self._state = answer.message
        else:
            self._title, self._tree = answer
            self._session = self._tree.chain_id
            self._state = ""
        self.redraw()
        if self._tree is not None:
            at = self._tree.leaf if former is None else find_nearest(former, cursor, self._tree)
            self.rows.go_to(at or "")
            if self._tree.is_part:
                self._look_again(None)
            elif not self._tree.kept_rows:
                prepare = partial(self._engine.sessions.branches.prepare_filters, self._tree)
                self._app.work("tree filters", prepare)
        self._app.show_keys()

    def _show_look(self, look: TreeLook) -> None:
        self._look = look
        self.redraw()

    def _draw(self) -> None:
        tree = self._tree
        count = 0 if tree is None else len(tree.entry_ids)
        facts = (FILTERS[self._kept], self._state or f"{count:,}", self._title)
        self.query_one(Box).border_title = Content(" · ".join(filter(None, ("Tree", *facts))))
        self._rows = None
        if self._row_width <= 0:
            return
        if tree is not None and count:
            self._rows = TreeRows(tree, replace(self._look, width=self._row_width))
            self.rows.show_rows(self._rows)
            return
        text = self._state or "Nothing is said with this filter: f shows more."
        lines = wrap_lines((((text, "dim"),),), self._row_width)
        self.rows.show_rows([Row("", line, is_selectable=False) for line in lines])

    @property
    def _chosen(self) -> TreeEntry | None:
        return None if self._rows is None else self._rows.find(self.rows.cursor_key)


def _preview(engine: Engine, session: str, chain_id: str, entry_id: str) -> tuple[FilePlan | None, str]:
    """Return what bringing back the files of a message would do, and why nobody can sum up what is left.

    None: nobody has them; empty: somebody can.
    """
    no_summary = engine.live.explain_no_summary(chain_id)
    try:
        return engine.turn_files.preview(session, entry_id), no_summary
    except RunnerError:
        return None, no_summary


def _read(
    engine: Engine, session: str, kept: str, last: int, known: SessionTree | None
) -> tuple[str, SessionTree] | RunnerError:
    """Return a session's title and its tree, or what is wrong: it stands in its place then."""
    sessions = engine.sessions
    try:
        if known is None:
            sessions.transcripts.glance()
        key = session or sessions.branches.find_latest()
        tree = sessions.branches.tree(key, kept, last, known)
        if tree.is_part and tree.leaf not in tree.layout.rows:  # a person went back far
            tree = sessions.branches.tree(key, kept)
        if tree.entries:  # what the screen shows first is read here, beside its thread
            tree.find([tree.entry_ids[tree.layout.rows.get(tree.leaf or "", 0)]])
        if tree.of_origin and not tree.session_id:  # a fork in which nothing was said yet
            return engine.live.find(tree.chain_id).title, tree
        return title_of(sessions.catalogue.find(tree.chain_id)), tree
    except RunnerError as error:
        return error
