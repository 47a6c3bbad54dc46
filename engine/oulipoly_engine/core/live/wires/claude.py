"""Claude Code, by stream-JSON and its control requests."""

from __future__ import annotations

from oulipoly_engine.core.live.wires.wire import HomeParts, OwnLog, Policies, Syntax, Wire, option_set

_POLICIES = Policies(
    {
        "full_access": ("bypassPermissions", "exact"),
        "auto_accept_edits": ("acceptEdits", "exact"),
        "supervised": ("default", "exact"),
    },
    {"bypassPermissions": 0, "acceptEdits": 1, "default": 2, "ask": 2},
)
_SYNTAX = Syntax(
    reserved=option_set(
        *("--settings", "--setting-sources", "--managed-settings", "--resume", "-r", "--continue", "-c"),
        *("--fork-session", "--session-id", "--resume-session-at", "--from-pr", "--no-session-persistence"),
        *("--print", "-p", "--permission-mode", "--permission-prompt-tool", "--dangerously-skip-permissions"),
        *("--allow-dangerously-skip-permissions", "--allowedTools", "--allowed-tools", "--tools"),
        *("--output-format", "--input-format", "--include-partial-messages", "--replay-user-messages", "--verbose"),
        *("--json-schema", "--mcp-config", "--strict-mcp-config", "--plugin-dir", "--agents", "--worktree", "-w"),
        *("--tmux", "--remote", "--teleport", "--background", "--bg", "--ide", "--chrome", "--init", "--init-only"),
        *("--maintenance", "--help", "-h", "--version", "-v", "--"),
    ),
    valued=option_set(
        *("--model", "--effort", "--fallback-model", "--append-system-prompt", "--system-prompt", "--agent"),
        *("--name", "-n", "--max-turns", "--max-budget-usd", "--debug-file"),
    ),
    listed=option_set("--disallowedTools", "--disallowed-tools", "--add-dir", "--betas"),
    words=option_set("mcp", "auth", "doctor", "update", "install", "plugin", "agents", "setup-token", "config"),
    forbids_words=True,
)

CLAUDE = Wire(
    kind="claude",
    note="Claude Code, by its stream of JSON.",
    driver="claude:ClaudeDriver",
    syntax=_SYNTAX,
    cli="claude",
    former_name="Claude Code",
    stands=1,
    policies=_POLICIES,
    shadow=HomeParts(
        frozenset((".credentials.json", "credentials.json", ".claude.json", ".claude.json.backup")), ("projects",)
    ),
    unlisted_models=r"claude-[a-z0-9.-]+(\[1m\])?",  # it lists short names
    own_log=OwnLog("~/.claude", "projects/*/{id}.jsonl"),  # seen 2026-11 with 2.1.197
)
