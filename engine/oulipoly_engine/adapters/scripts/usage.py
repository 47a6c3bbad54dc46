#!/usr/bin/env python3
"""Print an account's quota windows as one JSON line; one file under three names.

    anthropic-usage ~/.claude/.credentials.json
    chatgpt-usage   ~/.codex/auth.json
    zai-usage       ~/.config/opencode/auth.json

The name it is called by says which vendor to ask; `usage.py NAME FILE` does the same. A copy of this file under one of
the names works alone: standard library only, Python 3.11 and up.

stdout: `{"windows": [{"label"?, "used_percent": 0..100, "resets_at": RFC 3339, "window_seconds"?}]}`.
Exits: 0; 1 called wrongly, or broken; 2 the credential file cannot be read or is not a JSON object; 3 no usable token
in it; 4 no HTTP answer or one that is not 2xx (stderr: `HTTP 429 …; retry-after 120`); 5 an HTTP success that carries
an error or is not understood.
Environment: `ANTHROPIC_USAGE_BASE_URL`, `CHATGPT_USAGE_BASE_URL`, `ZAI_USAGE_BASE_URL` replace scheme and host (https,
or http on this machine); `ANTHROPIC_USAGE_CLIENT_VERSION` replaces the Claude Code version that we send.

Credentials are read only. Nothing that a vendor answers is quoted in an error, because an answer may echo the token.
"""

from __future__ import annotations

import json
import math
import os
import queue
import re
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http.client import HTTPException, HTTPMessage, HTTPResponse
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

TIMEOUT_S = 20.0
MAX_ANSWER_BYTES = 1 << 20  # real answers have less than 4 kB
_MAX_FILE_BYTES = 1 << 20
# The endpoint answers a lasting 429 to clients that do not name themselves so (anthropics/claude-code#30930, #31637).
CLAUDE_CODE_VERSION = "2.1.329"

_MISUSED, _NO_FILE, _NO_TOKEN, _NO_SUCCESS, _NOT_UNDERSTOOD = 1, 2, 3, 4, 5
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_TOKEN = re.compile(r"[\x21-\x7e]+")  # what a header can carry and nothing that could end one
_LABELS = {18_000: "5h-burst", 86_400: "daily", 604_800: "weekly", 2_592_000: "monthly"}
_ZAI_UNITS = {3: 3600, 6: 604_800}  # `unit` of a z.ai limit: hours, weeks; seen 2026-11

Json = Mapping[str, object]
WindowList = list[dict[str, object]]


class UsageFailed(Exception):
    """A reading that could not be had; `exit_code` as in the module's table, no secret in the message."""

    def __init__(self, message: str, exit_code: int, retry_after_s: int | None = None) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.retry_after_s = retry_after_s


@dataclass(frozen=True, slots=True)
class Vendor:
    """One usage API."""

    base_url: str
    path: str
    base_url_variable: str
    headers: Callable[[Json, str], dict[str, str]]  # (credentials, Claude Code version)
    windows: Callable[[Json], Iterator[dict[str, object]]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run of the script printed and returned."""

    exit_code: int
    stdout: str = ""
    stderr: str = ""
    retry_after_s: int | None = None


def read(
    name: str, credentials: Path, base_url: str | None = None, client_version: str = CLAUDE_CODE_VERSION
) -> dict[str, WindowList]:
    """Ask a vendor for an account's windows.

    name: `anthropic-usage`, `chatgpt-usage` or `zai-usage`. Returns the object that the script prints.
    Raises UsageFailed.
    """
    vendor = VENDORS[name]
    headers = vendor.headers(_load(credentials), client_version)
    return {"windows": list(vendor.windows(_fetch((base_url or vendor.base_url).rstrip("/") + vendor.path, headers)))}


def run(arguments: Sequence[str], environ: Mapping[str, str]) -> Outcome:
    """Run `(name, credential file)` as the script would, without touching the process's streams. Never raises."""
    if len(arguments) != 2 or arguments[0] not in VENDORS:
        return Outcome(_MISUSED, stderr=f"usage: {' | '.join(VENDORS)} CREDENTIAL_FILE\n")
    name, file = arguments
    base_url = environ.get(VENDORS[name].base_url_variable)
    version = environ.get("ANTHROPIC_USAGE_CLIENT_VERSION") or CLAUDE_CODE_VERSION
    try:
        answer = read(name, Path(file).expanduser(), base_url, version)
    except UsageFailed as failure:
        return Outcome(failure.exit_code, "", f"{name}: {failure}\n", failure.retry_after_s)
    except Exception as error:  # noqa: BLE001, RUF100 - the adapter's border: a message may carry a header with the token
        return Outcome(_MISUSED, stderr=f"{name}: unexpected {type(error).__name__}\n")
    return Outcome(0, json.dumps(answer) + "\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run under the name that we were called by; the first argument may name the vendor instead."""
    called, *arguments = sys.argv if argv is None else argv
    name = Path(called).name
    outcome = run((name, *arguments) if name in VENDORS else arguments, os.environ)
    sys.stdout.write(outcome.stdout)
    sys.stderr.write(outcome.stderr)
    return outcome.exit_code


def _anthropic_headers(credentials: Json, version: str) -> dict[str, str]:
    token = _token(credentials, "claudeAiOauth", "accessToken")
    return {
        "Authorization": f"Bearer {token}",
        "anthropic-beta": "oauth-2025-04-20",
        "User-Agent": f"claude-code/{version}",
    }


def _anthropic_windows(answer: Json) -> Iterator[dict[str, object]]:
    if answer.get("type") == "error" or answer.get("error"):
        message = f"the vendor answered with an error{_error_type(answer)} instead of windows; sign in again"
        raise UsageFailed(message, _NOT_UNDERSTOOD)
    for key, label in (("seven_day", "weekly"), ("five_hour", "5h-burst")):
        window = _part(answer, key)
        reset = window.get("resets_at")
        if reset is not None:
            if not isinstance(reset, str):
                raise _strange(f"{key}.resets_at")
            yield {"label": label, "used_percent": _percent(window, "utilization"), "resets_at": reset}


def _chatgpt_headers(credentials: Json, _version: str) -> dict[str, str]:
    headers = {"Authorization": f"Bearer {_token(credentials, 'tokens', 'access_token')}", **_PLAIN_AGENT}
    # A login without an account id has one workspace, which the vendor then takes.
    account = _part(credentials, "tokens").get("account_id")
    if isinstance(account, str) and _TOKEN.fullmatch(account):
        headers["ChatGPT-Account-Id"] = account
    return headers


def _chatgpt_windows(answer: Json) -> Iterator[dict[str, object]]:
    if answer.get("rate_limit") is None and (answer.get("error") or answer.get("detail")):
        raise UsageFailed("the vendor answered with an error instead of windows; sign in again", _NOT_UNDERSTOOD)
    found = []
    # The weekly window may stand in the primary slot, so its length names it, and the slot only where none is given.
    for slot, usual_s in (("primary_window", 18_000), ("secondary_window", 604_800)):
        window = _part(_part(answer, "rate_limit"), slot)
        if window.get("reset_at") is not None:
            length = _number(window, "limit_window_seconds")
            entry = {
                "label": _label(length or usual_s),
                "used_percent": _percent(window, "used_percent"),
                "resets_at": _instant(window, "reset_at", 1),
            }
            found.append((length or usual_s, entry))
    yield from (entry for _, entry in sorted(found, key=lambda pair: -pair[0]))


def _zai_headers(credentials: Json, _version: str) -> dict[str, str]:
    return {
        "Authorization": _token(credentials, "Z_AI_API_KEY"),  # the raw key: no Bearer
        "Accept-Language": "en-US,en",
        "Content-Type": "application/json",
        **_PLAIN_AGENT,
    }


def _zai_windows(answer: Json) -> Iterator[dict[str, object]]:
    code = answer.get("code")
    if code != 200:  # z.ai reports a refused key with an HTTP success
        shown = code if isinstance(code, int) and abs(code) < 10_000 else "(none)"
        raise UsageFailed(f"the vendor answered with its own error code {shown}; check the key", _NOT_UNDERSTOOD)
    limits = _part(answer, "data").get("limits")
    if not isinstance(limits, list | None):
        raise _strange("data.limits")
    for limit in limits or ():
        if not isinstance(limit, dict):
            raise _strange("data.limits[]")
        if limit.get("type") == "TOKENS_LIMIT" and limit.get("nextResetTime") is not None:
            resets_at = _instant(limit, "nextResetTime", 1000)
            # An idle window is left out, so its place says nothing; the length keeps the rest recognisable.
            length = _ZAI_UNITS.get(int(_number(limit, "unit"))) if _number(limit, "number") else None
            seconds = {"window_seconds": int(length * _number(limit, "number"))} if length else {}
            yield {"used_percent": _percent(limit, "percentage"), "resets_at": resets_at, **seconds}


_PLAIN_AGENT = {"User-Agent": "oulipoly-agent-runner"}
VENDORS: Mapping[str, Vendor] = {
    "anthropic-usage": Vendor(
        "https://api.anthropic.com",
        "/api/oauth/usage",
        "ANTHROPIC_USAGE_BASE_URL",
        _anthropic_headers,
        _anthropic_windows,
    ),
    "chatgpt-usage": Vendor(
        "https://chatgpt.com", "/backend-api/wham/usage", "CHATGPT_USAGE_BASE_URL", _chatgpt_headers, _chatgpt_windows
    ),
    "zai-usage": Vendor(
        "https://api.z.ai", "/api/monitor/usage/quota/limit", "ZAI_USAGE_BASE_URL", _zai_headers, _zai_windows
    ),
}


def _load(path: Path) -> Json:
    # An argument that is not a path might be a token put there by mistake: it is not repeated.
    shown = str(path) if "/" in str(path) or path.suffix == ".json" else "that was named"
    try:
        if path.exists() and not path.is_file():  # opening a pipe would wait for ever
            raise UsageFailed(f"the credential file {shown} is not a regular file", _NO_FILE)
        with path.open("rb") as file:
            content = file.read(_MAX_FILE_BYTES)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise UsageFailed(f"cannot read the credential file {shown}: {reason}", _NO_FILE) from None
    value = _parse(content)
    if not isinstance(value, dict):
        raise UsageFailed(f"the credential file {shown} is not a JSON object", _NO_FILE)
    return value


def _token(credentials: Json, *keys: str) -> str:
    value: object = credentials
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    name = "." + ".".join(keys)
    if not isinstance(value, str) or not value.strip():
        raise UsageFailed(f"the credential file has no {name}; sign in with the CLI first", _NO_TOKEN)
    if _TOKEN.fullmatch(value.strip()) is None:
        raise UsageFailed(f"the credential file's {name} holds characters that no header can carry", _NO_TOKEN)
    return value.strip()


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follow nothing: the next host would get the Authorization header."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        return None


def _fetch(url: str, headers: Mapping[str, str]) -> Json:
    deadline = time.monotonic() + TIMEOUT_S
    place = urlsplit(url)
    local = place.hostname in _LOOPBACK
    if place.scheme != "https" and not (place.scheme == "http" and local):
        raise UsageFailed("the base URL must begin with https://, or with http:// on this machine", _MISUSED)
    proxies = (urllib.request.ProxyHandler({}),) if local else ()
    opener = urllib.request.build_opener(_NoRedirect, *proxies)
    request = urllib.request.Request(url, headers={"Accept": "application/json", **headers})  # noqa: S310 - checked above
    shown = f"{place.hostname}{place.path}"
    try:
        return _decode(_within(TIMEOUT_S, lambda: _ask(opener, request, deadline)), shown)
    except urllib.error.HTTPError as error:
        with error:
            raise _refusal(error, shown) from None
    except (OSError, HTTPException) as error:  # URLError and TimeoutError are OSErrors
        raise UsageFailed(f"no HTTP answer from {shown}: {_network_reason(error)}", _NO_SUCCESS) from None


def _within(seconds: float, ask: Callable[[], bytes]) -> bytes:
    """Do it in so many seconds. A vendor that trickles its headers reaches no limit of a single read."""
    answers: queue.SimpleQueue[bytes | BaseException] = queue.SimpleQueue()

    def run() -> None:
        try:
            answers.put(ask())
        except BaseException as error:  # noqa: BLE001, RUF100 - it is raised where it is waited for
            answers.put(error)

    threading.Thread(target=run, daemon=True).start()  # one that is given up ends with its connection, or with us
    try:
        found = answers.get(timeout=seconds)
    except queue.Empty:
        raise TimeoutError from None
    if isinstance(found, BaseException):
        raise found
    return found


def _ask(opener: urllib.request.OpenerDirector, request: urllib.request.Request, deadline: float) -> bytes:
    with opener.open(request, timeout=TIMEOUT_S) as response:
        return _body(response, deadline)


def _body(response: HTTPResponse, deadline: float) -> bytes:
    body = bytearray()
    while chunk := response.read1(65_536):
        body += chunk
        if len(body) > MAX_ANSWER_BYTES:
            raise UsageFailed(f"the answer is larger than {MAX_ANSWER_BYTES} bytes", _NOT_UNDERSTOOD)
        if time.monotonic() > deadline:  # each read has a limit of its own, which a trickle never reaches
            raise TimeoutError
    return bytes(body)


def _decode(body: bytes, shown: str) -> Json:
    answer = _parse(body)
    if not isinstance(answer, dict):
        raise UsageFailed(f"the answer from {shown} is not a JSON object", _NOT_UNDERSTOOD)
    return answer


def _parse(text: bytes) -> object:
    """Read JSON; None for anything that is none (no error text, which would quote it)."""
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return None


def _refuse_constant(name: str) -> None:
    raise ValueError(name)


def _refusal(error: urllib.error.HTTPError, shown: str) -> UsageFailed:
    advice = {401: "; sign in again", 403: "; sign in again"}.get(error.code, "")
    if 300 <= error.code < 400:
        advice = "; redirects are not followed"
    pause = _pause_s(error.headers.get("Retry-After"))
    asked = "" if pause is None else f"; retry-after {pause}"
    return UsageFailed(f"HTTP {error.code} from {shown}{asked}{advice}", _NO_SUCCESS, pause)


def _pause_s(header: str | None) -> int | None:
    """Return a Retry-After header in seconds; it may be a number or a date."""
    text = (header or "").strip()
    if re.fullmatch(r"[0-9]{1,7}", text):
        return int(text)
    try:
        instant = parsedate_to_datetime(text)
    except ValueError:
        return None
    return max(0, math.ceil(instant.replace(tzinfo=instant.tzinfo or UTC).timestamp() - time.time()))


def _network_reason(error: BaseException) -> str:
    reason = getattr(error, "reason", None)
    cause = reason if isinstance(reason, BaseException) else error
    if isinstance(cause, TimeoutError):
        return f"timed out after {TIMEOUT_S:g} s"
    return getattr(cause, "strerror", None) or type(cause).__name__


def _error_type(answer: Json) -> str:
    error = answer.get("error")
    kind = error.get("type") if isinstance(error, dict) else None
    known = ("authentication_error", "permission_error", "rate_limit_error", "api_error", "overloaded_error")
    return f" ({kind})" if kind in known else ""


def _part(value: Json, key: str) -> Json:
    """Return an object inside an answer; one that is absent or null is empty."""
    part = value.get(key)
    if part is None:
        return {}
    if not isinstance(part, dict):
        raise _strange(key)
    return part


def _number(value: Json, key: str) -> float:
    number = value.get(key)
    if number is None:
        return 0
    if isinstance(number, bool) or not isinstance(number, int | float) or not -1e15 < number < 1e15:
        raise _strange(key)
    return number


def _percent(window: Json, key: str) -> float:
    """Return the percent used; a plan that runs a little over its limit counts as full."""
    percent = _number(window, key)
    if not 0 <= percent <= 200:
        raise _strange(key)
    return min(percent, 100)


def _instant(window: Json, key: str, per_second: int) -> str:
    try:
        instant = datetime.fromtimestamp(_number(window, key) // per_second, UTC)
    except (ValueError, OverflowError, OSError):
        raise _strange(key) from None
    return instant.strftime("%Y-%m-%dT%H:%M:%SZ")


def _label(seconds: float) -> str:
    for known, label in _LABELS.items():
        if abs(seconds - known) <= known * 0.05:  # vendors round to minutes, and months differ
            return label
    for size, unit in ((86_400, "d"), (3600, "h")):
        if seconds >= size:
            return f"{round(seconds / size)}{unit}"
    return f"{max(1, round(seconds / 60))}m"


def _strange(key: str) -> UsageFailed:
    return UsageFailed(f"the answer's {key} is not what it used to be: look for a newer adapter", _NOT_UNDERSTOOD)


if __name__ == "__main__":
    sys.exit(main())
