"""Running agents and their images: each command by its name, after a question where something would be lost or run."""

from __future__ import annotations

import shlex
from functools import partial
from typing import TYPE_CHECKING, Any

from oulipoly_engine.core.images.manifest import AGENT_KIND
from oulipoly_engine.facade.agents.agents import AgentWish
from oulipoly_engine.facade.agents.documents import describe
from oulipoly_engine.facade.images.documents import change_lines, describe_parts
from oulipoly_tui.base.app_interface import engine_of
from oulipoly_tui.commands import live
from oulipoly_tui.screens import dialogs
from oulipoly_tui.view.agents.agents import job_row, level_rows, level_text, output_lines, preview_lines, shown
from oulipoly_tui.view.agents.images import change_spans, part_lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from oulipoly_engine.core.agents.agents import Agent, Job
    from oulipoly_engine.facade.agents.agents import AgentPreview
    from oulipoly_engine.facade.agents.inspection import AgentDetails
    from oulipoly_engine.facade.agents.work import ToolResult
    from oulipoly_engine.facade.engine import Engine
    from oulipoly_tui.base.app_interface import AppInterface
    from oulipoly_tui.view.transcript.spans import Line

_BEST = "best"  # the row of the default isolation


def run(app: AppInterface, arguments: list[str]) -> None:
    """Run an agent, once it was shown what it gets, and at which isolation that is."""
    source = arguments[0]
    agents = engine_of(app).agents

    def choose_level(preview: AgentPreview) -> None:
        text = f"{shown(source)}: what shall hold it?"
        dialogs.choose(app, "Run an agent", level_rows(preview), partial(ask, preview), text, at=_BEST)

    def ask(preview: AgentPreview, chosen: str) -> None:
        level = "" if chosen == _BEST else chosen
        head: tuple[Line, ...] = (
            ((f"{shown(source)} runs on your accounts, at isolation {level or 'default'}:", "strong"),),
            ((level_text(level), "warn" if level == "none" else ""),),
        )
        begin = partial(start_it, level, preview.digest)
        dialogs.review(app, "Run this agent?", head, preview_lines(preview), begin, yes="Run")

    def start_it(level: str, digest: str) -> None:
        work = partial(agents.run, AgentWish(source, isolation=level, digest=digest))
        _do(app, "run agent", work, _say_standing(app), f"running {shown(source)}")

    app.work("run agent", partial(agents.preview, source), choose_level, title="reading what it is made of")


def start(app: AppInterface, arguments: list[str]) -> None:
    """Start an agent again."""
    name = arguments[0]
    work = partial(engine_of(app).agents.start, name)
    _do(app, "start agent", work, _say_standing(app), f"starting {shown(name)}")


def stop(app: AppInterface, arguments: list[str]) -> None:
    """Stop an agent, after a question."""
    name = arguments[0]
    work = partial(engine_of(app).agents.stop, name)
    act = partial(_do, app, "stop agent", work, _say_standing(app), f"stopping {shown(name)}")
    text = (
        f"The turns and tools of {shown(name)} that run are ended. Its tree and its sessions stay: s starts it again."
    )
    dialogs.confirm(app, "Stop this agent?", text, "stop it", act, can_undo=True)


def remove(app: AppInterface, arguments: list[str]) -> None:
    """Remove an agent with its tree, after a question."""
    agents = engine_of(app).agents

    def ask(agent: Agent) -> None:
        text = (
            f"{shown(agent.name)} is stopped, and its tree goes, with all that it wrote there: {agents.root(agent)}. "
            "Its sessions stay. This cannot be undone."
        )
        work = partial(agents.remove, agent.agent_id)
        act = partial(_do, app, "remove agent", work, lambda _: app.say(f"Removed {shown(agent.name)}"), "removing")
        dialogs.confirm(app, "Remove this agent?", text, "remove it", act)

    app.work("remove agent", partial(agents.find, arguments[0]), ask)


def prompt(app: AppInterface, arguments: list[str]) -> None:
    """Send a prompt to an agent in a session of its own, and show that."""
    name, text = arguments
    engine = engine_of(app)

    def send() -> str:
        session = engine.agents.begin_session(name)
        engine.live.send(session.session_id, text)
        return session.session_id

    _do(app, "ask agent", send, partial(live.show, app), f"beginning a session of {shown(name)}")


def chat(app: AppInterface, arguments: list[str]) -> None:
    """Show the newest session of an agent; without one begin it."""
    name = arguments[0]
    agents = engine_of(app).agents

    def find_or_begin() -> str:
        return agents.find_newest_session(name) or agents.begin_session(name, idle_s=0.0).session_id

    _do(app, "talk to agent", find_or_begin, partial(live.show, app), f"opening a session of {shown(name)}")


def run_tool(app: AppInterface, arguments: list[str]) -> str | None:
    """Run a tool of an agent, and show what it wrote."""
    name, tool, words = _split(arguments)
    if isinstance(words, str):
        return words

    def show(result: ToolResult) -> None:
        texts = (data.decode("utf-8", "replace") for data in (result.stdout, result.stderr))
        dialogs.read(app, f"{shown(tool)} · exit {result.exit_code}", output_lines(*texts))

    work = partial(engine_of(app).agents.exec, name, tool, words)
    _do(app, "run tool", work, show, f"running {shown(tool)}: x in Agents ends it")
    return None


def run_job(app: AppInterface, arguments: list[str]) -> str | None:
    """Run a tool of an agent in the background."""
    name, tool, words = _split(arguments)
    if isinstance(words, str):
        return words
    work = partial(engine_of(app).agents.run_job, name, tool, words, b"", {})
    _do(app, "run job", work, lambda job: app.say(f"{job.job_id[:12]} is {job.status}"), f"starting {shown(tool)}")
    return None


def list_jobs(app: AppInterface, name: str) -> None:
    """List the jobs of an agent; what is chosen shows what it wrote."""

    def show(listed: tuple[Job, ...]) -> None:
        if not listed:
            app.say(f"{shown(name)} has no jobs: b runs one")
            return
        by_id = {job.job_id: job for job in listed}
        rows = [job_row(job, app.now()) for job in listed]
        dialogs.choose(app, f"Jobs of {shown(name)}", rows, lambda job_id: _read_job(app, by_id[job_id]))

    app.work("jobs", partial(engine_of(app).agents.list_jobs, name), show)


def cancel_job(app: AppInterface, arguments: list[str]) -> None:
    """End a job, after a question."""
    agents = engine_of(app).agents

    def ask(job: Job) -> None:
        text = f"{shown(' '.join((job.tool, *job.arguments)))} is ended with all that it started."
        work = partial(agents.cancel_job, job.job_id)
        act = partial(_do, app, "cancel job", work, lambda done: app.say(f"{done.job_id[:12]} is {done.status}"))
        dialogs.confirm(app, "Cancel this job?", text, "cancel it", act)

    app.work("cancel job", partial(agents.find_job, arguments[0]), ask)


def read_log(app: AppInterface, arguments: list[str]) -> None:
    """Show the last lines of an agent's log."""
    name = arguments[0]

    def show(lines: tuple[str, ...]) -> None:
        texts: list[Line] = [((shown(line), ""),) for line in lines]
        dialogs.read(app, f"Log of {shown(name)}", texts or [(("Nothing was logged.", "dim"),)])

    app.work("agent log", partial(engine_of(app).agents.read_log, name), show)


def inspect(app: AppInterface, arguments: list[str]) -> None:
    """Show all that is known of an agent; its box is measured from inside."""

    def show(details: AgentDetails) -> None:
        lines: list[Line] = [((f"{name:<11}", "dim"), (shown(text), "")) for name, text in describe(details)]
        dialogs.read(app, f"Agent {shown(details.standing.agent.name)}", lines)

    app.work(
        "inspect agent", partial(engine_of(app).agents.inspect, arguments[0]), show, title="measuring its isolation"
    )


# Images --------------------------------------------------------------------------------------------------------------
def inspect_image(app: AppInterface, arguments: list[str]) -> None:
    """Show what an image is: each part, and where it comes from."""
    reference = arguments[0]
    work = partial(_read_parts, engine_of(app), reference)
    app.work("show image", work, lambda lines: dialogs.read(app, f"Image {shown(reference)}", lines))


def compare(app: AppInterface, arguments: list[str]) -> None:
    """Show what an update of an agent changes."""
    before, after = arguments

    def show(comparison: Any) -> None:  # noqa: ANN401 - what the facade compares
        lines = change_spans(change_lines(comparison[2])) or ((("The agents are the same.", "strong"),),)
        dialogs.read(app, f"From {shown(before)} to {shown(after)}", lines)

    app.work("compare images", partial(engine_of(app).images.compare, before, after), show)


def tag(app: AppInterface, arguments: list[str]) -> None:
    """Give an image another reference."""
    reference, target = arguments
    work = partial(engine_of(app).images.tag, reference, target)
    _do(app, "tag image", work, lambda _: app.say(f"{shown(target)} is {shown(reference)} now"))


def remove_image(app: AppInterface, arguments: list[str]) -> None:
    """Remove an image with all its tags, after a question."""
    reference = arguments[0]
    work = partial(engine_of(app).images.remove, reference)
    done = partial(_say_removed, app, reference)
    text = f"{shown(reference)} goes, with every tag that means the same. This cannot be undone: agents run on."
    act = partial(_do, app, "remove image", work, done)
    dialogs.confirm(app, "Remove this image?", text, "remove it", act)


def _say_removed(app: AppInterface, reference: str, removed: tuple[str, ...]) -> None:
    app.say(f"Removed {shown(', '.join(removed) or reference)}")


def _read_parts(engine: Engine, reference: str) -> tuple[Line, ...]:
    info = engine.images.inspect(reference)
    rows = [("digest", info.digest, ""), ("kind", info.media_type, "")]
    if info.media_type == AGENT_KIND:
        rows += describe_parts(engine.images.load(reference))
    return part_lines([(name.strip(), says, where) for name, says, where in rows])


def _read_job(app: AppInterface, job: Job) -> None:
    open_note = f"It is {job.status}: `:job cancel {job.job_id[:12]}` ends it." if job.ended_at is None else ""
    lines = output_lines(job.stdout, job.stderr, job.problem or open_note)
    dialogs.read(app, f"{shown(job.tool)} · {job.status}", lines)


def _split(arguments: list[str]) -> tuple[str, str, tuple[str, ...] | str]:
    """Return agent, tool and its words; or what is wrong with these."""
    name, tool, *rest = arguments
    try:
        return name, tool, tuple(shlex.split(" ".join(rest)))
    except ValueError as error:
        return name, tool, f"these are not arguments: {error}"


def _say_standing(app: AppInterface) -> Callable[[Agent], None]:
    return lambda agent: app.say(f"{shown(agent.name)} is {agent.status}, isolation {agent.isolation or 'none yet'}")


def _do(app: AppInterface, name: str, work: Callable[[], Any], then: Callable[[Any], object], title: str = "") -> None:
    """Have something done in a thread; then, or where it fails, what the app shows is read anew."""

    def on_done(result: Any) -> None:  # noqa: ANN401 - whatever was done
        then(result)
        app.take_snapshot()

    app.work(name, work, on_done, lambda _error: app.take_snapshot(), title=title or name)
