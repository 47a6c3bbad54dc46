"""Commands that set things up, check them, and keep the files in order. Pure."""

from __future__ import annotations

from oulipoly_engine.core.commands.command import Argument, destroys, reads, writes

_FILE, _KEY = Argument("file"), Argument("key")
_RESOURCE = (Argument("type"), Argument("name"))

COMMANDS = (
    writes(
        "setup",
        "set up",
        "set up the CLIs of this machine; everything is shown before it is written",
        synonyms=("setup", "install", "onboarding", "detect logins"),
    ),
    writes(
        "setup run",
        "set up with agent",
        "have a model set things up; you agree to each step",
        synonyms=("setup run", "assistant", "wizard", "configure with ai", "automatic setup"),
    ),
    reads("setup detect", "detect", "show what is installed, and who is logged in"),
    writes(
        "setup sync",
        "sync skills",
        "copy skills and MCP servers from one CLI to others",
        synonyms=("mcp servers", "copy skills", "share tools"),
    ),
    reads("setup history", "set-up history", "show how set-ups by a model went"),
    writes("setup memory", "set-up memory", "show what the set-up agent remembers, or clear it"),
    reads(
        "doctor",
        "doctor",
        "check everything: what is wrong, what follows, what mends it",
        synonyms=("diagnose", "health check", "troubleshoot", "repair", "self test"),
    ),
    reads(
        "demo",
        "demo",
        "try everything in a throw-away world with made-up accounts",
        synonyms=("tour", "example", "sandbox"),
    ),
    reads("completion", "completion", "print the completion for bash, zsh or fish"),
    reads("config check", "check configuration", "report every problem of every file"),
    reads("config show", "show settings", "print all settings in force, secrets masked"),
    writes("config edit", "edit file", "edit a file in your editor; it is checked first", (_FILE,)),
    reads("config get", "get setting", "print one setting", (_KEY,)),
    writes("config set", "set setting", "change one setting; comments stay", (_KEY, Argument("value"))),
    reads("config path", "paths", "print where the files lie"),
    writes("config unset", "unset setting", "take one setting out of its file; comments stay", (_KEY,)),
    writes("config enable", "switch on", "switch on an extension, skill, prompt or theme", _RESOURCE),
    writes("config disable", "switch off", "switch off an extension, skill, prompt or theme", _RESOURCE),
    reads(
        "config list",
        "list switched on",
        "list extensions, skills, prompts and themes, and which are on",
        (Argument("type", is_optional=True),),
    ),
    writes(
        "config trust",
        "trust project",
        "let a project's settings count that need your word",
        (Argument("folder", is_optional=True),),
    ),
    writes("config init", "first configuration", "write a first configuration for your CLIs"),
    reads("config schema", "JSON Schema", "print the JSON Schema of a file, for editors"),
    writes("config migrate", "migrate configuration", "bring an older configuration forward"),
    writes("state backfill", "backfill", "fill in what an older state file lacks"),
    reads("telemetry show", "telemetry", "print all that telemetry holds; it is off unless you switch it on"),
    destroys("telemetry clear", "clear telemetry", "remove all that telemetry holds"),
    destroys("state rebuild", "rebuild", "set the state file aside as a backup, start afresh"),
)
