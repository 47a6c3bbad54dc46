"""The changes of a session as lines: files, the diff of one with its hunks, what a merge or a push would do. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from oulipoly_engine.core.text.control_characters import visible_line
from oulipoly_engine.core.worktrees.porcelain import WORDS
from oulipoly_engine.records import Record
from oulipoly_tui.view.transcript.code import break_line, highlight_code
from oulipoly_tui.view.transcript.spans import Line, Row, Tone, cells, cut
from oulipoly_tui.view.work.works import short_branch

if TYPE_CHECKING:
    from oulipoly_engine.core.worktrees.changes import ChangeSet, FileDiff, HunkText, MergePreview, Moved, Preflight
    from oulipoly_engine.core.worktrees.porcelain import ChangeEntry

STAGED, UNSTAGED, COMMITTED = "index", "worktree", "branch"  # sides, as the engine calls them
_TONES: Mapping[str, Tone] = {"U": "bad", "D": "bad", "A": "good", "?": "good", "M": "warn"}
_LISTED = 12  # files or commits of a list in a question
_MANY = 2_000  # lines of a diff that are coloured


class Place(Record):
    """A line of a diff: the hunk, and the place of the line in it; -1: its heading."""

    hunk: int
    line: int = -1

    @property
    def key(self) -> str:
        """Return the key of its row."""
        return f"{self.hunk}:{self.line}"


def read_place(key: str | None) -> Place | None:
    """Return what a row's key stands for; None: not a line of a hunk."""
    hunk, _, line = (key or "").partition(":")
    return Place(int(hunk), int(line)) if hunk.isdigit() else None


def read_file_key(key: str | None) -> tuple[str, str] | None:
    """Return side and path of a file's row; None: not a file."""
    side, _, path = (key or "").partition(":")
    return (side, path) if side in (STAGED, UNSTAGED, COMMITTED) else None


def head_line(found: ChangeSet | None, session_id: str, comments: int) -> Line:
    """Return the line above the files: branch, how far it is, what is changed."""
    if found is None:
        return (("looking …", "dim"),)
    if not found.git_available:
        return ((visible_line(found.reason or "not a git repository"), "warn"),)
    branch = short_branch(found.branch, session_id) if found.branch else "HEAD is detached"
    base = f" → {visible_line(found.base)}" if found.base else ""
    far = "".join(f" {sign}{count:,}" for sign, count in (("↑", found.ahead), ("↓", found.behind)) if count is not None)
    more = f" · {comments} comment{'s' * (comments != 1)} to send" if comments else ""
    return ((branch, "strong"), (base, ""), (far, "accent"), (more, "warn"))


def file_rows(found: ChangeSet | None, width: int, committed: Sequence[ChangeEntry] = ()) -> tuple[Row, ...]:
    """Return the files, those that are not staged first; a path is cut at its beginning.

    committed: files that the session's branch has changed since it began.
    """
    if found is None:
        return ()
    rows: list[Row] = []
    now = ((UNSTAGED, "Not staged", found.unstaged), (STAGED, "Staged", found.staged))
    for side, name, entries in (*now, (COMMITTED, "Committed", committed)):
        if entries:
            more = "+" if found.is_cut and side != COMMITTED else ""
            rows.append(Row(side, ((name, "heading"), (f" {len(entries)}{more}", "dim")), is_selectable=False))
            rows += [Row(f"{side}:{one.path}", _file_line(one, width)) for one in entries]
    return tuple(rows)


def diff_rows(
    diff: FileDiff, width: int, comments: Collection[int] = (), syntax: Mapping[int, Line] | None = None
) -> tuple[Row, ...]:
    """Return the lines of a diff, each that can be pointed at with its place as the key.

    comments: lines of the file that have one. syntax: lines that are the same on both sides, in tones, by their
    number in the file.
    """
    if diff.is_binary:
        size = "it is gone" if diff.size is None else f"{diff.size:,} bytes"
        return (Row("", ((f"A binary file: {size}.", "dim"),), is_selectable=False),)
    rows: list[Row] = []
    if not diff.hunks:
        said = diff.diff.strip().split("\n") if diff.diff.strip() else ["Nothing differs here."]
        return tuple(Row("", ((visible_line(line), "dim"),), is_selectable=False) for line in said)
    digits = len(str(max(hunk.new_start + len(hunk.lines) for hunk in diff.hunks)))
    for number, hunk in enumerate(diff.hunks):
        rows.append(Row(Place(number).key, ((cut(visible_line(hunk.header), width), "accent"),)))
        for place, at, line in numbered_lines(hunk):
            sign, text = line[:1], visible_line(line[1:].replace("\t", "    "))
            mark = "●" if at in comments and sign != "-" else " "
            shown = f"{'' if sign == '-' else at:>{digits}}"
            told: Line = ((text, _tone(sign)),)
            if sign == " " and syntax and at in syntax:
                told = syntax[at]
            before: Line = ((shown, "dim"), (mark, "warn"), (sign, _tone(sign)))
            room = max(8, width - digits - 2)
            first, *rest = break_line(told, room) or ((),)
            rows.append(Row(Place(number, place).key, (*before, *first)))
            rows += [
                Row(f"+{number}:{place}:{part}", ((" " * (digits + 2), ""), *piece), is_selectable=False)
                for part, piece in enumerate(rest)
            ]
    return tuple(rows)


def numbered_lines(hunk: HunkText) -> Iterator[tuple[int, int, str]]:
    """Yield place in the hunk, number in the new file, and line; a line that is gone has the number of the next one."""
    at = hunk.new_start
    for place, line in enumerate(hunk.lines):
        yield place, at, line
        at += line[:1] in (" ", "+")


def find_line(diff: FileDiff, place: Place) -> int | None:
    """Return the number in the new file of a line of the diff; of a heading that of its first changed line."""
    if place.hunk >= len(diff.hunks):
        return None
    hunk = diff.hunks[place.hunk]
    if place.line >= 0:
        return next((at for one, at, _ in numbered_lines(hunk) if one == place.line), None)
    return next((at for _, at, line in numbered_lines(hunk) if line[:1] in ("+", "-")), hunk.new_start)


def is_change(diff: FileDiff, place: Place) -> bool:
    """Tell whether a line is one that was added or removed."""
    if place.hunk >= len(diff.hunks) or place.line < 0:
        return False
    return diff.hunks[place.hunk].lines[place.line][:1] in ("+", "-")


def highlight_context(diff: FileDiff) -> dict[int, Line]:
    """Return the lines that are the same on both sides, in tones of their language, by number. Slow the first time."""
    suffix = diff.path.rpartition(".")[2].lower() if "." in diff.path else ""
    if not suffix or sum(len(hunk.lines) for hunk in diff.hunks) > _MANY:
        return {}
    told: dict[int, Line] = {}
    for hunk in diff.hunks:
        kept = [(at, line) for _, at, line in numbered_lines(hunk) if line[:1] in (" ", "+")]
        code = "\n".join(visible_line(line[1:].replace("\t", "    ")) for _, line in kept)
        lines = highlight_code(code, suffix)
        if lines is None:
            return {}
        told |= {at: line for (at, raw), line in zip(kept, lines, strict=False) if raw[:1] == " "}
    return told


# ---- what a question shows


def merge_head(preview: MergePreview, session_id: str, verb: str, undo: str = "u undoes it") -> tuple[Line, ...]:
    """Return what a merge comes to, in a few lines; the most pressing last."""
    branch, into = short_branch(preview.branch, session_id), visible_line(preview.into)
    count, files = len(preview.commits), len(preview.files)
    how = ", as a fast-forward" if preview.is_fast_forward and verb == "merge" else ""
    lines: list[Line] = [
        ((f"{verb} ", ""), (branch, "strong"), (" into ", ""), (into, "strong")),
        ((f"{count} commit{'s' * (count != 1)}, {files} file{'s' * (files != 1)} change{how}.", ""),),
    ]
    if preview.checkout:
        lines.append(((f"The files in {visible_line(preview.checkout)} change along.", ""),))
    if preview.uncommitted:
        count = len(preview.uncommitted)
        fate = "taken along" if verb == "apply" else "left out"
        lines.append(((f"{count} changed file{'s' * (count != 1)} of the session not committed: {fate}.", "warn"),))
    if preview.conflicts:
        count = len(preview.conflicts)
        lines.append(((f"{count} file{'s' * (count != 1)} in conflict: nothing can be merged yet.", "bad"),))
    elif preview.in_the_way:
        lines.append((("Changes there are in the way: commit or put them aside first.", "bad"),))
    else:
        lines.append(((f"A backup reference is made first; {undo}.", "dim"),))
    return tuple(lines)


def move_head(verb: str, preview: MergePreview, session_id: str, undo: str = "u undoes it") -> tuple[Line, ...]:
    """Return what a merge, a rebase or an apply comes to. undo: how it is undone, as the end of a sentence."""
    head = merge_head(preview, session_id, verb, undo)
    if verb == "rebase":
        own: Line = (("put the commits of this branch on top of ", ""), (preview.into, "strong"))
        return (own, *(line for line in head[2:] if not line[0][0].startswith("The files in")))
    if verb == "apply":
        return (*head[:1], (("The changes are staged in the main checkout, without a commit.", ""),), *head[2:])
    return head


def merged_text(preview: MergePreview) -> str:
    """Return what is said where there is nothing to merge or to apply."""
    left = "; what is not committed is not in it" if preview.uncommitted else ""
    return f"{visible_line(preview.into)} has every commit of this branch already{left}"


def moved_text(moved: Moved) -> str:
    """Return what was done to which branch."""
    done = {"merge": "Merged into", "rebase": "Rebased", "apply": "Staged in"}.get(moved.kind, moved.kind)
    return f"{done} {visible_line(moved.branch)}"


def merge_body(preview: MergePreview) -> tuple[Line, ...]:
    """Return commits and files of a merge, conflicts first."""
    lines: list[Line] = []
    lines += _section("in conflict", preview.conflicts, "bad")
    lines += _section("in the way", preview.in_the_way, "bad")
    lines += _section("commits", [f"{one.sha[:8]} {one.subject}" for one in preview.commits], "")
    lines += _section("files", preview.files, "")
    lines += _section("not committed", preview.uncommitted, "warn")
    return tuple(lines)


def push_lines(found: Preflight, session_id: str) -> tuple[Line, ...]:
    """Return what a push would do."""
    remote = visible_line(found.remote or "no remote")
    target, branch = short_branch(found.target, session_id), short_branch(found.branch, session_id)
    lines: list[Line] = [
        (("push ", ""), (branch, "strong"), (f" to {remote} as ", ""), (target, "strong")),
        ((visible_line(found.remote_url or ""), "dim"),),
    ]
    if found.uncommitted:
        lines.append(((f"{found.uncommitted} changed files are committed first, all of them.", "warn"),))
    how = "gh opens a pull request." if found.has_gh else f"Then a pull request can be made at {found.compare_url}"
    lines.append(((visible_line(how if found.has_gh or found.compare_url else "No pull request: not GitHub."), ""),))
    lines += [((visible_line(one), "bad"),) for one in found.problems]
    return tuple(lines)


def commit_title(found: ChangeSet) -> str:
    """Return what is asked before a commit."""
    if found.staged:
        return f"Commit {len(found.staged)} staged file{'s' * (len(found.staged) != 1)}"
    return f"Nothing is staged: commit all {len(found.unstaged)} changed files"


def _section(name: str, texts: Sequence[str], tone: Tone) -> list[Line]:
    if not texts:
        return []
    more = len(texts) - _LISTED
    lines: list[Line] = [((f"{name} ({len(texts)})", "heading"),)]
    lines += [(("  ", ""), (visible_line(text), tone)) for text in texts[:_LISTED]]
    return [*lines, ((f"  and {more} more", "dim"),)] if more > 0 else lines


def _file_line(one: ChangeEntry, width: int) -> Line:
    name = visible_line(one.path)
    if one.renamed_from:
        name = f"{name} ← {visible_line(one.renamed_from)}"
    room = max(6, width - 2)
    if cells(name) > room:
        name = f"…{_end_of(name, room - 1)}" if not one.renamed_from else cut(name, room)
    return ((f"{one.status} ", _TONES.get(one.status, "warn")), (name, ""))


def _end_of(text: str, width: int) -> str:
    while cells(text) > width:
        text = text[1:]
    return re.sub(r"^[^/]{0,12}/", "", text) if "/" in text[:12] else text


def _tone(sign: str) -> Tone:
    return "good" if sign == "+" else "bad" if sign == "-" else "dim" if sign == "\\" else ""


def status_word(status: str) -> str:
    """Return what git's letter means."""
    return WORDS.get(status, status)
