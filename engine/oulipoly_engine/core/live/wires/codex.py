"""Codex, by its app-server; and a codex before 0.40, by `codex proto`."""

from __future__ import annotations

from oulipoly_engine.core.live.wires.wire import HomeParts, OwnLog, Policies, Syntax, Wire, option_set
from oulipoly_engine.records import replace

# Codex has no policy that accepts edits and asks for commands. The contract supervises it by `on-request`; codex 0.169
# asks then only when the model wants more than the sandbox allows, and a refused write is just a command that failed.
# `untrusted` asks before every change of a file and before every command that is not known to be safe (seen 2026-11).
_POLICIES = Policies(
    {
        "full_access": ("never", "exact"),
        "auto_accept_edits": ("on-request", "stricter_fallback"),
        "supervised": ("untrusted", "exact"),
    },
    {"never": 0, "on-request": 1, "unless-trusted": 1, "on-failure": 1, "untrusted": 2, "always": 2, "ask": 2},
    {
        "full_access": "danger-full-access",
        "auto_accept_edits": "workspace-write",
        "supervised": "workspace-write",
    },
)
_SYNTAX = Syntax(
    reserved=option_set(
        *("--enable", "--disable", "--listen", "--stdio", "--sandbox", "-s", "--ask-for-approval", "-a", "--full-auto"),
        *("--dangerously-bypass-approvals-and-sandbox", "--yolo", "--cd", "-C", "--remote", "--json", "--image", "-i"),
        *("--help", "-h", "--version", "-V", "--"),
    ),
    valued=option_set("--model", "-m", "--profile", "-p", "--local-provider"),
    prefixes=("--ws-", "--remote-"),
    config=option_set("--config", "-c"),
    config_told={"model": "model", "model_reasoning_effort": "effort"},
    config_reserved=option_set(
        *("mcp_servers", "features", "approval_policy", "approvals_reviewer", "sandbox_mode"),
        *("sandbox_workspace_write", "sandbox_permissions", "permissions", "default_permissions", "projects"),
        *("profile", "profiles", "apps", "plugins", "hooks", "notify"),
    ),
    words=option_set(
        *("daemon", "proxy", "exec", "resume", "fork", "app-server", "mcp-server", "login", "logout", "apply", "cloud"),
        *("generate-ts", "generate-json-schema", "review", "help", "proto"),
    ),
    forbids_words=True,
)

CODEX = Wire(
    kind="codex",
    note="Codex, by its app-server.",
    driver="codex:CodexDriver",
    syntax=_SYNTAX,
    cli="codex",
    former_name="Codex CLI",
    stands=0,
    policies=_POLICIES,
    shadow=HomeParts(frozenset(("auth.json", "models_cache.json")), ("sessions",)),
    switches={
        "include_plan_tool": "include_plan_tool",
        "include_apply_patch_tool": "include_apply_patch_tool",
        "include_view_image_tool": "include_view_image_tool",
        "web_search": "tools.web_search",
    },
    unlisted_models=r"gpt-\d+(\.\d+)?(-[a-z]+)*",  # it lists the newest
    own_log=OwnLog("~/.codex", "sessions/**/rollout-*-{id}.jsonl"),  # seen 2026-11 with 0.169.0
    prints_schema=True,
)
CODEX_PROTO = replace(
    CODEX,
    kind="codex-proto",
    note="A codex before 0.40, by `codex proto`.",
    driver="codex_proto:CodexProtoDriver",
    cli="",
    former_name="",
    stands=9,
    shadow=None,
    prints_schema=False,
)
