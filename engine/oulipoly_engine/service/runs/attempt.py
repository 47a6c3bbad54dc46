"""One attempt of a one-shot: one account's CLI, started, passed through, captured, made final."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from oulipoly_engine.clock import Clock
from oulipoly_engine.core.accounts import arguments
from oulipoly_engine.core.accounts.accounts import Account, CaptureKind, CaptureSpec, PoolMember
from oulipoly_engine.core.runs import prompt
from oulipoly_engine.core.runs.invocations import NOT_KEPT, RETURNED_ARTIFACTS, CaptureOutcome, Category, Outcome
from oulipoly_engine.core.runs.session_match import NO_EVIDENCE, Evidence
from oulipoly_engine.errors import Interrupted, OutputFailed, ResumeMismatch, RunnerError, SpawnFailed
from oulipoly_engine.private_files import open_private
from oulipoly_engine.process.command import Command, ProcessResult
from oulipoly_engine.process.run import StdoutClosed, run
from oulipoly_engine.records import Record, replace
from oulipoly_engine.service.runs.output_gate import OutputGate
from oulipoly_engine.service.runs.return_channel import NOTHING, ReturnChannel, Returned
from oulipoly_engine.service.runs.run_text import RunText

if TYPE_CHECKING:
    from oulipoly_engine.core.runs.capture import ForcedFlagReader, JsonEventReader

_SILENCE_S = 60.0
_NOT_CAPTURED = CaptureOutcome(None, "none", None)
_HEAD = 32 << 10  # bytes of each stream that acceptance rules are tried on, besides its end


class Face(Protocol):
    """Where what the user sees goes."""

    def stdout(self, data: bytes | memoryview) -> None:
        """Pass bytes of the CLI's answer on. Raises BrokenPipeError, or OutputFailed (a full disk)."""

    def stderr(self, data: bytes | memoryview) -> None:
        """Pass bytes of the CLI's stderr on."""

    def note(self, line: str) -> None:
        """Say something about the run itself, on stderr."""


class Attempt(Record):
    """What one attempt is made of."""

    uuid: str
    account: Account
    member: PoolMember | None
    prompt: str
    env: Mapping[str, str]
    channel: ReturnChannel  # to whose file it may return artifacts
    text: RunText  # takes what is asked and answered
    working_directory: Path  # absolute
    input_args: tuple[str, ...] = ()
    timeout_s: float | None = None
    resumes: str | None = None  # the CLI's id of the session that it is to go on with; None: a new one
    new_session: str = ""  # the id that its CLI is to give a new one; empty: it is not asked to


class Attempted(Record):
    """What came of it; the row's outcome still lacks its category, which needs a diagnosis."""

    outcome: Outcome
    finished: ProcessResult | None = None  # None: it never started, or was interrupted
    kept_back: bytes = b""  # stdout of a failure that was not passed on
    forwarded: int = 0  # bytes of stdout that were
    last_byte: int | None = None
    error: RunnerError | None = None  # why it never started, or the interruption
    capture_error: str | None = None
    stdout_closed: bool = False  # nobody reads our stdout any more
    evidence: Evidence = NO_EVIDENCE  # what its session is known by where the CLI told none
    returned: Returned = NOTHING  # what it has handed back


def attempt(it: Attempt, face: Face, clock: Clock, started: Callable[[int], None] | None = None) -> Attempted:
    """Run one account's CLI to its end. Never raises for what the CLI does; a closed stdout is an ending too.

    started: is told the CLI's process id once it runs.
    """
    try:
        done = _attempt(it, face, clock, started)
    finally:
        it.text.end()
    return replace(done, returned=it.channel.returned)


def _attempt(it: Attempt, face: Face, clock: Clock, started: Callable[[int], None] | None) -> Attempted:
    def forward(data: bytes | memoryview) -> None:
        it.text.add(data)  # first: it was said, even if our reader has gone
        face.stdout(data)

    held = OutputGate(forward, clock.monotonic)
    try:
        with _workplace(it) as place:
            return _run(it, place, held, face, clock, started)
    except SpawnFailed as error:
        outcome = Outcome(False, -1, clock.now(), "spawn_error", "spawn_error", error.message)
        return Attempted(outcome, error=error)
    except Interrupted as error:  # before there was anything to capture
        return _end_interrupted(error, held, clock, _NOT_CAPTURED)
    except ResumeMismatch as error:
        category = Category.RESUME_SESSION_MISMATCH.value
        outcome = Outcome(
            success=False,
            exit_code=error.exit_code,
            finished_at=clock.now(),
            error_category=category,
            terminal_reason=category,
            error_text=error.message,
            acceptance_status="rejected",
            acceptance_evidence=error.message,
        )
        return Attempted(outcome, kept_back=held.take_back(), forwarded=held.forwarded, error=error)
    except OutputFailed as error:
        outcome = Outcome(False, -1, clock.now(), None, "stdout_failed", error.message)
        return Attempted(outcome, error=error, forwarded=held.forwarded)


def _run(
    it: Attempt,
    place: _Workplace,
    held: OutputGate,
    face: Face,
    clock: Clock,
    started: Callable[[int], None] | None,
) -> Attempted:
    watch = None if it.resumes is None else _Watch(it.resumes, it.account)
    sink = _Sink(held, face, place.reader, it.account.name, passes_stdout=place.last_message is None, watch=watch)

    def begin(pid: int) -> None:
        if place.reader is None and watch is None:
            sink.child = pid
        if started is not None:
            started(pid)
        it.text.begin()

    try:
        finished = run(place.command, sink, begin)
    except Interrupted as error:
        # The id that the CLI has told by now makes the session resumable.
        if place.reader is not None:
            place.reader.feed(error.unread)
        return _end_interrupted(error, held, clock, _capture(place))
    captured = _capture(place)
    did_well = finished.exit_code == 0 and finished.stopped_for is None
    refusal = it.channel.returned.refusal if did_well else None  # before the answer goes out: it is no success then
    succeeded = did_well and refusal is None
    closed = finished.stopped_for == "stdout_closed"
    if succeeded:
        try:
            with _reader_may_leave():
                held.release()
                if place.last_message is not None:
                    _forward_file(place.last_message, held)
        except StdoutClosed:
            closed = True
    outcome = Outcome(
        success=succeeded,
        exit_code=finished.exit_code,
        finished_at=clock.now(),
        terminal_reason=_terminal_reason(finished),
        session_id=captured.session_id,
        capture_method=captured.method,
    )
    if refusal is not None:
        outcome = refuse_returned(outcome, refusal)
    if watch is not None:
        outcome = watch.judge(outcome, finished)
    return Attempted(
        outcome,
        finished,
        kept_back=held.take_back(),
        forwarded=held.forwarded,
        last_byte=held.last_byte,
        capture_error=captured.error,
        stdout_closed=closed,
        evidence=Evidence(place.given, frozenset(sink.files)),
    )


def _capture(place: _Workplace) -> CaptureOutcome:
    return _NOT_CAPTURED if place.reader is None else place.reader.finish()


def _end_interrupted(error: Interrupted, held: OutputGate, clock: Clock, captured: CaptureOutcome) -> Attempted:
    reason = f"interrupted: signal {error.signal_number}"
    outcome = Outcome(
        success=False,
        exit_code=error.exit_code,
        finished_at=clock.now(),
        terminal_reason=reason,
        error_text=reason,
        session_id=captured.session_id,
        capture_method=captured.method,
    )
    return Attempted(outcome, error=error, forwarded=held.forwarded, last_byte=held.last_byte)


def with_category(attempted: Attempted, category: str | None, error_text: str | None) -> Attempted:
    """Return the attempt with its failure named."""
    outcome = replace(attempted.outcome, error_category=category, error_text=error_text)
    return replace(attempted, outcome=outcome)


def refuse_returned(outcome: Outcome, why: str) -> Outcome:
    """Return the outcome of a run that did well, but for what it has handed back. why: a sentence."""
    return replace(
        outcome,
        success=False,
        exit_code=1,
        error_category=RETURNED_ARTIFACTS,
        terminal_reason=NOT_KEPT,
        error_text=why,
    )


class _Workplace(Record):
    command: Command
    reader: ForcedFlagReader | JsonEventReader | None
    last_message: Path | None  # where the CLI puts the visible answer, if its stdout carries events
    given: str  # what the user says in its transcript


@contextlib.contextmanager
def _workplace(it: Attempt) -> Iterator[_Workplace]:
    """Prepare the command with its files, and take the files away on every way out."""
    with contextlib.ExitStack() as stack:
        capture = it.account.capture if it.resumes is None else CaptureSpec()
        last_message: Path | None = None
        reader: ForcedFlagReader | JsonEventReader | None = None
        if capture.kind is CaptureKind.STDOUT_JSON_EVENT:
            folder = stack.enter_context(
                tempfile.TemporaryDirectory(prefix="agent-runner-", ignore_cleanup_errors=True)
            )
            last_message = Path(folder) / "last-message"
            from oulipoly_engine.core.runs.capture import JsonEventReader  # noqa: PLC0415 - not for CLIs that tell no id

            reader = JsonEventReader(capture.event_type, capture.event_id_path)
        elif capture.kind is CaptureKind.FORCED_FLAG_VERIFIED:
            from oulipoly_engine.core.runs.capture import ForcedFlagReader  # noqa: PLC0415 - as above

            reader = ForcedFlagReader(it.new_session)
        prompt_args, stdin, given = _transport(it, stack)
        argv = arguments.compose_one_shot(
            it.account,
            it.member,
            input_args=it.input_args,
            capture_args=arguments.capture_args(
                capture, session_id=it.new_session, last_message_file=last_message or Path(os.devnull)
            ),
            resume_args=() if it.resumes is None else arguments.resume_args(it.account, it.resumes),
            prompt_args=prompt_args,
        )
        command = Command(
            argv=argv,
            env=it.env,
            cwd=it.working_directory,
            stdin=stdin,
            timeout_s=it.timeout_s or it.account.timeout_s,
        )
        yield _Workplace(command, reader, last_message, given)


def _transport(it: Attempt, stack: contextlib.ExitStack) -> tuple[tuple[str, ...], bytes | None, str]:
    """Return the prompt's arguments, its stdin and the text that the CLI gets to read.

    A prompt that is too long is written to a file of the working directory.
    """
    data = prompt.to_bytes(it.prompt)
    match prompt.transport(it.account.prompt_mode, len(data)):
        case prompt.Transport.STDIN:
            return (), data, it.prompt
        case prompt.Transport.INLINE:
            return (it.prompt,), None, it.prompt
        case prompt.Transport.FILE:
            path = it.working_directory / prompt.file_name(it.uuid)
            stack.callback(path.unlink, missing_ok=True)
            _write_private(path, data)
            instruction = prompt.file_instruction(path)
            return (instruction,), None, instruction


def _write_private(path: Path, data: bytes) -> None:
    try:
        descriptor = open_private(path, os.O_WRONLY | os.O_EXCL)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
    except OSError as error:
        raise SpawnFailed(f"cannot write the prompt to {path}: {error.strerror or error}") from error


class _Watch:
    """Sees whether a CLI goes on with the session that it was asked for."""

    def __init__(self, session_id: str, account: Account) -> None:
        self._session_id = session_id
        self._account = account
        from oulipoly_engine.core.runs.capture import ResumedIdReader  # noqa: PLC0415 - only resumes need it

        self._reader = ResumedIdReader(session_id)
        self._heads = {"stdout": bytearray(), "stderr": bytearray()}

    def feed(self, stream: Literal["stdout", "stderr"], data: memoryview) -> None:
        """Take bytes of a stream. Raises ResumeMismatch once the CLI names another session."""
        head = self._heads[stream]
        if len(head) < _HEAD:
            head += data[: _HEAD - len(head)]
        other = self._reader.feed(stream, bytes(data)) if self._reader.reported is None else None
        if other is not None:
            raise ResumeMismatch(
                f"account {self._account.name!r} was asked to resume session {self._session_id}, but its CLI began "
                f"another one, {other}, which knows nothing of it; it was stopped"
            )

    def judge(self, outcome: Outcome, finished: ProcessResult) -> Outcome:
        """Return the outcome with what is known of the id's acceptance."""
        from oulipoly_engine.core.runs.acceptance import judge  # noqa: PLC0415 - 14 ms of patterns, only resumes need them

        found = judge(
            self._account.acceptance,
            self._session_id,
            finished.exit_code,
            _both_ends(self._heads["stdout"], finished.stdout_tail),
            _both_ends(self._heads["stderr"], finished.stderr_tail),
        )
        return replace(
            outcome,
            session_id=None if found.is_mismatch else self._session_id,
            capture_method="resumed",
            acceptance_status=found.status.value,
            acceptance_evidence=found.evidence,
        )


def _both_ends(head: bytearray, tail: bytes) -> str:
    whole = tail if len(head) < _HEAD else bytes(head) + b"\n" + tail
    return whole.decode("utf-8", "replace")


class _Sink:
    """Passes a child's bytes on, reads its session id in passing, and warns once of a long silence."""

    def __init__(
        self,
        held: OutputGate,
        face: Face,
        reader: ForcedFlagReader | JsonEventReader | None,
        account: str,
        *,
        passes_stdout: bool,
        watch: _Watch | None = None,
    ) -> None:
        self._held = held
        self._face = face
        self._reader = reader
        self._account = account
        self._passes_stdout = passes_stdout
        self._warned = False
        self._watch = watch
        self._ticks = 0
        self.child: int | None = None  # whose open files tell its session; None: it tells it itself
        self.files: set[str] = set()

    def read(self, data: memoryview) -> None:
        if self._watch is not None:
            self._watch.feed("stdout", data)
        if self._reader is not None:
            self._reader.feed(bytes(data))

    def stdout(self, data: memoryview) -> None:
        if self._passes_stdout:
            with _reader_may_leave():
                self._held.feed(data)

    def stderr(self, data: memoryview) -> None:
        self._face.stderr(data)
        if self._watch is not None:
            self._watch.feed("stderr", data)

    def tick(self, idle_s: float) -> None:
        with _reader_may_leave():
            self._held.tick()
        self._ticks += 1
        if self.child is not None and self._ticks.bit_count() == 1:  # less and less often
            from oulipoly_engine.process.open_files import list_open_files  # noqa: PLC0415 - not of runs this short

            self.files |= list_open_files(self.child)
        if idle_s >= _SILENCE_S and not self._warned:
            self._warned = True
            self._face.note(
                f"[silence] {self._account} has printed nothing for {int(idle_s)} s; it still runs. Ctrl-C stops it, "
                "--timeout sets a limit"
            )


@contextlib.contextmanager
def _reader_may_leave() -> Iterator[None]:
    """Make a reader that has gone an ending of the run, not an error."""
    try:
        yield
    except BrokenPipeError as error:
        raise StdoutClosed from error


def _forward_file(path: Path, held: OutputGate) -> None:
    """Pass on the visible answer that the CLI left in a file; an absent one is not an answer."""
    with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
        while chunk := file.read(1 << 20):
            held.feed(memoryview(chunk))


def _terminal_reason(finished: ProcessResult) -> str | None:
    if finished.stopped_for is not None:
        return finished.stopped_for
    return f"killed by signal {finished.killed_by}" if finished.killed_by is not None else None
