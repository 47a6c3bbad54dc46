"""AGENT.md, WORKSPACE.md and MOUNTS.md: what an agent is told of where it is. Pure.

Each sentence is true of the isolation that the agent really has: what is only asked of it is not said to be enforced.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from oulipoly_engine.core.agents.mounts import Mount
from oulipoly_engine.core.text.columns import plain
from oulipoly_engine.records import Record

_BOUNDS: Mapping[str, str] = {  # by isolation
    "none": (
        "Nothing isolates you: these are real paths of this computer, and your programs may do what its user may. "
        "Stay within the folders below by your own choice."
    ),
    "guarded": (
        "The kernel lets you read and write only the folders below and the system's programs. The paths are real paths "
        "of this computer."
    ),
    "sealed": "You are in a sandbox: you see only the folders below and the system's programs, and no other processes.",
    "container": (
        "You are in a container: the folders below and what its image holds are there, nothing else of this computer. "
        "What you write elsewhere is gone when a program ends."
    ),
}
_NETWORKS: Mapping[str, str] = {
    "shared": "You reach the network as this computer does.",
    "bridge": "You reach the network through this computer; servers that listen on its loopback alone are not there.",
    "none": "You reach no network.",
    "proxy": (
        "You reach no network but your model, through a proxy that keeps the login of your account, and what that "
        "proxy lets through besides: {addresses}."
    ),
}
_NETWORK_OF_RUNTIME = "You reach no network but what a proxy lets through, which HTTPS_PROXY names: {addresses}."


class ToolText(Record):
    """A program that an agent may run."""

    name: str
    description: str = ""
    usage: str = ""  # the path of its USAGE.md; empty: it has none


class AgentView(Record):
    """An agent's tree as the agent sees it."""

    name: str
    root: str
    workspace: str
    bin_dirs: tuple[str, ...]
    isolation: str
    network: str = "shared"
    addresses: tuple[str, ...] = ()  # that its proxy lets through
    runtime_binary: str = ""  # empty: a CLI of the user's accounts runs it
    tools: tuple[ToolText, ...] = ()
    data_files: tuple[tuple[str, str], ...] = ()  # name and description
    variables: tuple[tuple[str, str], ...] = ()  # name and description, no values
    capabilities: tuple[str, ...] = ()
    why_without_tools: str = ""  # why it reaches the tools of none of them; empty: it does
    mounts: tuple[Mount, ...] = ()
    notes: tuple[tuple[str, str], ...] = ()  # key and text of those that are part of the context


def agent_text(view: AgentView) -> str:
    """Return AGENT.md."""
    lines = [f"# {plain(view.name)}", "", "## Tools", ""]
    if view.tools:
        lines += ["You may run these programs, and no others:", ""]
        lines += [_list_line(f"`{tool.name}`", tool.description, tool.usage) for tool in view.tools]
    else:
        lines.append("You have no tools: run no programs.")
    lines += _section("Files", [(f"`{view.root}/etc/data/{name}`", text) for name, text in view.data_files])
    lines += _section("Variables", [(f"`{name}`", text) for name, text in view.variables])
    if view.why_without_tools:
        lines += ["", "## Capabilities", "", f"You have the tools of none: {view.why_without_tools}."]
    else:
        lines += _section("Capabilities", [(f"`{name}`", "") for name in view.capabilities])
    writable = [view.workspace, *(f"{view.root}/{name}" for name in ("tmp", "home", "var/lib"))]
    writable += [_place(view, mount) for mount in view.mounts if not mount.is_read_only]
    lines += _section("Where you may write", [(f"`{path}`", "") for path in writable])
    for key, text in view.notes:
        lines += ["", f"## Your note `{plain(key)}`", "", text.strip()]
    return _join(lines)


def workspace_text(view: AgentView) -> str:
    """Return WORKSPACE.md."""
    lines = ["# Where you are", "", _BOUNDS.get(view.isolation, _BOUNDS["none"]), _describe_network(view), ""]
    lines += [
        f"- your root: `{view.root}`",
        f"- where you work: `{view.workspace}`",
        f"- your programs: {', '.join(f'`{folder}`' for folder in view.bin_dirs)}",
    ]
    if view.runtime_binary:
        lines.append(f"- your runtime: `{view.runtime_binary}`")
    if view.isolation in ("sealed", "container"):
        return _join(lines)
    return _join([*lines, "", "Name files by these paths: there is no other root."])


def mounts_text(view: AgentView) -> str:
    """Return MOUNTS.md."""
    lines = ["# What you were given of this computer", ""]
    if not view.mounts:
        return _join([*lines, "Nothing."])
    for mount in view.mounts:
        mark = " (ro)" if mount.is_read_only else ""
        lines.append(_list_line(f"`{_place(view, mount)}`{mark}", mount.description))
    if view.isolation == "none" and any(mount.is_read_only for mount in view.mounts):
        lines += ["", "(ro): you are asked not to write there; nothing here prevents it."]
    return _join(lines)


def system_prompt(texts: Sequence[tuple[str, str]]) -> str:
    """Return the texts of an agent as one, each below its name. texts: name and content."""
    return "\n\n".join(f"<!-- {name}.md -->\n{text.strip()}" for name, text in texts if text.strip())


def _describe_network(view: AgentView) -> str:
    text = _NETWORKS[view.network]
    if view.network == "proxy" and view.runtime_binary:  # it asks no model by us
        text = _NETWORK_OF_RUNTIME
    return text.format(addresses=plain(", ".join(view.addresses)) or "nothing")


def _place(view: AgentView, mount: Mount) -> str:
    return mount.target if view.isolation == "container" else view.root + mount.target


def _section(title: str, entries: Sequence[tuple[str, str]]) -> Iterator[str]:
    if entries:
        yield from ("", f"## {title}", "")
        for name, text in entries:
            yield _list_line(name, text)


def _list_line(name: str, description: str, more: str = "") -> str:
    text = f"- {name}"
    if description:
        text += f": {plain(description)}"
    return f"{text} (see `{more}`)" if more else text


def _join(lines: Sequence[str]) -> str:
    return "\n".join(lines).rstrip() + "\n"
