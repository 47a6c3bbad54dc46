"""`agent …`: agents that run: brought up, listed, stopped, asked, and their tools."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oulipoly_engine.cli.base import stdio
from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser, seconds
from oulipoly_engine.cli.base.questions import Questions, parse_agreed
from oulipoly_engine.cli.base.telling import SCHEMA_VERSION, tell
from oulipoly_engine.clock import to_text
from oulipoly_engine.core.agents.agents import Agent, Overrides
from oulipoly_engine.core.agents.capabilities import parse_capabilities
from oulipoly_engine.core.agents.containers import BASE_IMAGE
from oulipoly_engine.core.agents.limits import parse_limits
from oulipoly_engine.core.agents.mounts import parse_mount
from oulipoly_engine.core.text.columns import plain, table
from oulipoly_engine.errors import UsageInvalid
from oulipoly_engine.facade import diagnostics, output
from oulipoly_engine.facade.agents.documents import agent_json, describe, details_json, standing_json
from oulipoly_engine.facade.agents.standings import AgentStanding, list_logins_in_reach
from oulipoly_engine.facade.base.own_process import interruptible, parent_invocation

if TYPE_CHECKING:
    from oulipoly_engine.facade.live.standing import LiveStatus

LEVELS = ("none", "guarded", "sealed", "container")
_HEADINGS = ("NAME", "STATUS", "ISOLATION", "LOGIN", "WORKING ON", "MODEL", "SOURCE", "ID")
_MORE = {  # behind the summary, in a command's help
    "run": "SOURCE is a folder with an Agentfile, such a file, an agent definition or its name, or an image; `-`: an "
    "Agentfile on stdin.",
    "exec": "Options stand before NAME; what stands behind TOOL is the tool's. The exit code is the tool's.",
    "prompt": "It is a new session of the agent each time, unless --session names one. `-` reads the text from stdin.",
    "rm": "Its tree goes, with what the agent has written there. Its sessions stay in `session list`. With --session "
    "only that session goes; one that was deleted before is left as it is.",
    "sessions": "`session show` and `session tree` read one, `agent rm --session` deletes it.",
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
    from oulipoly_engine.core.live.permissions import PROFILES  # noqa: PLC0415 - 7 ms, as in `_run`

    parser.add_argument("source", metavar="SOURCE", help="what it is run from")
    parser.add_argument("--name", default="", metavar="NAME", help="what it is called (default: two words)")
    parser.add_argument("--isolation", choices=LEVELS, default="", help="default: the best in which its CLI works")
    parser.add_argument("--model", default="", metavar="NAME", help="another model: one of yours, or PROVIDER/NAME")
    parser.add_argument("--runtime", default="", metavar="PROGRAM", help="its own, or builtin:runner")
    add_repeated = partial(parser.add_argument, action="append", default=[])
    add_repeated("--config", metavar="KEY=VALUE", help="set a CONFIG")
    add_repeated("-e", "--env", metavar="KEY=VALUE", help="set a variable")
    add_repeated("-v", "--mount", metavar="HOST:TARGET", help="give it a folder or a file: [:ro|:rw]")
    add_repeated("--tool", metavar="NAME=PROGRAM", help="the program of a BIN")
    add_repeated("--capability", metavar="NAME", help="give it a tool of ours")
    add_repeated("--address", metavar="HOST[:PORT]", help="sealed: what it reaches of the network besides its model")
    parser.add_argument("--base-image", default=BASE_IMAGE, metavar="IMAGE", help="what its containers are made of")
    add_repeated(
        "--limit",
        metavar="NAME=VALUE",
        help="memory=512m, processes=64, processor=60s, files=1g, disk=5g, time=10m; of a container cpus=0.5",
    )
    parser.add_argument("--profile", choices=PROFILES, default="", help="what its sessions may do unasked")


def _add_list(parser: Parser) -> None:
    parser.add_argument("--all", action="store_true", help="removed ones, too")


def _add_remove(parser: Parser) -> None:
    _add_name(parser)
    parser.add_argument("--session", default="", metavar="ID", help="delete this session of it alone")


def _add_logs(parser: Parser) -> None:
    _add_name(parser)
    parser.add_argument("-n", "--lines", type=int, default=200, metavar="N", help="the last ones (default: 200)")


def _add_exec(parser: Parser) -> None:
    parser.add_argument("--timeout", type=seconds, metavar="SECONDS", help="end it then; the exit code is 124")
    _add_name(parser)
    parser.add_argument("tool", metavar="TOOL", help="a BIN of the agent")


def _add_chat(parser: Parser) -> None:
    _add_name(parser)
    parser.add_argument("--session", default="", metavar="ID", help="go on with this session of the agent")
    parser.add_argument("--timeout", type=seconds, metavar="SECONDS", help="interrupt a turn that takes longer")


# Life ----------------------------------------------------------------------------------------------------------------
def _run(context: Context, options: Namespace) -> int:
    from oulipoly_engine.core.agents.plan import parse_pairs  # noqa: PLC0415 - 2 ms, lists need none of it
    from oulipoly_engine.facade.agents.agents import AgentWish  # noqa: PLC0415 - 80 ms, the same

    home = str(context.engine.paths.home)
    overrides = Overrides(
        model=options.model,
        runtime=_find_runtime(options.runtime),
        configs=dict(parse_pairs(options.config, "--config")),
        variables=parse_pairs(options.env, "--env"),
        tools={name: str(_find_program(text)) for name, text in parse_pairs(options.tool, "--tool")},
        mounts=tuple(parse_mount(text, home) for text in options.mount),
        profile=options.profile,
        capabilities=parse_capabilities(options.capability),
        addresses=tuple(options.address),
        base_image=options.base_image,
        limits=parse_limits(parse_pairs(options.limit, "--limit")),
    )
    source = _build_from_stdin(context) if options.source == "-" else options.source
    agent = context.engine.agent_life.run(AgentWish(source, options.name, options.isolation, overrides))
    return _tell_started(context, options, agent)


def _build_from_stdin(context: Context) -> str:
    reference, entry = context.engine.images.build_text(stdio.choose_input().read())
    return f"{reference.tagged}@{entry.digest}"


def _find_runtime(text: str) -> str:
    """Return a runtime as it is kept: a program of this machine by its absolute path, else the reference."""
    return str(_find_program(text, "--runtime")) if text.startswith((".", "/", "~")) else text


def _find_program(text: str, option: str = "--tool") -> Path:
    program = Path(text).expanduser().absolute()
    if not program.is_file():
        raise UsageInvalid(f"{option}: there is no program {program}")
    return program


def _start(context: Context, options: Namespace) -> int:
    agent = context.engine.agent_life.start(options.name)
    return _tell_started(context, options, agent)


def _stop(context: Context, options: Namespace) -> int:
    agent = context.engine.agent_life.stop(options.name)
    return _tell_agent(options, agent, f"{plain(agent.name)} is {agent.status}")


def _remove(context: Context, options: Namespace) -> int:
    if options.session:
        session_id, is_deleted = context.engine.agents.delete_session(options.name, options.session)
        line = f"{session_id} is deleted: `session undelete` undoes that" if is_deleted else f"{session_id} was deleted"
        return tell(options, {"session_id": session_id, "is_deleted_now": is_deleted}, line)
    agent = context.engine.agent_life.remove(options.name)
    return _tell_agent(options, agent, f"{plain(agent.name)} is removed")


def _tell_started(context: Context, options: Namespace, agent: Agent) -> int:
    for sentence in list_logins_in_reach(agent.isolation, context.engine.agent_list.logins(agent)):
        diagnostics.note(f"not held: {sentence}")
    return _tell_agent(options, agent, f"{plain(agent.name)} is {agent.status}, isolation {agent.isolation}")


def _tell_agent(options: Namespace, agent: Agent, line: str) -> int:
    return tell(options, agent_json(agent), line)


# Looking -------------------------------------------------------------------------------------------------------------
def _list(context: Context, options: Namespace) -> int:
    standings = context.engine.agent_list.list(has_removed=options.all, has_logins=True)
    if options.json:
        listed = [standing_json(standing) for standing in standings]
        output.write_json({"schema_version": SCHEMA_VERSION, "agents": listed})
    elif not standings:
        diagnostics.note(f"no agent was run: `{context.program} agent run SOURCE` runs one")
    else:
        output.write_lines(table([_HEADINGS, *map(_row, standings)]))
    return 0


def _row(standing: AgentStanding) -> tuple[str, ...]:
    agent = standing.agent
    reason = f": {agent.reason}" if agent.reason else ""
    words = (agent.name, f"{standing.status}{reason}", agent.isolation or "-", _describe_logins(standing))
    return tuple(
        map(plain, (*words, str(standing.in_flight or "-"), agent.plan.model or "-", agent.source, agent.agent_id[:8]))
    )


def _describe_logins(standing: AgentStanding) -> str:
    if not standing.logins:
        return "-"
    unkept = ", ".join(account for account, reason in standing.logins.items() if reason)
    word = "refused" if standing.agent.isolation == "sealed" else "in reach"
    return f"{word}: {unkept}" if unkept else "kept outside"


def _sessions(context: Context, options: Namespace) -> int:
    statuses = context.engine.agents.list_sessions(options.name)
    if options.json:
        output.write_json({"schema_version": SCHEMA_VERSION, "sessions": [_session_json(each) for each in statuses]})
    elif not statuses:
        diagnostics.note(f"{plain(options.name)} has no session: `{context.program} agent prompt` begins one")
    else:
        rows = [
            (each.session.session_id[:8], each.word, each.session.runtime_id, each.session.title) for each in statuses
        ]
        output.write_lines(table([("ID", "STATUS", "RUNTIME", "TITLE"), *(tuple(map(plain, row)) for row in rows)]))
    return 0


def _session_json(status: LiveStatus) -> dict[str, Any]:
    from oulipoly_engine.facade.live.standing import to_json  # noqa: PLC0415 - the same

    session = status.session
    return to_json(status) | {
        "status": status.status,
        "title": session.title,
        "created_at": to_text(session.created_at),
    }


def _inspect(context: Context, options: Namespace) -> int:
    details = context.engine.agents.inspect(options.name)
    return tell(options, details_json(details), *table([tuple(map(plain, row)) for row in describe(details)]))


def _logs(context: Context, options: Namespace) -> int:
    lines = context.engine.agents.read_log(options.name, options.lines)
    if options.json:
        output.write_json({"schema_version": SCHEMA_VERSION, "lines": list(lines)})
    else:
        output.write_lines(map(plain, lines))
    return 0


# Work ----------------------------------------------------------------------------------------------------------------
def _add_prompt(parser: Parser) -> None:
    from oulipoly_engine.cli.agents.prompt import add_prompt  # noqa: PLC0415 - 1 ms, lists need none of it

    add_prompt(parser)


def _prompt(context: Context, options: Namespace) -> int:
    from oulipoly_engine.cli.agents.prompt import prompt  # noqa: PLC0415 - the same

    return prompt(context, options)


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
            "limit": result.limit,
        }
        output.write_json({"schema_version": SCHEMA_VERSION, **document})
    elif result.limit:
        diagnostics.note(f"{plain(options.tool)}: {result.limit}")
    elif result.timed_out:
        diagnostics.note(f"{plain(options.tool)} has taken longer than {options.timeout:g} s and was ended")
    return result.exit_code


def _chat(context: Context, options: Namespace) -> int:
    from oulipoly_engine.cli.live.chat_loop import Loop  # noqa: PLC0415 - lists need none of it

    questions = Questions(is_agreed=False)
    if not questions.can_ask:
        raise UsageInvalid("a chat needs a terminal: `agent prompt` answers scripts")
    work = context.engine.agents
    if options.session:
        session = work.find_session(options.name, options.session)
    else:
        session = work.begin_session(options.name, parent=parent_invocation(), idle_s=0.0)
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
    "rm": (_add_remove, _remove),
    "logs": (_add_logs, _logs),
    "inspect": (_add_name, _inspect),
    "exec": (_add_exec, _exec),
    "prompt": (_add_prompt, _prompt),
    "sessions": (_add_name, _sessions),
    "chat": (_add_chat, _chat),
}
