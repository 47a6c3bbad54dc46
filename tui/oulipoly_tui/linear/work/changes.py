"""The changes of a session for screen readers: files, their differences as text, and all that can be done to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from oulipoly_engine.core.commands.needs import Need
from oulipoly_engine.core.text.control_characters import visible_line
from oulipoly_engine.core.worktrees.prompts import Comment
from oulipoly_engine.errors import RunnerError, UsageInvalid, translate_system_errors
from oulipoly_tui.orders import work as orders
from oulipoly_tui.view.transcript.spans import Line, plain
from oulipoly_tui.view.work.changes import (
    COMMITTED,
    STAGED,
    UNSTAGED,
    commit_title,
    merge_body,
    merged_text,
    move_head,
    moved_text,
    numbered_lines,
    push_lines,
    status_word,
)
from oulipoly_tui.view.work.works import GitLook, read_changes, short_branch

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oulipoly_engine.core.worktrees.changes import ChangeSet, Discarded, FileDiff, HunkText
    from oulipoly_engine.core.worktrees.porcelain import ChangeEntry
    from oulipoly_tui.linear.talk import Talk

_SIDES = ((UNSTAGED, "Not staged"), (STAGED, "Staged"), (COMMITTED, "Committed"))
_File = tuple[str, str, str]  # side, path, a sentence
_SIGNS = {"+": "added", "-": "removed"}
_MOVE = "the last merge, rebase or apply"
_DISCARD = "the last discard"


def far_words(look: GitLook) -> str:
    """Return how far a branch is and what is changed, as sentences."""
    if look.reason:
        return f" {visible_line(look.reason).capitalize()}."
    more = " or more" if look.is_cut else ""
    changed = f" {look.changed}{more} changed file{'s' * (look.changed != 1)}." if look.changed else " Nothing changed."
    far = ", ".join(f"{count} {word}" for count, word in ((look.ahead, "ahead"), (look.behind, "behind")) if count)
    return f"{changed} Commits: {far}." if far else changed


class ChangesMenu:
    """The menu of one session's changes. What it has undone, and comments that were not sent, end with it."""

    def __init__(self, talk: Talk, session_id: str, title: str) -> None:
        self._talk, self._id, self._title = talk, session_id, title
        self._changes = talk.engine.changes
        self._comments: list[Comment] = []
        self._undoable: list[str] = []  # references of discards, and moves, the last one last

    def open(self) -> None:
        """Say what is changed and do what is chosen, until nothing is. Raises RunnerError where git says nothing."""
        is_told = False  # the files: after an action only its outcome is said
        while True:
            found = self._changes.status(self._id)
            base = f" from {visible_line(found.base)}" if found.base else ""
            branch = short_branch(found.branch, self._id) if found.branch else "HEAD is detached"
            self._talk.quote(f"Changes of {self._title}. {branch}{base}.{far_words(read_changes(found))}")
            if not found.git_available:
                return
            files = _files(found, orders.find_committed(self._talk.engine, self._id, found))
            if not is_told:
                self._say_files(files)
            is_told = True
            actions = self._actions(found, files)
            label = self._talk.choose("Changes: what to do", list(actions))
            if label is None:
                if not self._comments or self._talk.confirm(f"Comments not sent: {len(self._comments)}. Close?"):
                    return
                continue
            try:
                with translate_system_errors():
                    actions[label]()
            except RunnerError as error:
                self._talk.quote(f"Error. {error.message}.")

    def _actions(self, found: ChangeSet, files: Sequence[_File]) -> dict[str, Callable[[], None]]:
        """Return what can be done now."""
        told: dict[str, Callable[[], None]] = {"Open a file": partial(self._open_file, files)} if files else {}
        if not self._talk.read_only:
            if found.unstaged:
                told["Stage everything"] = partial(self._changes.stage, self._id)
            elif found.staged:
                told["Unstage everything"] = partial(self._changes.unstage, self._id)
            if found.staged or found.unstaged:
                told["Commit"] = partial(self._commit, found)
            if self._comments:
                told["Send the comments to the agent"] = self._send_comments
            if found.base:
                told["Merge"] = partial(self._move, "merge")
            told["Merge into another branch"] = self._merge_into
            if found.base:
                told["Rebase"] = partial(self._move, "rebase")
                told["Apply"] = partial(self._move, "apply")
            told["Push"] = self._push
            if found.base:
                told["Hand a conflict to the agent"] = self._hand_over
            told["Undo"] = self._undo
        return told | {"Show again": partial(self._say_files, files)}

    # ---- files

    def _say_files(self, files: Sequence[_File]) -> None:
        if not files:
            self._talk.say(Need.CHANGES.fact)
        for _, _, text in files:
            self._talk.quote(text)

    def _open_file(self, files: Sequence[_File]) -> None:
        file = self._talk.choose_of("File", files, lambda file: file[2])
        if file is None:
            return
        side, path, _ = file
        diff = self._changes.diff(self._id, path, side)
        for text in _diff_lines(diff):
            self._talk.quote(text)
        changes, verb = self._changes, "Unstage" if side == STAGED else "Stage"
        whole = changes.unstage if side == STAGED else changes.stage
        part = changes.unstage_hunk if side == STAGED else changes.stage_hunk
        told: dict[str, Callable[[], object]] = {}
        if side != COMMITTED:
            told[f"{verb} it"] = partial(whole, self._id, [path])
            if diff.hunks:
                told[f"{verb} a hunk"] = lambda: self._with_hunk(diff, lambda one: part(self._id, path, one.digest))
                told[f"{verb} a line"] = lambda: self._with_hunk(diff, partial(self._change_line, path, part))
            told["Discard it"] = lambda: self._discard(
                f"the changes of {path}", partial(changes.discard, self._id, [path], side)
            )
        if diff.hunks and side == UNSTAGED:
            told["Discard a hunk"] = lambda: self._with_hunk(diff, partial(self._discard_hunk, path))
        if diff.hunks:
            told["Comment on a line"] = partial(self._comment, path)
        if not told or self._talk.read_only:
            return
        label = self._talk.choose(f"{visible_line(path)}: what to do", list(told))
        if label is not None:
            told[label]()

    def _with_hunk(self, diff: FileDiff, act: Callable[[HunkText], object]) -> None:
        hunk: HunkText | None = diff.hunks[0]
        if len(diff.hunks) > 1:
            hunk = self._talk.choose_of("Hunk", diff.hunks, lambda hunk: visible_line(hunk.header))
        if hunk is not None:
            act(hunk)

    def _change_line(self, path: str, part: Callable[..., None], hunk: HunkText) -> None:
        lines = [line for line in _hunk_lines(hunk) if line[1] in _SIGNS]
        chosen = self._talk.choose_of("Line", lines, lambda line: line[2])
        if chosen is not None:
            part(self._id, path, hunk.digest, lines=[chosen[0]])

    def _discard_hunk(self, path: str, hunk: HunkText) -> None:
        self._discard(f"this hunk of {path}", partial(self._changes.discard_hunk, self._id, path, hunk.digest))

    def _discard(self, what: str, work: Callable[[], Discarded]) -> None:
        if self._talk.confirm(f"Discard {visible_line(what)}? Undo brings it back."):
            done = work()
            if done.reference:
                self._undoable.append(done.reference)
            self._talk.say("Discarded.")

    def _comment(self, path: str) -> None:
        line = self._talk.ask_until("Number of the line in the new file", _read_number)
        text = "" if line is None else self._talk.ask("Comment for the agent, empty for none").strip()
        if line is not None and text:
            self._comments.append(Comment(path, line, text))

    def _send_comments(self) -> None:
        count = orders.send_comments(self._talk.engine, self._id, self._comments)
        self._comments.clear()
        self._talk.say(f"Sent {count} comment{'s' * (count != 1)} to the agent.")

    def _commit(self, found: ChangeSet) -> None:
        message = self._talk.ask(f"{commit_title(found)}. Message").strip()
        if message:
            made = self._changes.commit(self._id, message, stages_all=not found.staged)
            self._talk.say(f"Committed {made.sha[:8]}.")

    # ---- branches

    def _merge_into(self) -> None:
        repository = orders.find_repository(self._talk.engine, self._id)
        branch = None if repository is None else self._talk.choose("Merge into", repository.branches)
        if branch is not None:
            self._move("merge", branch)

    def _move(self, verb: str, into: str = "") -> None:
        """Say what a merge, a rebase or an apply would do, conflicts included, and do it after a yes."""
        preview = orders.preview_move(self._talk.engine, self._id, verb, into)
        if preview.is_merged:
            self._talk.quote(f"{merged_text(preview)}.")
            return
        self._say((*move_head(verb, preview, self._id, "Undo undoes it"), *merge_body(preview)))
        if preview.conflicts:
            if self._talk.confirm("Hand to the agent?"):
                self._hand_over(preview.into)
        elif not (preview.in_the_way and verb != "rebase") and self._talk.confirm(f"{verb.capitalize()}?"):
            self._talk.quote(f"{moved_text(orders.move(self._talk.engine, self._id, verb, preview))}.")
            self._undoable.append(_MOVE)

    def _hand_over(self, into: str = "") -> None:
        orders.hand_over(self._talk.engine, self._id, into)
        self._talk.say("The agent was asked to resolve the conflict.")

    def _push(self) -> None:
        found = self._changes.preflight(self._id)
        self._say(push_lines(found, self._id))
        if found.remote is None or found.problems or not self._talk.confirm("Push?"):
            return
        message = self._talk.ask("Commit message").strip() if found.uncommitted else ""
        if found.uncommitted and not message:
            return
        made = orders.promote(self._talk.engine, self._id, found, message)
        self._talk.quote(f"Pushed {visible_line(made.branch)} to {visible_line(made.remote)}.")
        if made.url:
            kind = "Pull request" if made.is_pull_request else "Make a pull request"
            self._talk.quote(f"{kind}: {visible_line(made.url)}")

    def _undo(self) -> None:
        """Take back what was done last here; where nothing was, ask what of before is meant."""
        what = self._undoable.pop() if self._undoable else self._talk.choose("Undo what?", (_DISCARD, _MOVE))
        if what == _MOVE:
            moved = self._changes.undo_move(self._id)
            self._talk.quote(f"Undone: {visible_line(moved.branch)} is as it was.")
        elif what is not None:
            self._changes.undo_discard(self._id, "" if what == _DISCARD else what)
            self._talk.say("Undone: what was discarded is back.")

    def _say(self, lines: Iterable[Line]) -> None:
        for text in filter(None, map(plain, lines)):
            self._talk.quote(text)


def _files(found: ChangeSet, committed: Sequence[ChangeEntry]) -> list[_File]:
    """Return side, path and a sentence of each file."""
    files = []
    for (side, name), entries in zip(_SIDES, (found.unstaged, found.staged, committed), strict=True):
        for one in entries:
            before = f", before {visible_line(one.renamed_from)}" if one.renamed_from else ""
            files.append((side, one.path, f"{name}, {status_word(one.status)}: {visible_line(one.path)}{before}"))
    return files


def _diff_lines(diff: FileDiff) -> Iterator[str]:
    """Yield a file's difference: each line with its number in the new file, and what was done to it."""
    if diff.is_binary:
        yield "A binary file: it is gone." if diff.size is None else f"A binary file: {diff.size:,} bytes."
    elif not diff.hunks:
        yield visible_line(diff.diff.strip()) or "Nothing differs here."
    for hunk in diff.hunks:
        yield f"Hunk {visible_line(hunk.header)}"
        yield from (text for _, _, text in _hunk_lines(hunk))


def _hunk_lines(hunk: HunkText) -> Iterator[tuple[int, str, str]]:
    """Yield place, sign and a sentence of each line."""
    for place, at, line in numbered_lines(hunk):
        sign, text = line[:1], visible_line(line[1:])
        yield place, sign, f"{_SIGNS[sign]} {at}: {text}" if sign in _SIGNS else f"{at}: {text}"


def _read_number(typed: str) -> int:
    if not typed.isdecimal() or not int(typed):
        raise UsageInvalid(f"{typed!r} is not the number of a line")
    return int(typed)
