"""The one redactor: take secrets out of text before it is shown, stored or sent. Pure.

Works by shape (known key prefixes, tokens, key blocks) and by name (`token=...`, `"password": "..."`). Every pattern is
linear: it starts only where its class of characters begins, and every repetition before a required part is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

REDACTED = "[redacted]"

_NAME_OF_ONE = (
    r"(?:api[ _-]?key|access[ _-]?key(?:[ _-]?id)?|(?:secret|private|signing|encryption|auth|subscription)[ _-]?key"
    r"|token|secret|passw(?:or)?d|passphrase|credential|cookie)"
)

# To the end of the block, or of the text when the block is cut.
_KEY_BLOCK = re.compile(
    r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]{0,60}-----|\Z)", re.DOTALL
)
_HEADER = re.compile(
    r"""(?P<name>\b(?:proxy-)?authorization|\bx-api-key|\bx-goog-api-key|\b(?:set-)?cookie)
        (?P<sep>\\{0,3}["']?[ \t]{0,4}[:=][ \t]{0,4}\\{0,3}["']?)
        (?P<value>[^"'\r\n\\]+)""",
    re.IGNORECASE | re.VERBOSE,
)
_NAMED = re.compile(
    rf"""(?P<name>{_NAME_OF_ONE})
        (?P<sep>\\{{0,3}}["']?[ \t]{{0,4}}(?::=|=>|[:=])[ \t]{{0,4}})
        (?:
            (?P<escaped>\\{{1,7}}["'])(?P<in_escaped>[^"'\\\r\n]+)
          | "(?P<in_double>(?:[^"\\\r\n]|\\.)+)
          | '(?P<in_single>(?:[^'\\\r\n]|\\.)+)
          | (?P<bare>(?:\[redacted\])?[^\s"'`,;&(){{}}\[\]<>\\]*)
        )""",
    re.IGNORECASE | re.VERBOSE,
)
_FLAG = re.compile(
    rf"""(?<![\w-])(?P<flag>--(?:[a-z0-9]{{1,24}}-){{0,4}}{_NAME_OF_ONE})(?P<gap>[ \t]{{1,4}})
        (?P<value>"[^"\r\n]*"|'[^'\r\n]*'|[^\s"'-][^\s"']*)""",
    re.IGNORECASE | re.VERBOSE,
)
_SCHEME = re.compile(r"\b(?P<scheme>bearer|basic)(?P<gap>[ \t]{1,4})(?P<value>[A-Za-z0-9._~+/=-]{8,})", re.IGNORECASE)
_IN_QUERY = re.compile(r"(?P<name>[?&](?:key|auth|sig|signature)=)(?P<value>[^&#\s\"'<>]+)", re.IGNORECASE)
_URL_LOGIN = re.compile(r"://[^\s/@:?#\"'<>]{0,256}:[^\s/@\"'<>]{1,256}@")
_SHAPES = re.compile(
    r"""(?<![A-Za-z0-9_-])(?:
        sk-(?:ant|proj|or|svcacct|admin)-[A-Za-z0-9_-]{4,}
      | (?P<short_key>sk-[A-Za-z0-9_-]{8,})
      | gh[pousr]_[A-Za-z0-9]{16,} | github_pat_[A-Za-z0-9_]{16,} | glpat-[A-Za-z0-9_-]{16,}
      | (?:AKIA|ASIA)[0-9A-Z]{16}(?![0-9A-Za-z]) | AIza[0-9A-Za-z_-]{30,} | ya29\.[A-Za-z0-9_-]{20,}
      | (?:xox[a-z]|xapp)-[A-Za-z0-9-]{8,} | GOCSPX-[A-Za-z0-9_-]{16,}
      | rt_[A-Za-z0-9_-]{24,} | [0-9a-f]{32}\.[A-Za-z0-9]{12,24}(?![A-Za-z0-9])
      | npm_[A-Za-z0-9]{30,} | hf_[A-Za-z0-9]{30,} | pypi-[A-Za-z0-9_-]{40,}
      | eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*){0,3}
    )""",
    re.VERBOSE,
)

# A removed secret can bring a name and a value together that did not touch before, so passes go on until nothing
# changes. Three were the most that 150,000 random mixtures of secrets and quotes needed; the bound is for hostile
# text.
_MOST_PASSES = 10

# Words that stand after `token:` in prose and logs and are no secrets.
_ORDINARY = re.compile(
    r"(?:null|none|nil|true|false|undefined|expired|invalid|missing|required|revoked|empty|unset|not|no|yes|is|was|the|an?"
    r"|str|string|int|ok|bearer|basic)[.!?]{0,3}",
    re.IGNORECASE,
)
_REFERENCE = re.compile(r"\$(?:[A-Za-z_][A-Za-z0-9_]*|\{[^{}]{0,80}\}?)?")
_FLAG_WORD = re.compile(rf"-{{1,2}}[\w-]{{0,60}}{_NAME_OF_ONE}|--?(?:header|user)", re.IGNORECASE)
_AUTH_HEADER = re.compile(r"(?:proxy-)?authorization|cookie|x-api-key", re.IGNORECASE)


def redact(text: str) -> str:
    """Return the text with each secret replaced by `[redacted]`; redacting twice changes nothing more."""
    for _ in range(_MOST_PASSES):
        shown = _pass(text)
        if shown == text:
            break
        text = shown
    return text


def _pass(text: str) -> str:
    text = _KEY_BLOCK.sub(REDACTED, text)
    text = _HEADER.sub(lambda found: found["name"] + found["sep"] + _keep_reference(found["value"]), text)
    text = _NAMED.sub(_named, text)
    text = _FLAG.sub(lambda found: found["flag"] + found["gap"] + _keep_reference(found["value"]), text)
    text = _SCHEME.sub(_scheme, text)
    text = _URL_LOGIN.sub(f"://{REDACTED}@", text)
    text = _IN_QUERY.sub(lambda found: found["name"] + _keep_reference(found["value"]), text)
    return _SHAPES.sub(_shape, text)


def redact_argv(argv: Sequence[str]) -> tuple[str, ...]:
    """Return the arguments without secrets, including those that follow a flag such as `--api-key`."""
    shown: list[str] = []
    previous = ""
    for argument in argv:
        shown.append(_after_flag(previous, argument) or redact(argument))
        previous = argument
    return tuple(shown)


def _after_flag(flag: str, value: str) -> str | None:
    if not _FLAG_WORD.fullmatch(flag) or value.startswith("--") or not value:
        return None
    if flag.lstrip("-").lower() == "user":
        return REDACTED if ":" in value else None
    if flag.lstrip("-").lower() == "header":
        return None if _AUTH_HEADER.match(value) is None else redact(value)
    return _keep_reference(value)


def _named(found: re.Match[str]) -> str:
    groups = ("in_escaped", "in_double", "in_single", "bare")
    group = next((name for name in groups if found[name]), None)
    if group is None or _is_ordinary(found["name"], found[group]):
        return found[0]
    return found[0][: found.start(group) - found.start()] + REDACTED


def _is_ordinary(name: str, value: str) -> bool:
    is_count = name.lower() == "token" and value.isdecimal() and len(value) <= 7  # below ten million
    return is_count or _ORDINARY.fullmatch(value) is not None or _REFERENCE.fullmatch(value) is not None


def _keep_reference(value: str) -> str:
    return value if _REFERENCE.fullmatch(value.strip("\"'")) else REDACTED


def _scheme(found: re.Match[str]) -> str:
    """Redact what follows `Bearer`, unless it is a plain word of prose."""
    value = found["value"]
    is_word = value.isalpha() and len(value) < 20  # no token is that short and all letters
    return found[0] if is_word else found["scheme"] + found["gap"] + REDACTED


def _shape(found: re.Match[str]) -> str:
    short = found["short_key"]
    is_word = short is not None and len(short) < 19 and not any(letter.isdigit() for letter in short)  # sk-something
    return found[0] if is_word else REDACTED
