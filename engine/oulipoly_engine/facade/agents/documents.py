"""What is known of running agents and of their jobs: the documents of `--json` and REST, and rows to read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.agents.agents import Agent, Change, Job
from oulipoly_engine.core.boxes.box import Level
from oulipoly_engine.core.boxes.report import ATTEMPTS

if TYPE_CHECKING:
    from oulipoly_engine.facade.agents.inspection import AgentDetails
    from oulipoly_engine.facade.agents.standings import AgentStanding


def agent_json(agent: Agent) -> dict[str, Any]:
    """Return which agent something was done to, and how it stands since, as scripts get it."""
    return {"agent_id": agent.agent_id, "name": agent.name, "status": agent.status, "isolation": agent.isolation}


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
        "logins": [
            {
                "account": account,
                "is_in_reach": bool(reason) and agent.isolation != Level.SEALED,
                "reason": reason or None,
            }
            for account, reason in standing.logins.items()
        ],
        "in_flight": standing.in_flight,
        "account": standing.account or None,
        "model": agent.plan.model or None,
        "runtime": agent.plan.runtime,
        "source": agent.source,
        "digest": agent.digest or None,
        "created_at": to_text(agent.created_at),
        "updated_at": to_text(agent.updated_at),
    }


def describe(details: AgentDetails) -> tuple[tuple[str, str], ...]:
    """Return what is known of an agent as rows to read: a name, which may be empty, and a text of anybody's."""
    agent = details.standing.agent
    return (
        ("name", agent.name),
        ("id", agent.agent_id),
        ("status", details.standing.status + (f" ({agent.reason}): {agent.problem}" if agent.reason else "")),
        ("isolation", agent.isolation or "-"),
        *_login_rows(details.standing),
        *(("", f"not held: {sentence}") for sentence in details.unheld),
        *_report_rows(details),
        ("account", details.standing.account or "-"),
        ("model", agent.plan.model or "-"),
        ("runtime", agent.plan.runtime),
        *((("address", agent.plan.address),) if agent.plan.address else ()),
        ("source", agent.source),
        ("digest", agent.digest or "-"),
        ("folder", details.view.root),
        ("tools", ", ".join(tool.name for tool in agent.plan.tools) or "-"),
        ("capabilities", ", ".join(agent.plan.capabilities) or "-"),
        *((("", f"not reached: {agent.why_without_tools}"),) if agent.why_without_tools else ()),
        *(("mount", f"{mount.host} at {mount.target}") for mount in agent.plan.mounts),
        *(("left out", f"the variable {name}, which is reserved") for name in details.skipped),
        *(("session", session) for session in details.sessions[:5]),
        *(("tool run", describe_job(job)) for job in details.jobs[:5]),
        *(("history", _describe_change(change)) for change in details.history[-5:]),
    )


def _login_rows(standing: AgentStanding) -> list[tuple[str, str]]:
    """Return the logins that the agent does not reach."""
    is_sealed = standing.agent.isolation == Level.SEALED
    return [
        ("login", f"of {name}: {f'refused, for {reason}' if reason else 'kept on the host'}")
        for name, reason in standing.logins.items()
        if is_sealed or not reason
    ]


def describe_job(job: Job) -> str:
    """Return a run of a tool in a line: which, with which words, and how it ended."""
    code = "" if job.exit_code is None else f", exit {job.exit_code}"
    why = f": {job.problem}" if job.problem else ""
    return f"{job.job_id[:12]} {' '.join((job.tool, *job.arguments))}  {job.status}{code}{why}"


def _report_rows(details: AgentDetails) -> list[tuple[str, str]]:
    report = details.report
    if report is None:
        return []
    tried = [name for name in ATTEMPTS if name in report.reached or name in report.held]
    rows = [("measured", f"{ATTEMPTS[name][0]}: {'yes' if name in report.reached else 'no'}") for name in tried]
    return rows + [("", f"NOT AS IT SHOULD BE: it can {ATTEMPTS[name][0]}") for name in report.unexpected]


def details_json(details: AgentDetails) -> dict[str, Any]:
    """Return all that is known of an agent as scripts get it."""
    agent = details.standing.agent
    plan = agent.plan
    return standing_json(details.standing) | {
        "address": plan.address or None,
        "root": details.view.root,
        "workspace": details.view.workspace,
        "configs": dict(plan.configs),
        "variables": [each.name for each in plan.variables],
        "variables_left_out": list(details.skipped),
        "tools": [
            {
                "name": tool.name,
                "ref": tool.ref or None,
                "digest": tool.digest or None,
                "description": tool.description,
            }
            for tool in plan.tools
        ],
        "mounts": [{"host": each.host, "target": each.target, "read_only": each.is_read_only} for each in plan.mounts],
        "capabilities": list(plan.capabilities),
        "capabilities_unreached": agent.why_without_tools or None,
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
