"""`session new`, `send`, `status`, `follow`, `steer` …: talks with CLIs through their own protocols."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oulipoly_engine.cli.base import stdio
from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser, path
from oulipoly_engine.cli.base.questions import parse_agreed
from oulipoly_engine.cli.base.telling import SCHEMA_VERSION, tell
from oulipoly_engine.cli.live import follow
from oulipoly_engine.cli.live.turn_result import tell_result, watch
from oulipoly_engine.core.agents.containers import CONTAINER
from oulipoly_engine.core.boxes.box import Level
from oulipoly_engine.core.commands.needs import Need
from oulipoly_engine.core.live import orders
from oulipoly_engine.core.live.permissions import OF_NEW_SESSIONS, PROFILES
from oulipoly_engine.core.live.sessions import first_line
from oulipoly_engine.core.text.columns import plain
from oulipoly_engine.core.worktrees.work import LIFECYCLES
from oulipoly_engine.errors import UsageInvalid
from oulipoly_engine.facade import diagnostics, output
from oulipoly_engine.facade.base.own_process import parent_invocation
from oulipoly_engine.records import replace

if TYPE_CHECKING:
    from argparse import Namespace

    from oulipoly_engine.core.commands.slash.lines import Order
    from oulipoly_engine.core.live.sessions import QueuedMessage
    from oulipoly_engine.facade.live.standing import LiveStatus

_LEVELS = (*(level.value for level in Level), CONTAINER)  # the last is refused with a sentence
_MORE = {  # behind the summary, in a command's help
    "new": "It is begun on the best account of MODEL's pool, and lives on when this command has ended.",
    "send": "It begins a turn, or waits for the one that runs. The text may be piped in; --wait prints the answer.",
    "follow": "It is printed from the session's beginning until its process ends.",
    "steer": "Where its CLI cannot take one, the message waits for the turn's end.",
    "log": "It is kept of sessions with --repo or --lifecycle.",
}


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Serve one of the verbs."""
    verb = name.partition(" ")[2]
    parser = Parser(prog=f"{context.program} {name}", command=name, more=_MORE.get(verb, ""))
    if verb == "new":
        parser.add_argument("model", metavar="MODEL", nargs="?", help="the pool whose best account serves")
    else:
        parser.add_argument("session", metavar="ID", help="the session's id; its beginning is enough")
    add, serve = _VERBS[verb]
    add(parser)
    parser.add_argument("--json", action="store_true", help="print it as JSON")
    return serve(context, parse_agreed(parser, name, arguments))


def _nothing(_parser: Parser) -> None:
    """Add no further argument."""


def _add_new(parser: Parser) -> None:
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--live", action="store_true", help="through the CLI's own protocol (the default)")
    kind.add_argument("--terminal", action="store_true", help="in a terminal that outlives this command")
    parser.add_argument("--account", metavar="NAME", help="this account of the pool alone")
    parser.add_argument("--runtime", metavar="ID", help="this runtime, without any pool")
    parser.add_argument("--cwd", type=path, metavar="DIR", help="the folder that it works in (default: this one)")
    parser.add_argument("--repo", type=path, metavar="PATH", help="work in a new worktree of this repository")
    parser.add_argument("--branch", metavar="B", help="with --repo: where its own branch begins (default: HEAD)")
    parser.add_argument("--reuse-branch", action="store_true", help="with --branch: work on that branch itself")
    parser.add_argument("--no-setup", action="store_true", help="with --repo: run no commands of its settings")
    parser.add_argument(
        "--isolation", choices=_LEVELS, default="", help="with --repo: the box of its CLI (default: `work_isolation`)"
    )
    parser.add_argument(
        "--address", action="append", default=[], metavar="HOST[:PORT]", help="sealed: reached besides its model"
    )
    parser.add_argument("--lifecycle", choices=LIFECYCLES, help="oneshot: it ends with its first turn")
    parser.add_argument("--prompt", metavar="TEXT", help="the first message")
    parser.add_argument("--wait", action="store_true", help="wait for the answer to it")
    parser.add_argument(
        "--profile",
        choices=PROFILES,
        default=OF_NEW_SESSIONS,
        help=f"what it may do unasked (default: {OF_NEW_SESSIONS})",
    )
    parser.add_argument("--cli-model", default="", metavar="NAME", help="the CLI's own model")
    parser.add_argument("--effort", default="", metavar="WORD", help="how hard the model is to think")
    parser.add_argument("--name", default="", metavar="TEXT", help="a title")


def _new(context: Context, options: Namespace) -> int:
    if (options.model is None) == (options.runtime is None):
        raise UsageInvalid("name a MODEL, or a runtime with --runtime")
    if options.wait and options.prompt is None:
        raise UsageInvalid("--wait waits for the answer to --prompt")
    folder = options.cwd or Path.cwd()
    if options.repo is None and (options.branch or options.reuse_branch):
        raise UsageInvalid("--branch and --reuse-branch are for a worktree: name its repository with --repo")
    if options.repo is None and (options.isolation or options.address):
        raise UsageInvalid("--isolation and --address are for a worktree: name its repository with --repo")
    if options.reuse_branch and not options.branch:
        raise UsageInvalid("--reuse-branch works on the branch of --branch: name it")
    if options.terminal:
        return _new_terminal(context, options, folder)
    if options.repo is not None or options.lifecycle is not None:
        return _new_work(context, options, folder)
    from oulipoly_engine.facade.live.sessions import NewSession  # noqa: PLC0415 - a terminal needs none of it

    live = context.engine.live
    begun = live.begin(
        NewSession(
            folder=folder,
            model=options.model,
            account=options.account,
            runtime=options.runtime,
            prompt=options.prompt,
            profile=options.profile,
            cli_model=options.cli_model,
            effort=options.effort,
            title=options.name,
            parent=parent_invocation(),
        )
    )
    session = begun.session
    told: dict[str, Any] = {"schema_version": SCHEMA_VERSION, "session_id": session.session_id}
    told |= {"runtime_id": session.runtime_id, "account": session.account, "why": begun.why}
    if begun.turn_id is not None:
        told["turn_id"] = begun.turn_id
    if options.wait and begun.turn_id is not None:
        result = live.wait(session.session_id, begun.turn_id, watch(until_asked=options.json))
        return tell_result(context.program, result, session, told, as_json=options.json)
    return tell(options, told, session.session_id, notes=(f"on {session.runtime_id}: {begun.why}",))


def _new_work(context: Context, options: Namespace, folder: Path) -> int:
    from oulipoly_engine.facade.worktrees.work import NewWork  # noqa: PLC0415 - no other session needs it

    if options.repo is not None and options.cwd is not None:
        raise UsageInvalid("--repo and --cwd both say where it works: name one")
    begun = context.engine.work.begin(
        NewWork(
            repository=options.repo or folder,
            uses_worktree=options.repo is not None,
            model=options.model,
            account=options.account,
            runtime=options.runtime,
            branch=options.branch or "",
            reuses=options.reuse_branch,
            runs_setup=not options.no_setup,
            lifecycle=options.lifecycle or "persistent",
            prompt=options.prompt,
            profile=options.profile,
            title=options.name,
            isolation=options.isolation,
            addresses=tuple(options.address),
            parameters={
                key: value for key, value in (("model", options.cli_model), ("effort", options.effort)) if value
            },
            parent=parent_invocation(),
        )
    )
    session, worktree = begun.session, begun.worktree
    told: dict[str, Any] = {"schema_version": SCHEMA_VERSION, "session_id": session.session_id}
    told |= {"runtime_id": session.runtime_id, "account": session.account, "why": begun.why}
    held = {"isolation": session.opening.level, "login_in_reach": begun.login_in_reach or None}
    told |= {"lifecycle": session.lifecycle, "waits_for": begun.waits_for or None, **held}
    told |= {"worktree_path": None if worktree is None else worktree.path}
    told |= {"branch": None if worktree is None else worktree.branch}
    if begun.turn_id is not None:
        told["turn_id"] = begun.turn_id
    if options.wait and begun.turn_id is not None:
        result = context.engine.live.wait(session.session_id, begun.turn_id, watch(until_asked=options.json))
        return tell_result(context.program, result, session, told, as_json=options.json)
    notes = [begun.waits_for or f"on {session.runtime_id}: {begun.why}"]
    if worktree is not None:
        place = f"branch {plain(worktree.branch)} in {plain(worktree.path)}"
        notes.append(f"{place}, isolation {session.opening.level}")
    notes += filter(None, (begun.login_in_reach,))
    return tell(options, told, session.session_id, notes=notes)


def _new_terminal(context: Context, options: Namespace, folder: Path) -> int:
    if options.model is None or options.prompt is not None:
        raise UsageInvalid("--terminal takes a MODEL, and no --prompt or --runtime: type there")
    if options.repo is not None or options.lifecycle is not None:
        raise UsageInvalid("--repo and --lifecycle are for live sessions: leave out --terminal")
    opened = context.engine.new_terminals.begin(options.model, options.account, (80, 24), folder)
    terminal = opened.terminal
    told = {"terminal_id": terminal.id, "account": opened.account, "session_id": terminal.session_id}
    return tell(options, told, terminal.id, notes=(opened.said,))


def _add_text(parser: Parser) -> None:
    parser.add_argument("text", metavar="TEXT", nargs="*", help="none, or -: what is piped in")


def _add_send(parser: Parser) -> None:
    _add_text(parser)
    parser.add_argument(
        "--wait",
        action="store_true",
        help="wait for the end of the turn and print the answer; with --json until it ends or asks something",
    )
    parser.add_argument(
        "--commands",
        action="store_true",
        help="a TEXT that begins with a slash is a command, as in the app; //NAME sends /NAME",
    )


def _read_text(options: Namespace) -> str:
    if options.text and options.text != ["-"]:
        return " ".join(options.text)
    if not options.text and not stdio.is_piped():
        raise UsageInvalid("no message: name a TEXT, or - to type it here")
    return sys.stdin.buffer.read().decode("utf-8", "replace")


def _send(context: Context, options: Namespace) -> int:
    live, text, look = context.engine.live, _read_text(options), watch(until_asked=options.json)
    if options.commands:
        from oulipoly_engine.core.commands.slash.lines import Message, Refusal  # noqa: PLC0415 - few ask for it

        match context.engine.slash.judge(options.session, text):
            case Message(text=text):
                pass
            case Refusal(reason=reason):
                raise UsageInvalid(reason)
            case order:
                return _run_command(context, options, order)
    result = live.send(options.session, text, waits=options.wait, look=look)
    if options.wait:
        told = {"schema_version": SCHEMA_VERSION}
        return tell_result(context.program, result, live.find(options.session), told, as_json=options.json)
    message = plain(result.message)
    document = {"turn_id": result.turn_id, "status": result.status, "message": message or None}
    return tell(options, document, f"{result.turn_id}  {result.status}", notes=filter(None, (message,)))


def _run_command(context: Context, options: Namespace, order: Order) -> int:
    outcome = context.engine.slash.run(options.session, order)
    document: dict[str, Any] = {"command": order.slash.command, "lines": [*outcome.lines]}
    document |= {"session_id": outcome.session_id or None, "turn_id": outcome.turn_id or None}
    return tell(options, document, *outcome.lines)


def _status(context: Context, options: Namespace) -> int:
    from oulipoly_engine.facade.live.standing import describe_lines  # noqa: PLC0415 - a terminal needs none of it

    status = context.engine.live.status(options.session)
    return tell(options, status_json(status), *describe_lines(status, context.program))


def status_json(status: LiveStatus) -> dict[str, Any]:
    """Return how a session stands as scripts get it."""
    from oulipoly_engine.facade.live.standing import to_json  # noqa: PLC0415 - a terminal needs none of it

    session = status.session
    return to_json(status) | {
        "title": session.title or None,
        "status": status.status,
        "status_reason": session.status_reason or None,
        "ended": session.ended or None,
        "turn_input": status.turn_input,
        "queue": _queue_json(status.queue),
        "model": status.model or None,
        "capabilities": dict(status.capabilities),
        "usage": dict(status.usage),
        "controller": status.clients.controller or None,
        "controlled_since": status.clients.since or None,
        "attached": list(status.clients.attached),
    }


def _queue_json(queue: Iterable[QueuedMessage]) -> list[dict[str, str]]:
    return [{"message_id": each.message_id, "text": each.text, "note": each.note} for each in queue]


def _cancel(context: Context, options: Namespace) -> int:
    if context.engine.live.status(options.session).status == "queued":  # it waits for a free place: no host knows it
        context.engine.work.cancel(options.session)
        return tell(options, {}, "cancel: done")
    return _order(orders.Cancel())(context, options)


def _order(order: orders.Order, *, starts: bool = False) -> Callable[[Context, Namespace], int]:
    def serve(context: Context, options: Namespace) -> int:
        told = context.engine.live.order(options.session, order, starts=starts)
        return tell(options, told, f"{orders.verb_of(order)}: done")

    return serve


def _steer(context: Context, options: Namespace) -> int:
    told = context.engine.live.order(options.session, orders.Steer(_read_text(options)), starts=True)
    return tell(options, told, str(told.get("message") or "the running turn has it"))


def _add_queue(parser: Parser) -> None:
    acts = parser.add_mutually_exclusive_group()
    acts.add_argument("--edit", nargs=2, metavar=("MESSAGE", "TEXT"), help="change what a message says")
    acts.add_argument("--move", nargs=2, metavar=("MESSAGE", "PLACE"), help="1 is the next to be sent")
    acts.add_argument("--remove", metavar="MESSAGE", help="take a message back")


def _queue(context: Context, options: Namespace) -> int:
    live = context.engine.live
    waiting = live.queue(options.session)
    order = None
    if options.edit:
        order = orders.ChangeQueue("edit", options.edit[0], text=options.edit[1])
    elif options.move:
        if not options.move[1].isdecimal():
            raise UsageInvalid(f"the place {options.move[1]!r} is not a number")
        order = orders.ChangeQueue("move", options.move[0], place=int(options.move[1]))
    elif options.remove:
        order = orders.ChangeQueue("remove", options.remove)
    if order is not None:
        begins = [each.message_id for each in waiting if each.message_id.startswith(order.message_id)]
        message_id = begins[0] if len(begins) == 1 else order.message_id
        waiting = live.change_queue(options.session, replace(order, message_id=message_id))
    lines = (f"{place}  {one.message_id[:8]}  {plain(one.text)}" for place, one in enumerate(waiting, 1))
    return tell(options, {"queue": _queue_json(waiting)}, *lines, notes=() if waiting else (Need.MESSAGE,))


def _add_fork(parser: Parser) -> None:
    parser.add_argument(
        "message", metavar="MESSAGE", nargs="?", default="", help="the last turn or message to take over (default: all)"
    )
    parser.add_argument("--at", default="", metavar="ID", help="the same, as an option")
    parser.add_argument("--to", default="", metavar="RUNTIME", help="go on in another runtime")
    parser.add_argument("--cwd", type=path, metavar="DIR", help="of an imported session: where it is to work")
    parser.add_argument("--name", default="", metavar="TEXT", help="a title")


def _fork(context: Context, options: Namespace) -> int:
    if options.at and options.message:
        raise UsageInvalid("give the message that a fork ends with once: as a word, or by --at")
    at = options.at or options.message
    if not options.to and (copy := context.engine.sessions.branches.fork_file(options.session, at, options.name)):
        how = "as a session file of its own"
        way_on = f"it lies on no account: `session fork {copy.chain_id[:8]} --to RUNTIME` goes on in it"
        document = {"session_id": copy.session_id, "runtime_id": None, "account": None, "how": how, "losses": ()}
        return tell(options, document, copy.session_id, notes=(f"forked {how}", way_on))
    begun = context.engine.live.fork(
        options.session, at_turn=at, runtime=options.to, title=options.name, folder=options.cwd or Path.cwd()
    )
    session = begun.session
    notes = [f"forked {begun.why}"]
    if begun.losses:
        notes.append(f"left behind: {', '.join(begun.losses)}")
    told = {"session_id": session.session_id, "runtime_id": session.runtime_id, "account": session.account}
    return tell(options, told | {"how": begun.why, "losses": [*begun.losses]}, session.session_id, notes=notes)


def _add_compact(parser: Parser) -> None:
    parser.add_argument("--preview", action="store_true", help="tell what a compaction by a model would hide")


def _compact(context: Context, options: Namespace) -> int:
    live = context.engine.live
    if not options.preview:
        answer = live.order(options.session, orders.Compact(), starts=True)
        return tell(options, answer, str(answer.get("message") or "compact: done"))
    plan = live.plan_compaction(options.session)
    hidden = [{"id": each.entry_id, "role": each.role, "preview": first_line(each.text)} for each in plan.hidden]
    document: dict[str, Any] = {"hidden": hidden, "kept": len(plan.kept), "runs": len(plan.batches)}
    document |= {"tokens_before": plan.tokens_before, "tokens_hidden": plan.tokens_hidden}
    lines = (f"{each['role']:9}  {plain(each['preview'])}" for each in hidden)
    note = (
        f"{len(hidden)} messages would be hidden behind a summary, the last {len(plan.kept)} kept: of about "
        f"{plan.tokens_before:,} tokens {plan.tokens_hidden:,} would go; runs of a model: {len(plan.batches)}"
    )
    return tell(options, document, *lines, notes=(note,))


def _add_review(parser: Parser) -> None:
    target = parser.add_mutually_exclusive_group()
    target.add_argument("--branch", metavar="NAME", help="what differs from this branch")
    target.add_argument("--commit", metavar="SHA", help="what this commit changed")
    target.add_argument("--instructions", metavar="TEXT", help="what to look for, in words")


def _review(context: Context, options: Namespace) -> int:
    targets = {"branch": options.branch, "commit": options.commit, "custom": options.instructions}
    kind, value = next(((kind, value) for kind, value in targets.items() if value), ("uncommitted", ""))
    told = context.engine.live.order(options.session, orders.Review(kind, value), starts=True)
    return tell(options, told, str(told["turn_id"]))


def _add_model(parser: Parser) -> None:
    parser.add_argument("cli_model", metavar="MODEL", help="as the CLI names it")
    parser.add_argument("--effort", default="", metavar="WORD")


def _model(context: Context, options: Namespace) -> int:
    is_agreed = context.engine.live.set_model(options.session, options.cli_model, options.effort)
    text = f"later turns are done by {options.cli_model}"
    if not is_agreed:
        text = f"{options.cli_model} was asked for; the CLI has not said whether it takes it"
    return tell(options, {}, text)


def _add_log(parser: Parser) -> None:
    parser.add_argument("--lines", type=int, default=200, metavar="N", help="how many (default: 200)")
    parser.add_argument("--all", action="store_true", help="as many as there are, at most 8 MiB")


def _log(context: Context, options: Namespace) -> int:
    text = context.engine.work.log_tail(options.session, None if options.all else options.lines)
    if options.json:
        output.write_json({"schema_version": SCHEMA_VERSION, "lines": text.splitlines()})
    elif text:
        output.write_block(text)
    else:
        diagnostics.note("it has no log: one is kept of sessions with --repo or --lifecycle alone")
    return 0


_VERBS: Mapping[str, tuple[Callable[[Parser], None], Callable[[Context, Namespace], int]]] = {
    "new": (_add_new, _new),
    "send": (_add_send, _send),
    "status": (_nothing, _status),
    "follow": (follow.add_arguments, follow.serve),
    "steer": (_add_text, _steer),
    "interrupt": (_nothing, _order(orders.Interrupt())),
    "queue": (_add_queue, _queue),
    "fork": (_add_fork, _fork),
    "compact": (_add_compact, _compact),
    "review": (_add_review, _review),
    "model": (_add_model, _model),
    "close": (_nothing, _order(orders.Close())),
    "cancel": (_nothing, _cancel),
    "log": (_add_log, _log),
}
