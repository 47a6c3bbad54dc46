"""`job …`: tools of agents that run in the background."""

from __future__ import annotations

import shlex
from argparse import Namespace
from collections.abc import Callable, Mapping

from oulipoly_engine.cli.agents.agent import split_tool_words
from oulipoly_engine.cli.base import stdio
from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser, seconds
from oulipoly_engine.cli.base.questions import parse_agreed
from oulipoly_engine.cli.base.telling import SCHEMA_VERSION, tell
from oulipoly_engine.core.agents.agents import JOB_OPEN, Job
from oulipoly_engine.core.agents.plan import parse_pairs
from oulipoly_engine.core.text.columns import plain, table
from oulipoly_engine.core.text.quantities import ago
from oulipoly_engine.facade import diagnostics, output
from oulipoly_engine.facade.agents.documents import job_json

_HEADINGS = ("ID", "STATUS", "EXIT", "TOOL", "BEGUN", "LABELS")
_UNFINISHED = 75  # EX_TEMPFAIL
_MORE = {
    "run": "Options stand before NAME; what stands behind TOOL is the tool's. Ten run at once, the others wait.",
    "await": "Prints what it has written. The exit code is the tool's; 75: it still runs when --timeout is over.",
}


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Serve one of the verbs."""
    verb = name.partition(" ")[2]
    parser = Parser(prog=f"{context.program} {name}", command=name, more=_MORE.get(verb, ""))
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    if verb == "run":
        parser.add_argument("--label", action="append", default=[], metavar="KEY=VALUE", help="to find it by")
        parser.add_argument("name", metavar="NAME", help="the agent's name; or its id: eight characters are enough")
        parser.add_argument("tool", metavar="TOOL", help="a BIN of the agent")
        own, words = split_tool_words(arguments, takes_value=("--label",))
        options = parser.parse(own)
        options.arguments = words
        return _run(context, options)
    if verb == "ls":
        parser.add_argument("--agent", default="", metavar="NAME", help="of this agent alone")
        parser.add_argument("--label", action="append", default=[], metavar="KEY=VALUE", help="that have it, and all")
    else:
        parser.add_argument("job", metavar="ID", help="the job's id; its beginning is enough")
    if verb == "await":
        parser.add_argument("--timeout", type=seconds, metavar="SECONDS", help="wait no longer")
    return _VERBS[verb](context, parse_agreed(parser, name, arguments))


def _run(context: Context, options: Namespace) -> int:
    stdin = stdio.choose_input().read() if stdio.is_piped() else b""
    labels = dict(parse_pairs(options.label, "--label"))
    job = context.engine.agents.run_job(options.name, options.tool, options.arguments, stdin, labels)
    return tell(options, job_json(job), job.job_id)


def _list(context: Context, options: Namespace) -> int:
    listed = context.engine.agents.list_jobs(options.agent, dict(parse_pairs(options.label, "--label")))
    if options.json:
        output.write_json({"schema_version": SCHEMA_VERSION, "jobs": [job_json(job) for job in listed]})
    elif not listed:
        diagnostics.note(f"there are no such jobs: `{context.program} job run NAME TOOL` runs one")
    else:
        now = context.clock.now()
        output.write_lines(
            table([_HEADINGS, *((*_row(job), ago(job.created_at, now), _labels(job)) for job in listed)])
        )
    return 0


def _row(job: Job) -> tuple[str, ...]:
    code = "-" if job.exit_code is None else str(job.exit_code)
    return (job.job_id[:12], job.status, code, plain(job.tool))


def _labels(job: Job) -> str:
    return plain(", ".join(f"{key}={value}" for key, value in job.labels.items())) or "-"


def _inspect(context: Context, options: Namespace) -> int:
    work = context.engine.agents
    work.settle()
    job = work.find_job(options.job)
    words = {"arguments": shlex.join(job.arguments), "labels": _labels(job)}
    document = {key: words.get(key, value) for key, value in job_json(job).items()}
    rows = [(key.replace("_", " "), str(value)) for key, value in document.items() if value not in (None, "", "-")]
    return tell(options, job_json(job), *table([tuple(map(plain, row)) for row in rows]))


def _await(context: Context, options: Namespace) -> int:
    job = context.engine.agents.await_job(options.job, options.timeout)
    if options.json:
        output.write_json({"schema_version": SCHEMA_VERSION, **job_json(job)})
    else:
        output.write_block(job.stdout)
        if job.stderr:
            diagnostics.note(job.stderr.rstrip("\n"))
        if job.status != "done":
            diagnostics.note(f"the job is {job.status}" + (f": {plain(job.problem)}" if job.problem else ""))
    if job.status in JOB_OPEN:
        return _UNFINISHED
    return 1 if job.exit_code is None else job.exit_code


def _cancel(context: Context, options: Namespace) -> int:
    job = context.engine.agents.cancel_job(options.job)
    return tell(options, job_json(job), f"{job.job_id} is {job.status}")


_VERBS: Mapping[str, Callable[[Context, Namespace], int]] = {
    "ls": _list,
    "inspect": _inspect,
    "await": _await,
    "cancel": _cancel,
}
