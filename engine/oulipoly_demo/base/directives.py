"""Directives in a prompt, such as `[[sleep:2]]` or `[[429@demo-claude1]]`, by which tests ask for a behaviour. Pure.

`[[name]]`, `[[name:argument]]`, each optionally bound to one account by `@account`; one bound to another account is
left out, so that one prompt can fail on the first account of a pool and be answered by the next.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

FAILURES = ("429", "quota", "401", "500", "529", "network")
_PATTERN = re.compile(r"\[\[([a-z0-9]+)(?::([^\]@]*))?(?:@([\w.-]+))?\]\]")
_BINARY_DEFAULT = 1024
_LONGEST_SLEEP_S = 86400.0
_MOST_PIECES = 10_000_000
_NAMED_STEPS = ("run", "approve", "edit", "think")  # steps with a text of their own
_BARE_STEPS = ("retry", "drift", "die")


class Step(NamedTuple):
    """Something that an agent does in a live session before it answers; the one-shots leave it out."""

    kind: str  # run, approve, edit, think, ask, plan, stall, flood, retry, drift, die
    text: str = ""  # the command, the path, the thought, the question
    choices: tuple[str, ...] = ()  # of a question; of a plan, its points
    amount: float = 0.0  # seconds of a stall, pieces of a flood


class Directives(NamedTuple):
    """What a prompt asks for beside its text."""

    text: str = ""  # the prompt without directives
    sleep_s: float = 0.0
    exit_code: int | None = None
    failure: str | None = None  # one of FAILURES
    failures: int | None = None  # how often the message fails so in a live session; None: always
    stderr: str | None = None
    big_bytes: int = 0  # answer with this many bytes of text
    binary_bytes: int = 0  # answer with this many bytes that are no text
    no_newline: bool = False
    delegate: str | None = None  # the agent that is asked as well, and whose file becomes part of the answer
    returns: str | None = None  # the name under which the answer is handed back to the caller
    steps: tuple[Step, ...] = ()  # in the order of the prompt


def parse(prompt: str, account: str = "") -> Directives:
    """Read the directives that apply to `account`.

    `[[sleep:SECONDS]]`, `[[exit:N]]`, `[[429]]`, `[[quota]]`, `[[401]]`, `[[500]]`, `[[529]]`, `[[network]]`,
    `[[stderr:TEXT]]`, `[[big:BYTES]]`, `[[bytes]]` or `[[bytes:COUNT]]`, `[[noeol]]`, `[[delegate:AGENT]]`,
    `[[return:NAME]]`.

    Steps of live sessions: `[[run:COMMAND]]` a command that needs no leave, `[[approve:COMMAND]]` one that does,
    `[[edit:PATH]]` a change that needs leave, `[[ask:QUESTION|OPTION|OPTION]]`, `[[plan:POINT|POINT]]`,
    `[[think:TEXT]]`, `[[stall:SECONDS]]` nothing is said for a while, `[[flood:N]]` the answer in at least N pieces,
    `[[retry]]` the connection is lost once, `[[drift]]` messages that no client knows, `[[die]]` the process ends as if
    it had been killed. Commands are never run; what they print is made up.

    A failure with a number, as `[[429:2]]`, comes so often in a live session; then the message is answered.

    An unknown one, or one whose argument is not a number where one is needed, is left in the text.
    """
    fields: dict[str, Any] = {}
    steps: list[Step] = []

    def take(match: re.Match[str]) -> str:
        name, argument, only = match.groups()
        try:
            step = _step(name, argument)
            effect = _effect(name, argument) if step is None else {}
        except ValueError:
            return match.group()
        if effect is None:
            return match.group()
        if only is None or only == account:
            fields.update(effect)
            steps.extend([step] if step is not None else [])
        return ""

    text = re.sub(r"[ \t]+", " ", _PATTERN.sub(take, prompt)).strip() if _PATTERN.search(prompt) else prompt.strip()
    return Directives(text=text, steps=tuple(steps))._replace(**fields)


def _step(name: str, argument: str | None) -> Step | None:
    if argument is None:
        return Step(name) if name in _BARE_STEPS else None
    if name in _NAMED_STEPS and argument.strip():
        return Step(name, argument.strip())
    words = tuple(word.strip() for word in argument.split("|") if word.strip())
    match name:
        case "ask" if words:
            return Step("ask", words[0], words[1:])
        case "plan" if words:
            return Step("plan", choices=words)
        case "stall":
            return Step("stall", amount=min(_LONGEST_SLEEP_S, max(0.0, float(argument))))
        case "flood":
            return Step("flood", amount=min(_MOST_PIECES, max(0, int(argument))))
        case _:
            return None


def _effect(name: str, argument: str | None) -> dict[str, Any] | None:
    if name in FAILURES:
        return {"failure": name} | ({} if argument is None else {"failures": int(argument)})
    match name, argument:
        case "noeol", None:
            return {"no_newline": True}
        case "bytes", None:
            return {"binary_bytes": _BINARY_DEFAULT}
        case "bytes", str(count):
            return {"binary_bytes": max(0, int(count))}
        case "big", str(count):
            return {"big_bytes": max(0, int(count))}
        case "sleep", str(seconds):
            return {"sleep_s": min(_LONGEST_SLEEP_S, max(0.0, float(seconds)))}
        case "delegate", str(agent):
            return {"delegate": agent}
        case "return", str(name):
            return {"returns": name}
        case "exit", str(code):
            return {"exit_code": int(code) & 0xFF}
        case "stderr", str(text):
            return {"stderr": text}
        case _:
            return None
