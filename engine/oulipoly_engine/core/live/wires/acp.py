"""Any agent of the Agent Client Protocol, version 1."""

from __future__ import annotations

from collections.abc import Mapping

from oulipoly_engine.core.live.wires.wire import Profile, Syntax, Wire

# Modes by which agents of ACP do what a profile says; where one has none of them, its own settings decide.
# Source: gemini 0.61.0, claude-agent-acp 0.49.0, codex-acp 2.6.0, seen 2026-11. opencode has none of the kind.
AGENT_MODES: Mapping[Profile, tuple[str, ...]] = {
    "full_access": ("bypassPermissions", "yolo", "agent-full-access"),
    "auto_accept_edits": ("acceptEdits", "autoEdit", "workspace-write"),
    "supervised": ("default", "read-only"),
}
# Of any agent: what leaves the agent to itself. Which options make it speak, its card says in `start_words`.
_SYNTAX = Syntax(
    reserved=frozenset(("--yolo", "--approval-mode", "--dangerously-skip-permissions", "--output-format", "--")),
)

ACP = Wire(
    kind="acp",
    note="Any agent that speaks ACP.",
    driver="acp:AcpDriver",
    syntax=_SYNTAX,
    modes=AGENT_MODES,
    refuses_strangers=True,
)
