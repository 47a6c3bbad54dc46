"""providers.toml: the accounts. Pure but for reading the file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from oulipoly_engine.config.base import legacy
from oulipoly_engine.config.base.problem import Fault, KeyPath, Level, Loaded, describe_value
from oulipoly_engine.config.schema.accounts import (
    AcceptanceTable,
    AccountTable,
    CaptureTable,
    ResumeTable,
    StorageTable,
)
from oulipoly_engine.config.schema.faults import check
from oulipoly_engine.config.toml import toml_file
from oulipoly_engine.core.accounts.accounts import (
    AcceptanceSpec,
    Account,
    CaptureKind,
    CaptureSpec,
    KeyringSpec,
    PromptMode,
    ResumeSpec,
    StorageSpec,
    StorageType,
)
from oulipoly_engine.core.text.nearest import nearest
from oulipoly_engine.paths import Paths

_LONGEST_NAME = 200  # bytes; a folder's name has 255 at most, and locks are called by it with an ending


def parse(paths: Paths, raw: bytes | None) -> Loaded[Mapping[str, Account]]:
    """Return every account that can be read, in the file's order, and all problems of the file."""
    file = toml_file.read(paths.providers, raw)
    if file.failure is not None:
        return Loaded({}, (file.failure,))
    accounts: dict[str, Account] = {}
    faults: list[Fault] = []
    for name, raw in file.data.items():
        named = tuple(name_faults(name))
        table, found = check(AccountTable, raw, (name,))
        faults += (*named, *found)
        if table is not None and not named:
            faults += _warnings(name, table)
            accounts[name] = _account(name, table, paths)
    return Loaded(accounts, file.problems(faults, in_tables=True))


def name_faults(name: str) -> Iterator[Fault]:
    """Refuse account names that could not name a folder of ours."""
    is_long = len(name.encode("utf-8", "replace")) > _LONGEST_NAME
    if is_long or not name.strip() or name in (".", "..") or any(mark in name for mark in "/\\\0\n"):
        message = f"{name[:40]!r}{'…' * is_long} cannot be an account's name, since it is also a folder's"
        fix = f"use at most {_LONGEST_NAME} letters" if is_long else "use letters, digits, - and _"
        yield Fault((name,), message, fix)


def _warnings(name: str, table: AccountTable) -> Iterator[Fault]:
    if table.prompt_mode not in ("stdin", "arg"):
        found = nearest(table.prompt_mode, ("stdin", "arg")) or ("stdin",)
        message = f'{describe_value(table.prompt_mode)} counts as "stdin"'
        yield Fault((name, "prompt_mode"), message, f'write "{found[0]}"', Level.WARNING)
    for variable in sorted(set(table.environment) & set(table.unset_environment)):
        message = f"the variable {variable} is also in `unset_environment`, which wins"
        yield Fault((name, "environment", variable), message, "keep one of the two", Level.WARNING)
    if table.resume_acceptance is not None:
        yield from _blank_patterns(name, table.resume_acceptance)


def _blank_patterns(name: str, table: AcceptanceTable) -> Iterator[Fault]:
    for key in ("accepted_output_patterns", "rejected_output_patterns"):
        for place, pattern in enumerate(getattr(table, key)):
            if not pattern:
                path: KeyPath = (name, "resume_acceptance", key, place)
                message = "an empty pattern would match anything, so it is left out"
                yield Fault(path, message, "remove it", Level.WARNING)


def _account(name: str, table: AccountTable, paths: Paths) -> Account:
    return Account(
        name=name,
        command=_command(table.command, paths.home),
        args=tuple(table.args),
        interactive_args=None if table.interactive_args is None else tuple(table.interactive_args),
        prompt_mode=PromptMode.ARG if table.prompt_mode == "arg" else PromptMode.STDIN,
        quota_script=drop_blank(table.quota_script),
        auth_refresh_command=drop_blank(table.auth_refresh_command),
        resume=_resume(table.resume),
        capture=_capture(table.session_capture),
        acceptance=_acceptance(table.resume_acceptance),
        storage=_storage(table.session_storage, paths.home),
        environment=dict(table.environment),
        unset_environment=tuple(table.unset_environment),
        timeout_s=table.timeout_seconds,
        keyring=None if table.keyring is None else KeyringSpec(table.keyring.entry, table.keyring.variable),
        path=paths.providers,
    )


def drop_blank(text: str | None) -> str | None:
    """Return a text, None when it is blank."""
    return text if text is not None and text.strip() else None


def _command(command: str | None, home: Path) -> str | None:
    """Replace a leading `~/`, which no shell will do for a spawned command."""
    known = drop_blank(command)
    return str(legacy.expand(known, home)) if known is not None and known.startswith("~/") else known


def _resume(table: ResumeTable | None) -> ResumeSpec | None:
    return None if table is None else ResumeSpec(table.flag, tuple(table.subcommand or ()), tuple(table.fork_args))


def _capture(table: CaptureTable | None) -> CaptureSpec:
    if table is None or table.kind == "none":
        return CaptureSpec()
    if table.kind == "forced_flag_verified":
        return CaptureSpec(CaptureKind.FORCED_FLAG_VERIFIED, table.flag or "", tuple(table.readback_args))
    return CaptureSpec(
        CaptureKind.STDOUT_JSON_EVENT,
        json_args=(table.json_flag,) if table.json_flag else tuple(table.json_args or ()),
        last_message_flag=table.last_message_flag or "",
        event_type=table.event_type or "",
        event_id_path=tuple((table.event_id_path or "").split(".")),
    )


def _acceptance(table: AcceptanceTable | None) -> AcceptanceSpec | None:
    if table is None:
        return None
    return AcceptanceSpec(
        tuple(pattern for pattern in table.accepted_output_patterns if pattern),
        tuple(pattern for pattern in table.rejected_output_patterns if pattern),
    )


def _storage(table: StorageTable | None, home: Path) -> StorageSpec | None:
    if table is None:
        return None
    folder = table.projects_dir if table.kind == "claude_code" else table.sessions_dir
    if table.kind != "script" and folder is not None:
        return legacy.storage_from_folder(table.kind, folder, home)
    kind = StorageType.OTHER if table.storage_type is None else StorageType(table.storage_type)
    return StorageSpec(table.cwd_script or "", table.transcript_script, kind)
