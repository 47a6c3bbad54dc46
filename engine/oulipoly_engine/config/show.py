"""The configuration as it takes effect, defaults filled in and secrets masked, for people and programs to read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from oulipoly_engine.config import agent_files, app_file, load, small_files
from oulipoly_engine.config.base import mask
from oulipoly_engine.config.base.app_settings import AppSettings, CustomCommand
from oulipoly_engine.config.parse import settings_keys
from oulipoly_engine.core.accounts.accounts import (
    AcceptanceSpec,
    Account,
    Agent,
    CaptureKind,
    CaptureSpec,
    InputSpec,
    Model,
    ResumeSpec,
    SessionScripts,
    StorageSpec,
)
from oulipoly_engine.core.live.runtimes import RuntimeEntry, mask_proxy
from oulipoly_engine.core.sessions.saved_view import SavedView
from oulipoly_engine.core.text.control_characters import escape_toml
from oulipoly_engine.paths import Paths
from oulipoly_engine.records import asdict

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def effective(paths: Paths, models_dir: Path | None = None, agents_dir: Path | None = None) -> dict[str, Any]:
    """Return everything that can be read, as values that JSON can hold; secrets are masked.

    Shape: `{"paths", "settings", "app", "accounts", "models", "agents", "runtimes", "sessions", "problems"}`.
    `settings` and `app` have the keys of their files, the next five map names to those keys; `problems` lists texts.
    """
    accounts = small_files.read_accounts(paths)
    settings = small_files.read_settings(paths)
    app = app_file.read(paths)
    sessions = small_files.read_sessions(paths)
    models = [load.read_model(paths, name, models_dir, accounts.value) for name in load.list_models(paths, models_dir)]
    folder = agents_dir or paths.agents
    agents = [agent_files.read(folder / f"{name}.md", paths) for name in agent_files.names(folder)]
    runtimes = small_files.read_runtimes(paths)
    everything: tuple[Any, ...] = (accounts, settings, app, runtimes, sessions, *models, *agents)
    return {
        "paths": _paths(paths, models_dir or paths.models, folder),
        "settings": settings_keys.to_file(settings.value),
        "app": _app(app.value),
        "accounts": {name: _account(account) for name, account in accounts.value.items()},
        "models": {loaded.value.name: _model(loaded.value) for loaded in models if loaded.value is not None},
        "agents": {loaded.value.name: _agent(loaded.value) for loaded in agents if loaded.value is not None},
        "runtimes": {entry.key: _runtime(entry) for entry in runtimes.value if not entry.is_broken},
        "sessions": {name: _scripts(paths, name, entry) for name, entry in sessions.value.items()},
        # What is wrong with a layer comes with each file that it stands above.
        "problems": list(dict.fromkeys(mask.text(each.text) for loaded in everything for each in loaded.problems)),
    }


def as_text(values: Mapping[str, Any]) -> str:
    """Write such values in the manner of TOML; what is unset stands in a comment."""
    return "\n".join(_lines(values, ())).strip("\n") + "\n"


def _paths(paths: Paths, models: Path, agents: Path) -> dict[str, str]:
    named = {
        "config": paths.config,
        "providers": paths.providers,
        "settings": paths.settings,
        "sessions": paths.sessions,
        "models": models,
        "agents": agents,
        "data": paths.data,
        "state_db": paths.state_db,
    }
    return {name: str(path) for name, path in named.items()}


def _app(settings: AppSettings) -> dict[str, Any]:
    return {
        **settings_keys.to_file(settings),
        "status": {name: mask.text(template) for name, template in settings.status.items()},
        "views": {view.name: _view(view) for view in settings.views},
        "commands": [_command(command) for command in settings.commands],
    }


def _view(view: SavedView) -> dict[str, Any]:
    return {"filter": view.filter, "group": view.group, "sort": view.sort.value, "reversed": view.is_reversed}


def _command(command: CustomCommand) -> dict[str, Any]:
    return {
        "name": command.name,
        "command": mask.words(command.words),
        "key": command.key,
        "panes": list(command.panes),
        "run": command.run,
        "confirm": command.confirm,
    }


def _account(account: Account) -> dict[str, Any]:
    return {
        "command": _mask_text(account.command),
        "args": mask.words(account.args),
        "interactive_args": None if account.interactive_args is None else mask.words(account.interactive_args),
        "prompt_mode": account.prompt_mode.value,
        "quota_script": _mask_text(account.quota_script),
        "auth_refresh_command": _mask_text(account.auth_refresh_command),
        "resume": _resume(account.resume),
        "session_capture": _capture(account.capture),
        "resume_acceptance": _acceptance(account.acceptance),
        "session_storage": _storage(account.storage),
        "environment": mask.variables(account.environment),
        "unset_environment": list(account.unset_environment),
        "timeout_seconds": account.timeout_s,
        **({} if account.keyring is None else {"keyring": asdict(account.keyring)}),
    }


def _runtime(entry: RuntimeEntry) -> dict[str, Any]:
    """Return what is written of a runtime; what is not written is as usual with its account or its kind."""
    written = {
        "kind": entry.kind,
        "name": entry.name,
        "program": entry.program,
        "account": entry.account,
        "home": entry.home,
        "shadow_home": entry.shadow_home,
        "start_words": None if entry.start_words is None else mask.words(entry.start_words),
        "args": None if entry.args is None else mask.words(entry.args),
        "env": mask.variables(entry.environment),
        "proxy": mask_proxy(entry.proxy),
        "custom_models": list(entry.custom_models),
        "marker": mask.text(entry.marker),
        "startup_timeout_ms": round(entry.startup_s * 1000),
        "request_timeout_ms": round(entry.request_s * 1000),
        "idle_session_ttl_secs": round(entry.idle_s),
        "answer_timeout_secs": round(entry.answer_s),
        "stderr_ring_lines": entry.stderr_lines,
        "debug_native_events": entry.debug_native_events,
    }
    return {
        "enabled": entry.is_enabled,
        **{key: value for key, value in written.items() if value not in (None, "", 0, [], {})},
    }


def _mask_text(text: str | None) -> str | None:
    return None if text is None else mask.text(text)


def _resume(resume: ResumeSpec | None) -> dict[str, Any] | None:
    if resume is None:
        return None
    fork = {"fork_args": mask.words(resume.fork_args)} if resume.fork_args else {}
    if resume.flag is not None:
        return {"kind": "flag", "flag": resume.flag, **fork}
    return {"kind": "subcommand", "subcommand": mask.words(resume.subcommand), **fork}


def _capture(capture: CaptureSpec) -> dict[str, Any]:
    match capture.kind:
        case CaptureKind.NONE:
            return {"kind": "none"}
        case CaptureKind.FORCED_FLAG_VERIFIED:
            rest: dict[str, Any] = {"flag": capture.flag, "readback_args": mask.words(capture.readback_args)}
        case CaptureKind.STDOUT_JSON_EVENT:
            rest = {
                "json_args": mask.words(capture.json_args),
                "last_message_flag": capture.last_message_flag,
                "event_type": capture.event_type,
                "event_id_path": ".".join(capture.event_id_path),
            }
    return {"kind": capture.kind.value, **rest}


def _acceptance(acceptance: AcceptanceSpec | None) -> dict[str, Any] | None:
    if acceptance is None:
        return None
    return {
        "accepted_output_patterns": list(acceptance.accepted),
        "rejected_output_patterns": list(acceptance.rejected),
    }


def _storage(storage: StorageSpec | None) -> dict[str, Any] | None:
    if storage is None:
        return None
    return {
        "kind": "script",
        "cwd_script": mask.text(storage.cwd_script),
        "transcript_script": _mask_text(storage.transcript_script),
        "storage_type": storage.storage_type.value,
    }


def _model(model: Model) -> dict[str, Any]:
    return {
        "sticky": model.sticky,
        "providers": [
            {
                "name": member.account,
                "args": mask.words(member.args),
                "interactive_args": None if member.interactive_args is None else mask.words(member.interactive_args),
            }
            for member in model.members
        ],
        "inputs": [_input(spec) for spec in model.inputs],
    }


def _input(spec: InputSpec) -> dict[str, Any]:
    return {
        "name": spec.name,
        "type": spec.type.value,
        "flag": spec.flag,
        "required": spec.required,
        "default_input": spec.default_input,
        "default": list(spec.default) if isinstance(spec.default, tuple) else spec.default,
        "description": spec.description,
        "options": list(spec.options),
        "min": spec.minimum,
        "max": spec.maximum,
        "item_type": spec.item_type.value,
        "min_items": spec.min_items,
        "max_items": spec.max_items,
    }


def _agent(agent: Agent) -> dict[str, Any]:
    return {"description": agent.description, "model": agent.model, "output_format": agent.output_format}


def _scripts(paths: Paths, name: str, scripts: SessionScripts) -> dict[str, Any]:
    return {
        "turn_script": mask.text(scripts.turn_script),
        "transcript_locator": _mask_text(scripts.transcript_locator),
        "state_dir": str(scripts.state_dir or paths.data / "sessions" / name),
    }


def _lines(table: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    for key, value in table.items():
        if value is None:
            yield f"# {_key(key)} is not set"
        elif not isinstance(value, dict) and not _is_tables(value):
            yield f"{_key(key)} = {_value(value)}"
    for key, value in table.items():
        here = (*path, _key(key))
        if isinstance(value, dict):
            if not value or not all(isinstance(item, dict) for item in value.values()):
                yield from ("", f"[{'.'.join(here)}]")
            yield from _lines(value, here)
        elif _is_tables(value):
            for item in value:
                yield from ("", f"[[{'.'.join(here)}]]")
                yield from _lines(item, here)


def _is_tables(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else _value(key)


def _value(value: object) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    return escape_toml(json.dumps(value, ensure_ascii=False))  # a JSON text is a TOML text but for DEL, escaped too
