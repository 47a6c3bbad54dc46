"""Start a runtime's CLI, let it say who it is, and end it: no session is opened and no model is asked."""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal
from uuid import uuid4

from oulipoly_engine.core.live import failures
from oulipoly_engine.core.live.events import AnyEvent, ModelInfo, Notice, SessionClosed, SessionFailed, SessionOpened
from oulipoly_engine.core.live.runtime_status import Diagnostic, Probe, shorten
from oulipoly_engine.core.live.runtimes import Runtime, hide_proxy
from oulipoly_engine.core.text.control_characters import visible_line
from oulipoly_engine.core.text.lines import LineSplitter
from oulipoly_engine.core.text.redact import redact_strictly
from oulipoly_engine.core.transcripts.sanitize import readable
from oulipoly_engine.drivers.base import Driver, Opening
from oulipoly_engine.errors import SpawnFailed
from oulipoly_engine.host.loop import READ, WRITE, Loop
from oulipoly_engine.process.command import Command
from oulipoly_engine.process.piped import PipedProcess
from oulipoly_engine.records import asdict, replace

_FAREWELL_S = 1.0  # between the end of stdin and the first signal; codex took 0.2 s
_LONGEST_LINE = 500  # characters of stderr
_MOST_NOTICES = 20
_LEVELS: Mapping[str, Literal["warning", "error"]] = {"warning": "warning", "error": "error"}


def run_probe(
    runtime: Runtime,
    driver: type[Driver],
    program: str,
    environ: Mapping[str, str],
    folder: Path,
    *,
    now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
) -> Probe:
    """Return what a start of a runtime's program shows; takes `startup_s` of the runtime at most, and ends it.

    program: its path. environ: whole. folder: where it works.
    """
    opening = Opening(
        cwd=str(folder),
        new_id=str(uuid4()),
        start_words=runtime.start_words,
        args=runtime.args,
        marker=runtime.marker,
        startup_s=runtime.startup_s,
        request_s=runtime.request_s,
        is_probe=True,
    )
    command = Command((program, *driver.words(opening)), environ, folder, named_in=runtime.named_in)
    try:
        process = PipedProcess(command)
    except SpawnFailed as error:
        return Probe(failures.SPAWN_FAILED, error.message)
    talk = _Talk(runtime, driver(opening), process)
    try:
        talk.hold(runtime.startup_s)
    finally:
        talk.end()
    return talk.report(now_ms())


class _Talk:
    """One conversation with a program, up to its first word on whether a session could be opened."""

    def __init__(self, runtime: Runtime, driver: Driver, process: PipedProcess) -> None:
        self._runtime, self._driver, self._process = runtime, driver, process
        self._lines = LineSplitter(driver.longest_line)
        self._errors = LineSplitter(1 << 20)
        self._pending = bytearray()
        self._stderr: deque[str] = deque(maxlen=runtime.stderr_lines)
        self._notices: list[Diagnostic] = []
        self._opened: SessionOpened | None = None
        self._failed: SessionFailed | None = None

    def hold(self, patience_s: float) -> None:
        """Talk until the program has said who it is, has failed, or has taken too long."""
        deadline = time.monotonic() + patience_s
        self._driver.tick(time.monotonic())
        self._driver.begin()
        self._take()
        with Loop() as loop:
            loop.watch(self._process.stdout, READ, lambda: self._read_output(loop))
            loop.watch(self._process.stderr, READ, lambda: self._serve_errors(loop))
            while not self._is_over():
                wait = self._tick()
                left = deadline - time.monotonic()
                if left <= 0:
                    self._fail(failures.TIMED_OUT, f"it did not say who it is within {patience_s:g} s")
                    return
                if self._process.stdin >= 0:
                    loop.watch(self._process.stdin, WRITE if self._pending else 0, self._flush)
                loop.turn(min(left, 1.0 if wait is None else max(wait, 0.01)))

    def end(self) -> None:
        """End the program: by its own words, by the end of its stdin, then by signals."""
        with contextlib.suppress(Exception):  # it may be in any state; the signals follow anyway
            self._driver.closing()
            self._process.write(self._driver.take().data)
        self._process.close_stdin()
        until = time.monotonic() + _FAREWELL_S
        while not self._process.is_gone() and time.monotonic() < until:
            self._process.read(self._process.stdout)  # a full pipe would hold it up
            self._read_errors()
            time.sleep(0.02)
        self._read_errors()
        self._process.stop()

    def report(self, now_ms: int) -> Probe:
        """Return what was learned."""
        rest = self._errors.rest()
        if rest:
            self._keep_error(rest)
        probe = Probe(diagnostics=tuple(self._notices), stderr=tuple(self._stderr))
        probe = replace(probe, capabilities=asdict(self._driver.capabilities))
        if self._failed is not None:
            message = shorten(self._clean(self._failed.message))
            return replace(probe, reason=self._failed.reason, message=message)
        opened = self._opened or SessionOpened("")
        models = tuple(map(self._clean_model, opened.models))
        return replace(
            probe,
            version=self._clean(opened.version),
            account=self._clean(opened.account),
            models=models,
            models_at_ms=now_ms if models else None,
        )

    def _is_over(self) -> bool:
        return self._opened is not None or self._failed is not None

    def _tick(self) -> float | None:
        wait = self._driver.tick(time.monotonic())
        self._take()
        return wait

    def _read_output(self, loop: Loop) -> None:
        data = self._process.read(self._process.stdout)
        if data == b"":
            loop.forget(self._process.stdout)
            self._close()
        for line in self._lines.feed(data or b""):
            if isinstance(line, bytes):
                self._driver.receive(line)
                self._take()

    def _close(self) -> None:
        """Say that the program has ended, or has closed its stdout."""
        self._driver.closed()
        self._take()
        until = time.monotonic() + _FAREWELL_S
        while (code := self._process.poll()) is None and time.monotonic() < until:
            time.sleep(0.01)
        self._read_errors()
        ended = "closed its output" if code is None else f"ended with {code}"
        said = f": {self._stderr[-1]}" if self._stderr else ""
        self._fail(failures.CLOSED, f"it {ended} before it said who it is{said}")

    def _flush(self) -> None:
        try:
            del self._pending[: self._process.write(self._pending)]
        except OSError:  # its end of stdout tells the rest
            self._pending.clear()

    def _take(self) -> None:
        output = self._driver.take()
        self._pending += output.data
        if self._pending:
            self._flush()
        for event in output.events:
            self._hear(event)

    def _hear(self, event: AnyEvent) -> None:
        match event:
            case SessionOpened():
                self._opened = self._opened or event
            case SessionFailed(reason, message):
                self._fail(reason, message)
            case SessionClosed(_, message):
                self._fail(failures.CLOSED, message or "it has ended")
            case Notice() if len(self._notices) < _MOST_NOTICES:
                code = visible_line(f"{self._runtime.kind}_probe.{event.code or 'notice'}")
                self._notices.append(
                    Diagnostic(_LEVELS.get(event.level, "info"), code, shorten(self._clean(event.text)))
                )

    def _fail(self, reason: str, message: str) -> None:
        if not self._is_over():
            self._failed = SessionFailed(reason, message)

    def _read_errors(self) -> bool:
        """Take what stands at stderr. Returns false at its end."""
        data = self._process.read(self._process.stderr)
        for line in self._errors.feed(data or b""):
            if isinstance(line, bytes):
                self._keep_error(line)
        return data != b""

    def _serve_errors(self, loop: Loop) -> None:
        if not self._read_errors():
            loop.forget(self._process.stderr)

    def _keep_error(self, line: bytes) -> None:
        text = readable(line.decode("utf-8", "replace"))
        self._stderr.append(self._clean(text)[:_LONGEST_LINE])

    def _clean_model(self, model: ModelInfo) -> ModelInfo:
        """Return a model whose texts can be shown: nothing that a CLI says may act on a terminal."""
        return replace(
            model,
            id=visible_line(model.id),
            name=visible_line(model.name),
            description=visible_line(model.description),
            efforts=tuple(map(visible_line, model.efforts)),
        )

    def _clean(self, text: str) -> str:
        return "\n".join(
            visible_line(redact_strictly(hide_proxy(line, self._runtime.proxy))) for line in text.splitlines()
        )
