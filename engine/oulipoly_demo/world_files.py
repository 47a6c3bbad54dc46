"""The texts of the demo world: configuration, agents, wrappers, a small project. Pure: settings in, texts out."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

from oulipoly_demo.base.context import HOME_VARIABLES
from oulipoly_engine.records import Record

ACCOUNTS = {
    "demo-claude1": "claude",
    "demo-claude2": "claude",
    "demo-claude3": "claude",
    "demo-codex1": "codex",
    "demo-codex2": "codex",
}
CONFIG = Path("home/.config/oulipoly-agent-runner")
_DEMO = (
    "# DEMO. Written by `agents demo`: these accounts are made up, no model is asked, nothing leaves this machine.\n"
)
# -I and -S: no user site, no PYTHONPATH, no .pth files; the program needs the standard library alone and starts faster.
_LAUNCH = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); from oulipoly_demo.clis.agent_cli import main; sys.exit(main())"
)


class Setting(Record):
    """What the texts depend on."""

    root: Path  # where the world will stand
    python: str  # the interpreter that runs the demo CLI
    library: Path  # the folder that holds our package
    pace_s: float = 0.02  # between two pieces of an answer
    capture_claude: bool = False


def account_home(root: Path, account: str) -> Path:
    """Return the home of an account of the world at `root`."""
    return root / "home" / f".{account}"


def texts(setting: Setting) -> Iterator[tuple[Path, str]]:
    """Yield (path in the world, text) of every file that is not a wrapper."""
    yield CONFIG / "providers.toml", _DEMO + "".join(_provider(setting, *account) for account in ACCOUNTS.items())
    yield CONFIG / "sessions.toml", _DEMO + "".join(_sessions(setting, *account) for account in ACCOUNTS.items())
    yield CONFIG / "config.toml", _DEMO + 'default_provider = "demo-claude2"\ntie_rule = "least-waste"\n' + _RUNTIMES
    for account, vendor in ACCOUNTS.items():
        if vendor == "codex":
            yield account_home(Path(), account) / "config.toml", _DEMO + _CODEX_CONFIG
    for name, text in _MODELS.items():
        yield CONFIG / "models" / f"{name}.toml", _DEMO + text
    for name, text in _AGENTS.items():
        yield CONFIG / "agents" / f"{name}.md", text
    yield Path("project/README.md"), "# A demo project\n\nA folder to work in. Nothing here matters.\n"
    yield Path("project/turtle.py"), _PROJECT_CODE


def wrappers(setting: Setting) -> Iterator[tuple[Path, str]]:
    """Yield (path in the world, text) of every executable."""
    for account, vendor in ACCOUNTS.items():
        variables = {HOME_VARIABLES[vendor]: str(account_home(setting.root, account)), "DEMO_ACCOUNT": account}
        assigned = "".join(f"{name}={shlex.quote(value)}\nexport {name}\n" for name, value in variables.items())
        pace = f"DEMO_PACE=${{DEMO_PACE-{setting.pace_s}}}\nexport DEMO_PACE\n"
        yield Path("bin") / account, f"#!/bin/sh\n{_DEMO}umask 077\n{assigned}{pace}{_exec(setting, vendor)}"
    yield Path("bin/demo-quota"), f"#!/bin/sh\n{_DEMO}umask 077\n{_exec(setting, 'quota')}"


def _exec(setting: Setting, vendor: str) -> str:
    words = (setting.python, "-I", "-S", "-c", _LAUNCH, str(setting.library), vendor)
    return f'exec {shlex.join(words)} "$@"\n'


def _provider(setting: Setting, account: str, vendor: str) -> str:
    home = account_home(setting.root, account)
    shared = (
        f"\n[{account}]\n"
        f"quota_script = {_toml(shlex.join(('demo-quota', str(home))))}\n"
        f"command = {_toml(account)}\n"
        f"interactive_args = []\n"
    )
    return shared + (_claude(setting, account, home) if vendor == "claude" else _codex(account, home))


def _claude(setting: Setting, account: str, home: Path) -> str:
    projects = shlex.quote(str(home / "projects"))
    return (
        f"auth_refresh_command = {_toml(f'{account} auth status')}\n"
        'args = ["-p"]\nprompt_mode = "stdin"\n\n'
        f'[{account}.resume]\nkind = "flag"\nflag = "--resume"\n'
        'fork_args = ["--resume", "{session_id}", "--fork-session"]\n\n'
        f'[{account}.session_storage]\nkind = "script"\n'
        f"cwd_script = {_toml(f'claude-code-cwd {projects}')}\n"
        f"transcript_script = {_toml(f'claude-code-locate-transcript {projects}')}\n"
        'storage_type = "claude_code"\n\n'
        f'[{account}.resume_acceptance]\naccepted_output_patterns = ["\\"session_id\\": \\"{{session_id}}\\""]\n'
        'rejected_output_patterns = ["No conversation found"]\n'
    ) + (_capture(account) if setting.capture_claude else _NO_CAPTURE)


def _capture(account: str) -> str:
    return (
        f'\n[{account}.session_capture]\nkind = "forced_flag_verified"\nflag = "--session-id"\n'
        'readback_args = ["--verbose", "--output-format", "stream-json"]\n'
    )


def _codex(account: str, home: Path) -> str:
    sessions = shlex.quote(str(home / "sessions"))
    return (
        f"auth_refresh_command = {_toml(f'{account} login status')}\n"
        'args = ["exec"]\nprompt_mode = "arg"\n\n'
        f'[{account}.resume]\nkind = "subcommand"\nsubcommand = ["resume"]\n\n'
        f'[{account}.session_capture]\nkind = "stdout_json_event"\njson_flag = "--json"\nlast_message_flag = "-o"\n'
        'event_type = "thread.started"\nevent_id_path = "thread_id"\n\n'
        f'[{account}.session_storage]\nkind = "script"\n'
        f"cwd_script = {_toml(f'codex-cwd {sessions}')}\n"
        f"transcript_script = {_toml(f'codex-locate-transcript {sessions}')}\n"
        'storage_type = "codex_session"\n\n'
        f'[{account}.resume_acceptance]\naccepted_output_patterns = ["session id: {{session_id}}"]\n'
        'rejected_output_patterns = ["no rollout found"]\n'
    )


def _sessions(setting: Setting, account: str, vendor: str) -> str:
    home = account_home(setting.root, account)
    kind, folder = ("claude-code", home / "projects") if vendor == "claude" else ("codex", home / "sessions")
    base = shlex.quote(str(folder))
    return (
        f"\n[{account}]\nturn_script = {_toml(f'{kind}-turns {base}')}\n"
        f"transcript_locator = {_toml(f'{kind}-locate-transcript {base}')}\n"
    )


def _toml(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _pool(*members: tuple[str, str, str]) -> str:
    return "".join(
        f'\n[[providers]]\nname = "{account}"\nargs = ["{flag}", "{model}"]\ninteractive_args = ["{flag}", "{model}"]\n'
        for account, flag, model in members
    )


_NO_CAPTURE = (
    "# No session_capture: forced_flag_verified makes this CLI print JSON lines, the demo is nicer as text.\n"
    "# The sessions are found through their transcripts (sessions.toml). The Codex accounts capture theirs.\n"
)
# The provider that the demo's rollouts name; an account that does not define it could not go on with another's.
_CODEX_CONFIG = 'model_provider = "demo"\n\n[model_providers.demo]\nname = "Demo, asks nobody"\n'
_PROMPT_INPUT = """
[[inputs]]
name = "prompt"
type = "string"
required = true
default_input = true
description = "What to ask"
"""
_HAIKU_INPUTS = """
[[inputs]]
name = "tone"
type = "enum"
flag = "--tone"
options = ["plain", "cheerful", "pirate"]
default = "plain"
description = "How the answer sounds"

[[inputs]]
name = "lines"
type = "integer"
flag = "--lines"
min = 1
max = 12
description = "The most lines that the answer may have"

[[inputs]]
name = "temperature"
type = "number"
flag = "--temperature"
min = 0.0
max = 1.0
default = 0.2
description = "Picks another turn of phrase"

[[inputs]]
name = "emoji"
type = "boolean"
flag = "--emoji"
description = "Add one"

[[inputs]]
name = "title"
type = "string"
flag = "--title"
description = "A heading above the answer"

[[inputs]]
name = "topics"
type = "array"
flag = "--topic"
item_type = "string"
min_items = 1
max_items = 4
description = "Say a word about each: -i topics=tea -i topics=rain"
"""
_CLAUDES = tuple(account for account, vendor in ACCOUNTS.items() if vendor == "claude")
_MODELS = {
    "demo-opus": _pool(*((account, "--model", "demo-opus") for account in _CLAUDES)) + _PROMPT_INPUT,
    "demo-haiku": _pool(*((account, "--model", "demo-haiku") for account in _CLAUDES)) + _PROMPT_INPUT + _HAIKU_INPUTS,
    "demo-codex": _pool(("demo-codex1", "-m", "demo-gpt"), ("demo-codex2", "-m", "demo-gpt")) + _PROMPT_INPUT,
    "demo-mix": _pool(
        ("demo-claude2", "--model", "demo-sonnet"),
        ("demo-claude3", "--model", "demo-sonnet"),
        ("demo-codex2", "-m", "demo-gpt"),
    )
    + _PROMPT_INPUT,
    # Live sessions on it speak codex's protocol, claude's, and that of ACP, by the account.
    "demo-live": _pool(
        ("demo-codex2", "-m", "demo-gpt"),
        ("demo-claude2", "--model", "demo-sonnet"),
        ("demo-claude3", "--model", "demo-sonnet"),
    )
    + _PROMPT_INPUT,
}
_RUNTIMES = """
[runtimes.demo-claude3]
kind = "acp"
program = "demo-claude3"
start_words = ["--acp"]
"""
_AGENTS = {
    "demo-reviewer": """---
description: 'DEMO: reviews whatever it is given'
model: demo-opus
output_format: ''
---
You are a reviewer in a demo. Be concise and actionable; end with a verdict.
""",
    "demo-haiku-poet": """---
description: 'DEMO: answers with a haiku'
model: demo-haiku
output_format: ''
---
You are a poet in a demo. Answer with one haiku.
""",
    "demo-counter": """---
description: 'DEMO: counts the words of a prompt, on the Codex accounts'
model: demo-codex
output_format: ''
---
You are a counter in a demo. Count the words of what follows.
""",
}
_PROJECT_CODE = '''"""A turtle, to be reviewed."""


def walk(steps: int) -> str:
    """Return the turtle's path."""
    return "🐢" + "." * steps
'''
