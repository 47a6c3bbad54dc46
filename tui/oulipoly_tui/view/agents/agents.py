"""Running agents as lines: how each stands, what it is made of, what it would get. What images say is hostile. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from oulipoly_engine.core.text.control_characters import visible_line
from oulipoly_engine.core.text.redact import redact
from oulipoly_tui.view import words
from oulipoly_tui.view.frame.room import describe_room
from oulipoly_tui.view.transcript.spans import Line, Row, Span, Tone, cells, fit_text

if TYPE_CHECKING:
    from oulipoly_engine.core.agents.agents import Job
    from oulipoly_engine.facade.agents.agents import AgentPreview
    from oulipoly_engine.facade.agents.standings import AgentStanding
    from oulipoly_engine.facade.snapshot import Snapshot

_TONES: Mapping[str, Tone] = {"ready": "good", "working": "accent", "failed": "bad", "stopped": "dim"}
_NAME_LEAST = 12  # columns, all of these
_NAME_MOST = 28
_STATUS = 16
_ISOLATION = 9
_IN_FLIGHT = 8
_ACCOUNT = 16
_USED = 18
_LEVELS: Mapping[str, str] = {
    "": "guarded if its CLI starts in that; else none, and nothing holds it",
    "none": "nothing holds it",
    "guarded": "a box: its tree, its mounts, the CLI's program and login",
    "sealed": "the same, with nothing else of this machine in sight",
}
EMPTY: tuple[Line, ...] = (
    (("No agents yet.", "strong"),),
    (),
    (("r", "key"), (" runs one: an Agentfile or its folder, an agent definition, an image.", "")),
    (("v", "key"), (" shows the images.", "")),
)


def agent_rows(standings: Sequence[AgentStanding], snapshot: Snapshot | None, width: int) -> tuple[Row, ...]:
    """Return a row an agent, which is its id's."""
    return tuple(Row(each.agent.agent_id, _line(each, snapshot, width)) for each in standings)


def agents_title(standings: Sequence[AgentStanding]) -> str:
    """Return how many agents there are, and how many of them have failed."""
    failed = sum(each.status == "failed" for each in standings)
    return f"{len(standings)}" + (f" · {failed} failed" if failed else "")


def agent_lines(standing: AgentStanding, snapshot: Snapshot | None, now: datetime) -> tuple[Line, ...]:
    """Return what is known of an agent without asking its box."""
    agent = standing.agent
    plan = agent.plan
    lines: list[Line] = []
    if agent.reason:
        lines.append(((f"{agent.reason}: ", "bad"), (shown(agent.problem), "warn")))
    account = shown(standing.account) or "none yet"
    used, tone = describe_room(standing.account, snapshot) if standing.account else ("", "")
    tools = ", ".join(shown(tool.name) for tool in plan.tools) or "none"
    lines += [
        (("account    ", "dim"), (account, ""), (f"  {used}" if used else "", tone)),
        (("model      ", "dim"), (shown(plan.model) or "the default", "")),
        (("isolation  ", "dim"), (agent.isolation or "not chosen yet", "")),
        (("tools      ", "dim"), (tools, "")),
        *((("mount      ", "dim"), (f"{shown(each.host)} at {shown(each.target)}", "")) for each in plan.mounts),
        *_login_lines(standing.logins),
        (("source     ", "dim"), (shown(agent.source), "")),
        (("digest     ", "dim"), (agent.digest[:19] or "-", "")),
        (("id         ", "dim"), (agent.agent_id[:8], ""), (f"  changed {words.age(agent.updated_at, now)}", "dim")),
    ]
    return tuple(lines)


def _login_lines(logins: Mapping[str, str]) -> tuple[Line, ...]:
    """Return a line for each way in which logins are kept or in reach, with their accounts."""
    names_by_reason: dict[str, list[str]] = {}
    for account, reason in logins.items():
        names_by_reason.setdefault(reason, []).append(shown(account))
    return tuple(
        (
            (f"{'login' if at == 0 else '':<11}", "dim"),
            (f"of {', '.join(names)}: ", ""),
            (f"in its reach: {shown(reason)}" if reason else "kept on the host", "warn" if reason else "good"),
        )
        for at, (reason, names) in enumerate(names_by_reason.items())
    )


def preview_lines(preview: AgentPreview) -> tuple[Line, ...]:
    """Return what an agent would get: texts, tools, files, variables, what it asks to reach."""
    plan = preview.plan
    rows = [
        ("model", plan.model or "the default"),
        ("runtime", plan.runtime),
        ("texts", ", ".join(each.name for each in plan.contexts)),
        ("tools", ", ".join(each.name for each in plan.tools)),
        ("files", ", ".join(each.name for each in plan.files)),
        ("variables", ", ".join(each.name for each in plan.variables)),
        ("settings", ", ".join(f"{key}={value}" for key, value in plan.configs.items())),
        ("asks for", ", ".join((*preview.network, *(f"a folder at {target}" for target in preview.mounts)))),
        ("digest", preview.digest),
    ]
    return tuple(((f"{name:<11}", "dim"), (shown(text), "")) for name, text in rows if text)


def level_rows(preview: AgentPreview) -> tuple[Row, ...]:
    """Return the isolations that an agent can be run at, the default first; what this machine cannot give says why."""
    rows = [Row("best", _level_line("", ""))]
    rows += [Row(level, _level_line(level, refusal), not refusal) for level, refusal in preview.refusals.items()]
    return tuple(rows)


def level_text(level: str) -> str:
    """Return what an isolation holds. level: empty: the default."""
    return _LEVELS.get(level, level)


def job_row(job: Job, now: datetime) -> Row:
    """Return a job in a list."""
    code = "" if job.exit_code is None else f" exit {job.exit_code}"
    head = fit_text(f"{job.status}{code}", 16)
    call = shown(" ".join((job.tool, *job.arguments)))
    return Row(job.job_id, ((head, _job_tone(job)), (call, ""), (f"  {words.age(job.created_at, now)}", "dim")))


def output_lines(stdout: str, stderr: str, problem: str = "") -> tuple[Line, ...]:
    """Return what a tool has written."""
    lines: list[Line] = [((shown(problem), "warn"),)] if problem else []
    lines += [((shown(line), ""),) for line in stdout.splitlines()]
    lines += [((shown(line), "warn"),) for line in stderr.splitlines()]
    return tuple(lines) or ((("It has written nothing.", "dim"),),)


def shown(text: str) -> str:
    """Return what anybody wrote as one harmless line without secrets."""
    return redact(visible_line(text))


def _job_tone(job: Job) -> Tone:
    if job.status == "done":
        return "bad" if job.exit_code else "good"
    return "accent" if job.status in ("pending", "running") else "bad"


def _level_line(level: str, refusal: str) -> Line:
    return ((fit_text(level or "default", 10), "dim" if refusal else "strong"), (refusal or level_text(level), "dim"))


def _line(standing: AgentStanding, snapshot: Snapshot | None, width: int) -> Line:
    """Return an agent's row: what is last has no place in a narrow one."""
    agent = standing.agent
    reason = f": {agent.reason}" if agent.reason else ""
    columns: list[Span] = [
        (fit_text(f"{standing.status}{reason}", _STATUS), _TONES.get(standing.status, "")),
        (fit_text(f" {agent.isolation or '-'}", _ISOLATION), ""),
        (fit_text(f" {standing.in_flight} runs" if standing.in_flight else "", _IN_FLIGHT), "accent"),
        (fit_text(f" {shown(standing.account)}", _ACCOUNT), ""),
    ]
    if standing.account:
        used, tone = describe_room(standing.account, snapshot)
        columns.append((fit_text(f" {used}", _USED), tone))
    while len(columns) > 1 and width - sum(cells(text) for text, _ in columns) < _NAME_LEAST:
        columns.pop()
    room = width - sum(cells(text) for text, _ in columns) - 2
    return ((" ", ""), (fit_text(shown(agent.name), max(1, min(_NAME_MOST, room))), ""), (" ", ""), *columns)
