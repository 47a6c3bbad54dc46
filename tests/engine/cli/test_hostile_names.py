"""Nothing that comes from outside reaches a terminal raw, whichever command prints it, in whichever form.

One world holds hostile names wherever a name can be. Every command of the tables runs in it, and its whole stdout and
stderr are read: a new command fails `test_every_command_is_read` until it is read as well.
"""

import base64
import json
import os
import shlex
import sqlite3
import subprocess
import sys
import unicodedata
from contextlib import closing
from pathlib import Path

import pytest

from oulipoly_engine.cli.base import commands
from oulipoly_engine.host import runtime_folder
from oulipoly_engine.terminal.host.runtime_folder import Terminal

RUN = Path(__file__).parents[2] / "fixtures" / "run_commands.py"
# C0, an escape sequence, DEL, C1, a soft hyphen, direction, no width, separators, a tag, and at last a tab.
HOSTILE = "h\x1b[31m\x07\x9b2J\x7f\xad\u061c\u202e\u2066\u200b\u200d\u2060\u2028\u2029\ufeff\U000e0041\tx"
LINES = f"{HOSTILE}\nFORGED\rFORGED"  # where a line may break too
BYTES = f"{LINES}\udcff"  # where names are bytes
ACCOUNT = f"a{HOSTILE}"
SESSION = "11111111-1111-4111-8111-111111111111"
CHAIN, BAD_CHAIN = "22222222-2222-4222-8222-222222222222", "33333333-3333-4333-8333-333333333333"
LIVE = "55555555-5555-4555-8555-555555555555"
WORK = "66666666-6666-4666-8666-666666666666"
RUN_ID = "44444444-4444-4444-8444-444444444444"
NOBODY = 1 << 30  # no process has such a number
AT = "2026-11-20T10:00:00.000000Z"
OURS = (b"\r\x1b[K",)  # the line that counts, wiped
PROSE = {"markdown", "html", "--transcript", "--dry-run"}  # what was said, and files as they are, have lines and tabs

TOP_LEVEL = {
    "": [
        ["--version"],
        ["--help"],
        ["--usage"],
        ["--usage", "--json"],
        [LINES],
        [f"--{LINES}"],
        *(["__complete", "bash", *words, ""] for words in (["account", "drain"], ["-m"], ["terminal", "kill"])),
        ["-m", LINES, "x"],
        ["-a", LINES, "x"],
        ["-m", "m", "-f", LINES],
        ["-m", "m", "-p", LINES, "x"],
        ["-m", "m", "-i", LINES, "x"],
        ["-m", "m", "--timeout", LINES, "x"],
        ["--resume", LINES],
        ["--models-dir", LINES, "-m", LINES, "x"],
        ["--models-dir", "{home}/broken", "-m", LINES, "x"],
        ["--models-dir", "{home}/broken", "--usage"],
    ],
    "account add": [[LINES], ["claude", LINES], ["claude", "x", "--home", LINES], ["claude", "x", "--pool", LINES]],
    "account clear": [[ACCOUNT], [LINES]],
    "account disable": [[LINES]],
    "account drain": [[ACCOUNT], [LINES]],
    "account enable": [[LINES]],
    "account export": [[], [LINES]],
    "account import": [[LINES]],
    "account list": [[], ["--json"]],
    "account login": [[LINES]],
    "account remove": [[LINES]],
    "account rename": [[ACCOUNT, LINES], [LINES, "x"]],
    "account reserve": [[ACCOUNT, LINES]],
    "account show": [[ACCOUNT], [ACCOUNT, "--json"], [LINES]],
    "account test": [[LINES]],
    "account undo": [[], [LINES]],
    "account undrain": [[ACCOUNT]],
    "artifact diff": [["r/n"], [LINES], ["r/n", LINES]],
    "artifact gc": [[], ["--json"], ["--limit", LINES], ["--db", LINES]],
    "artifact get": [["r/n"], [LINES], [f"r/{LINES}"], ["r/n", "--output", f"{{tmp}}/{LINES}/x"]],
    "artifact label": [["r/n", LINES], ["r/n", "x"], [LINES, "x"]],
    "artifact list": [[], ["--json"], ["--removed"], [LINES], ["--label", LINES]],
    "artifact put": [["r/n", "--verdict-line", LINES], [LINES], ["r/n", LINES], ["r/n", "--label", LINES]],
    "artifact remove": [["r/n", "--reason", LINES], [LINES], ["r/x"]],
    "artifact show": [["r/n"], ["r/n", "--json"], [LINES], ["r/n@1"]],
    "completion": [["bash"], ["zsh"], ["fish"], [LINES]],
    "config check": [[], ["--json"], [LINES]],
    "config disable": [["prompt", LINES], [LINES, "x"]],
    "config enable": [["theme", LINES], ["skill", f"./{LINES}"]],
    "config list": [[], ["--json"], [LINES]],
    "config edit": [[LINES], [f"models/{LINES}/x"]],
    "config get": [["accounts.x", "--json"], ["tie_rule"], [LINES]],
    "config set": [["--dry-run", "tie_rule", LINES], [LINES, "x"]],
    "config init": [["--dry-run"], [LINES]],
    "demo": [["--remove", "--root", LINES], [LINES]],
    "device confirm": [["d1"], [LINES]],
    "device link": [[], ["--name", LINES, "--url", LINES], ["--url", LINES, "--json"], ["--hours", LINES]],
    "device list": [[], ["--json"], [LINES]],
    "device pair": [["--url", LINES], ["--name", LINES, "--url", LINES, "--json"], ["--scopes", LINES], [LINES]],
    "device revoke": [["d1"], [ACCOUNT, "--json"], [LINES]],
    "ext disable": [[LINES]],
    "ext enable": [[LINES], ["--allow", "hostile"]],
    "ext grants": [[], ["--json"]],
    "ext list": [[], ["--json"]],
    "ext serve": [[], [LINES]],
    "grants list": [[], ["--json"], [LINES]],
    "grants revoke": [["d2"], ["d3", "--json"], [LINES]],
    "serve": [["--host", LINES], ["--port", LINES], ["--allow-host", LINES], [LINES]],
    "doctor": [[], ["--json"], [LINES], ["--timeout", LINES]],
    "config migrate": [
        ["--dry-run", "--models-dir", "{home}/old"],
        ["--models-dir", LINES],
        ["--models-dir", "{home}/broken"],
    ],
    "agent run": [["{home}/repo"], [LINES], ["{home}/repo", "--name", LINES], ["{home}/repo", "-v", LINES]],
    "agent ps": [[], ["--json"], ["--all"], [LINES]],
    "agent prompt": [[LINES, "x"], ["x", "x", "--schema", f"{{home}}/{LINES}"]],
    "agent chat": [["x"], [LINES]],
    "agent exec": [["x", LINES], [LINES, "x"], ["--json", "x", "x"]],
    "agent logs": [[LINES], ["x", "--json"]],
    "agent inspect": [[LINES], ["x", "--json"]],
    "agent start": [[LINES], ["x", "--json"]],
    "agent sessions": [[LINES], ["x", "--json"]],
    "agent stop": [[LINES], ["x", "--json"]],
    "agent rm": [[LINES], ["x", "--json"]],
    "agent link": [[LINES, "x"], ["x", LINES, "--json"]],
    "agent unlink": [[LINES, "x"], ["x", LINES, "--json"]],
    "agent links": [[], ["--json"], [LINES]],
    "note ls": [[LINES], ["x", "--json"]],
    "note get": [[LINES, "x"], ["x", LINES, "--json"]],
    "note set": [["x", LINES, LINES], [LINES]],
    "note rm": [["x", LINES]],
    "note pin": [["x", LINES]],
    "note unpin": [["x", LINES]],
    "token create": [[LINES], ["x", "--capability", LINES]],
    "token ls": [[], [LINES]],
    "token revoke": [[LINES, "--json"], []],
    "job run": [["x", LINES], [LINES, "x"], ["--label", LINES, "x", "x"]],
    "job ls": [[], ["--json"], ["--label", LINES], ["--agent", LINES]],
    "job inspect": [[LINES], ["x", "--json"]],
    "job await": [[LINES], ["x", "--json"]],
    "job cancel": [[LINES], ["x", "--json"]],
    "image build": [["{home}/repo"], [LINES], ["{home}/repo", "-t", LINES]],
    "image diff": [["x", LINES], [LINES, "x"]],
    "image export": [[LINES, "-o", "x"], ["x", "-o", LINES]],
    "image import": [[LINES], ["{home}/repo"], ["x", "-t", LINES]],
    "image inspect": [[LINES], ["x", "--json"]],
    "image ls": [[], ["--json"], [LINES]],
    "image pull": [[LINES], [f"127.0.0.1:1/{LINES}"]],
    "image push": [[LINES], ["x", LINES]],
    "image rm": [[LINES]],
    "image sign": [[LINES], ["x", "--key", LINES]],
    "image verify": [[LINES]],
    "image tag": [[LINES, "x"], ["x", LINES]],
    "registry serve": [["--host", LINES], ["--port", LINES], [LINES]],
    "pkg install": [["{home}", "--timeout", "1"], [LINES], [f"npm:{LINES}"], ["{home}/repo", "--json"]],
    "pkg list": [[], ["--json"], [LINES]],
    "pkg info": [["repo"], ["repo", "--json"], [LINES]],
    "pkg diff": [["repo", "--json"], ["repo", LINES], [LINES]],
    "pkg update": [["--json"], ["repo", LINES], ["--timeout", LINES]],
    "pkg rollback": [["repo", "--to", LINES], [LINES]],
    "pkg uninstall": [["repo"], ["repo", "--json"], [LINES]],
    "config path": [[], ["--json"]],
    "config schema": [[], [LINES]],
    "config show": [[], ["--json"], ["--origin"]],
    "config trust": [["-y"], [LINES, "-y"]],
    "config unset": [["--dry-run", "tie_rule"], [LINES]],
    "apply": [[WORK], [WORK, "--json"], [WORK, "--undo"], [LINES]],
    "changes": [
        [WORK],
        [WORK, "--json"],
        [WORK, "--stage", LINES],
        [WORK, "--discard", "gone"],
        [WORK, "--undo"],
        [WORK, "--comment", LINES, LINES],
        [WORK, "--comment", f"{LINES}:1", LINES, "--dry-run", "--json"],
        [LINES],
        [LIVE],
    ],
    "commit": [[WORK], [WORK, "-m", LINES, "--json"], [LINES]],
    "diff": [[WORK], [WORK, "--json"], [WORK, "--staged"], [WORK, "--committed"], [WORK, LINES]],
    "merge": [
        [WORK, "--dry-run"],
        [WORK, "--dry-run", "--json"],
        [WORK, "--into", LINES],
        [WORK, "--hand-over"],
        [WORK, "--rebase"],
        [WORK, "--committed-only"],
        [WORK, "--undo", "--json"],
        [LINES],
    ],
    "promote": [[WORK], [WORK, "--dry-run"], [WORK, "--dry-run", "--json"], [WORK, "--branch", LINES], [LINES]],
    "quota check": [[], ["--json"], ["--notify"], ["--cached", "--threshold", LINES], ["--cached", LINES]],
    "quota forecast": [[], ["--json"], [ACCOUNT], [LINES]],
    "quota show": [[], ["--json"], [LINES]],
    "recover": [[], ["--json"], [LINES]],
    "requests list": [[], ["--all"], ["--all", "--json"], [LINES]],
    "requests show": [["cli_req_1"], ["cli_req_1", "--json"], [LINES]],
    "requests approve": [["cli_req_1"], [LINES]],
    "requests deny": [["cli_req_1", "--reason", LINES], [LINES]],
    "requests answer": [["cli_req_1", f"{LINES}=x"], [LINES, "a=b"], ["cli_req_1", LINES]],
    "requests cancel": [["cli_req_1"], [LINES]],
    "turn resume": [["turn-1"], [LINES]],
    "runtime list": [[], ["--json"], [LINES]],
    "runtime show": [["bad"], ["bad", "--json"], [LINES]],
    "runtime refresh": [["bad"], ["--json"], [LINES]],
    "runtime models": [["own"], ["own", "--json"], ["bad"], [LINES]],
    "runtime login": [["own"], [LINES]],
    "runtime logout": [["bad"], [LINES], ["--json", "own"]],
    "setup detect": [[], ["--json"], [LINES]],
    "setup run": [
        ["-m", LINES, "x"],
        ["x", "--max-turns", LINES],
        ["--account", LINES, "x"],
        [LINES, "--yes", "--json"],
    ],
    "setup history": [[], ["--json"], [LINES]],
    "setup memory": [[], ["--json"], ["--clear", "--yes"], [LINES]],
    "setup sync": [
        [],
        ["--json"],
        ["skill", LINES, "--from", ACCOUNT, "--to", LINES],
        ["mcp", LINES, "--from", "claude", "--to", "codex"],
        ["mcp", "--from", "claude", "--to", "codex", "--to", "opencode", "--dry-run"],
        ["--from", LINES],
        [LINES],
    ],
    "chat": [
        ["-m", LINES, "x"],
        ["-p", LINES, "x"],
        ["-c", "x"],
        ["--thinking", LINES, "x"],
        ["-e", LINES, "x"],
        ["--append-system-prompt", LINES, "x"],
        ["--mode", LINES, "x"],
        [f"--{LINES}"],
    ],
    "repl": [[LINES], ["m", "-m", LINES], ["--resume", BAD_CHAIN], ["m", "-p", LINES]],
    "report": [
        *(["--by", by] for by in ("day", "session", "model", "account", "project")),
        ["--by", "project", "--json"],
        ["--by", "project", "--csv"],
        ["--account", LINES],
        ["--since", LINES],
    ],
    "resume": [
        ["--session-id", LINES, "x"],
        ["--session-id", BAD_CHAIN, "x"],
        ["--list", LINES],
        ["--list", BAD_CHAIN],
        [CHAIN, "-m", LINES, "x"],
    ],
    "telemetry clear": [["--yes"], [LINES]],
    "telemetry show": [[], ["--json"], [LINES]],
    "state backfill": [[], [LINES]],
    "state rebuild": [[LINES], []],
    "status": [["--format", f"{{{LINES}}} {{attention}}"], ["--json"], ["--template", LINES]],
    "terminal attach": [[LINES], ["{terminal}"]],
    "terminal kill": [[LINES], ["{terminal}", "--signal", LINES]],
    "terminal list": [[], ["--json"], [LINES]],
    "terminal new": [["--size", LINES, "--", "true"], ["-p", LINES, "--detach", "--", "true"]],
    "trace": [[RUN_ID], [RUN_ID, "--json", "--inline-transcript"], [RUN_ID, "--why", "--transcript"], [LINES]],
    "wait": [[LINES], [RUN_ID]],
    "worktree allow": [
        ["--repo", LINES],
        ["--repo", "{repo}", "--yes"],
        ["--repo", "{repo}", "--yes", "--json"],
        [LINES],
    ],
    "worktree list": [[], ["--json"], ["--all"], ["--repo", LINES], [LINES]],
    "worktree prune": [["--dry-run"], ["--dry-run", "--json"], [LINES]],
    "worktree remove": [["tree", "--dry-run"], ["tree", "--json", "--force"], ["tree"], [LINES]],
    "worktree restore": [["tree"], ["tree", "--json"], [LINES]],
    "why": [
        ["--record"],
        ["--record", "--json"],
        ["m"],
        ["m", "--json"],
        [RUN_ID],
        [RUN_ID, "--json"],
        [LINES],
        ["m", "--what-if", LINES],
    ],
}
SESSIONS = {
    "list": [
        [],
        ["--json"],
        ["--live"],
        ["--live", "--json"],
        ["--all", "--no-scan"],
        [f"account:{LINES}"],
        ["--sort", LINES],
    ],
    "scan": [[], ["--json", "--again"], ["--again"], [LINES]],
    "search": [["words"], ["words", "--json"], [LINES], [f"account:{LINES}", "words"]],
    "show": [[SESSION], [SESSION, "--json"], [SESSION, "--raw", "--no-pager"], [BAD_CHAIN], [LINES]],
    "tree": [[SESSION], [SESSION, "--json"], [BAD_CHAIN], ["--filter", LINES], [LINES]],
    "label": [[SESSION, "u1", LINES], [SESSION, LINES, "x"], [LINES, "u1", "x"]],
    "compare": [[SESSION, "u1"], [SESSION, "u1", "--json"], [SESSION, LINES]],
    "branch": [
        [SESSION, "u1"],
        [SESSION, LINES],
        [SESSION, "u1", "--preview"],
        [SESSION, "u1", "--restore", "both", "--files-from", LINES],
        [LINES, "u1"],
    ],
    "clear": [[BAD_CHAIN], [LINES]],
    "import": [["{tmp}/edited.jsonl"], [LINES]],
    "delete": [[LINES, "--yes"], [LINES]],
    "undelete": [[SESSION], [LINES]],
    "name": [[SESSION, LINES], [LINES, "x"]],
    "note": [[SESSION, LINES], [LINES, "x"]],
    "pin": [[SESSION], [BAD_CHAIN], [LINES]],
    "unpin": [[SESSION], [BAD_CHAIN], [LINES]],
    "locate": [[SESSION], [BAD_CHAIN], [LINES]],
    "export": [
        [SESSION],
        [SESSION, "--format", "markdown", "--with", "all"],
        [SESSION, "--format", "html", "--with", "all", "--no-redact"],
        [BAD_CHAIN, "--format", "markdown"],
        [BAD_CHAIN, "--format", "html"],
        [BAD_CHAIN],
        [SESSION, "--format", LINES],
        [LINES],
    ],
    "bundle": [[SESSION, "--output", "{tmp}/b.bundle"], [BAD_CHAIN, "--output", f"{{tmp}}/{LINES}"], [LINES]],
    "unbundle": [
        ["{tmp}/b.bundle", "--dry-run", "--account", ACCOUNT],
        [LINES],
        ["{tmp}/b.bundle", "--account", LINES],
    ],
    "archive": [
        [],
        ["--list"],
        ["--list", "--json"],
        ["--at-risk"],
        ["--at-risk", "--json"],
        ["--restore", SESSION],
        ["--restore", LINES],
        ["--prune"],
    ],
    "move": [[SESSION, LINES], [SESSION, "b"], [LINES, "b"], [BAD_CHAIN, "b"]],
    "import-replace": [
        [SESSION, "--from-file", "{tmp}/edited.jsonl", "--dry-run"],
        [SESSION, "--from-file", "{tmp}/edited.jsonl", "--dry-run", "--json"],
        [SESSION, "--from-file", "{tmp}/edited.jsonl"],
        [SESSION, "--from-file", LINES],
        [SESSION, "--preimage-sha256", LINES],
        [LINES],
    ],
    "new": [["m", "--cwd", LINES], ["--runtime", "bad", "--prompt", LINES, "--name", LINES], [LINES], ["m", LINES]],
    "send": [[LIVE, LINES], [LINES, "x"], [LIVE, LINES, "--json"]],
    "status": [[LIVE], [LIVE, "--json"], [LINES]],
    "follow": [[LIVE], [LIVE, "--json"], [LINES], [LIVE, "--after", LINES]],
    "steer": [[LIVE, LINES], [LINES, "x"]],
    "interrupt": [[LIVE], [LINES]],
    "queue": [[LIVE], [LIVE, "--json"], [LIVE, "--edit", LINES, LINES], [LIVE, "--move", "q", LINES], [LINES]],
    "fork": [
        [LIVE],
        [LIVE, "--at", LINES],
        [LIVE, LINES],
        [LIVE, LINES, "--at", LINES],
        [LIVE, "--to", LINES],
        [LINES],
    ],
    "compact": [[LIVE], [LINES]],
    "review": [[LIVE, "--branch", LINES], [LINES]],
    "model": [[LIVE, LINES], [LINES, "x"]],
    "close": [[LIVE], [LINES]],
    "cancel": [[LIVE], [LINES]],
    "log": [[LIVE], [LIVE, "--json"], [LINES]],
    "undo": [[SESSION, "--list"], [SESSION, "--list", "--json"], [SESSION, "--dry-run"], [SESSION], [LINES]],
    "pause-handshake": [[SESSION], [SESSION, "--ttl-ms", LINES], [LINES]],
    "resume-handshake": [[SESSION, "--token", LINES], [SESSION, LINES], [LINES]],
    "schema-probe": [[], [LINES]],
}
NOUNS = (
    "account",
    "agent",
    "artifact",
    "config",
    "device",
    "ext",
    "grants",
    "image",
    "job",
    "note",
    "registry",
    "pkg",
    "quota",
    "requests",
    "runtime",
    "session",
    "setup",
    "state",
    "telemetry",
    "terminal",
    "token",
    "turn",
    "worktree",
)
LAST = [["migrate", "--rebuild"]]


def command_lines(tmp, terminal):
    """Every command line, in an order in which each finds what it needs."""
    first = [["session-scan"], ["quota-check"]]
    own = [[*name.split(), *rest] for name, cases in TOP_LEVEL.items() for rest in cases]
    sessions = [["session", name, *rest] for name, cases in SESSIONS.items() for rest in cases]
    lines = [*first, *own, *sessions, *([noun, LINES] for noun in NOUNS), *LAST]
    places = {"{tmp}": str(tmp), "{home}": str(tmp / f"home{HOSTILE}"), "{terminal}": terminal}
    places["{repo}"] = str(tmp / f"home{HOSTILE}" / "repo")
    return [[replaced(word, places) for word in line] for line in lines]


def replaced(word, places):
    """A word with what stands for a name put in."""
    for mark, text in places.items():
        word = word.replace(mark, text)
    return word


def quoted(text):
    """A text in TOML; JSON's surrogate pairs are none there."""
    pieces = [f"\\U{ord(one):08x}" if not one.isprintable() or one in '"\\' else one for one in text]
    return f'"{"".join(pieces)}"'


def turn(cwd, number, role, content, **more):
    """A line of a Claude transcript."""
    record = {"type": role, "uuid": f"u{number}", "sessionId": SESSION, "timestamp": f"2026-11-20T10:00:0{number}Z"}
    return json.dumps({**record, "cwd": str(cwd), "message": {"role": role, "content": content}, **more}) + "\n"


def fill(home):
    """Make a configuration and transcripts in which every name is hostile."""
    config = home / ".config" / "oulipoly-agent-runner"
    (config / "models").mkdir(parents=True)
    (config / "agents").mkdir()
    root = home / ".claude" / "projects"
    folder, odd_folder = root / f"-w-{HOSTILE}", root / f"-w-{BYTES}"
    cwd = home / f"work{HOSTILE}"
    servers = {BYTES: {"command": LINES}, "x": {"command": LINES, "args": [BYTES], "env": {LINES: LINES}, LINES: 1}}
    (home / ".claude.json").write_text(json.dumps({"mcpServers": servers}))
    for path in (cwd, folder, odd_folder):
        path.mkdir(parents=True)
    usage = {"input_tokens": 7, "output_tokens": 3}
    call = [{"type": "text", "text": f"words {LINES}"}, {"type": "tool_use", "name": LINES, "input": {LINES: LINES}}]
    answer = {"role": "assistant", "id": "msg_1", "model": LINES, "usage": usage, "content": call}
    (folder / f"{SESSION}.jsonl").write_text(
        turn(cwd, 1, "user", f"words {LINES}") + turn(cwd, 2, "assistant", "", message=answer)
    )
    (odd_folder / f"{BYTES}.jsonl").write_text(turn(cwd, 3, "user", "x", sessionId=f"../{LINES}") + f"{{{HOSTILE}\n")
    script = home / "quota"
    window = {"used_percent": 95, "resets_at": "2099-01-01T00:00:00Z", "label": LINES, "unit": LINES, "limit": 10}
    script.write_text(json.dumps({"windows": [window]}))
    lines = home / "turns"
    told = {"session_id": LINES, "turn_id": LINES, "timestamp": LINES, "role": LINES}
    odd = {
        "session_id": "odd",
        "turn_id": LINES,
        "timestamp": AT,
        "role": LINES,
        "body": [{"type": LINES, "text": LINES}],
    }
    lines.write_text(f"{json.dumps(told)}\nno JSON {HOSTILE}\n{json.dumps(odd)}\n{json.dumps([LINES])}\n")
    complain = f"printf %s {shlex.quote(LINES)} >&2"
    storage = f"""
[{quoted(ACCOUNT)}.session_storage]
kind = "script"
storage_type = "claude_code"
cwd_script = {quoted(f"claude-code-cwd {shlex.quote(str(root))}")}
transcript_script = {quoted(f"claude-code-locate-transcript {shlex.quote(str(root))}")}
"""
    (config / "providers.toml").write_text(
        f"[{quoted(ACCOUNT)}]\ncommand = 'sh'\nargs = ['-c', {quoted(f'echo {shlex.quote(LINES)} >&2; exit 3')}]\n"
        f"quota_script = {quoted(f'cat {shlex.quote(str(script))}')}\n{storage}"
        f"[b]\ncommand = {quoted(LINES)}\nquota_script = {quoted(f'{complain}; exit 1')}\n{quoted(LINES)} = 1\n"
        f"{storage.replace(quoted(ACCOUNT), 'b')}"
    )
    (config / "sessions.toml").write_text(
        f"[{quoted(ACCOUNT)}]\nturn_script = {quoted(f'claude-code-turns {shlex.quote(str(root))}')}\n"
        f"[b]\nturn_script = {quoted(f'{complain}; cat {shlex.quote(str(lines))}')}\n"
        f"[{quoted(f'c{HOSTILE}')}]\nturn_script = {quoted(f'{complain}; exit 1')}\n"
    )
    pool = f"[[providers]]\nname = {quoted(ACCOUNT)}\n[[providers]]\nname = 'b'\n"
    (config / "models" / "m.toml").write_text(pool)
    (config / "models" / f"{BYTES}.toml").write_text(f"{pool}[[providers]]\nname = {quoted(LINES)}\n")
    for name, text in (
        ("broken", f"{quoted(LINES)} = {HOSTILE}\n"),
        ("old", f"[[providers]]\nname = 'new'\ncommand = {quoted(LINES)}\nargs = [{quoted(LINES)}]\n"),
    ):
        (home / name).mkdir()
        (home / name / f"{LINES}.toml").write_text(text)
    (config / "agents" / f"{BYTES}.md").write_text(f"---\nmodel: m\n{HOSTILE}\n---\n")
    (config / "agents" / "n.md").write_text(f"---\ndescription: d\nmodel: {json.dumps(LINES)}\n---\nx\n")
    hostile = home / "hostile"
    model = json.dumps({"commands": [[LINES, LINES]], "models": [{"value": LINES, "displayName": LINES}]})
    answer = f'{{"type": "control_response", "response": {{"subtype": "error", "error": {json.dumps(LINES)}}}}}'
    hostile.write_text(
        f"#!/bin/sh\nprintf '%s\\n' {shlex.quote(LINES)} {shlex.quote(model)} {shlex.quote(answer)} >&2\n"
        f"printf '%s\\n' {shlex.quote(LINES)} {shlex.quote(model)} {shlex.quote(answer)}\nexit 3\n"
    )
    hostile.chmod(0o755)
    (config / "config.toml").write_text(
        f"{quoted(LINES)} = 1\n[runtimes.{quoted(LINES)}]\n[runtimes.slip]\n{quoted(LINES)} = 1\n"
        f"[runtimes.bad]\nkind = 'claude'\nname = {quoted(LINES)}\nprogram = {quoted(str(hostile))}\n"
        f"proxy = {quoted(f'http://a:b@{LINES}')}\nhome = {quoted(f'/{LINES}')}\n"
        f"[runtimes.own]\nkind = 'codex'\nprogram = {quoted(LINES)}\ncustom_models = [{quoted(LINES)}]\n"
    )
    git = ("git", "-c", "user.name=x", "-c", "user.email=x@y", "-C", str(home / "repo"))
    subprocess.run(["git", "init", "-q", "-b", "main", home / "repo"], check=True)
    (home / "repo" / ".agent-runner.toml").write_text(
        f"[worktree]\nsetup = [{quoted(LINES)}]\nteardown = {quoted(LINES)}"
    )
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", LINES], check=True)
    (config / "app.toml").write_text(f"[status]\n{quoted(LINES)} = {quoted(LINES)}\n")


def spoil(state):
    """Put hostile words into the state file, as an older version or another program may have left them."""
    decision = {"model": LINES, "account": LINES, "method": LINES, "rule": LINES, "reason": LINES, "candidates": []}
    decision["candidates"] = [{"account": LINES, "why_not": LINES, "windows": [{"label": LINES, "rate_source": LINES}]}]
    item = {"id": LINES, "kind": "command", "text": LINES, "title": LINES, "cwd": LINES}
    said = {"id": "2", "kind": "agent_message", "text": LINES}
    prompt = {"title": LINES, "command": LINES, "reason": LINES, "changes": [{"path": LINES, "diff": LINES}]}
    prompt["questions"] = [{"id": LINES, "text": LINES, "options": [[LINES, LINES]]}]
    asked = {"type": "request_opened", "native_id": LINES, "kind": "other", "prompt": prompt, "request_id": LINES}
    events = (
        *({"type": "item_ended", "item": one} for one in (item, said)),
        asked,
        {"type": "turn_ended", "status": "failed", "message": LINES, "code": LINES},
        {"type": "session_closed", "reason": LINES, "message": LINES},
    )
    opening = json.dumps({"model": LINES, "effort": LINES, "profile": LINES})
    live = (LIVE, LINES, "bad", "claude", LINES, LINES, f"-{LINES}", opening, LINES, "active", LINES, None, 1, AT, AT)
    live += ("persistent", "", None, None, 0)
    with closing(sqlite3.connect(state)) as connection:
        for sql, values in (
            (f"INSERT INTO live_sessions VALUES ({', '.join('?' * len(live))})", live),
            *(
                ("INSERT INTO live_events VALUES (?, ?, ?, ?, ?)", (LIVE, number, AT, event["type"], json.dumps(event)))
                for number, event in enumerate(events, 1)
            ),
            (
                "INSERT INTO live_turns(turn_id, session_id, kind, status, input, policy, created_at)"
                " VALUES ('turn-1', ?, 'user', 'running', ?, ?, ?)",
                (LIVE, LINES, LINES, AT),
            ),
            (
                "INSERT INTO live_requests(request_id, session_id, turn_id, native_id, kind, status, prompt,"
                " created_at) VALUES ('cli_req_1', ?, 'turn-1', ?, ?, 'pending', ?, ?)",
                (LIVE, LINES, LINES, json.dumps(prompt), AT),
            ),
            (
                "INSERT INTO live_queue(message_id, session_id, place, text, state, note, created_at)"
                " VALUES (?, ?, 1, ?, 'queued', ?, ?)",
                (LINES, LIVE, LINES, LINES, AT),
            ),
            *(
                (
                    "INSERT INTO worktrees(session_id, repository, path, branch, base, base_commit, state, reason,"
                    " git_folder, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (name, LINES, LINES, LINES, LINES, LINES, state, LINES, LINES, AT, AT),
                )
                for name, state in (("tree", "ready"), (LINES, "creating"), (f"{LINES}2", "removed"))
            ),
            *(
                (
                    "INSERT INTO web_devices(device_id, kind, name, token_hash, scopes, created_at)"
                    " VALUES (?, ?, ?, ?, ?, ?)",
                    (device_id, "device", LINES, "", f"view operate {HOSTILE.split()[0]}", AT),
                )
                for device_id in ("d1", "d2", "d3")
            ),
            ("INSERT INTO worktree_permissions VALUES (?, ?, ?, ?)", (LINES, LINES, AT, "")),
            (
                "INSERT INTO session_chains(chain_id, created_at, last_used_at, model_name) VALUES (?, ?, ?, ?)",
                (BAD_CHAIN, AT, AT, LINES),
            ),
            (
                "INSERT INTO session_chain_segments(chain_id, provider_name, session_id, started_at, transition_reason)"
                " VALUES (?, ?, ?, ?, ?)",
                (BAD_CHAIN, ACCOUNT, f"-{LINES}", AT, LINES),
            ),
            (
                "INSERT INTO session_turns(provider_name, session_id, turn_id, timestamp, role, ingested_at, body,"
                " source_file) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (ACCOUNT, f"-{LINES}", LINES, AT, LINES, AT, json.dumps([{"type": "text", "text": LINES}]), LINES),
            ),
            (
                "INSERT INTO conversation_notes(chain_id, name, note, changed_at) VALUES (?, ?, ?, ?)",
                (BAD_CHAIN, LINES, LINES, AT),
            ),
            (
                "INSERT INTO invocations(invocation_uuid, model_name, provider_name, status, exit_code, error_category,"
                " terminal_reason, session_id, session_capture_method, resume_acceptance_status,"
                " resume_acceptance_evidence, working_directory, created_at, finished_at)"
                " VALUES (?, ?, ?, 'failed', 3, ?, ?, ?, 'resumed', ?, ?, ?, ?, ?)",
                (RUN_ID, LINES, ACCOUNT, LINES, LINES, f"-{LINES}", LINES, LINES, LINES, AT, AT),
            ),
            (
                "INSERT INTO decisions SELECT id, ? FROM invocations WHERE invocation_uuid = ?",
                (json.dumps(decision), RUN_ID),
            ),
        ):
            connection.execute(sql, values)
        connection.commit()


def make_worktree(tmp, state):
    """Make a repository whose branches, files and commits have hostile names, and the worktree of a session."""
    repository, work = tmp / f"repo{HOSTILE}", tmp / f"worktree{HOSTILE}"
    branch = "".join(sign for sign in f"aw/{HOSTILE}" if ord(sign) > 32 and sign not in "[\x7f")

    def git(folder, *words):
        subprocess.run(["git", "-C", folder, "-c", "user.name=x", "-c", "user.email=x@x", *words], check=True)

    repository.mkdir()
    git(repository, "init", "-q", "-b", "main")
    for key, value in (("user.name", HOSTILE), ("user.email", "x@x"), ("remote.origin.url", LINES)):
        git(repository, "config", key, value)
    git(repository, "commit", "-q", "--allow-empty", "-m", LINES)
    git(repository, "worktree", "add", "-q", "-b", branch, work)
    for name in (f"committed{BYTES}", f"changed{LINES}", f"staged{LINES}"):
        (work / name).write_text(f"{LINES}\n")
        if name.startswith("c"):
            git(work, "add", "-A")
            git(work, "commit", "-q", "-m", LINES)
    git(work, "add", "-A")
    (work / f"changed{LINES}").write_text(f"other {LINES}\n")
    (work / f"untracked{BYTES}").write_text(LINES)
    (work / "gone").write_text(LINES)
    values = (WORK, str(repository), str(work), branch, "main", "", "ready", "", AT, AT)
    with closing(sqlite3.connect(state)) as connection:
        columns = "session_id, repository, path, branch, base, base_commit, state, git_folder, created_at, updated_at"
        connection.execute(f"INSERT INTO worktrees ({columns}) VALUES ({', '.join('?' * len(values))})", values)
        connection.commit()


def run_in_a_world(form, tmp, commands_of_a_user):
    """Run every command in a world of its own, and return its arguments, exit code, stdout and stderr."""
    home, runtime = tmp / f"home{HOSTILE}", tmp / "run"
    home.mkdir()
    runtime.mkdir(mode=0o700)
    fill(home)
    environ = {name: text for name, text in os.environ.items() if not name.startswith(("XDG_", "OULIPOLY_"))}
    environ |= {"HOME": str(home), "XDG_RUNTIME_DIR": str(runtime), "PAGER": "cat -", "NO_COLOR": "1"}
    commands_of_a_user.run(["session-scan"], b"", environ, tmp, 150)
    state = home / ".local" / "share" / "oulipoly-agent-runner" / "state.db"
    spoil(state)
    make_worktree(tmp, state)
    place, lock = runtime_folder.claim(runtime / "oulipoly-agent-runner")
    place.describe(Terminal(place.id, LINES, LINES, NOBODY, NOBODY, AT, account=ACCOUNT, title=LINES))
    lines = command_lines(tmp, place.id)
    try:
        results = run(form, lines, tmp, environ, commands_of_a_user)
    finally:
        os.close(lock)
    return [(argv, *result) for argv, result in zip(lines, results, strict=True)]


def run(form, lines, tmp, environ, commands_of_a_user):
    """Run command lines in one process and return exit code, stdout and stderr of each."""
    asked, told = tmp / "asked.json", tmp / "told.json"
    asked.write_text(json.dumps(lines))
    source = {"storage_type": LINES, "jsonl_path": LINES, "line": 1, "byte_start": 0, "byte_end": 1, "sha256": LINES}
    edited = {"session_id": SESSION, "provider_name": ACCOUNT, "turn_id": "u1", "role": "user", "timestamp": AT}
    edited |= {"content": [{"type": "text", "text": LINES}], "source": source, "unsupported_record": False}
    (tmp / "edited.jsonl").write_text(json.dumps(edited) + "\n")
    done = commands_of_a_user.run([asked, form, told], b"", environ, tmp, 600, program=[RUN])
    assert 0 == done.returncode, done.stderr
    return [(code, *map(base64.b64decode, streams)) for code, *streams in json.loads(told.read_bytes())]


def test_every_command_is_read():
    read = TOP_LEVEL.keys() - {""} | {f"session {name}" for name in SESSIONS}

    assert {entry.name for entry in commands.SUBCOMMANDS if entry.module} == read
    assert {entry.name for entry in commands.SUBCOMMANDS if not entry.module} == {*NOUNS}


@pytest.mark.parametrize("form", ["pipe", "pty"])
def test_no_command_prints_a_name_raw(form, tmp_path, request):
    said = run_in_a_world(form, tmp_path, request.getfixturevalue("commands"))

    assert [] == [(argv, fault) for argv, _, *streams in said if (fault := raw_in(b"".join(streams), argv))]


def raw_in(data, argv):
    """What is wrong with the output of a command; nothing where all is well."""
    for own in OURS:
        data = data.replace(own, b"")
    text = data.replace(b"\r\n", b"\n").decode()
    hidden = {one for one in text if unicodedata.category(one) in ("Cc", "Cf", "Cs", "Zl", "Zp")}
    if raw := hidden - ({"\n", "\t"} if PROSE & {*argv} else {"\n"}):
        return f"prints {sorted(raw)} raw: {text[-1000:]}"
    if not PROSE & {*argv} and "\nFORGED" in f"\n{text}":
        return f"begins a line with a name's second one: {text[-1000:]}"
    if "Traceback" in text:
        return text
    return json_fault(text) if "--json" in argv else None


def json_fault(text):
    """What is wrong with the JSON among some lines, beside which warnings may stand; nothing where it can be read."""
    begin = min((place for mark in ("{\n", '{"') if (place := f"\n{text}".find(f"\n{mark}")) >= 0), default=None)
    try:
        return None if begin is None else json.JSONDecoder().raw_decode(text[begin:])[1] * ""
    except ValueError as error:
        return f"{error}: {text[begin:]}"


def test_a_traceback_is_printed_harmless():
    program = f"from oulipoly_engine.facade import diagnostics as d; d.take_stderr(); raise ValueError({HOSTILE!r})"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)

    assert b"ValueError: h" in done.stderr
    assert None is raw_in(done.stderr.replace(b"Traceback", b""), PROSE)


def test_what_a_cli_says_stays_exact(world):
    said = f"{HOSTILE}\r\n".encode() + b"\xff\x00"
    octal = "".join(f"\\{byte:03o}" for byte in said)
    world.account("a", f"printf '{octal}'; printf '{octal}' >&2")
    world.model("m", "a")

    done = world.run("-m", "m", "x")

    assert done.stdout.startswith(said + b"\nOULIPOLY_RESULT=")
    assert said in done.stderr


def test_a_warning_shows_no_secret_and_a_marker_stays_exact(world):
    secret = "sk-ant-api03-" + "aB3dE5gH7jK9mN1p"
    world.account(secret, "true")
    world.model("m", secret)
    with (world.config / "providers.toml").open("a") as file:
        file.write(f'\n[other]\ncommand = "true"\n{secret} = 1\n')

    warned, _, marker = world.run("-m", "m", "x").stderr.decode().partition("OULIPOLY_INVOCATION=")

    assert (True, False) == ("[redacted]" in warned, secret in warned)
    assert secret == json.loads(marker.partition("\n")[0])["source"]
