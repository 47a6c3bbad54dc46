"""A prompt that shows whether an account answers."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.core.accounts.accounts import Model, PoolMember
from oulipoly_engine.errors import RunnerError
from oulipoly_engine.facade import diagnostics, output
from oulipoly_engine.facade.runs.one_shots import DispatchFailed, Request

PROMPT = "Answer with the single word ok."
_TIMEOUT_S = 90.0
_SHOWN = 200  # characters of an answer


class _Answer:
    """Takes what the CLI says, and nothing of what is said about the run."""

    def __init__(self) -> None:
        self.text = b""

    def stdout(self, data: bytes | memoryview) -> None:
        """Keep the beginning."""
        self.text = (self.text + bytes(data))[:4096]

    def stderr(self, data: bytes | memoryview) -> None:
        """Drop it."""

    def note(self, line: str) -> None:
        """Drop it."""


def send_test_prompt(context: Context, account: str, pools: Sequence[str], words: Sequence[str]) -> int:
    """Ask an account for one word, show what came of it, and return 0, or 1 where it did not answer.

    words: further arguments of the CLI.
    """
    output.write_line(f"test prompt to {account} ...")
    answer, begun = _Answer(), time.monotonic()
    model = Model(pools[0] if pools else account, (PoolMember(0, account, tuple(words)),))
    try:
        with context.engine.one_shots.open(answer) as runner:
            done = runner.run(Request(model, PROMPT, Path.cwd(), timeout_s=_TIMEOUT_S), asks_diagnosis=False)
            runner.follow_up(done)
    except DispatchFailed as error:
        return _tell_failure(context, account, error)
    if not done.result.success:
        return _tell_failure(context, account, done.error, answer.text)
    output.write_line(f"{account} answers in {time.monotonic() - begun:.1f} s: {_line(answer.text)}")
    return 0


def _tell_failure(context: Context, account: str, error: RunnerError | None, said: bytes = b"") -> int:
    text = error.message if error is not None else _line(said) or "it says nothing"
    diagnostics.note(f"{account} does not answer: {text}")
    diagnostics.note(
        f"`{context.program} account login {account}` logs in again, `... account test {account}` tries again"
    )
    return 1


def _line(text: bytes) -> str:
    return " ".join(text.decode("utf-8", "replace").split())[:_SHOWN]
