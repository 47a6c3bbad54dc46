"""The configuration of an account, as text that can be put behind what is in a file already. Pure."""

from __future__ import annotations

import json
import re
from pathlib import PurePosixPath

from oulipoly_engine.core.accounts.accounts import KeyringSpec
from oulipoly_engine.core.accounts.clis.adapters import Transcripts
from oulipoly_engine.core.accounts.clis.cli import Cli
from oulipoly_engine.core.text.control_characters import escape_toml
from oulipoly_engine.records import Record, asdict

HEAD = "# Written by the set-up. Change what you like; `agents config check` tells what is wrong.\n"
RULE = (
    "# Runs take the account on which they are likely to waste least. In simulated fortnights this rule lost the\n"
    "# least work and was refused least. Without this line the rule is fewest-calls.\n"
    'tie_rule = "least-waste"\n'
)
_POOL_NOTE = "# The CLI's own choice of a model. Others are pools like this one, with `args` of their own.\n"
_BARE = re.compile(r"[A-Za-z0-9/._~-]+")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_UNNAMEABLE = re.compile(r"[^A-Za-z0-9_-]+")


class Login(Record):
    """One login of one CLI, and the account that it is."""

    cli: Cli
    account: str
    folder: str  # where the CLI keeps it; `~/` for the user's home where the CLI looks there by itself
    home: str | None = None  # absolute, that its variables lead to; None: it needs none
    has_credentials: bool = False  # the file that its quota is read with is there
    uses_key: bool = False  # an API key in place of a login: nobody knows its quota
    keyring: KeyringSpec | None = None  # where it is, if not in the home


def name_of(cli: Cli, folder: str) -> str:
    """Return what the account in a folder is called: `claude` for ~/.claude, `claude-work` for ~/.claude-work."""
    return _UNNAMEABLE.sub("-", PurePosixPath(folder).name.lstrip(".")).strip("-") or cli.name


def account_table(login: Login) -> str:
    """Return an account's tables of providers.toml."""
    cli, name = login.cli, quote_key(login.account)
    launch = cli.launch
    lines = [
        f"[{name}]",
        f"command = {_toml(cli.name)}",
        f"args = {_toml(launch.words)}",
        "interactive_args = []",
        f"prompt_mode = {_toml(launch.prompt_mode)}",
    ]
    if cli.quota is not None and login.has_credentials and not login.uses_key:
        lines.append(f"quota_script = {_toml(f'{cli.quota.adapter} {_word(_below(login, cli.quota.credentials))}')}")
    if login.home is None and cli.place.own_variables:
        lines.append("# Set in your shell, it would lead to another login.")
        lines.append(f"unset_environment = {_toml(cli.place.own_variables)}")
    if login.home is not None and launch.unset:
        lines += ["# These would win over the login.", f"unset_environment = {_toml(launch.unset)}"]
    if login.home is not None:
        lines += ["", f"[{name}.environment]"]
        lines += [f"{key} = {_toml(value)}" for key, value in cli.place.environment(login.home).items()]
    if login.keyring is not None:
        lines += [
            "",
            "# Where the API key is: the entry of the service agent-runner in your keyring.",
            f"[{name}.keyring]",
        ]
        lines += [f"{key} = {_toml(value)}" for key, value in asdict(login.keyring).items()]
    lines += ["", f"[{name}.resume]", *_resume(cli)]
    if launch.capture:
        lines += [
            "",
            f"[{name}.session_capture]",
            *(f"{key} = {_toml(value)}" for key, value in launch.capture.items()),
        ]
    if cli.transcripts is not None:
        lines += ["", f"[{name}.session_storage]", *_storage(login, cli.transcripts)]
    return "\n".join(lines) + "\n"


def scripts_table(login: Login) -> str:
    """Return an account's table of sessions.toml; empty where nothing reads its sessions."""
    transcripts = login.cli.transcripts
    if transcripts is None:
        return ""
    folder = _word(_below(login, transcripts.below))
    lines = [f"[{quote_key(login.account)}]", f"turn_script = {_toml(f'{transcripts.adapter}-turns {folder}')}"]
    if transcripts.has_locator:
        lines.append(f"transcript_locator = {_toml(f'{transcripts.adapter}-locate-transcript {folder}')}")
    return "\n".join(lines) + "\n"


def pool_entry(account: str) -> str:
    """Return a pool's entry of an account."""
    return f"[[providers]]\nname = {_toml(account)}\n"


def pool_head() -> str:
    """Return how a new pool's file begins."""
    return HEAD + _POOL_NOTE


def settings_file(default_account: str) -> str:
    """Return a first config.toml."""
    return f"{HEAD}default_provider = {_toml(default_account)}\n{RULE}"


def quote_key(name: str) -> str:
    """Return a name as a key of TOML."""
    return name if _BARE_KEY.fullmatch(name) else _toml(name)


def _resume(cli: Cli) -> list[str]:
    launch = cli.launch
    if launch.resume_flag:
        lines = ['kind = "flag"', f"flag = {_toml(launch.resume_flag)}"]
    else:
        lines = ['kind = "subcommand"', f"subcommand = {_toml(launch.resume_words)}"]
    return lines + ([f"fork_args = {_toml(launch.fork_args)}"] if launch.fork_args else [])


def _storage(login: Login, transcripts: Transcripts) -> list[str]:
    folder, adapter = _word(_below(login, transcripts.below)), transcripts.adapter
    lines = ['kind = "script"', f"cwd_script = {_toml(f'{adapter}-cwd {folder}')}"]
    if transcripts.storage_type:
        lines.append(f"transcript_script = {_toml(f'{adapter}-locate-transcript {folder}')}")
        lines.append(f"storage_type = {_toml(transcripts.storage_type)}")
    return lines


def _below(login: Login, name: str) -> str:
    return f"{login.folder}/{name}" if name else login.folder


def _word(path: str) -> str:
    """Quote a path for a shell; `~/` stays outside of the quotes, or nobody would expand it."""
    if _BARE.fullmatch(path):
        return path
    lead, rest = ("~/", path[2:]) if path.startswith("~/") else ("", path)
    return lead + "'" + rest.replace("'", "'\\''") + "'"


def _toml(value: object) -> str:
    """Write a value as TOML, which takes texts and lists as JSON has them; only DEL it wants escaped."""
    return escape_toml(json.dumps(value, ensure_ascii=False))
