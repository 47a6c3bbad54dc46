"""One prompt and what comes of it, for the one-shots of both vendors; the interactive mode uses the same parts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from oulipoly_demo.base import answers, directives, failures
from oulipoly_demo.base.context import CliContext
from oulipoly_demo.base.conversation import Answer, Conversation, Turn
from oulipoly_demo.base.directives import Directives
from oulipoly_demo.base.failures import Failure
from oulipoly_demo.base.options import Style
from oulipoly_demo.quota import levels
from oulipoly_demo.quota.levels import Tokens

_BLOCK = 1 << 16
_DEFAULT_MODELS = {"claude": "demo-sonnet", "codex": "demo-gpt"}


class Outcome(NamedTuple):
    """How a one-shot's turn ended."""

    asked: Directives
    failure: Failure | None
    tokens: Tokens
    began: float  # Unix seconds
    ended: float


def model_name(vendor: str, asked: str | None) -> str:
    """Return the full name of a model that was asked for by its short one; an unknown name stands as it is."""
    name = asked or _DEFAULT_MODELS[vendor]
    if name in ("opus", "sonnet", "haiku", "gpt"):
        name = f"demo-{name}"
    return f"{name}-1" if name.startswith("demo-") and not name[-1].isdigit() else name


def refusal(context: CliContext, asked: Directives) -> Failure | None:
    """Return why the vendor refuses: a directive, a window that is used up, or None."""
    now = context.now()
    tier = context.meter.blocking(now)
    if asked.failure is not None:
        tiers = context.meter.read(now)
        return failures.describe(context.vendor, asked.failure, next(t for t in tiers if t.kind == "short"), now)
    return None if tier is None else failures.describe(context.vendor, "quota", tier, now)


def compose(asked: Directives, turns: tuple[Turn, ...], style: Style) -> str:
    """Return the answer's text; `turns` end with the prompt itself."""
    if asked.big_bytes:
        return answers.big(min(asked.big_bytes, _BLOCK))
    if asked.binary_bytes:
        return f"[{asked.binary_bytes} bytes of demo data]"
    earlier = tuple(turn.text for turn in turns[:-1] if turn.role == "user")
    return answers.answer(answers.Talk(asked.text, earlier, style))


def settle(context: CliContext, conversation: Conversation, prompt: str, text: str, model: str) -> Tokens:
    """Charge an answered turn to the account and write the answer down."""
    tokens = levels.tokens(prompt, len(text))
    context.meter.charge(levels.cost(model, tokens), context.now())
    conversation.finish(Answer(text, model, tokens), context.now())
    return tokens


def play(
    context: CliContext,
    conversation: Conversation,
    prompt: str,
    *,
    model: str,
    style: Style,
    emit: Callable[[bytes], None],
    complain: Callable[[str], None],
) -> Outcome:
    """Answer a prompt: write it down, do what its directives ask, send the answer to `emit` in pieces, charge it.

    complain: takes the text of `[[stderr:TEXT]]`. A refused turn sends nothing to `emit`.
    """
    asked = directives.parse(prompt, context.account)
    began = context.now()
    conversation.begin(prompt, model, began)
    if asked.stderr is not None:
        complain(asked.stderr)
    if asked.sleep_s:
        time.sleep(asked.sleep_s)
    failure = refusal(context, asked)
    if failure is not None:
        conversation.fail(failure, context.now())
        return Outcome(asked, failure, Tokens(0, 0), began, context.now())
    text = compose(asked, conversation.turns, style)
    if asked.delegate is not None or asked.returns is not None:
        text = _hand_on(asked, text, complain)
    for piece in _pieces(asked, text, context.pace_s):
        emit(piece)
    tokens = settle(context, conversation, prompt, text, model)
    return Outcome(asked, None, tokens, began, context.now())


def _hand_on(asked: Directives, text: str, complain: Callable[[str], None]) -> str:
    """Ask another agent as well, and return the answer as a file; gives the whole answer."""
    from oulipoly_demo.base import delegation  # noqa: PLC0415 - most prompts ask for neither

    if asked.delegate is not None:
        text += f"\n\n{asked.delegate} says:\n{delegation.ask(asked.delegate, asked.text).strip()}"
    if asked.returns is not None:
        complain(delegation.hand_back(asked.returns, text))
    return text


def _pieces(asked: Directives, text: str, pace_s: float) -> Iterator[bytes]:
    if asked.big_bytes:
        yield from _blocks(asked.big_bytes, text.encode())
    elif asked.binary_bytes:
        yield from _blocks(asked.binary_bytes, answers.binary(_BLOCK))
    elif not pace_s:
        yield text.encode("utf-8", "replace")
    else:
        for index, chunk in enumerate(answers.chunks(text)):
            if index:
                time.sleep(pace_s)
            yield chunk.encode("utf-8", "replace")


def _blocks(size_bytes: int, block: bytes) -> Iterator[bytes]:
    """Yield `size_bytes` block by block, so that memory does not grow with an answer's size."""
    bytes_left = size_bytes
    while bytes_left > 0:
        yield block[:bytes_left]
        bytes_left -= len(block)
