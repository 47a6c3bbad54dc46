"""The first configuration for CLIs that were found: an account each login, a pool each CLI. Pure.

claude's and codex' forms are those of `agents demo`. gemini's and opencode's follow their documented command lines and
have not been tried with the real programs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from oulipoly_engine.records import Record

_HEAD = "# Written by the first set-up. Change what you like; `agents config check` tells what is wrong.\n"
_VARIABLE = {"claude": "CLAUDE_CONFIG_DIR", "codex": "CODEX_HOME"}
_WORDS = {"claude": ("-p",), "codex": ("exec",), "gemini": ("--skip-trust",), "opencode": ("run",)}
_FLAGS = {"claude": ("--resume", "--fork-session"), "opencode": ("-s", "")}  # to go on; with it: in a fork
_BARE = re.compile(r"[A-Za-z0-9/._~-]+")
_UNNAMEABLE = re.compile(r"[^A-Za-z0-9_-]+")


class Login(Record):
    """One login of one CLI."""

    cli: str  # claude, codex, gemini, opencode
    folder: str  # where it keeps everything, `~/` for the user's home
    has_credentials: bool = False  # the file that its quota is read with is there
    is_default: bool = True  # the CLI takes this folder when nobody says otherwise

    @property
    def account(self) -> str:
        """Return what the account is called: `claude` for ~/.claude, `claude-work` for ~/.claude-work."""
        if self.is_default:
            return self.cli
        return _UNNAMEABLE.sub("-", PurePosixPath(self.folder).name.lstrip(".")).strip("-")


def texts(logins: Sequence[Login]) -> Iterator[tuple[str, str]]:
    """Yield (path below the configuration's folder, text) of every file; nothing where nobody is logged in."""
    if not logins:
        return
    yield "providers.toml", _HEAD + "".join(_account(login) for login in logins)
    yield "sessions.toml", _HEAD + "".join(_scripts(login) for login in logins)
    yield "config.toml", _HEAD + f"default_provider = {_toml(logins[0].account)}\n"
    for cli in dict.fromkeys(login.cli for login in logins):
        note = "# The CLI's own choice of a model. Others are pools like this one, with `args` of their own.\n"
        pool = "".join(f"\n[[providers]]\nname = {_toml(login.account)}\n" for login in logins if login.cli == cli)
        yield f"models/{cli}.toml", _HEAD + note + pool


def _account(login: Login) -> str:
    words, interactive, command = list(_WORDS[login.cli]), list[str](), login.cli
    if not login.is_default:
        command, lead = "env", [f"{_VARIABLE[login.cli]}={login.folder}", login.cli]
        words, interactive = lead + words, lead + interactive
    lines = [f"\n[{login.account}]\n", f"command = {_toml(command)}\n", f"args = {_toml(words)}\n"]
    lines.append(f"interactive_args = {_toml(interactive)}\n")
    lines.append(f"prompt_mode = {_toml('arg' if login.cli == 'codex' else 'stdin')}\n")
    if login.has_credentials:
        lines.append(f"quota_script = {_toml(_quota(login))}\n")
    return "".join(lines) + _resume(login) + _storage(login)


def _quota(login: Login) -> str:
    script, file = {"claude": ("anthropic-usage", ".credentials.json"), "codex": ("chatgpt-usage", "auth.json")}[
        login.cli
    ]
    return f"{script} {_word(f'{login.folder}/{file}')}"


def _resume(login: Login) -> str:
    name = login.account
    if login.cli == "codex":
        return (
            f'\n[{name}.resume]\nkind = "subcommand"\nsubcommand = ["resume"]\n'
            'fork_args = ["fork", "{session_id}"]\n'
            f'\n[{name}.session_capture]\nkind = "stdout_json_event"\njson_flag = "--json"\nlast_message_flag = "-o"\n'
            'event_type = "thread.started"\nevent_id_path = "thread_id"\n'
        )
    flag, fork = _FLAGS.get(login.cli, ("--resume", ""))
    forks = f"fork_args = {_toml((flag, '{session_id}', fork))}\n" if fork else ""
    return f'\n[{name}.resume]\nkind = "flag"\nflag = {_toml(flag)}\n{forks}'


def _storage(login: Login) -> str:
    kind, folder = _transcripts(login)
    lines = [
        f'\n[{login.account}.session_storage]\nkind = "script"\n',
        f"cwd_script = {_toml(f'{kind}-cwd {folder}')}\n",
    ]
    if login.cli in _VARIABLE:
        lines.append(f"transcript_script = {_toml(f'{kind}-locate-transcript {folder}')}\n")
        lines.append(f"storage_type = {_toml('claude_code' if login.cli == 'claude' else 'codex_session')}\n")
    return "".join(lines)


def _scripts(login: Login) -> str:
    kind, folder = _transcripts(login)
    locator = "" if login.cli == "opencode" else f"transcript_locator = {_toml(f'{kind}-locate-transcript {folder}')}\n"
    return f"\n[{login.account}]\nturn_script = {_toml(f'{kind}-turns {folder}')}\n{locator}"


def _transcripts(login: Login) -> tuple[str, str]:
    """Return the adapters' name and the folder they are given, as a word of a shell."""
    kind, below = {
        "claude": ("claude-code", "/projects"),
        "codex": ("codex", "/sessions"),
        "gemini": ("gemini", "/tmp"),  # noqa: S108 - a folder of gemini's own
        "opencode": ("opencode", ""),
    }[login.cli]
    return kind, _word(login.folder + below)


def _word(path: str) -> str:
    """Quote a path for a shell; `~/` stays outside of the quotes, or nobody would expand it."""
    if _BARE.fullmatch(path):
        return path
    lead, rest = ("~/", path[2:]) if path.startswith("~/") else ("", path)
    return lead + "'" + rest.replace("'", "'\\''") + "'"


def _toml(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
