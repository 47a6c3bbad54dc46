"""Tell a person what wants them: the terminal's bell, the webhook of config.toml, and web push."""

from __future__ import annotations

import threading
import time
import urllib.request
from collections.abc import Collection
from typing import TYPE_CHECKING

from oulipoly_engine.core.checks.alerts import to_line
from oulipoly_engine.core.text.quantities import local
from oulipoly_engine.core.web import notices
from oulipoly_engine.facade import diagnostics
from oulipoly_engine.web.base.push import WebPush

if TYPE_CHECKING:
    from oulipoly_engine.core.checks.alerts import Alert
    from oulipoly_engine.core.live.sessions import LiveRequest
    from oulipoly_engine.core.web.notices import Call
    from oulipoly_engine.facade.engine import Engine

_PATIENCE_S = 5.0  # for a webhook
_TRIES, _PAUSE_S = 3, 2.0


class Notices:
    """What goes out by way of one server."""

    def __init__(self, engine: Engine, url: str) -> None:
        self._engine, self._url, self._push = engine, url, WebPush(engine)

    @property
    def is_wanted(self) -> bool:
        """Return whether there is anybody to tell."""
        return bool(self._engine.web.settings().webhook) or diagnostics.is_terminal() or self._push.is_wanted

    def tell(self, alert: Alert, request: LiveRequest | None = None) -> None:
        """Tell of an alert, unless another server has done it. request: what it is of."""
        if not self._engine.web.claim_notice(alert.notice_id):
            return
        line = to_line(local(alert.text, self._engine.surroundings.clock.now()))
        if diagnostics.is_terminal():
            diagnostics.note(line)
            diagnostics.ring()
        webhook = self._engine.web.settings().webhook
        if request is None:
            if webhook:
                _call_later(notices.tell(webhook, alert, line, f"{self._url}/"))
            self._push.tell(alert.notice_id, line)
            return
        if webhook:
            token = self._engine.web.make_request_token(request.request_id)
            page = f"{self._url}/requests/{request.request_id}"
            _call_later(notices.tell_request(webhook, request, line, page, token))
        self._push.tell_request(request, line)

    def tell_request(self, request: LiveRequest) -> None:
        """Tell of a request."""
        self.tell(self._engine.live.request_alert(request), request)

    def withdraw(self, pending: Collection[str], *, keeps_alerts: bool = False) -> None:
        """Take back what was told and does not wait any more. pending: ids of notices that may stay.

        keeps_alerts: those that are of no request stay all.
        """
        webhook = self._engine.web.settings().webhook
        for identity in self._engine.web.claim_withdrawals(pending, keeps_alerts=keeps_alerts):
            call = notices.withdraw(webhook, identity) if webhook else None
            if call is not None:
                _call_later(call)
            self._push.withdraw(identity)


def _call_later(call: Call) -> None:
    threading.Thread(target=_call, args=(call,), daemon=True, name="webhook").start()


def _call(call: Call) -> None:
    if not call.url.startswith(("https://", "http://")):
        diagnostics.note("Warning: serve_webhook in config.toml is not an http address: nobody is told")
        return
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(call.url, call.body or None, headers, method=call.method)  # noqa: S310 - checked above
    problem = ""
    for _ in range(_TRIES):
        try:
            with urllib.request.urlopen(request, timeout=_PATIENCE_S):  # noqa: S310 - checked above
                return
        except (OSError, ValueError) as error:
            problem = str(error)
        time.sleep(_PAUSE_S)
    diagnostics.note(f"Warning: the webhook takes no notice: {problem}")
