"""What is done with a session's whole branch: merged, rebased, applied, pushed, or handed to the agent."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from oulipoly_tui.orders.work import find_repository, hand_over, move, preview_move, promote
from oulipoly_tui.screens import dialogs
from oulipoly_tui.screens.work.acting import ActingScreen
from oulipoly_tui.view.transcript.spans import Line, Row
from oulipoly_tui.view.work.changes import merge_body, merged_text, move_head, moved_text, push_lines
from oulipoly_tui.view.work.new_work import branch_rows

if TYPE_CHECKING:
    from oulipoly_engine.core.worktrees.changes import ChangeSet, MergePreview, Moved, Preflight, Promoted
    from oulipoly_engine.core.worktrees.work import Repository

_MOVE = "move"  # what `undo` takes back where it is not a discard's reference
_UNDONE = (
    Row("", (("the last discard", ""),)),
    Row(_MOVE, (("the last merge, rebase or apply", ""),)),
)


class BranchOrders(ActingScreen):
    """The half of the screen that moves branches. Whatever does shows first what it would do."""

    session_id: str
    found: ChangeSet | None

    def __init__(self, **more: Any) -> None:  # noqa: ANN401 - the screen's own
        super().__init__(**more)
        self.undoable: list[str] = []  # references of discards, and moves, the last one last

    # ---- merge, rebase, apply

    def _merge(self) -> None:
        self._preview("merge", "")

    def _merge_into(self) -> None:
        def on_found(repository: Repository | None) -> None:
            if repository is not None:
                current = repository.current
                rows = branch_rows(repository)
                dialogs.choose(self.app, "Merge into", rows, lambda branch: self._preview("merge", branch or current))

        self._app.work("branches", partial(find_repository, self._engine, self.session_id), on_found)

    def _rebase(self) -> None:
        self._preview("rebase", "")

    def _apply(self) -> None:
        self._preview("apply", "")

    def _preview(self, verb: str, into: str) -> None:
        work = partial(preview_move, self._engine, self.session_id, verb, into)
        self._app.work("preview", work, partial(self._show_preview, verb), title=f"looking what a {verb} does")

    def _show_preview(self, verb: str, preview: MergePreview) -> None:
        if preview.is_merged:
            self._app.say(merged_text(preview))
            return
        has_conflicts = bool(preview.conflicts)
        head = move_head(verb, preview, self.session_id)
        yes = "Hand to the agent" if has_conflicts else verb.capitalize()
        can_do = has_conflicts or not (preview.in_the_way and verb != "rebase")

        act = partial(self._hand_over, preview.into) if has_conflicts else partial(self._move, verb, preview)
        title = f"{verb.capitalize()}?"
        body = merge_body(preview)
        dialogs.review(self.app, title, head, body, act, yes=yes, can_do=can_do, can_undo=not has_conflicts)

    def _move(self, verb: str, preview: MergePreview) -> None:
        self.do(verb, partial(move, self._engine, self.session_id, verb, preview), self._note_moved)

    def _note_moved(self, moved: Moved) -> None:
        self.undoable.append(_MOVE)
        self._app.say(f"{moved_text(moved)}. u: undo")

    # ---- a conflict

    def _hand_over(self, into: str = "") -> None:
        work = partial(hand_over, self._engine, self.session_id, into)
        self.do("hand over", work, lambda _: self._app.say("The agent was asked to resolve the conflict"))

    # ---- push

    def _push(self) -> None:
        work = partial(self._engine.changes.preflight, self.session_id)
        self._app.work("push", work, self._show_preflight, title="looking at the remote")

    def _show_preflight(self, found: Preflight) -> None:
        def on_agreed() -> None:
            if found.uncommitted:
                dialogs.ask(self.app, "Commit message", "What it changes, in a line", partial(self._promote, found))
            else:
                self._promote(found, "")

        can_do = found.remote is not None and not found.problems
        lines = push_lines(found, self.session_id)
        dialogs.review(self.app, "Push?", (), lines, on_agreed, yes="Push", can_do=can_do)

    def _promote(self, found: Preflight, message: str) -> None:
        self.do("push", partial(promote, self._engine, self.session_id, found, message), self._note_pushed)

    def _note_pushed(self, made: Promoted) -> None:
        lines: list[Line] = [(("pushed ", ""), (made.branch, "strong"), (f" to {made.remote}", ""))]
        if made.url:
            kind = "pull request" if made.is_pull_request else "make a pull request"
            lines += [((f"{kind}: ", ""), (made.url, "accent")), (("copied to the clipboard", "dim"),)]
            self.app.copy_to_clipboard(made.url)
        dialogs.read(self.app, "Pushed", lines)

    # ---- undo

    def _undo(self) -> None:
        """Take back what was done last here; where nothing was, ask what of before is meant."""
        if self.undoable:
            self._undo_one(self.undoable.pop())
        else:
            dialogs.choose(self.app, "Undo what?", _UNDONE, self._undo_one)

    def _undo_one(self, what: str) -> None:
        changes = self._engine.changes
        if what == _MOVE:
            self.do("undo", partial(changes.undo_move, self.session_id), self._note_undone)
        else:
            self.do("undo", partial(changes.undo_discard, self.session_id, what), self._note_undone)

    def _note_undone(self, done: Any) -> None:  # noqa: ANN401 - Discarded or Moved
        self._app.say(f"Undone: {getattr(done, 'kind', 'discard')}")
