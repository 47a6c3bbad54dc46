"""What a webhook is told when something wants a person. Pure.

ntfy takes updates and deletions by a sequence id since 2.16 (docs.ntfy.sh, "Publish as JSON", seen 2026-11); Slack's
incoming webhooks take a text and nothing else. Everybody else gets one JSON document.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from oulipoly_engine.core.checks.alerts import Alert, is_of_alert, to_line
from oulipoly_engine.core.live.requests import offered
from oulipoly_engine.core.live.sessions import LiveRequest
from oulipoly_engine.records import Record


class Notice(Record):
    """What every service can show."""

    id: str
    line: str
    link: str
    label: str  # of the link
    actions: Sequence[dict[str, Any]] = ()  # ntfy's


class Call(Record):
    """An HTTP request to make."""

    method: str
    url: str
    body: bytes = b""


def tell(webhook: str, alert: Alert, line: str, page: str) -> Call:
    """Return the call that tells of an alert that is no request. line: for people. page: where it is listed."""
    document = {
        "event": "alert_raised",
        "alert_id": alert.notice_id,
        "kind": alert.kind,
        "severity": alert.severity.value,
        "subject": to_line(alert.subject),
        "message": to_line(alert.text),
        "fix": to_line(alert.fix),
        "url": page,
    }
    return _tell(webhook, Notice(alert.notice_id, line, page, "Look at it"), document)


def tell_request(webhook: str, request: LiveRequest, line: str, page: str, token: str) -> Call:
    """Return the call that tells of a request. page: of the request, where it can be answered with the token."""
    link = f"{page}#{token}"
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
        if decision in offered(request)
    ]
    document = {
        "event": "request_opened",
        "request_id": request.request_id,
        "session_id": request.session_id or None,
        "kind": request.kind,
        "message": line,
        "url": page,
        "link": link,
        "token": token,
    }
    return _tell(webhook, Notice(request.request_id, line, link, "Allow or deny", actions), document)


def _tell(webhook: str, notice: Notice, document: dict[str, Any]) -> Call:
    topic = _topic(webhook)
    if topic is not None:
        root, name = topic
        told = {"topic": name, "title": "agents", "message": notice.line, "click": notice.link}
        return _post(root, told | {"actions": notice.actions, "sequence_id": _sequence(notice.id)})
    if urlsplit(webhook).hostname == "hooks.slack.com":
        shown = notice.line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        return _post(webhook, {"text": f"{shown}\n<{notice.link}|{notice.label}>"})
    return _post(webhook, document)


def withdraw(webhook: str, notice_id: str) -> Call | None:
    """Return the call that takes a notice back; None: it cannot be taken back there."""
    topic = _topic(webhook)
    if topic is not None:
        root, name = topic
        return Call("DELETE", f"{root.rstrip('/')}/{name}/{_sequence(notice_id)}")
    if urlsplit(webhook).hostname == "hooks.slack.com":
        return None
    if is_of_alert(notice_id):
        return _post(webhook, {"event": "alert_over", "alert_id": notice_id})
    return _post(webhook, {"event": "request_settled", "request_id": notice_id})


def _topic(webhook: str) -> tuple[str, str] | None:
    """Return the address and the topic of an ntfy server; `ntfy+https://…` says that it is one whatever its name."""
    is_named = webhook.startswith("ntfy+")
    parts = urlsplit(webhook.removeprefix("ntfy+"))
    name = parts.path.strip("/")
    if not name or "/" in name or not (is_named or (parts.hostname or "").startswith("ntfy.")):
        return None
    return urlunsplit((parts.scheme, parts.netloc, "/", "", "")), name


def _sequence(notice_id: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "-", notice_id)[:64]


def _post(url: str, document: dict[str, Any]) -> Call:
    return Call("POST", url, json.dumps(document, ensure_ascii=False).encode("utf-8", "replace"))
