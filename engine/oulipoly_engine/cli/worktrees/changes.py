"""`changes`, `diff`, `commit`, `merge`, `apply`, `promote`: what a session has changed, and what becomes of it."""

from __future__ import annotations

from argparse import ArgumentTypeError, Namespace
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser, is_text, raw
from oulipoly_engine.cli.base.telling import SCHEMA_VERSION, tell
from oulipoly_engine.core.text.columns import plain
from oulipoly_engine.core.worktrees.changes import ChangeSet, Discarded, FileDiff, MergePreview, Moved
from oulipoly_engine.core.worktrees.porcelain import WORDS, ChangeEntry
from oulipoly_engine.core.worktrees.prompts import Comment
from oulipoly_engine.core.worktrees.refusals import GitUnavailable
from oulipoly_engine.errors import RequestRefused, UsageInvalid
from oulipoly_engine.facade import diagnostics, output
from oulipoly_engine.records import asdict

_MORE = {  # behind the summary, in a command's help
    "changes": "The comments of one call are sent as one prompt.",
    "diff": "What is not staged, what is, or what is committed.",
    "commit": "What is staged is committed, with the repository's hooks.",
    "merge": "It goes into the branch that it began at, or another; a backup reference is made before anything moves.",
    "apply": "Nothing is committed.",
    "promote": "Everything is committed first; where a pull request is made is printed.",
}
_NOTHING = {
    "index": "nothing is staged",
    "worktree": "nothing is changed that is not staged",
    "branch": "its branch has no commit of its own that changes a file",
}
_LONGEST_LINE_NUMBER = 9  # digits


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Serve one of the commands."""
    parser = Parser(prog=f"{context.program} {name}", command=name, more=_MORE[name])
    parser.add_argument("session", metavar="ID", help="the session's id; its beginning is enough")
    add, serve = _COMMANDS[name]
    add(parser)
    parser.add_argument("--json", action="store_true", help="print it as JSON")
    return serve(context, parser.parse(arguments))


# changes -------------------------------------------------------------------------------------------------------------
def _add_changes(parser: Parser) -> None:
    files = parser.add_argument_group("files; name the option again for each")
    for name, what in (("stage", "stage a file"), ("unstage", "take a file out of the index again")):
        files.add_argument(f"--{name}", action="append", default=[], type=raw, metavar="PATH", help=what)
    files.add_argument("--stage-all", action="store_true", help="stage every file")
    files.add_argument(
        "--discard",
        action="append",
        default=[],
        type=raw,
        metavar="PATH",
        help="throw a file's changes away; they are kept for --undo",
    )
    files.add_argument("--undo", action="store_true", help="put back what the last --discard threw away")
    talk = parser.add_argument_group("comments")
    talk.add_argument(
        "--comment",
        action="append",
        nargs=2,
        default=[],
        type=raw,
        metavar=("PATH:LINE", "TEXT"),
        help="tell the session something about a line; all comments become one prompt",
    )
    talk.add_argument("--dry-run", action="store_true", help="print the prompt instead of sending it")


def _changes(context: Context, options: Namespace) -> int:
    changes = context.engine.changes
    asked = [options.stage or options.stage_all, options.unstage, options.discard, options.undo, options.comment]
    if sum(map(bool, asked)) > 1:
        raise UsageInvalid("one thing at a time: stage, unstage, discard, undo, or comment")
    if options.dry_run and not options.comment:
        raise UsageInvalid("--dry-run goes with --comment")
    if options.comment:
        return _comment(context, options)
    if options.discard or options.undo:
        done = (
            changes.undo_discard(options.session) if options.undo else changes.discard(options.session, options.discard)
        )
        return _tell_discarded(context, options, done)
    if options.stage or options.stage_all:
        changes.stage(options.session, options.stage)
    elif options.unstage:
        changes.unstage(options.session, options.unstage)
    found = changes.status(options.session)
    if options.json:
        output.write_json({"schema_version": SCHEMA_VERSION, **status_json(found)})
    elif not found.git_available:
        diagnostics.note(found.reason)
    else:
        output.write_lines(_status_lines(context, found))
    return 0


def status_json(found: ChangeSet) -> dict[str, Any]:
    """Return a session's changes as scripts get them."""
    told = asdict(found)
    return told | {"reason": found.reason or None, "base": found.base or None}


def _status_lines(context: Context, found: ChangeSet) -> list[str]:
    branch = plain(found.branch or "no branch is checked out")
    if found.ahead is not None:
        branch += f": {found.ahead} ahead of {plain(found.base) or 'its beginning'}, {found.behind} behind"
    lines = [branch]
    for title, entries in (("staged", found.staged), ("not staged", found.unstaged)):
        if entries:
            lines += ["", f"{title}:", *(f"  {_entry_line(one)}" for one in entries)]
    if found.is_cut:
        lines += ["", "there are more files than these"]
    elif not found.staged and not found.unstaged:
        lines.append(
            f"nothing is changed since the last commit; `{context.program} diff ID --committed` shows what is new"
        )
    return lines


def _entry_line(entry: ChangeEntry) -> str:
    came = "" if entry.renamed_from is None else f" (from {_path(entry.renamed_from)})"
    what = " (submodule)" if entry.is_submodule else ""
    return f"{WORDS.get(entry.status, entry.status):<13} {_path(entry.path)}{came}{what}"


def _tell_discarded(context: Context, options: Namespace, done: Discarded) -> int:
    text = f"{'put back' if options.undo else 'discarded'}: {', '.join(map(_path, done.paths))}"
    note = f"kept in {done.reference}; `{context.program} changes {options.session} --undo` restores it"
    return tell(options, asdict(done), text, notes=(note,))


def _comment(context: Context, options: Namespace) -> int:
    comments = [_read_comment(place, text) for place, text in options.comment]
    prompt = context.engine.changes.comments_prompt(options.session, comments)
    if options.dry_run:
        told: dict[str, Any] = {"schema_version": SCHEMA_VERSION, "prompt": prompt, "turn_id": None}
    else:
        sent = context.engine.live.send(options.session, prompt)
        told = {"schema_version": SCHEMA_VERSION, "prompt": prompt, "turn_id": sent.turn_id, "status": sent.status}
    if options.json:
        output.write_json(told)
    elif options.dry_run:
        output.write_block(prompt)
    else:
        output.write_line(f"{told['turn_id']}  {told['status']}")
    return 0


def _read_comment(place: str, text: str) -> Comment:
    path, _, line = place.rpartition(":")
    if not path or not line.isdecimal() or not line.isascii() or len(line) > _LONGEST_LINE_NUMBER or int(line) < 1:
        raise UsageInvalid(f"{place[:80]!r} is not PATH:LINE, a file and the number of a line")
    if not is_text(path) or not is_text(text):
        raise UsageInvalid("a comment has to be UTF-8 text, and its file's name too")
    return Comment(path, int(line), text)


# diff ----------------------------------------------------------------------------------------------------------------
def _add_diff(parser: Parser) -> None:
    parser.add_argument("paths", nargs="*", type=raw, metavar="PATH", help="these files alone (default: every file)")
    side = parser.add_mutually_exclusive_group()
    side.add_argument("--staged", action="store_true", help="what is staged")
    side.add_argument("--committed", action="store_true", help="what its branch has committed since it began")
    parser.add_argument("--context", type=_number, default=3, metavar="N", help="lines around a change (0 to 20)")


def _number(text: str) -> int:
    if not text.isdecimal() or not text.isascii() or len(text) > _LONGEST_LINE_NUMBER:
        raise ArgumentTypeError(f"not a number of lines: {text[:80]!r}")
    return int(text)


def _diff(context: Context, options: Namespace) -> int:
    changes = context.engine.changes
    side = "index" if options.staged else "branch" if options.committed else "worktree"
    paths: Sequence[str] = options.paths
    if not paths and options.committed:
        paths = [one.path for one in changes.committed(options.session)]
    elif not paths:
        found = changes.status(options.session)
        if not found.git_available:
            raise GitUnavailable(found.reason)
        paths = [one.path for one in (found.staged if options.staged else found.unstaged)]
    told: list[dict[str, Any]] = []
    for path in paths:
        try:
            diff = changes.diff(options.session, path, side, options.context)
        except RequestRefused as error:
            if len(paths) == 1:
                raise
            told.append({"path": path, "side": side, "error": {"code": error.slug, "message": error.message}})
            diagnostics.note(f"{_path(path)}: {error.message}")
            continue
        told.append(asdict(diff))
        if not options.json:
            _write_diff(diff)
    if options.json:
        output.write_json({"schema_version": SCHEMA_VERSION, "files": told})
    elif not paths:
        diagnostics.note(_NOTHING[side])
    return 0


def _write_diff(diff: FileDiff) -> None:
    if diff.is_binary:
        output.write_line(
            f"{_path(diff.path)}: binary, {diff.size} bytes now, SHA-256 {diff.sha or 'of nothing: it is gone'}"
        )
        return
    output.write_diff(line.expandtabs(8) for line in diff.diff.split("\n")[:-1])


# commit --------------------------------------------------------------------------------------------------------------
def _add_message(parser: Parser, what: str) -> None:
    parser.add_argument("-m", "--message", default="", metavar="TEXT", help=what)


def _add_commit(parser: Parser) -> None:
    _add_message(parser, "what it changes, and why")
    parser.add_argument("--all", action="store_true", help="stage every file first, untracked ones too")


def _commit(context: Context, options: Namespace) -> int:
    made = context.engine.changes.commit(options.session, options.message, stages_all=options.all)
    return tell(options, asdict(made), f"{made.sha[:10]}  {made.branch}  {plain(made.subject)}")


# merge and apply -----------------------------------------------------------------------------------------------------
def _add_merge(parser: Parser) -> None:
    parser.add_argument("--into", default="", metavar="BRANCH", help="another branch than the one that it began at")
    _add_message(parser, "of the merge commit, where one is made")
    way = parser.add_mutually_exclusive_group()
    way.add_argument("--dry-run", action="store_true", help="tell what would happen; exit code 1 where it cannot")
    way.add_argument("--rebase", action="store_true", help="put its commits on top of that branch; only its own moves")
    way.add_argument("--hand-over", action="store_true", help="have the session's agent resolve the conflict")
    way.add_argument("--undo", action="store_true", help="take back its last merge, rebase or apply")
    _add_committed_only(parser)


def _add_committed_only(parser: Parser) -> None:
    parser.add_argument("--committed-only", action="store_true", help="leave out files that are not committed")


def _merge(context: Context, options: Namespace) -> int:
    changes = context.engine.changes
    if options.dry_run:
        return _preview(context, options)
    if options.hand_over:
        return _hand_over(context, options)
    if options.undo:
        moved = changes.undo_move(options.session)
    elif options.rebase:
        moved = changes.rebase(options.session, options.into)
    else:
        moved = changes.merge(options.session, options.into, options.message, committed_only=options.committed_only)
    return _tell_moved(context, options, moved)


def _preview(context: Context, options: Namespace) -> int:
    told = context.engine.changes.preview_merge(options.session, options.into)
    stands_against = bool(told.conflicts or told.in_the_way or (told.uncommitted and not options.committed_only))
    tell(options, asdict(told), *_preview_lines(told))
    return 1 if stands_against else 0


def _preview_lines(told: MergePreview) -> list[str]:
    if told.is_merged:
        lines = [f"{told.into} has all of {told.branch} already"]
    else:
        way = "a fast-forward" if told.is_fast_forward else "a merge commit"
        lines = [
            f"{told.branch} into {told.into}: {_count(told.commits, 'commit')}, {_count(told.files, 'file')}, {way}"
        ]
    lines += [f"  {one.sha[:10]} {plain(one.subject)}" for one in told.commits]
    for title, files in (
        ("conflicts", told.conflicts),
        (f"in the way in {plain(told.checkout or '')}", told.in_the_way),
        ("not committed in the session", told.uncommitted),
    ):
        if files:
            lines += ["", f"{title}:", *(f"  {_path(one)}" for one in files)]
    return lines


def _hand_over(context: Context, options: Namespace) -> int:
    prompt = context.engine.changes.hand_conflict_over(options.session, options.into)
    sent = context.engine.live.send(options.session, prompt)
    told = {"prompt": prompt, "turn_id": sent.turn_id, "status": sent.status}
    return tell(options, told, f"{sent.turn_id}  {sent.status}")


def _add_apply(parser: Parser) -> None:
    parser.add_argument("--undo", action="store_true", help="take it out of the main checkout again")
    _add_committed_only(parser)


def _apply(context: Context, options: Namespace) -> int:
    changes = context.engine.changes
    if options.undo:
        return _tell_moved(context, options, changes.undo_move(options.session))
    return _tell_moved(context, options, changes.apply(options.session, committed_only=options.committed_only))


def _count(things: Sequence[object], one: str) -> str:
    return f"{len(things)} {one}{'' if len(things) == 1 else 's'}"


def _tell_moved(context: Context, options: Namespace, moved: Moved) -> int:
    if options.json:
        output.write_json({"schema_version": SCHEMA_VERSION, **asdict(moved), "backup": moved.backup or None})
        return 0
    if not moved.backup:
        diagnostics.note("there is nothing to do: it is there already")
        return 0
    files = f"{_count(moved.files, 'file')} in {plain(moved.checkout or '')}"
    where = "" if moved.checkout is None else f", {files}"
    if moved.kind == "apply":
        output.write_line(f"staged: {files}")
    else:
        output.write_line(f"{moved.branch or 'files'}: {moved.before[:10]} -> {moved.after[:10]}{where}")
    if moved.kind != "undo":
        diagnostics.note(f"backup: {moved.backup}; `{context.program} merge {options.session} --undo` undoes it")
    return 0


# promote -------------------------------------------------------------------------------------------------------------
def _add_promote(parser: Parser) -> None:
    _add_message(parser, "of the commit, where something is not committed, and of the pull request")
    parser.add_argument("--branch", default="", metavar="NAME", help="its name at the remote")
    parser.add_argument(
        "--pull-request", action="store_true", help="have `gh` make the pull request, where it is installed"
    )
    parser.add_argument("--dry-run", action="store_true", help="tell what would be pushed, and what stands against it")


def _promote(context: Context, options: Namespace) -> int:
    changes = context.engine.changes
    if options.dry_run:
        found = changes.preflight(options.session, options.branch)
        text = f"{found.branch} to {found.remote or 'no remote'} as {found.target}"
        tell(options, asdict(found), text, *found.problems)
        return 1 if found.problems else 0
    done = changes.promote(options.session, options.message, options.branch, opens_pull_request=options.pull_request)
    lines = [f"pushed {done.commit[:10]} to {done.remote} as {done.branch}", done.url]
    return tell(options, {"ok": True, **asdict(done)}, *filter(None, lines))


def _path(path: str) -> str:
    """Return a path on one line; what is not UTF-8 in it is shown as a sign."""
    return plain(path.encode("utf-8", "surrogateescape").decode("utf-8", "replace"))


_Command = tuple[Callable[[Parser], None], Callable[[Context, "Namespace"], int]]
_COMMANDS: Mapping[str, _Command] = {
    "changes": (_add_changes, _changes),
    "diff": (_add_diff, _diff),
    "commit": (_add_commit, _commit),
    "merge": (_add_merge, _merge),
    "apply": (_add_apply, _apply),
    "promote": (_add_promote, _promote),
}
