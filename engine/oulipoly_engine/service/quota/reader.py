"""Ask one account's quota script, and once more after a login refresh. Nothing is stored here.

The bundled adapters run in process where a configuration names them bare; any other command runs by `sh -c`.
"""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from oulipoly_engine.adapters.bundled import recognise_usage_call, run_bundled
from oulipoly_engine.core.quota.readings import HttpFailure, excerpt, http_failure, parse_reading
from oulipoly_engine.core.quota.windows import ParsedWindow
from oulipoly_engine.errors import AdapterOutputInvalid
from oulipoly_engine.process.script import ScriptResult, run_script
from oulipoly_engine.records import Record, replace

SCRIPT_TIMEOUT_S = 30.0  # contract, section 3.1
REFRESH_TIMEOUT_S = 15.0  # contract, section 3.2

_SAID_SHOWN = 300  # characters
_SHORTEST_SECRET = 8  # characters; shorter texts beside keys say of what kind they are
_ADVICE = "try it in a shell, sign in again if the login has ended, or correct `quota_script` in providers.toml"


class Answer(Record):
    """What one account's script said."""

    windows: tuple[ParsedWindow, ...] = ()
    failure: str | None = None  # one sentence, redacted: which script, what it did, what to do
    http: HttpFailure | None = None
    duration_s: float = 0.0


class QuotaReader(Record):
    """Runs quota scripts in one environment."""

    home: Path
    environ: Mapping[str, str]
    cancelled: Callable[[], bool] = lambda: False
    timeout_s: float = SCRIPT_TIMEOUT_S
    secrets: tuple[str, ...] = ()  # in the environment; a script may print them, and what it says is stored

    def read(self, command: str, auth_refresh: str | None, *, has_windows: bool) -> Answer:
        """Ask a script; where it fails, or says nothing although windows are known, refresh the login and ask again.

        has_windows: whether windows of the account are stored. Never raises.
        """
        begun = time.monotonic()
        answer = self._ask(command)
        needs_login = answer.failure is not None or (not answer.windows and has_windows)
        # A vendor that says "too many requests" is not asked a second time, and no login would help.
        is_limited = answer.http is not None and answer.http.status == 429
        if needs_login and auth_refresh is not None and not is_limited and not self.cancelled():
            answer = self._ask_again(command, auth_refresh)
        return Answer(answer.windows, answer.failure, answer.http, time.monotonic() - begun)

    def _ask_again(self, command: str, auth_refresh: str) -> Answer:
        refreshed = run_script(auth_refresh, self.environ, timeout_s=REFRESH_TIMEOUT_S, cancelled=self.cancelled)
        refreshed = replace(refreshed, stdout=self._hide(refreshed.stdout), stderr=self._hide(refreshed.stderr))
        again = self._ask(command)
        if again.failure is None or refreshed.succeeded:
            return again
        login = f"the login refresh `{excerpt(auth_refresh, 120)}` {_describe_end(refreshed)} too{_words(refreshed)}"
        return Answer(again.windows, f"{again.failure}; {login}", again.http)

    def _ask(self, command: str) -> Answer:
        result = self._run(command)
        name = excerpt(command, 120)
        if not result.succeeded:
            http = http_failure(result.stderr.decode("utf-8", "replace"))
            # Named even where the excerpt has been cut before it: the pause after a 429 goes by this text.
            status = "" if http is None else f" (HTTP {http.status})"
            said = _words(result) or ": it printed nothing"
            return Answer(
                failure=f"the quota script `{name}` {_describe_end(result)}{status}{said}; {_ADVICE}", http=http
            )
        if not result.stdout.strip():
            shape = "it must print one JSON object with `windows`"
            return Answer(failure=f"the quota script `{name}` printed nothing{_words(result)}: {shape}; {_ADVICE}")
        try:
            return Answer(parse_reading(result.stdout, command))
        except AdapterOutputInvalid as error:
            return Answer(failure=f"{error.message}; {_ADVICE}")

    def _run(self, command: str) -> ScriptResult:
        call = recognise_usage_call(command, self.home)
        if call is None:
            done = run_script(command, self.environ, timeout_s=self.timeout_s, cancelled=self.cancelled)
            return replace(done, stdout=self._hide(done.stdout), stderr=self._hide(done.stderr))
        bundled = run_bundled(call, self.environ)
        return ScriptResult(bundled.exit_code, bundled.stdout.encode(), bundled.stderr.encode(), None, 0.0)

    def _hide(self, said: bytes) -> bytes:
        for secret in self.secrets:
            said = said.replace(secret.encode(), "•••".encode())
        return said


def find_secrets(value: str) -> tuple[str, ...]:
    """Return what must not be told of a value from the keyring: itself, and the texts in it where it is JSON."""
    found = [value]
    with suppress(ValueError, RecursionError):
        open_values = [json.loads(value)]
        while open_values:
            one = open_values.pop()
            if isinstance(one, dict):
                open_values += one.values()
            elif isinstance(one, str) and len(one) >= _SHORTEST_SECRET:
                found.append(one)
    return tuple(filter(None, found))


def _describe_end(result: ScriptResult) -> str:
    """Say how a script ended that did not end well."""
    if result.problem is not None:
        return result.problem
    if result.exit_code is not None and result.exit_code < 0:
        return f"was killed by {_signal_name(-result.exit_code)}"
    return f"failed with exit {result.exit_code}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return f"signal {number}"


def _words(result: ScriptResult) -> str:
    """Return what a script said of its trouble, redacted, after a colon; empty if it said nothing."""
    said = excerpt(result.stderr, _SAID_SHOWN) if result.stderr.strip() else excerpt(result.stdout, _SAID_SHOWN)
    return f": {said}" if said else ""
