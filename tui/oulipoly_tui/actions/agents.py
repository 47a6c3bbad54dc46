"""Actions on running agents and on their images."""

from __future__ import annotations

from oulipoly_engine.core.commands.table import find
from oulipoly_tui.actions.action import offer, own

ACTIONS = (
    offer("agents.run", find("agent run"), keys="r", weight=8, run="agents:run", note="asks at which isolation"),
    offer(
        "agents.prompt", find("agent prompt"), keys="p", weight=7, run="agents:prompt", note="in a session of its own"
    ),
    offer("agents.chat", find("agent chat"), keys="c", weight=7, run="agents:chat", note="in the Live pane"),
    offer("agents.exec", find("agent exec"), keys="e", weight=6, run="agents:run_tool"),
    offer("agents.job", find("job run"), keys="b", weight=3, run="agents:run_job"),
    offer("agents.jobs", find("job ls"), keys="J", weight=3, note="enter shows what one has written"),
    offer("agents.logs", find("agent logs"), keys="l", weight=5, run="agents:read_log"),
    offer("agents.inspect", find("agent inspect"), keys="i", weight=5, run="agents:inspect", note="so does enter"),
    offer("agents.start", find("agent start"), keys="s", weight=6, run="agents:start"),
    offer("agents.stop", find("agent stop"), keys="x", weight=6, run="agents:stop"),
    offer("agents.remove", find("agent rm"), keys="d", weight=4, run="agents:remove"),
    offer("agents.cancel", find("job cancel"), run="agents:cancel_job"),
    offer(
        "agents.view",
        own("images / agents", "show the images, or the agents again", ("image ls", "image list")),
        keys="v",
        weight=8,
    ),
    offer("agents.parts", find("image inspect"), keys="I", weight=5, run="agents:inspect_image", note="so does enter"),
    offer("agents.diff", find("image diff"), keys="D", weight=6, run="agents:compare"),
    offer("agents.tag", find("image tag"), keys="T", weight=4, run="agents:tag"),
    offer("agents.delete", find("image rm"), keys="X", weight=4, run="agents:remove_image"),
)
