"""Name a failure: the CLI's own events and sentences first, then the configured model, then key words."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from oulipoly_engine.core.accounts import arguments
from oulipoly_engine.core.accounts.accounts import Account, PoolMember
from oulipoly_engine.core.runs import prompt
from oulipoly_engine.core.runs.invocations import Category
from oulipoly_engine.core.runs.markers import without_channel
from oulipoly_engine.errors import Interrupted, RunnerError, SpawnFailed
from oulipoly_engine.process.command import Command, ProcessResult, inherited_environment
from oulipoly_engine.process.run import Discard, run
from oulipoly_engine.records import Record
from oulipoly_engine.service.accounts.environment import read_environment

if TYPE_CHECKING:
    from oulipoly_engine.core.runs.diagnose import Diagnosis

_ANSWER_TIMEOUT_S = 120.0


class Diagnoser(Record):
    """Names failures. `ask` sends a prompt to the diagnostics model; None where none is configured."""

    note: Callable[[str], None]
    ask: Callable[[str], str] | None = None

    def diagnose(self, finished: ProcessResult) -> tuple[Diagnosis, Interrupted | None]:
        """Return why a run failed, and the interruption that came while we asked, if one did. Never raises."""
        from oulipoly_engine.core.runs import diagnose  # noqa: PLC0415 - 14 ms of patterns, only a failure needs them

        try:
            found = diagnose.classify(finished.exit_code, finished.stdout_tail, finished.stderr_tail)
        except Exception as error:
            self.note(f"[diagnostics] what the CLI printed could not be judged, please report this: {error!r}")
            return diagnose.Diagnosis(Category.UNKNOWN, ""), None
        if self.ask is None or found.source in ("event", "text"):
            return found, None
        output = (finished.stderr_tail + b"\n" + finished.stdout_tail).decode("utf-8", "replace")
        try:
            answer = self.ask(diagnose.prompt_for(finished.exit_code, output))
        except Interrupted as interruption:
            return found, interruption
        except RunnerError as error:
            self.note(f"[diagnostics] the diagnostics model failed: {error.message}; the text was judged instead")
            return found, None
        words = diagnose.failure_text(finished.stdout_tail, finished.stderr_tail)
        answered = diagnose.parse_answer(answer, words)
        return (found if answered.category is Category.UNKNOWN else answered), None


def ask_account(account: Account, member: PoolMember, text: str) -> str:
    """Run one prompt on one account and return what it printed.

    Raises RunnerError when it cannot be started, fails, is silent or takes longer than two minutes.
    """
    data = prompt.to_bytes(text)
    env = without_channel(read_environment(inherited_environment(), account))
    by_argument = prompt.transport(account.prompt_mode, len(data)) is not prompt.Transport.STDIN
    command = Command(
        argv=arguments.compose_one_shot(account, member, prompt_args=(text,) if by_argument else ()),
        env=env,
        stdin=None if by_argument else data,
        timeout_s=_ANSWER_TIMEOUT_S,
    )
    finished = run(command, Discard())
    answer = finished.stdout_tail.decode("utf-8", "replace").strip()
    if finished.stopped_for is not None or finished.exit_code != 0 or not answer:
        reason = finished.stopped_for or (f"exit {finished.exit_code}" if finished.exit_code else "no answer")
        raise SpawnFailed(f"account {account.name}: {reason}")
    return answer
