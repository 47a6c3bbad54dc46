"""An agent's tree on the disk: written whole at each start, but for what is the agent's own.

`etc` and `usr` are made anew, whatever the agent has made of them: nothing is written through a link that it has left.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from oulipoly_engine.core.agents.agents import Agent
from oulipoly_engine.core.agents.boxes import agent_network
from oulipoly_engine.core.agents.capabilities import CAPABILITIES, Note
from oulipoly_engine.core.agents.containers import CONTAINER, RUNTIME_PROGRAM, container_root, tool_program
from oulipoly_engine.core.agents.environment import RUNTIME_BINARY
from oulipoly_engine.core.agents.mounts import Mount
from oulipoly_engine.core.agents.texts import (
    AgentView,
    ToolText,
    agent_text,
    mounts_text,
    system_prompt,
    workspace_text,
)
from oulipoly_engine.core.images.names import is_reserved
from oulipoly_engine.errors import AgentFailed, SystemRefused
from oulipoly_engine.private_files import make_folder, open_private, write_private

_OWN = ("workspace", "tmp", "home", "var", "var/lib", "home/.config", "home/.cache", "home/.local", "home/.local/share")
_MADE_ANEW = ("etc", "usr")
_BINS = "usr/bin"
_PROGRAM_MODE = 0o755


def write_tree(root: Path, agent: Agent, bin_dirs: tuple[str, ...], notes: Sequence[Note] = ()) -> None:
    """Write an agent's tree, or what belongs into it anew. notes: pinned ones. Raises AgentFailed, SystemRefused."""
    try:
        make_folder(root)
        for name in _MADE_ANEW:
            _remove(root / name)
        for name in _OWN:
            _require_folder(root, name)
        _write_own(root, agent, view_agent(root, agent, bin_dirs, notes))
        for mount in agent.plan.mounts:
            if agent.isolation == CONTAINER:
                _require_host(mount)
            else:
                _link_mount(root, mount)
    except OSError as error:
        path = error.filename if isinstance(error.filename, str) else str(root)
        raise SystemRefused(f"the agent's tree cannot be written: {path}: {error.strerror or error}") from error


def remove_tree(root: Path) -> None:
    """Remove an agent's tree; one that is not there is removed. Raises SystemRefused."""
    try:
        _remove(root)
    except OSError as error:
        raise SystemRefused(f"{root} cannot be removed: {error.strerror or error}") from error


def view_agent(root: Path, agent: Agent, bin_dirs: tuple[str, ...], notes: Sequence[Note] = ()) -> AgentView:
    """Return an agent's tree as the agent sees it."""
    plan = agent.plan
    place = str(root)
    runtime = f"{place}/{RUNTIME_BINARY}"
    in_own_container = agent.isolation == CONTAINER and agent.has_own_runtime
    if agent.isolation == CONTAINER:
        place = container_root(place, has_own_runtime=agent.has_own_runtime)
        runtime = RUNTIME_PROGRAM
    return AgentView(
        name=agent.name,
        root=place,
        workspace="/workspace" if in_own_container else f"{place}/workspace",
        bin_dirs=bin_dirs,
        isolation=agent.isolation,
        network="bridge" if agent.isolation == CONTAINER else agent_network(agent.isolation).value,
        addresses=plan.overrides.addresses,
        runtime_binary=runtime if agent.has_own_runtime else "",
        tools=tuple(
            ToolText(tool.name, tool.description, f"{place}/etc/data/bins/{tool.name}/USAGE.md" if tool.manual else "")
            for tool in plan.tools
        ),
        data_files=tuple((each.name, each.description) for each in plan.files),
        variables=tuple((each.name, each.description) for each in plan.variables if not is_reserved(each.name)),
        capabilities=plan.capabilities,
        why_without_tools=agent.why_without_tools,
        mounts=plan.mounts,
        notes=tuple((note.key, note.text) for note in notes),
    )


def list_texts(view: AgentView, agent: Agent) -> tuple[tuple[str, str], ...]:
    """Return all texts that an agent is given, by their names: those of its image, then ours."""
    texts = [(context.name, context.text) for context in agent.plan.contexts]
    ours = (("AGENT", agent_text(view)), ("WORKSPACE", workspace_text(view)), ("MOUNTS", mounts_text(view)))
    return (*texts, *ours)


def agent_prompt(root: Path, agent: Agent, bin_dirs: tuple[str, ...], notes: Sequence[Note] = ()) -> str:
    """Return what stands behind the system prompt of an agent's CLI."""
    return system_prompt(list_texts(view_agent(root, agent, bin_dirs, notes), agent))


def _write_own(root: Path, agent: Agent, view: AgentView) -> None:
    plan = agent.plan
    for name in ("etc/context", "etc/data/bins", "usr/bin", "usr/local/bin"):
        make_folder(root / name)
    for name, text in list_texts(view, agent):
        write_private(root / "etc/context" / f"{name}.md", text.encode())
    for tool in plan.tools:
        if tool.manual:
            make_folder(root / "etc/data/bins" / tool.name)
            write_private(root / "etc/data/bins" / tool.name / "USAGE.md", tool.manual.encode())
        if tool.program:
            _copy_program(Path(tool.program), root / _BINS / tool.name)
    if plan.runtime.startswith("/"):
        _copy_program(Path(plan.runtime), root / RUNTIME_BINARY)
    if plan.source_text:
        write_private(root / "etc/Agentfile", plan.source_text.encode())
    document = json.dumps(describe_agent(view, agent), indent=2, ensure_ascii=False)  # which is YAML as well
    write_private(root / "etc/agent.yaml", f"{document}\n".encode())


def describe_agent(view: AgentView, agent: Agent) -> Mapping[str, Any]:
    """Return what agent.yaml says: no value of a variable, no path of the host behind a mount, no credential."""
    plan = agent.plan
    in_container = agent.isolation == CONTAINER
    document = {
        "id": agent.agent_id,
        "name": agent.name,
        "model": plan.model,
        "workspace": view.workspace,
        "image": {"ref": agent.source, "digest": agent.digest},
        "runtime": {"ref": plan.runtime, "digest": plan.runtime_digest, "binary": view.runtime_binary},
        "isolation": agent.isolation,
        "configs": dict(plan.configs),
        "capabilities": [
            {"name": name, "description": CAPABILITIES[name].description}
            for name in plan.capabilities
            if name in CAPABILITIES
        ],
        "envs": [name for name, _ in view.variables],
        "mounts": [
            {"target": each.target, "description": each.description, "read_only": each.is_read_only}
            for each in plan.mounts
        ],
        "context": [
            {"name": each.name, "file": f"{view.root}/etc/context/{each.name}.md", "description": each.description}
            for each in plan.contexts
        ],
        "tools": [
            {
                "name": tool.name,
                "description": tool.description,
                "binary": tool_program(tool.name) if in_container else f"{view.root}/{_BINS}/{tool.name}",
                "ref": tool.ref,
                "digest": tool.digest,
                "usage": tool.manual and f"{view.root}/etc/data/bins/{tool.name}/USAGE.md",
            }
            for tool in plan.tools
        ],
    }
    return {key: value for key, value in document.items() if value not in ("", [], {})}


def _copy_program(source: Path, target: Path) -> None:
    if not source.is_file():
        raise AgentFailed(f"the program of {target.name!r} is not there: {source}")
    with source.open("rb") as program, os.fdopen(open_private(target, os.O_WRONLY | os.O_TRUNC), "wb") as copy:
        shutil.copyfileobj(program, copy)
        os.fchmod(copy.fileno(), _PROGRAM_MODE)


def find_missing(mounts: Sequence[Mount]) -> str:
    """Say which path that an agent is given is not there; empty: none."""
    for mount in mounts:
        if not os.path.lexists(mount.host):
            return f"there is no {mount.host}, which -v gives the agent: create it, or leave it out"
    return ""


def _require_host(mount: Mount) -> None:
    if missing := find_missing((mount,)):
        raise AgentFailed(missing)


def _link_mount(root: Path, mount: Mount) -> None:
    _require_host(mount)
    parts = mount.target.strip("/").split("/")
    for depth in range(1, len(parts)):
        _require_folder(root, "/".join(parts[:depth]))
    link = root.joinpath(*parts)
    if link.is_symlink():
        link.unlink()
    if os.path.lexists(link):
        raise AgentFailed(f"the agent has files at {mount.target} already: choose another target")
    link.symlink_to(mount.host)


def _require_folder(root: Path, name: str) -> None:
    folder = root / name
    if folder.is_symlink() or (os.path.lexists(folder) and not folder.is_dir()):
        raise AgentFailed(f"{folder} is not a folder: the agent has replaced it; remove it, or the agent")
    make_folder(folder)


def _remove(path: Path) -> None:
    if path.is_symlink() or (os.path.lexists(path) and not path.is_dir()):
        path.unlink()
    elif path.is_dir():
        shutil.rmtree(path)
