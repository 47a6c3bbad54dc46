"""Links of the OpenAPI document: which answers tell what another operation takes. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

# By operation: a parameter of paths that its answer holds, and where. A list is told by its first entry.
_IDS: Mapping[tuple[str, str], Mapping[str, str]] = {
    ("post", "/sessions"): {"session_id": "/session_id"},
    ("get", "/sessions"): {"session_id": "/0/id"},
    ("post", "/sessions/{session_id}/fork"): {"session_id": "/session_id"},
    ("post", "/sessions/{session_id}/queue"): {"message_id": "/turn_id"},  # whose turn a message begins in the end
    ("get", "/sessions/{session_id}/queue"): {"message_id": "/0/message_id"},
    ("get", "/requests"): {"request_id": "/0/id", "session_id": "/0/session_id"},
    ("get", "/requests/{request_id}"): {"session_id": "/session_id"},
    ("get", "/pools"): {"model": "/0/id"},
    ("get", "/me"): {"device_id": "/device_id"},
    ("get", "/running-agents"): {"agent_id": "/agents/0/agent_id"},
    ("get", "/devices"): {"device_id": "/0/device_id"},
    ("post", "/pair"): {"device_id": "/device_id"},
}
# Of two paths: the parameter of the second one's query that the answer of the first holds, and where. Both are read.
_QUERIES: tuple[tuple[str, str, str, str], ...] = (
    ("/sessions/{session_id}/artifacts", "/sessions/{session_id}/artifacts/file", "path", "/0/name"),
    ("/sessions/{session_id}/changes", "/sessions/{session_id}/diff", "path", "/unstaged/0/path"),
    ("/sessions/{session_id}/changes", "/sessions/{session_id}/file", "path", "/unstaged/0/path"),
    ("/sessions/{session_id}/events", "/sessions/{session_id}/events", "after", "/after"),
    ("/browse", "/browse", "path", "/folders/0/path"),
    ("/browse", "/setup", "repo_path", "/folders/0/path"),
)
_IN_PATH = re.compile(r"\{(\w+)\}")


def add_links(document: dict[str, Any]) -> None:
    """Say in an OpenAPI document which answers hold an id that other operations take, and where it stands in them."""
    paths: dict[str, dict[str, Any]] = document["paths"]
    for (method, path), ids in _IDS.items():
        for name, place in ids.items():
            for target, operation in _operations(paths):
                wanted = set(_IN_PATH.findall(target))
                if name in wanted and wanted <= {name, *_IN_PATH.findall(path)}:
                    _link(paths[path][method], path, operation, wanted - {name}, name, place)
    for path, target, name, place in _QUERIES:
        _link(paths[path]["get"], path, paths[target]["get"], set(_IN_PATH.findall(target)), name, place)


def _operations(paths: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, operations in paths.items():
        for operation in operations.values():
            yield path, operation


def _link(
    source: dict[str, Any], path: str, target: Mapping[str, Any], repeated: set[str], name: str, place: str
) -> None:
    """Add a link. repeated: what the target takes as the source had it; name, place: what it takes of the answer."""
    parameters = {each: f"$request.path.{each}" for each in _IN_PATH.findall(path) if each in repeated}
    parameters[name] = f"$response.body#{place}"
    links = source["responses"]["200"].setdefault("links", {})
    links[target["operationId"]] = {"operationId": target["operationId"], "parameters": parameters}
