"""`worktree …`: the folders that sessions work in: what is in them, how they go, and how they come back."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser, path
from oulipoly_engine.cli.base.questions import Questions
from oulipoly_engine.cli.base.telling import SCHEMA_VERSION, tell
from oulipoly_engine.clock import to_text
from oulipoly_engine.core.boxes.box import Level
from oulipoly_engine.core.text.columns import plain, table
from oulipoly_engine.core.worktrees.retention import WorktreeStatus, describe_ignored, describe_size, why_kept
from oulipoly_engine.core.worktrees.setup_file import NAME
from oulipoly_engine.core.worktrees.worktrees import Worktree
from oulipoly_engine.facade import diagnostics, output
from oulipoly_engine.facade.base.own_process import require_person
from oulipoly_engine.records import asdict

_MORE = {  # behind the summary, in a command's help
    "remove": "What git ignores goes; `restore` brings the rest back.",
    "restore": "Its branch, its index and its files come back, untracked ones too.",
    "prune": "What worktrees held that are removed goes after work_keep_days, but for the newest of each.",
    "allow": f"They stand in its {NAME}, run in new worktrees, and are shown first.",
}
_HEADINGS = ("SESSION", "STATE", "BRANCH", "COMMITS", "CHANGED", "MERGED", "SIZE", "REPOSITORY")


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Serve one of the verbs."""
    verb = name.partition(" ")[2]
    parser = Parser(prog=f"{context.program} {name}", command=name, more=_MORE.get(verb, ""))
    if verb in ("remove", "restore"):
        parser.add_argument("session", metavar="ID", help="the session's id; its beginning is enough")
    else:
        kind = "default: where you are" if verb == "allow" else "only those of this one; default: all"
        parser.add_argument("--repo", type=path, metavar="DIR", help=f"a folder of a repository; {kind}")
    if verb == "list":
        parser.add_argument("--all", action="store_true", help="those that were removed or failed, too")
    if verb == "remove":
        parser.add_argument("--force", action="store_true", help="also with changes that are not committed")
    if verb == "prune":
        parser.add_argument("--unused", action="store_true", help="only what goes by itself, as work_prune_days says")
    if verb in ("remove", "prune"):
        parser.add_argument("--dry-run", action="store_true", help="only say what would go")
    if verb == "allow":
        parser.add_argument("--base", default="", metavar="BRANCH", help="as this branch, tag or commit has it")
        parser.add_argument("-y", "--yes", action="store_true", help="allow without a question")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    return _VERBS[verb](context, parser.parse(arguments))


def _list(context: Context, options: Namespace) -> int:
    found = context.engine.worktrees.list(options.repo, has_removed=options.all)
    if options.json:
        output.write_json({"schema_version": SCHEMA_VERSION, "worktrees": [status_json(one) for one in found]})
    elif not found:
        diagnostics.note(f"no session has a worktree: `{context.program} session new MODEL --repo DIR` begins one")
    else:
        output.write_lines(table([_HEADINGS, *map(_row, found)]))
        for one in found:
            problem = one.look.problem or one.worktree.reason
            if problem:
                output.write_line(f"{one.worktree.session_id[:8]}: {plain(problem)}")
    return 0


def worktree_json(worktree: Worktree) -> dict[str, Any]:
    """Return what is recorded of a worktree as scripts get it."""
    first = worktree.port_first
    return {
        "session_id": worktree.session_id,
        "repository": worktree.repository,
        "path": worktree.path,
        "branch": worktree.branch,
        "is_new_branch": worktree.is_new_branch,
        "base": worktree.base,
        "base_commit": worktree.base_commit,
        "state": worktree.state,
        "reason": worktree.reason or None,
        "isolation": worktree.isolation or Level.NONE.value,
        "ports": None if first is None else {"first": first, "last": first + worktree.port_count - 1},
        "salvage": worktree.salvage or None,
        "created_at": to_text(worktree.created_at),
        "updated_at": to_text(worktree.updated_at),
    }


def status_json(status: WorktreeStatus) -> dict[str, Any]:
    """Return a worktree with what is known of it now."""
    look = status.look
    return worktree_json(status.worktree) | {
        "exists": look.exists,
        "head": look.head or None,
        "ahead": look.ahead,
        "behind": look.behind,
        "changed_files": look.changed_files,
        "untracked_files": look.untracked_files,
        "unfinished": look.unfinished or None,
        "merged": look.is_merged,
        "running": status.is_running,
        "size_bytes": status.size_bytes,
        "size_is_cut": status.is_size_cut,
        "problem": look.problem or None,
        "stays_because": why_kept(status) or None,
    }


def _row(status: WorktreeStatus) -> list[str]:
    worktree, look = status.worktree, status.look
    commits = "-" if look.ahead is None else f"+{look.ahead} -{look.behind}"
    state = [worktree.state, *(["runs"] if status.is_running else []), worktree.isolation]
    return [
        worktree.session_id[:8],
        ", ".join(filter(None, state)),
        plain(worktree.branch),
        commits,
        str(look.changed_files) + (f", {look.unfinished}" if look.unfinished else ""),
        "yes" if look.is_merged else "no",
        describe_size(status),
        plain(worktree.repository),
    ]


def _remove(context: Context, options: Namespace) -> int:
    removal = context.engine.worktrees.remove(options.session, force=options.force, dry_run=options.dry_run)
    worktree = removal.worktree
    if options.json:
        more = {
            "dry_run": options.dry_run,
            "was_gone": removal.was_gone,
            "deleted_branch": removal.deleted_branch,
            "ignored": list(removal.ignored),
        }
        output.write_json({"schema_version": SCHEMA_VERSION, **worktree_json(worktree), **more})
    elif removal.was_gone:
        output.write_line(f"the worktree of {worktree.session_id} is gone already")
    elif options.dry_run:
        output.write_line(f"{plain(worktree.path)} would be removed, and what is in it would be kept")
        _tell_ignored(removal.ignored, "would go with it, and is not kept")
    else:
        output.write_line(f"{plain(worktree.path)} is removed")
        _tell_ignored(removal.ignored, "is gone with it")
        branch = "was merged and is deleted" if removal.deleted_branch else "stays"
        diagnostics.note(f"the branch {worktree.branch} {branch}; what was in the worktree is kept: {worktree.salvage}")
        diagnostics.note(f"`{context.program} worktree restore {worktree.session_id}` brings it back")
    return 0


def _tell_ignored(names: Sequence[str], fate: str) -> None:
    if names:
        diagnostics.note(f"what git ignores {fate}: {plain(describe_ignored(names))}")


def _restore(context: Context, options: Namespace) -> int:
    worktree = context.engine.worktrees.restore(options.session)
    return tell(options, worktree_json(worktree), f"{plain(worktree.path)} is back, on {plain(worktree.branch)}")


def _prune(context: Context, options: Namespace) -> int:
    if options.unused:
        pruned = context.engine.retention.prune(dry_run=options.dry_run, repository=options.repo)
    else:
        pruned = context.engine.worktrees.prune(dry_run=options.dry_run, repository=options.repo)
    if options.json:
        kept = [status_json(one) | {"stays_because": reason} for one, reason in pruned.kept]
        gone = [status_json(status) | {"ignored": list(status.ignored)} for status in pruned.gone]
        told: dict[str, Any] = {"removed": gone, "kept": kept}
        told["references"] = [asdict(one) | {"made_at": to_text(one.made_at)} for one in pruned.references]
        output.write_json({"schema_version": SCHEMA_VERSION, "dry_run": options.dry_run, **told})
        return 0
    done = "would go" if options.dry_run else "removed"
    rows = [(done, one.worktree.session_id[:8], one.worktree.branch, _describe_gone(one)) for one in pruned.gone]
    rows += [("stays", one.worktree.session_id[:8], one.worktree.branch, reason) for one, reason in pruned.kept]
    for old in pruned.references:
        rows.append((done, old.session_id[:8], f"{old.kind} of {old.made_at.astimezone():%Y-%m-%d}", old.holds))
    if rows:
        output.write_lines(table([tuple(map(plain, row)) for row in rows]))
    elif options.unused and not options.dry_run:
        diagnostics.note("nothing goes by itself; `--unused --dry-run` says why each worktree stays")
    else:
        diagnostics.note("no session has a worktree")
    return 0


def _describe_gone(status: WorktreeStatus) -> str:
    if not status.ignored:
        return "clean and merged"
    return f"clean and merged; what git ignores is not kept: {describe_ignored(status.ignored)}"


def _allow(context: Context, options: Namespace) -> int:
    folder = options.repo or Path.cwd()
    asked = context.engine.worktrees.setup_of(folder, options.base)
    if asked.setup.commands and not asked.is_allowed:
        for line in _describe(asked.repository, asked.setup.setup, asked.setup.teardown):
            diagnostics.note(line)
        require_person("allow the commands of a repository")
        if not Questions(is_agreed=options.yes).confirm("Allow these commands?"):
            context.engine.worktrees.refuse_setup(folder, asked.setup.digest)
            diagnostics.note("nothing was allowed")
            return 1
        context.engine.worktrees.allow_setup(folder, asked.setup.digest)
    if options.json:
        setup = asked.setup
        told = {"repository": asked.repository, "digest": setup.digest, "allowed": True}
        more = {"setup": setup.setup, "teardown": setup.teardown, "copy": setup.copy, "link": setup.link}
        output.write_json({"schema_version": SCHEMA_VERSION, **told, **more, "ports": setup.ports})
    elif asked.setup.commands:
        output.write_line(f"the commands of {plain(asked.repository)} are allowed, as long as they stay as they are")
    else:
        output.write_line(f"{plain(asked.repository)} has no commands that need to be allowed")
    return 0


def _describe(repository: str, setup: tuple[str, ...], teardown: tuple[str, ...]) -> Iterator[str]:
    yield f"{NAME} of {plain(repository)} has run, by a shell, as you:"
    for when, lines in (("in each new worktree", setup), ("before each removal", teardown)):
        if lines:
            yield f"  {when}:"
            yield from (f"    $ {plain(part)}" for line in lines for part in line.splitlines())


_VERBS: Mapping[str, Callable[[Context, Namespace], int]] = {
    "list": _list,
    "remove": _remove,
    "restore": _restore,
    "prune": _prune,
    "allow": _allow,
}
