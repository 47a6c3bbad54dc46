"""What one-shots and rows of lists need of a bundle: which adapters read a CLI, which arguments it refuses. Pure.

The bundles hold the same records; they are loaded only where more is asked.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from oulipoly_engine.core.accounts.accounts import Account, SessionScripts
from oulipoly_engine.records import Record


class QuotaSource(Record):
    """Which usage adapter reads its quota."""

    adapter: str
    credentials: str  # the file it is given, in the CLI's folder


class Transcripts(Record):
    """Which of our adapters read its sessions."""

    adapter: str  # the names of adapters begin with it: `codex` for `codex-turns`
    below: str = ""  # their folder, in the CLI's own
    storage_type: str = ""  # of [session_storage]; empty: there is none, so no transcript can be located for a move
    has_locator: bool = True
    prefix: str = ""  # of a transcript's name
    calls: str = ""  # the ledger's reader, `codex:CodexReader` of `core/ledger`; empty: they are in one database
    tells_forks: bool = False  # a session's transcript says of which other one it is a fork
    keeps_days: float | None = None  # how long the CLI leaves an untouched one, if its settings say nothing; None: ever
    quota: QuotaSource | None = None  # None: no endpoint tells it


ADAPTERS: Mapping[str, Transcripts] = {
    "claude": Transcripts(
        "claude-code",
        "projects",
        "claude_code",
        calls="claude:ClaudeReader",
        keeps_days=30.0,  # default of its `cleanupPeriodDays`, 2.1.50 to 2.1.329
        quota=QuotaSource("anthropic-usage", ".credentials.json"),
    ),
    "codex": Transcripts(
        "codex",
        "sessions",
        "codex_session",
        prefix="rollout-",
        calls="codex:CodexReader",
        tells_forks=True,
        quota=QuotaSource("chatgpt-usage", "auth.json"),
    ),
    "gemini": Transcripts("gemini", "tmp", prefix="session-", calls="gemini:GeminiReader"),
    "opencode": Transcripts("opencode", has_locator=False),
}
CLIS_BY_ADAPTER: Mapping[str, str] = {known.adapter: cli for cli, known in ADAPTERS.items()}
CLIS_BY_STORAGE: Mapping[str, str] = {known.storage_type: cli for cli, known in ADAPTERS.items() if known.storage_type}
_BARE = re.compile(r"[A-Za-z0-9/._~-]+", re.ASCII)
_WITH_VARIABLE = re.compile(r"[A-Za-z0-9/._~ ${}-]*\$[A-Za-z0-9/._~ ${}-]*", re.ASCII)


def quota_command(account: Account, scripts: SessionScripts | None) -> str | None:
    """Return the command that routing reads an account's quota with; None if nothing is known.

    scripts: the account's entry in sessions.toml. `--usage` does not derive: it takes `account.quota_script` alone.
    """
    if account.quota_script is not None and account.quota_script.strip():
        return account.quota_script
    return derive_source(*_list_scripts(account, scripts))


def derive_source(*scripts: str | None) -> str | None:
    """Return the usage adapter's command for a CLI's session folder, of the first script that names one; else None.

    `claude-code-cwd ~/.claude2/projects` gives `anthropic-usage ~/.claude2/.credentials.json`.
    """
    commands = (_derive(cli, root) for script in filter(None, scripts) for cli, root in _read_script(script))
    return next(filter(None, commands), None)


def codex_sessions_root(account: Account, scripts: SessionScripts | None) -> str | None:
    """Return the folder of Codex's rollouts that an account's scripts name, as written; None if none does.

    `~/` and variables in it are not expanded.
    """
    return next((str(root) for cli, root in _list_folders(account, scripts) if cli == "codex"), None)


def transcripts_folder(account: Account | None, scripts: SessionScripts | None) -> tuple[str, str] | None:
    """Return whose transcripts an account's scripts name and their folder as written.

    Whose: `claude`, `codex`, `gemini` or `opencode`. None if no script names one that we know. `~/` and variables in
    the folder are not expanded.
    """
    return next(((cli, str(root)) for cli, root in _list_folders(account, scripts)), None)


def _derive(cli: str, root: PurePosixPath) -> str | None:
    quota = ADAPTERS[cli].quota
    if quota is None or root.parent == root or str(root) == "~":
        return None
    return f"{quota.adapter} {_shell_word(str(root.parent / quota.credentials))}"


def _list_scripts(account: Account | None, scripts: SessionScripts | None) -> Iterator[str]:
    """Yield the scripts that may name an account's sessions: its storage's cwd script first, then the turn script."""
    if account is not None and account.storage is not None:
        yield account.storage.cwd_script
    if scripts is not None:
        yield scripts.turn_script


def _list_folders(account: Account | None, scripts: SessionScripts | None) -> Iterator[tuple[str, PurePosixPath]]:
    """Yield the CLIs whose sessions those scripts tell of, and the folders that they are given."""
    for script in _list_scripts(account, scripts):
        yield from _read_script(script)


def _read_script(script: str) -> Iterator[tuple[str, PurePosixPath]]:
    """Yield the CLI whose sessions a script tells of, and the folder that it is given; nothing of another script."""
    try:
        words = shlex.split(script)
    except ValueError:  # an open quote: the shell will refuse it as well
        return
    if len(words) < 2 or words[1].startswith("-"):
        return
    adapter, _, verb = PurePosixPath(words[0]).name.rpartition("-")
    if adapter in CLIS_BY_ADAPTER and verb in ("cwd", "turns"):
        yield CLIS_BY_ADAPTER[adapter], PurePosixPath(words[1])


def _shell_word(path: str) -> str:
    """Quote a path for `sh` so that a leading `~/` and variables still expand."""
    if _BARE.fullmatch(path):
        return path
    if _WITH_VARIABLE.fullmatch(path):
        return f'"{path}"'
    home, tilde, rest = path.partition("~/")
    if tilde and not home:
        return f"~/{shlex.quote(rest)}"
    return shlex.quote(path)


TAKES_NO_REPEATS = "codex"  # the account that is checked; those of any other name are not (contract, section 2.3)


def codex_overlap(account: str, account_args: Sequence[str], model_args: Sequence[str]) -> str | None:
    """Return the first part of the model's arguments that the account `codex` has already; None when there is none.

    Codex refuses a repeated argument. `-c KEY=VALUE` counts as one part, and so does `--config`, its long name.
    """
    if account != TAKES_NO_REPEATS:
        return None
    taken = {part for part, _ in _parts(account_args)}
    return next((shown for part, shown in _parts(model_args) if part in taken), None)


def _parts(args: Sequence[str]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield each part in a comparable form, and as it was written."""
    words = iter(args)
    for word in words:
        if word.startswith("--config="):
            yield ("-c", word.removeprefix("--config=")), word
            continue
        value = next(words, None) if word in ("-c", "--config") else None
        if value is None:
            yield (word,), word
        else:
            yield ("-c", value), f"{word} {value}"
