"""`runtime`: the CLIs that live sessions are opened on, how they stand, and their logins."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser
from oulipoly_engine.cli.base.telling import SCHEMA_VERSION, tell
from oulipoly_engine.core.live.events import ModelInfo
from oulipoly_engine.core.live.launch.catalogue import SESSIONS_LOST, SESSIONS_LOST_CODE
from oulipoly_engine.core.live.models import model_json
from oulipoly_engine.core.live.runtime_status import (
    CAPABILITIES,
    RuntimeSummary,
    describe_cause,
    describe_status,
    summary_json,
)
from oulipoly_engine.core.live.runtimes import mask_proxy
from oulipoly_engine.core.text.columns import table
from oulipoly_engine.facade import output
from oulipoly_engine.facade.base.own_process import interruptible

_SHOWN_ERRORS = 10  # lines of stderr; the JSON form has all that are kept
_MORE = {  # behind the summary, in a command's help
    "show": "No secret is shown.",
    "refresh": "No model is asked anything.",
    "models": "It is asked for them where it never was.",
}
_SHORT = (  # what the list tells of; `show` tells of all
    "resume", "fork", "steer", "interrupt", "approvals", "user_input_requests", "model_list", "review", "compaction"
)  # fmt: skip


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Run the command of that name."""
    verb = name.rpartition(" ")[2]
    parser = Parser(prog=f"{context.program} {name}", command=name, more=_MORE.get(verb, ""))
    if verb == "refresh":
        parser.add_argument("runtimes", nargs="*", metavar="RUNTIME", help="default: all that are enabled")
    elif verb != "list":
        parser.add_argument("runtime", metavar="RUNTIME")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    served = {
        "list": _list,
        "show": _show,
        "refresh": _refresh,
        "models": _models,
        "login": _log_in,
        "logout": _log_out,
    }
    return served[verb](context, parser.parse(arguments))


def _list(context: Context, options: Namespace) -> int:
    return _print_all(context, context.engine.runtimes.summaries(), options)


def _show(context: Context, options: Namespace) -> int:
    _print(context.engine.runtimes.summary(options.runtime), options)
    return 0


def _refresh(context: Context, options: Namespace) -> int:
    with interruptible() as guard:  # else the CLIs that it asks would outlive it
        guard.arm()
        summaries = context.engine.runtimes.refresh(options.runtimes)
    return _print_all(context, summaries, options)


def _models(context: Context, options: Namespace) -> int:
    runtimes = context.engine.runtimes
    with interruptible() as guard:
        guard.arm()
        runtime, models = runtimes.find(options.runtime), runtimes.models(options.runtime)
    rows = [["MODEL", "NAME", "EFFORTS", "INPUT", ""], *(_model_row(one) for one in models)]
    return tell(options, {"runtime_id": runtime.id, "models": [*map(model_json, models)]}, *table(rows))


def _log_in(context: Context, options: Namespace) -> int:
    _print_login(context.engine.runtimes.log_in(options.runtime), options)
    return 0


def _log_out(context: Context, options: Namespace) -> int:
    _print_login(context.engine.runtimes.log_out(options.runtime), options)
    return 0


def _print_login(summary: RuntimeSummary, options: Namespace) -> None:
    if options.json:
        _print(summary, options)
    else:
        account = f": {summary.account}" if summary.account else ""
        output.write_line(f"{summary.runtime.id}: {describe_status(summary.status)}{account}")


def _print_all(context: Context, summaries: Sequence[RuntimeSummary], options: Namespace) -> int:
    if options.json:
        output.write_json({"schema_version": SCHEMA_VERSION, "runtimes": [_document(one) for one in summaries]})
        return 0
    if not summaries:
        output.write_line(f"no runtimes: `{context.program} account add` adds an account, which has one")
        return 0
    rows = [["RUNTIME", "KIND", "STATUS", "VERSION", "LOGIN", "CAN"], *map(_row, summaries)]
    output.write_lines(table(rows))
    for one in summaries:
        cause = describe_cause(one.status)
        if cause and one.probed_at:
            output.write_line(f"{one.runtime.id}: {cause}")
        if any(noticed.code == SESSIONS_LOST_CODE for noticed in one.diagnostics):
            output.write_line(f"{one.runtime.id}: {SESSIONS_LOST}")
    if any(not one.probed_at and one.runtime.is_enabled for one in summaries):
        output.write_line(f"`{context.program} runtime refresh` asks those that were never started")
    return 0


def _row(summary: RuntimeSummary) -> list[str]:
    can = [name.replace("_", " ") for name in _SHORT if summary.capabilities.get(f"supports_{name}")]
    return [
        summary.runtime.id,
        summary.runtime.kind,
        describe_status(summary.status),
        summary.version or "-",
        summary.account or "-",
        ", ".join(can) or "-",
    ]


def _model_row(model: ModelInfo) -> list[str]:
    marks = [word for word, holds in (("default", model.is_default), ("custom", model.is_custom)) if holds]
    inputs = ", ".join(model.input_modalities)
    return [model.id, model.name or model.id, ", ".join(model.efforts) or "-", inputs or "-", ", ".join(marks)]


def _print(summary: RuntimeSummary, options: Namespace) -> None:
    if options.json:
        output.write_json({"schema_version": SCHEMA_VERSION, **_document(summary, models=summary.models)})
    else:
        output.write_lines(_lines(summary))


def _document(summary: RuntimeSummary, models: Sequence[ModelInfo] | None = None) -> dict[str, object]:
    return summary_json(summary, proxy=mask_proxy(summary.runtime.proxy) or None, models=models)


def _lines(summary: RuntimeSummary) -> Iterator[str]:
    runtime, cause = summary.runtime, describe_cause(summary.status)
    yield f"runtime   {runtime.id} ({runtime.name})"
    yield f"kind      {runtime.kind}"
    yield f"status    {describe_status(summary.status)}{': ' + cause if cause else ''}"
    yield f"asked     {summary.probed_at or 'never'}"
    yield f"version   {summary.version or 'not known'}"
    yield f"account   {runtime.account or 'none'}{', logged in: ' + summary.account if summary.account else ''}"
    yield f"program   {summary.program or runtime.program + ' (not found)'}"
    if runtime.home:
        yield f"home      {runtime.home}"
    if runtime.shadow_home:
        yield f"shadow    {runtime.shadow_home}"
    if runtime.proxy:
        yield f"proxy     {mask_proxy(runtime.proxy)}"
    yield f"can       {_words(summary, holds=True) or 'nothing'}"
    yield f"cannot    {_words(summary, holds=False) or 'nothing'}"
    yield f"models    {', '.join(one.id for one in summary.models) or 'not known'}"
    for one in summary.diagnostics:
        for line in one.message.splitlines():
            yield f"{one.level:<9} {line} ({one.code})"
    for line in summary.stderr[-_SHOWN_ERRORS:]:
        yield f"stderr    {line}"


def _words(summary: RuntimeSummary, *, holds: bool) -> str:
    can = summary.capabilities
    return ", ".join(name.replace("_", " ") for name in CAPABILITIES if can.get(f"supports_{name}", False) == holds)
