"""Made-up answers from a handful of rules: lively, offline, and the same for the same conversation. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple
from zlib import crc32

from oulipoly_demo.base.options import Style

_CHUNKS = 8
_STOP = frozenset(
    re.findall(
        r"\w+",
        "about and are but can could does for from have how into its let list make our please say should some tell "
        "count haiku poem code function list ideas steps words line review "
        "that the their them then there these they this was were what when where which who why will with would write "
        "you your",
    )
)
_ARITHMETIC = re.compile(r"(-?\d{1,12})\s*([-+*x])\s*(-?\d{1,12})")


class Talk(NamedTuple):
    """What an answer may build on."""

    prompt: str
    earlier: tuple[str, ...] = ()  # the user's former prompts, oldest first
    style: Style = Style()

    @property
    def question(self) -> str:
        """Return the prompt's last paragraph: an agent's instructions stand before it."""
        return self.prompt.strip().rpartition("\n\n")[2].strip()


def answer(talk: Talk) -> str:
    """Return the answer to a prompt, without a final newline."""
    text = _styled(_body(talk), talk)
    return f"# {talk.style.title}\n\n{text}" if talk.style.title else text


def big(size_bytes: int) -> str:
    """Return exactly `size_bytes` of ASCII text in lines of 64 bytes."""
    line = "".join(chr(33 + i) for i in range(63)) + "\n"
    return (line * (size_bytes // len(line) + 1))[:size_bytes]


def binary(size_bytes: int) -> bytes:
    """Return `size_bytes` that no text encoding can hold, every byte value in turn."""
    block = bytes(range(256))
    return (block * (size_bytes // len(block) + 1))[:size_bytes]


def chunks(text: str) -> tuple[str, ...]:
    """Cut an answer at spaces into a few pieces, to be streamed; joined they are the answer."""
    words = re.findall(r"\S*\s*", text)[:-1]
    size = max(1, -(-len(words) // _CHUNKS))
    return tuple("".join(words[i : i + size]) for i in range(0, len(words), size))


def _body(talk: Talk) -> str:
    if not talk.question:
        return "There is nothing to answer here."
    for text in (talk.question, talk.prompt):
        for pattern, rule in _RULES:
            if re.search(pattern, text, re.IGNORECASE):
                return rule(talk)
        if _ARITHMETIC.search(text):
            return _sum(talk)
    return _explain(talk) if talk.question.endswith("?") else _echo(talk)


def _styled(text: str, talk: Talk) -> str:
    style = talk.style
    lines = text.split("\n")
    if style.topics:
        lines += ["", *(f"On {topic}: {_pick(_REMARKS, topic, talk)}" for topic in style.topics)]
    if style.lines > 0:
        lines = lines[: style.lines]
    if style.tone == "cheerful":
        lines[-1] = lines[-1].rstrip(".") + "!"
    elif style.tone == "pirate":
        lines[0] = f"Arr, {lines[0]}"
    if style.emoji:
        lines[0] = f"🐢 {lines[0]}"
    return "\n".join(lines)


def _greet(talk: Talk) -> str:
    return _pick(
        (
            "Hello! I am a demo: no model is behind me, but everything around me is real.",
            "Hi there. My answers are made up; the account, the quota and the transcript are what you came to see.",
            "Good day! Ask me to count, to list, to explain, or for a haiku.",
        ),
        talk.question,
        talk,
    )


def _haiku(talk: Talk) -> str:
    first, second = _subjects(talk, 2)
    return "\n".join(
        (
            _pick((f"{first}, said softly", f"a word: {first}", f"here it is, {first}"), first, talk),
            _pick(
                ("the quota bar moves one notch", "the cursor waits, then answers", "five accounts share one old road"),
                second,
                talk,
            ),
            _pick((f"{second} in the log", f"dusk, and {second}", f"then only {second}"), first + second, talk),
        )
    )


def _count(talk: Talk) -> str:
    text = talk.question
    words = re.findall(r"\w+", text)
    longest = max(words, key=len, default="")
    return (
        f"Your prompt has {_number(len(words), 'word')}, {_number(len(text), 'character')} and "
        f"{_number(text.count(chr(10)) + 1, 'line')}.\nThe longest word is `{longest}` ({len(longest)})."
    )


def _code(talk: Talk) -> str:
    first, second = _subjects(talk, 2)
    name = re.sub(r"\W", "", first.lower()) or "answer"
    argument = re.sub(r"\W", "", second.lower()) or "value"
    if name[0].isdigit():
        name = "_" + name
    if argument[0].isdigit() or argument == name:
        argument = "value"
    return (
        f"A small start:\n\n```python\ndef {name}({argument}: str) -> str:\n"
        f'    """Return {argument}, tidied."""\n    return " ".join({argument}.split())\n```\n\n'
        f'It turns `" {second}  {first} "` into `"{second} {first}"`.'
    )


def _list(talk: Talk) -> str:
    match = re.search(r"\b([2-9]|1[0-2])\b", talk.question)
    count = int(match.group(1)) if match else 3
    subject = _subjects(talk, 1)[0]
    steps = [f"{i + 1}. {_STEPS[(i + _seed(subject, talk)) % len(_STEPS)].format(subject)}" for i in range(count)]
    return "\n".join((f"Here is a list for {subject}:", *steps))


def _review(talk: Talk) -> str:
    lines = [line for line in talk.question.split("\n") if line.strip()]
    longest = max(lines, key=len)
    first, second = _subjects(talk, 2)
    return "\n".join(
        (
            f"Reviewed {_number(len(lines), 'line')}.",
            f"- `{first}`: {_pick(_REMARKS, first, talk)}",
            f"- `{second}`: {_pick(_REMARKS, second, talk)}",
            f"- The longest line has {_number(len(longest), 'character')}.",
            "Verdict: fine, with the remarks above.",
        )
    )


def _recall(talk: Talk) -> str:
    if not talk.earlier:
        return "This is the first thing you said to me in this session."
    listing = "\n".join(f"{i}. {_shorten(prompt)}" for i, prompt in enumerate(talk.earlier, 1))
    return f"In this session you said {_number(len(talk.earlier), 'thing')} before:\n{listing}"


def _sum(talk: Talk) -> str:
    match = _ARITHMETIC.search(talk.prompt)
    if match is None:
        return _echo(talk)
    left, sign, right = int(match[1]), match[2], int(match[3])
    result = left + right if sign == "+" else left - right if sign == "-" else left * right
    return f"{left} {sign} {right} = {result}"


def _explain(talk: Talk) -> str:
    first, second = _subjects(talk, 2)
    return (
        f"Short answer: because of {first}.\n"
        f"Longer: whoever looks at {second} sees {first} first, and {_pick(_REMARKS, first + second, talk)}"
    )


def _echo(talk: Talk) -> str:
    turn = f" That was prompt {len(talk.earlier) + 1} of this session." if talk.earlier else ""
    return f"You said: {_shorten(talk.question, 400)}\n{_pick(_REMARKS, talk.question, talk).capitalize()}{turn}"


_RULES: tuple[tuple[str, Callable[[Talk], str]], ...] = (
    (r"\b(remember|recall|said (before|earlier)|did i (say|ask)|so far)\b", _recall),
    (r"\b(haiku|poem|verse)\b", _haiku),
    (r"\b(count|how many)\b", _count),
    (r"\b(review|critique|verdict)\b", _review),
    (r"\b(code|function|script|snippet)\b", _code),
    (r"\b(list|steps|plan|ideas|ways)\b", _list),
    (r"^(hello|hi|hey|good (day|morning|evening))\b", _greet),
)
_STEPS = (
    "Write down what {} is for.",
    "Try the smallest {} that can fail.",
    "Measure {} before changing it.",
    "Ask someone who has never seen {}.",
    "Take one thing out of {}.",
    "Give {} a name that says what it does.",
    "Sleep over {}, then read it again.",
)
_REMARKS = (
    "a clear name says half of it.",
    "the smallest version is worth trying first.",
    "that deserves a test of its own.",
    "it reads well from the outside in.",
    "one example would make it plain.",
)


def _pick(choices: Sequence[str], key: str, talk: Talk) -> str:
    return choices[_seed(key, talk) % len(choices)]


def _seed(key: str, talk: Talk) -> int:
    return crc32(key.encode("utf-8", "replace")) + round(talk.style.temperature * 10)


def _subjects(talk: Talk, count: int) -> list[str]:
    """Return the question's `count` most telling words, filled up with plain ones."""
    words = [word for word in re.findall(r"[^\W_]{3,}", talk.question) if word.lower() not in _STOP]
    distinct = list(dict.fromkeys(words))
    telling = sorted(distinct, key=len, reverse=True)[:count]
    return [*sorted(telling, key=distinct.index), "this", "the rest"][:count]


def _shorten(text: str, length: int = 60) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= length else flat[: length - 1] + "…"


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
