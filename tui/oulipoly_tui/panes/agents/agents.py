"""The Agents pane: running agents, or with `v` the images that they are run from; what is known of one below."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType

from oulipoly_engine.core.agents.states import RUNNING
from oulipoly_engine.core.commands.needs import Need
from oulipoly_tui.base.app_interface import AppInterface, app_of
from oulipoly_tui.base.emptiness import set_empty
from oulipoly_tui.base.pane import Pane, bindings
from oulipoly_tui.screens import dialogs
from oulipoly_tui.view.agents import agents as agents_view
from oulipoly_tui.view.agents import images as images_view
from oulipoly_tui.view.agents.agents import shown
from oulipoly_tui.view.transcript.spans import Line, Row, wrap_lines
from oulipoly_tui.widgets.lines import GUTTER, Lines, VirtualList
from oulipoly_tui.widgets.standing import is_standing

if TYPE_CHECKING:
    from oulipoly_engine.core.images.info import ImageInfo
    from oulipoly_engine.facade.agents.standings import AgentStanding
    from oulipoly_engine.facade.engine import Engine
    from oulipoly_engine.facade.snapshot import Snapshot

_DETAIL_FROM = 12  # rows of the pane below which there is no room for what is known of one
_OF_READY = ("prompt", "chat", "exec", "job")  # actions that an agent must be running for
_OF_TOOLS = ("exec", "job")
_Listed = tuple["Sequence[AgentStanding]", "Sequence[ImageInfo]"]


class AgentsPane(Pane):
    """Agents and images."""

    DEFAULT_CSS = Path(__file__).with_suffix(".tcss").read_text(encoding="utf-8")
    BINDINGS: ClassVar[list[BindingType]] = bindings("agents")

    def __init__(self, id: str = "agents") -> None:
        super().__init__(id=id)
        self._snapshot: Snapshot | None = None
        self._agents: Sequence[AgentStanding] = ()
        self._images: Sequence[ImageInfo] = ()
        self._shows_images = False
        self._is_read = False

    def compose(self) -> ComposeResult:
        """Lay out the list, what is known of the chosen one, and what stands in the place of an empty list."""
        yield VirtualList(id="agents-list")
        yield Lines(id="agents-detail")
        empty = Lines(id="agents-empty")
        empty.can_focus = True
        yield empty

    def on_show(self) -> None:
        """Read what there is, which nobody has followed while it was not seen."""
        self._ask()

    def take(self, snapshot: Snapshot) -> None:
        """Draw usage anew, and read the list again: somebody has changed something."""
        self._snapshot = snapshot
        if self.id in app_of(self).frame.area.visible_ids():
            self._draw()
            self._ask()

    def show(self, key: str) -> bool:
        """Put the cursor on an agent or an image."""
        return self._list.go_to(key)

    def lacks(self, need: Need) -> bool:
        """Return whether no agent, or no image, is under the cursor."""
        return (need is Need.AGENT and self._agent is None) or (need is Need.IMAGE and self._image is None)

    def obstacle(self, action: str) -> str | None:
        """Say why an action does nothing for the agent under the cursor."""
        standing = self._agent
        if action == "jobs" and standing is None:
            return Need.AGENT.value
        if action == "diff" and len(self._images) < 2:
            return "there is no other image to compare it with"
        if standing is None:
            return None
        agent = standing.agent
        runs = agent.status in RUNNING
        if action == "start" and runs:
            return f"{shown(agent.name)} runs already: it is {standing.status}"
        if action == "stop" and not runs:
            return f"{shown(agent.name)} does not run: it is {standing.status}"
        if action in _OF_READY and not agent.is_ready:
            return f"{shown(agent.name)} is {standing.status}: s starts it"
        if action in _OF_TOOLS and not agent.plan.tools:
            return f"{shown(agent.name)} declares no tool: a BIN in its Agentfile does"
        if action in ("prompt", "chat") and agent.has_own_runtime:
            return f"{shown(agent.name)} has a runtime of its own, which takes no prompts from us"
        return None

    def row_values(self) -> Mapping[str, str]:
        """Return what the row under the cursor has for commands."""
        agent = self._agent
        image = self._image
        if agent is not None:
            return {"agent name": agent.agent.name}
        return {} if image is None else {"reference": image.ref}

    def state(self) -> Mapping[str, object]:
        """Return which of both lists is shown."""
        return {"images": self._shows_images}

    def restore(self, state: Mapping[str, object]) -> None:
        """Show that list."""
        self._shows_images = state.get("images") is True

    def leave(self) -> bool:
        """Go back from the images to the agents."""
        was_there = self._shows_images
        if was_there:
            self.action_view()
        return was_there

    def focus_inside(self) -> None:
        """Give the keys to the list, or to what stands in its place."""
        self.query_one("#agents-empty" if self.has_class("-empty") else "#agents-list").focus()

    def on_resize(self, event: events.Resize) -> None:
        """Leave the details out where they find no room."""
        self.set_class(event.size.height < _DETAIL_FROM, "-low")
        self.call_after_refresh(self._draw)

    # ---- keys

    def action_view(self) -> None:
        """Show the images, or the agents again."""
        self._shows_images = not self._shows_images
        self._is_read = False
        self._draw()
        self._ask()
        self.show_keys_soon()

    def action_run(self) -> None:
        """Ask what an agent is run from."""
        text = "An image, the name of an agent definition, or a folder with an Agentfile"
        image = self._image
        run = partial(self._order, "agent run")
        dialogs.ask_name(self.app, "Run an agent", text, run, "" if image is None else image.ref)

    def action_prompt(self) -> None:
        """Ask what the agent is asked."""
        self._with_agent(lambda name: self._ask_text(f"Ask {shown(name)}", "The prompt", "agent prompt", name))

    def action_exec(self) -> None:
        """Choose a tool and its arguments, and run it."""
        self._choose_tool("agent exec")

    def action_job(self) -> None:
        """Choose a tool and its arguments, and run it in the background."""
        self._choose_tool("job run")

    def action_jobs(self) -> None:
        """List the agent's jobs."""
        from oulipoly_tui.commands.agents import list_jobs  # noqa: PLC0415 - only when it is asked for

        self._with_agent(partial(list_jobs, self._app))

    def action_diff(self) -> None:
        """Choose the newer image, and show what differs."""
        image = self._image
        if image is None:
            return
        rows = [Row(each.ref, ((shown(each.ref), ""),)) for each in self._images if each.ref != image.ref]
        text = f"What an update changes, from {shown(image.ref)} to:"
        dialogs.choose(self.app, "Compare with", rows, partial(self._order, "image diff", image.ref), text)

    def action_tag(self) -> None:
        """Ask for another reference."""
        image = self._image
        if image is not None:
            self._ask_text(f"Tag {shown(image.ref)}", "NAME or NAME:TAG", "image tag", image.ref)

    @on(VirtualList.Chosen, "#agents-list")
    def _open(self) -> None:
        if self._image is not None:
            self._order("image inspect", self._image.ref)
        elif self._agent is not None:
            self._order("agent inspect", self._agent.agent.name)

    def _choose_tool(self, command: str) -> None:
        standing = self._agent
        if standing is None:
            return
        agent = standing.agent

        def ask(tool: str) -> None:
            text = f"The arguments of {shown(tool)}; empty: none"
            run = partial(self._order, command, agent.name, tool)
            dialogs.ask(self.app, f"Run {shown(tool)}", text, run)

        tools = agent.plan.tools
        if len(tools) == 1:
            ask(tools[0].name)
            return
        rows = [
            Row(each.name, ((f"{shown(each.name)}  ", "strong"), (shown(each.description), "dim"))) for each in tools
        ]
        dialogs.choose(self.app, f"Tools of {shown(agent.name)}", rows, ask)

    def _ask_text(self, title: str, text: str, command: str, subject: str) -> None:
        dialogs.ask_name(self.app, title, text, partial(self._order, command, subject))

    def _with_agent(self, act: Callable[[str], object]) -> None:
        standing = self._agent
        if standing is not None:
            act(standing.agent.name)

    def _order(self, command: str, *arguments: str) -> None:
        self._app.order(command, arguments)

    # ---- what there is

    def _ask(self) -> None:
        """Have the list read, one question at a time."""
        engine = self._app.engine
        if engine is not None:
            read = partial(_read, engine, has_images=self._shows_images)
            self._app.work_newest("agents", lambda: self._app.work("agents", read, self._take))

    def _take(self, listed: _Listed) -> None:
        agents, images = listed
        self._agents = agents
        self._images = images
        self._is_read = True
        self._draw()
        self.show_keys_soon()

    @on(VirtualList.Fitted)
    def _draw(self) -> None:
        if not is_standing(self):
            return
        width = self._list.outer_size.width - GUTTER
        if self._shows_images:
            rows = images_view.image_rows(self._images, width)
            self.border_title = f"7 Agents · images {len(self._images)}"
        else:
            rows = agents_view.agent_rows(self._agents, self._snapshot, width)
            self.border_title = f"7 Agents · {agents_view.agents_title(self._agents)}" if rows else "7 Agents"
        set_empty(self, is_empty=not rows)
        self._list.show_rows(rows)
        empty = images_view.EMPTY if self._shows_images else agents_view.EMPTY
        self.query_one("#agents-empty", Lines).show_lines(
            wrap_lines(empty if self._is_read else (), max(20, self.size.width - 6))
        )
        self._describe()

    @on(VirtualList.Highlighted, "#agents-list")
    def _describe(self) -> None:
        lines: tuple[Line, ...] = ()
        if self._image is not None:
            tags = [each.ref for each in self._images if each.digest == self._image.digest]
            lines = images_view.image_lines(self._image, tags)
        elif self._agent is not None:
            lines = agents_view.agent_lines(self._agent, self._snapshot, self._app.now())
        self.query_one("#agents-detail", Lines).show_lines(wrap_lines(lines, max(20, self.size.width - 4)))

    @property
    def _app(self) -> AppInterface:
        return app_of(self)

    @property
    def _list(self) -> VirtualList:
        return self.query_one("#agents-list", VirtualList)

    @property
    def _agent(self) -> AgentStanding | None:
        if self._shows_images or not self.is_mounted:
            return None
        key = self._list.cursor_key
        return next((each for each in self._agents if each.agent.agent_id == key), None)

    @property
    def _image(self) -> ImageInfo | None:
        if not self._shows_images or not self.is_mounted:
            return None
        key = self._list.cursor_key
        return next((each for each in self._images if each.ref == key), None)


def _read(engine: Engine, *, has_images: bool) -> _Listed:
    return engine.agent_list.list(has_logins=True), engine.images.list() if has_images else ()
