"""What a webhook is told when a session asks a person. Pure.

ntfy takes updates and deletions by a sequence id since 2.16 (docs.ntfy.sh, "Publish as JSON", seen 2026-11); Slack's
incoming webhooks take a text and nothing else. Everybody else gets one JSON document.
"""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from oulipoly_engine.core.live.sessions import LiveRequest
from oulipoly_engine.core.text.control_characters import visible_line
from oulipoly_engine.core.text.redact import redact
from oulipoly_engine.records import Record

_LONGEST = 160  # characters of the line
_WORDS = {"user_input": "asks", "command_approval": "wants to run", "file_change_approval": "wants to change"}


class Call(Record):
    """An HTTP request to make."""

    method: str
    url: str
    body: bytes = b""


def describe(request: LiveRequest, session: str) -> str:
    """Return one line, secrets hidden and hidden characters shown as signs. session: its title."""
    title = _to_line(request.prompt.title)
    line = f"{_to_line(session)[:60] or 'a session'} {_WORDS.get(request.kind, 'asks for')}: {title}"
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def _to_line(text: str) -> str:
    return visible_line(" ".join(redact(text).split()))


def tell(webhook: str, request: LiveRequest, line: str, page: str, token: str) -> Call:
    """Return the call that tells of a request. page: of the request, where it can be answered with the token."""
    link = f"{page}#{token}"
    topic = _topic(webhook)
    if topic is not None:
        actions = [
            {
                "action": "http",
                "label": label,
                "url": page,
                "method": "POST",
                "headers": {"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
                "body": json.dumps({"decision": decision}),
                "clear": True,
            }
            for label, decision in (("Allow", "approve"), ("Deny", "deny"))
            if request.kind != "user_input"
        ]
        root, name = topic
        told = {"topic": name, "title": "agents", "message": line, "click": link, "actions": actions}
        return _post(root, told | {"sequence_id": _sequence(request.request_id)})
    if urlsplit(webhook).hostname == "hooks.slack.com":
        shown = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        return _post(webhook, {"text": f"{shown}\n<{link}|Allow or deny>"})
    document = {
        "event": "request_opened",
        "request_id": request.request_id,
        "session_id": request.session_id,
        "kind": request.kind,
        "message": line,
        "url": page,
        "link": link,
        "token": token,
    }
    return _post(webhook, document)


def withdraw(webhook: str, request_id: str) -> Call | None:
    """Return the call that takes a notice back; None: it cannot be taken back there."""
    topic = _topic(webhook)
    if topic is not None:
        root, name = topic
        return Call("DELETE", f"{root.rstrip('/')}/{name}/{_sequence(request_id)}")
    if urlsplit(webhook).hostname == "hooks.slack.com":
        return None
    return _post(webhook, {"event": "request_settled", "request_id": request_id})


def _topic(webhook: str) -> tuple[str, str] | None:
    """Return the address and the topic of an ntfy server; `ntfy+https://…` says that it is one whatever its name."""
    is_named = webhook.startswith("ntfy+")
    parts = urlsplit(webhook.removeprefix("ntfy+"))
    name = parts.path.strip("/")
    if not name or "/" in name or not (is_named or (parts.hostname or "").startswith("ntfy.")):
        return None
    return urlunsplit((parts.scheme, parts.netloc, "/", "", "")), name


def _sequence(request_id: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "-", request_id)[:64]


def _post(url: str, document: dict[str, Any]) -> Call:
    return Call("POST", url, json.dumps(document, ensure_ascii=False).encode("utf-8", "replace"))
