"""Commands that set things up, check them, and keep the files in order. Pure."""

from __future__ import annotations

from oulipoly_engine.core.commands.command import Argument, destroys, reads, writes

_FILE, _KEY = Argument("file"), Argument("key")
_EXTENSION = Argument("extension")
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
    writes(
        "pkg install",
        "install package",
        "install a package of extensions, skills, prompts and themes",
        (Argument("source"),),
        synonyms=("plugin", "add package", "npm"),
    ),
    reads("pkg list", "packages", "list the installed packages, and what they bring", synonyms=("plugins",)),
    reads("pkg info", "package", "show a package: its files, what it brings, what it may do", (Argument("package"),)),
    reads("pkg diff", "compare package", "show what an update of a package would change", (Argument("package"),)),
    writes(
        "pkg update",
        "update packages",
        "update packages from where they came, after showing what changes",
        (Argument("package", is_optional=True),),
        synonyms=("upgrade",),
    ),
    writes(
        "pkg rollback", "roll back package", "go back to a package as it was before an update", (Argument("package"),)
    ),
    destroys(
        "pkg uninstall",
        "uninstall package",
        "remove a package and all that it brought",
        (Argument("package"),),
        synonyms=("remove package",),
    ),
    reads(
        "ext list",
        "extensions",
        "list extensions: their states, what they may do, what they cost",
        synonyms=("plugins", "add-ons", "permissions", "hooks"),
    ),
    writes(
        "ext enable",
        "enable extension",
        "switch an extension on, and allow what it asks for",
        (_EXTENSION,),
        ("allow extension", "trust extension", "install plugin"),
    ),
    writes(
        "ext disable",
        "disable extension",
        "switch an extension off; what was allowed stays",
        (_EXTENSION,),
        ("switch off plugin", "remove plugin"),
    ),
    reads("ext grants", "rights of extensions", "list what extensions are allowed"),
    writes("ext serve", "serve extensions", "offer tools and skills of extensions to a CLI, which starts this itself"),
    writes("ext run", "run extension's command", "run a slash command of an extension", scope="operate"),
)
