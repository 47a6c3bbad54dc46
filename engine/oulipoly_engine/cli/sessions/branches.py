"""`session tree`, `branch`, `label`, `compare`: all that was said in a session, and where it goes on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from oulipoly_engine.cli.base.parser import Parser
from oulipoly_engine.cli.base.questions import Questions, parse_agreed
from oulipoly_engine.cli.base.telling import tell
from oulipoly_engine.cli.sessions import arguments as person
from oulipoly_engine.core.sessions.tree_lines import format_line, short_id
from oulipoly_engine.core.text.columns import fit
from oulipoly_engine.errors import SessionNotFound, UsageInvalid
from oulipoly_engine.facade import diagnostics, output
from oulipoly_engine.facade.sessions.branches import (
    FILTERS,
    NO_TREE,
    branch_json,
    compare_lines,
    comparison_json,
    describe_branch,
    fork_lines,
    refuse_summary_of_files,
    to_json,
)

if TYPE_CHECKING:
    from argparse import Namespace

    from oulipoly_engine.cli.base.context import Context
    from oulipoly_engine.facade.worktrees.turn_files import FilePlan

_PARTS = ("chat", "files", "both")
_PAGE = 200  # lines written at once
_ENTRY = "the message's id, as `session tree` names it; its beginning is enough"


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Serve one of the verbs."""
    verb = name.partition(" ")[2]
    add, serve = _VERBS[verb]
    parser = Parser(prog=f"{context.program} {name}", command=name)
    is_tree = verb == "tree"
    which = "; without it the session that was used last" if is_tree else ""
    parser.add_argument(
        "session",
        metavar="ID",
        nargs="?" if is_tree else None,
        help=f"the session's id; its beginning is enough{which}",
    )
    add(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parse_agreed(parser, name, arguments)
    person.read_new(context)
    return serve(context, options)


def _add_tree(parser: Parser) -> None:
    parser.add_argument("--filter", choices=FILTERS, default=FILTERS[0], help="which messages; all: sub-agents' too")


def _tree(context: Context, options: Namespace) -> int:
    branches = context.engine.sessions.branches
    session = options.session
    if session is None:
        try:
            session = branches.find_latest()
        except SessionNotFound as error:  # nobody has named one: that there is none is an answer
            return tell(options, NO_TREE, notes=[error.message])
    tree = branches.tree(session, options.filter, with_forks=True)
    if options.json:
        return tell(options, to_json(tree))
    columns = person.columns()
    for begin in range(0, len(tree.entries), _PAGE):  # the first are shown before the last are read
        entries = tree.entries[begin : begin + _PAGE]
        lines = (format_line(entry, is_leaf=entry.entry_id == tree.leaf, columns=columns) for entry in entries)
        output.write_lines(fit(line, columns) for line in lines)
    output.write_lines(fit(line, columns) for line in fork_lines(tree))
    if not tree.entries:
        diagnostics.note("no message of it is stored")
    return 0


def _add_entry(parser: Parser) -> None:
    parser.add_argument("entry", metavar="MESSAGE", help=_ENTRY)


def _add_branch(parser: Parser) -> None:
    _add_entry(parser)
    parser.add_argument(
        "--summary",
        nargs="?",
        const="",
        metavar="INSTRUCTIONS",
        help="have a model sum up what is left, as `--summary=INSTRUCTIONS` tells it; the session goes on with that",
    )
    files = parser.add_argument_group("files, where the session works in a git repository")
    files.add_argument(
        "--restore", choices=_PARTS, default=_PARTS[0], help="what goes back to the message; default: chat"
    )
    files.add_argument("--preview", action="store_true", help="only show what would be done: to files, or summed up")
    files.add_argument(
        "--files-from",
        default="",
        metavar="SNAPSHOT",
        help="restore the files of another snapshot, as an answer names it",
    )
    files.add_argument(
        "-y", "--yes", action="store_true", help="restore over changes that are in no snapshot of a turn"
    )


def _branch(context: Context, options: Namespace) -> int:
    refuse_summary_of_files(options.summary, options.restore, options.files_from)
    if options.summary is not None:
        return _branch_with_summary(context, options)
    if options.preview or options.restore != "chat":
        return _restore(context, options)
    if options.files_from:
        raise UsageInvalid("--files-from goes with --restore files, or both")
    tree, leaf = context.engine.sessions.branches.branch(options.session, options.entry)
    line = f"{tree.chain_id}  goes on behind {short_id(leaf)}; all that was said stays in its tree"
    return tell(options, branch_json(tree, leaf), line)


def _branch_with_summary(context: Context, options: Namespace) -> int:
    live = context.engine.live
    if options.preview:
        tree, plan, model = live.plan_branch(options.session, options.entry)
        ids = [message.entry_id for message in plan.hidden]
        document = {"session_id": tree.session_id, "chain_id": tree.chain_id, "model": model, "messages": ids}
        shown = (f"{short_id(entry.entry_id)}  {entry.preview}" for entry in tree.find(ids))
        return tell(options, document, f"{model} would sum up {len(ids)} messages:", *shown)
    tree, leaf, summary = live.branch(options.session, options.entry, options.summary)
    first, *lines = describe_branch(leaf, summary)
    return tell(options, branch_json(tree, leaf, summary), f"{tree.chain_id}  {first}", *lines)


def _restore(context: Context, options: Namespace) -> int:
    from oulipoly_engine.facade.worktrees import turn_files  # noqa: PLC0415 - only who asks for files

    files = context.engine.turn_files
    wish = options.session, options.entry, options.files_from
    if options.preview:
        plan = files.preview(*wish)
        return tell(options, turn_files.plan_json(plan), *turn_files.plan_lines(plan))

    def agree(plan: FilePlan) -> bool:
        questions = Questions(is_agreed=options.yes)
        if not plan.preview.unsaved or options.yes or options.json or not questions.can_ask:
            return options.yes or not plan.preview.unsaved
        output.write_lines(turn_files.plan_lines(plan))
        return questions.confirm("Changes that are in no snapshot of a turn are kept in one first. Restore?")

    with_chat = options.restore == "both"
    done = files.restore(*wish, with_chat=with_chat, agree=agree)
    where = f"goes on behind {short_id(done.plan.entry_id)}, and its files are" if with_chat else "has its files"
    line = f"{done.plan.tree.chain_id}  {where} as they were there"
    notes = (f"undo: {done.way_back}",) if done.way_back else ("no file was to be changed",)
    return tell(options, turn_files.restored_json(done, with_chat=with_chat), line, notes=notes)


def _clear(context: Context, options: Namespace) -> int:
    tree, leaf = context.engine.sessions.branches.branch(options.session, "")
    return tell(options, branch_json(tree, leaf), f"{tree.chain_id}  begins anew; all that was said stays in its tree")


def _add_nothing(_parser: Parser) -> None:
    """Add no further argument."""


def _add_label(parser: Parser) -> None:
    _add_entry(parser)
    parser.add_argument("text", nargs="+", metavar="TEXT", help="an empty one takes the label away")


def _label(context: Context, options: Namespace) -> int:
    text = " ".join(options.text).strip()
    entry_id = context.engine.sessions.branches.label(options.session, options.entry, text)
    line = f"{short_id(entry_id)} is labelled {text}" if text else f"{short_id(entry_id)} has no label"
    return tell(options, {"entry_id": entry_id, "label": text or None}, line)


def _add_compare(parser: Parser) -> None:
    parser.add_argument("left", metavar="MESSAGE", help=_ENTRY)
    parser.add_argument("right", metavar="OTHER", nargs="?", default="", help="another one; default: where it goes on")


def _compare(context: Context, options: Namespace) -> int:
    tree, comparison = context.engine.sessions.branches.compare(options.session, options.left, options.right)
    columns = person.columns()
    lines = (fit(line, columns) for line in compare_lines(tree, comparison))
    return tell(options, comparison_json(tree, comparison), *lines)


_VERBS: Mapping[str, tuple[Callable[[Parser], None], Callable[[Context, Namespace], int]]] = {
    "tree": (_add_tree, _tree),
    "branch": (_add_branch, _branch),
    "clear": (_add_nothing, _clear),
    "label": (_add_label, _label),
    "compare": (_add_compare, _compare),
}
