"""`agent …`: agents that run: brought up, listed, stopped, asked, and their tools."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from oulipoly_engine.cli.base import stdio
from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser, path, seconds
from oulipoly_engine.cli.base.questions import Questions, parse_agreed
from oulipoly_engine.cli.base.telling import SCHEMA_VERSION, tell
from oulipoly_engine.cli.live.turn_result import exit_code, result_json, tell_result
from oulipoly_engine.clock import to_text
from oulipoly_engine.core.agents.agents import Agent, Change, Job, Overrides
from oulipoly_engine.core.agents.containers import BASE_IMAGE, parse_limits
from oulipoly_engine.core.agents.mounts import parse_mount
from oulipoly_engine.core.agents.plan import parse_pairs
from oulipoly_engine.core.agents.schema import read_answer, read_schema
from oulipoly_engine.core.boxes.report import ATTEMPTS
from oulipoly_engine.core.live.permissions import PROFILES
from oulipoly_engine.core.text.columns import plain, table
from oulipoly_engine.errors import PromptMissing, UsageInvalid
from oulipoly_engine.facade import diagnostics, output
from oulipoly_engine.facade.agents.agents import AgentDetails, AgentStanding, AgentWish
from oulipoly_engine.facade.agents.work import ask_for_json
from oulipoly_engine.facade.base.own_process import interruptible, parent_invocation

LEVELS = ("none", "guarded", "sealed", "container")
_HEADINGS = ("NAME", "STATUS", "ISOLATION", "WORKING ON", "MODEL", "SOURCE", "ID")
_MORE = {  # behind the summary, in a command's help
    "run": "SOURCE is a folder with an Agentfile, such a file, an agent definition or its name, or an image.",
    "exec": "Options stand before NAME; what stands behind TOOL is the tool's. The exit code is the tool's.",
    "prompt": "It is a new session of the agent each time, unless --session names one. `-` reads the text from stdin.",
    "rm": "Its tree goes, with what the agent has written there. Its sessions stay in `session list`.",
}


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Serve one of the verbs."""
    verb = name.partition(" ")[2]
    parser = Parser(prog=f"{context.program} {name}", command=name, more=_MORE.get(verb, ""))
    add, serve = _VERBS[verb]
    if verb != "chat":
        parser.add_argument("--json", action="store_true", help="print one JSON document")
    add(parser)
    if verb == "exec":  # a tool's own words are not ours to judge
        own, words = split_tool_words(arguments, takes_value=("--timeout",))
        options = parser.parse(own)
        options.arguments = words
        return serve(context, options)
    return serve(context, parse_agreed(parser, name, arguments))


def split_tool_words(arguments: list[str], takes_value: tuple[str, ...]) -> tuple[list[str], tuple[str, ...]]:
    """Return what is ours, up to the tool's name, and what is the tool's. takes_value: options of ours with a value."""
    position = 0
    names = 0
    while position < len(arguments) and names < len(("NAME", "TOOL")):
        word = arguments[position]
        position += 2 if word in takes_value else 1
        names += not word.startswith("-")
    return arguments[:position], tuple(arguments[position:])


# Arguments -----------------------------------------------------------------------------------------------------------
def _add_name(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME", help="the agent's name; or its id: eight characters are enough")


def _add_run(parser: Parser) -> None:
    parser.add_argument("source", metavar="SOURCE", help="what it is run from")
    parser.add_argument("--name", default="", metavar="NAME", help="what it is called (default: two words)")
    parser.add_argument("--isolation", choices=LEVELS, default="", help="default: the best in which its CLI works")
    parser.add_argument("--model", default="", metavar="NAME", help="another model: one of yours, or PROVIDER/NAME")
    parser.add_argument("--runtime", default="", metavar="PROGRAM", help="its own, or builtin:runner")
    parser.add_argument("--config", action="append", default=[], metavar="KEY=VALUE", help="set a CONFIG")
    parser.add_argument("-e", "--env", action="append", default=[], metavar="KEY=VALUE", help="set a variable")
    parser.add_argument(
        "-v",
        "--mount",
        action="append",
        default=[],
        metavar="HOST:TARGET",
        help="give it a folder or a file: [:ro|:rw]",
    )
    parser.add_argument("--tool", action="append", default=[], metavar="NAME=PROGRAM", help="the program of a BIN")
    parser.add_argument("--base-image", default=BASE_IMAGE, metavar="IMAGE", help="what its containers are made of")
    parser.add_argument(
        "--limit",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="of a container: memory=512m, processes, cpus",
    )
    parser.add_argument("--profile", choices=PROFILES, default="", help="what its sessions may do unasked")


def _add_list(parser: Parser) -> None:
    parser.add_argument("--all", action="store_true", help="removed ones, too")


def _add_logs(parser: Parser) -> None:
    _add_name(parser)
    parser.add_argument("-n", "--lines", type=int, default=200, metavar="N", help="the last ones (default: 200)")


def _add_exec(parser: Parser) -> None:
    parser.add_argument("--timeout", type=seconds, metavar="SECONDS", help="end it then; the exit code is 124")
    _add_name(parser)
    parser.add_argument("tool", metavar="TOOL", help="a BIN of the agent")


def _add_prompt(parser: Parser) -> None:
    _add_name(parser)
    parser.add_argument("text", metavar="TEXT", nargs="*", help="what to ask; `-` or nothing: stdin")
    parser.add_argument("--session", default="", metavar="ID", help="go on with this session of the agent")
    parser.add_argument("--schema", type=path, metavar="FILE", help="the answer is JSON that this JSON Schema allows")
    parser.add_argument("--timeout", type=seconds, metavar="SECONDS", help="interrupt a turn that takes longer")


def _add_chat(parser: Parser) -> None:
    _add_name(parser)
    parser.add_argument("--session", default="", metavar="ID", help="go on with this session of the agent")
    parser.add_argument("--timeout", type=seconds, metavar="SECONDS", help="interrupt a turn that takes longer")


# Life ----------------------------------------------------------------------------------------------------------------
def _run(context: Context, options: Namespace) -> int:
    home = str(context.engine.paths.home)
    overrides = Overrides(
        model=options.model,
        runtime=_find_runtime(options.runtime),
        configs=dict(parse_pairs(options.config, "--config")),
        variables=parse_pairs(options.env, "--env"),
        tools={name: str(_find_program(text)) for name, text in parse_pairs(options.tool, "--tool")},
        mounts=tuple(parse_mount(text, home) for text in options.mount),
        profile=options.profile,
        base_image=options.base_image,
        limits=parse_limits(parse_pairs(options.limit, "--limit")),
    )
    agent = context.engine.agents.run(AgentWish(options.source, options.name, options.isolation, overrides))
    return _tell_agent(options, agent, f"{plain(agent.name)} is {agent.status}, isolation {agent.isolation}")


def _find_runtime(text: str) -> str:
    """Return a runtime as it is kept: a program of this machine by its absolute path, else the reference."""
    return str(_find_program(text, "--runtime")) if text.startswith((".", "/", "~")) else text


def _find_program(text: str, option: str = "--tool") -> Path:
    program = Path(text).expanduser().absolute()
    if not program.is_file():
        raise UsageInvalid(f"{option}: there is no program {program}")
    return program


def _start(context: Context, options: Namespace) -> int:
    agent = context.engine.agents.start(options.name)
    return _tell_agent(options, agent, f"{plain(agent.name)} is {agent.status}, isolation {agent.isolation}")


def _stop(context: Context, options: Namespace) -> int:
    agent = context.engine.agents.stop(options.name)
    return _tell_agent(options, agent, f"{plain(agent.name)} is {agent.status}")


def _remove(context: Context, options: Namespace) -> int:
    agent = context.engine.agents.remove(options.name)
    return _tell_agent(options, agent, f"{plain(agent.name)} is removed")


def _tell_agent(options: Namespace, agent: Agent, line: str) -> int:
    document = {"agent_id": agent.agent_id, "name": agent.name, "status": agent.status, "isolation": agent.isolation}
    return tell(options, document, line)


# Looking -------------------------------------------------------------------------------------------------------------
def _list(context: Context, options: Namespace) -> int:
    standings = context.engine.agents.list(has_removed=options.all)
    if options.json:
        listed = [standing_json(standing) for standing in standings]
        output.write_json({"schema_version": SCHEMA_VERSION, "agents": listed})
    elif not standings:
        diagnostics.note(f"no agent was run: `{context.program} agent run SOURCE` runs one")
    else:
        output.write_lines(table([_HEADINGS, *map(_row, standings)]))
    return 0


def standing_json(standing: AgentStanding) -> dict[str, Any]:
    """Return how an agent stands as scripts get it."""
    agent = standing.agent
    return {
        "agent_id": agent.agent_id,
        "name": agent.name,
        "status": standing.status,
        "reason": agent.reason or None,
        "problem": agent.problem or None,
        "isolation": agent.isolation or None,
        "in_flight": standing.in_flight,
        "model": agent.plan.model or None,
        "runtime": agent.plan.runtime,
        "source": agent.source,
        "digest": agent.digest or None,
        "created_at": to_text(agent.created_at),
        "updated_at": to_text(agent.updated_at),
    }


def _row(standing: AgentStanding) -> tuple[str, ...]:
    agent = standing.agent
    reason = f": {agent.reason}" if agent.reason else ""
    words = (agent.name, f"{standing.status}{reason}", agent.isolation or "-", str(standing.in_flight or "-"))
    return tuple(map(plain, (*words, agent.plan.model or "-", agent.source, agent.agent_id[:8])))


def _inspect(context: Context, options: Namespace) -> int:
    details = context.engine.agents.inspect(options.name)
    agent = details.standing.agent
    if options.json:
        output.write_json({"schema_version": SCHEMA_VERSION, **_details_json(details)})
        return 0
    rows = [
        ("name", agent.name),
        ("id", agent.agent_id),
        ("status", details.standing.status + (f" ({agent.reason}): {agent.problem}" if agent.reason else "")),
        ("isolation", agent.isolation or "-"),
        *(("", f"not held: {sentence}") for sentence in details.unheld),
        *_report_rows(details),
        ("model", agent.plan.model or "-"),
        ("runtime", agent.plan.runtime),
        ("source", agent.source),
        ("folder", details.view.root),
        ("tools", ", ".join(tool.name for tool in agent.plan.tools) or "-"),
        *(("mount", f"{mount.host} at {mount.target}") for mount in agent.plan.mounts),
        *(("left out", f"the variable {name}, which is reserved") for name in details.skipped),
        *(("session", session) for session in details.sessions[:5]),
        *(("history", _describe_change(change)) for change in details.history[-5:]),
    ]
    output.write_lines(table([tuple(map(plain, row)) for row in rows]))
    return 0


def _report_rows(details: AgentDetails) -> list[tuple[str, str]]:
    report = details.report
    if report is None:
        return []
    rows = [("measured", f"{ATTEMPTS[name][0]}: {'yes' if name in report.reached else 'no'}") for name in ATTEMPTS]
    return rows + [("", f"NOT AS IT SHOULD BE: it can {ATTEMPTS[name][0]}") for name in report.unexpected]


def _details_json(details: AgentDetails) -> dict[str, Any]:
    agent = details.standing.agent
    plan = agent.plan
    return standing_json(details.standing) | {
        "root": details.view.root,
        "workspace": details.view.workspace,
        "configs": dict(plan.configs),
        "variables": [each.name for each in plan.variables],
        "variables_left_out": list(details.skipped),
        "tools": [{"name": tool.name, "ref": tool.ref or None, "description": tool.description} for tool in plan.tools],
        "mounts": [{"host": each.host, "target": each.target, "read_only": each.is_read_only} for each in plan.mounts],
        "capabilities": list(plan.capabilities),
        "profile": plan.profile or None,
        "sessions": list(details.sessions),
        "history": [_change_json(change) for change in details.history],
        "runs_of_tools": [job_json(job) for job in details.jobs],
        "isolation_report": _report_json(details),
    }


def _report_json(details: AgentDetails) -> dict[str, Any]:
    report = details.report
    document: dict[str, Any] = {"level": details.standing.agent.isolation or None, "not_held": list(details.unheld)}
    if report is None:
        return document | {"measured": None}
    measured = {
        "network": report.network,
        "reached": list(report.reached),
        "held": list(report.held),
        "unexpected": list(report.unexpected),
        "readable": list(report.readable),
        "writable": list(report.writable),
        "variables": list(report.variables),
    }
    return document | {"measured": measured}


def _change_json(change: Change) -> dict[str, Any]:
    return {
        "at": to_text(change.at),
        "status": change.status,
        "reason": change.reason or None,
        "detail": change.detail or None,
    }


def _describe_change(change: Change) -> str:
    why = f" ({change.reason})" if change.reason else ""
    return f"{change.at.astimezone():%Y-%m-%d %H:%M:%S} {change.status}{why} {change.detail}".rstrip()


def job_json(job: Job) -> dict[str, Any]:
    """Return what is known of a tool that was run as scripts get it."""
    return {
        "job_id": job.job_id,
        "agent_id": job.agent_id,
        "kind": job.kind,
        "tool": job.tool,
        "arguments": list(job.arguments),
        "labels": dict(job.labels),
        "status": job.status,
        "exit_code": job.exit_code,
        "stdout": job.stdout,
        "stderr": job.stderr,
        "stdout_bytes": job.stdout_bytes,
        "stderr_bytes": job.stderr_bytes,
        "problem": job.problem or None,
        "created_at": to_text(job.created_at),
        "begun_at": None if job.begun_at is None else to_text(job.begun_at),
        "ended_at": None if job.ended_at is None else to_text(job.ended_at),
    }


def _logs(context: Context, options: Namespace) -> int:
    lines = context.engine.agents.read_log(options.name, options.lines)
    if options.json:
        output.write_json({"schema_version": SCHEMA_VERSION, "lines": list(lines)})
    else:
        output.write_lines(map(plain, lines))
    return 0


# Work ----------------------------------------------------------------------------------------------------------------
class _Stream:
    """One of our streams."""

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self.write = write


def _exec(context: Context, options: Namespace) -> int:
    words = tuple(options.arguments)
    stdin = stdio.choose_input().read() if stdio.is_piped() else b""
    own = None if options.json else _Stream(output.write_bytes)
    errors = None if options.json else _Stream(diagnostics.write_bytes)
    with interruptible() as guard, guard.arming():
        result = context.engine.agents.exec(
            options.name, options.tool, words, stdin, stdout=own, stderr=errors, timeout_s=options.timeout
        )
    if options.json:
        document = {
            "job_id": result.job.job_id,
            "exit_code": result.exit_code,
            "stdout": result.stdout.decode("utf-8", "replace"),
            "stderr": result.stderr.decode("utf-8", "replace"),
            "timed_out": result.timed_out,
        }
        output.write_json({"schema_version": SCHEMA_VERSION, **document})
    elif result.timed_out:
        diagnostics.note(f"{plain(options.tool)} has taken longer than {options.timeout:g} s and was ended")
    return result.exit_code


def _prompt(context: Context, options: Namespace) -> int:
    from oulipoly_engine.cli.live.chat_output import Printer  # noqa: PLC0415 - lists need none of it
    from oulipoly_engine.cli.live.chat_turns import Turns  # noqa: PLC0415 - the same

    schema = (
        None if options.schema is None else read_schema(stdio.read_prompt(options.schema).encode("utf-8", "replace"))
    )
    text = " ".join(options.text)
    if text in ("", "-"):
        text = stdio.read_patiently(diagnostics.note)
    if not text.strip():
        raise PromptMissing("the prompt is empty: name a text, or pipe one in")
    work = context.engine.agents
    if options.session:
        session = work.find_session(options.name, options.session)
    else:
        session = work.begin_session(options.name, has_tools=schema is None, parent=parent_invocation())
    is_quiet = options.json or schema is not None
    turns = Turns(context.engine.live, Printer("answer" if is_quiet else "text"), options.timeout, None)
    try:
        result = turns.send(session.session_id, text if schema is None else ask_for_json(text, schema))
    finally:
        if not options.session:
            work.close_session(session.session_id)
        work.settle()
    code = exit_code(result)
    about = {"schema_version": SCHEMA_VERSION, "session_id": session.session_id}
    if schema is not None and code == 0:
        value = read_answer(result.reply or "", schema)
        output.write_json({**about, "value": value} if options.json else value)
        return 0
    if options.json:
        output.write_json({**about, **result_json(context.program, result, session)})
        return code
    if turns.is_answer_shown:
        return code
    return tell_result(context.program, result, session, about, as_json=False)


def _chat(context: Context, options: Namespace) -> int:
    from oulipoly_engine.cli.live.chat_loop import Loop  # noqa: PLC0415 - lists need none of it

    questions = Questions(is_agreed=False)
    if not questions.can_ask:
        raise UsageInvalid("a chat needs a terminal: `agent prompt` answers scripts")
    work = context.engine.agents
    if options.session:
        session = work.find_session(options.name, options.session)
    else:
        session = work.begin_session(options.name, parent=parent_invocation())
    diagnostics.note(f"session {session.session_id[:8]} of {plain(options.name)} on {plain(session.runtime_id)}")
    code = Loop(context, questions, options.timeout).run(session, None)
    work.settle()
    return code


_Verb = tuple[Callable[[Parser], None], Callable[[Context, Namespace], int]]
_VERBS: Mapping[str, _Verb] = {
    "run": (_add_run, _run),
    "ps": (_add_list, _list),
    "start": (_add_name, _start),
    "stop": (_add_name, _stop),
    "rm": (_add_name, _remove),
    "logs": (_add_logs, _logs),
    "inspect": (_add_name, _inspect),
    "exec": (_add_exec, _exec),
    "prompt": (_add_prompt, _prompt),
    "chat": (_add_chat, _chat),
}
