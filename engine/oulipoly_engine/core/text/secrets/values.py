"""Whether what stands behind the name of a secret is one, or a word, a reference or code. Pure."""

from __future__ import annotations

import base64
import re
from itertools import pairwise

from oulipoly_engine.late_pattern import LatePattern

# Words that stand after `token:` in prose and logs and are no secrets, and what people write in place of one.
_ORDINARY = LatePattern(
    r"(?:null|none|nil|true|false|undefined|expired|invalid|missing|required|optional|revoked|empty|unset|unknown|hidden"
    r"|not|no|yes|is|was|the|an?|str|string|bytes|int|bool|any|ok|bearer|basic|digest|token|[|>][-+0-9]{0,2})[.!?]{0,3}"
    r"|\.{2,}|\u2026|\*{2,}|x{3,}|\u2022+|your[_-][\w-]{1,60}|[-+=!|?/\\~@#^*]{1,3}|0x[0-9a-f]{1,8}|[0-9]",
    re.IGNORECASE,
)
_REFERENCE = LatePattern(
    r"(?:(?:bearer|basic|token|key)[ \t]{1,4})?(?:"
    r"\$(?:[A-Za-z_][A-Za-z0-9_]*|\{[^{}]{0,80}\}?|\([^()]{0,80}\)?)?|(?:\{\{?[^{}]{0,80}\}{0,2}){1,4}"
    r"|%(?:\([^()]{0,40}\))?[sdr]|%[A-Za-z_]{1,40}%|<[A-Za-z_ -]{1,40}>)?",
    re.IGNORECASE,
)
_IDENTIFIER = LatePattern(r"[*&@]{0,2}[A-Za-z_][\w$]*(?:(?:\.|::|->|\?\.)[A-Za-z_][\w$]*)*[?!]?")
_NAME_LAST = LatePattern(
    r"(?:\A|[_.]|(?<=[a-z])(?=[A-Z]))(?:api_?key|key|token|secret|passw(?:or)?d|passphrase|pwd|pass|credentials?|cookies?)s?"
    r"(?:_?(?:bytes|hash|value|str|text))?\Z",
    re.IGNORECASE,
)
_TYPE = LatePattern(
    r"(?:Optional|Callable|Mapping|Sequence|Iterable|Iterator|Path|Buffer|Self|Union|List|Dict|Tuple|Type|Literal"
    r"|[A-Z][A-Za-z]*(?:Str|Bytes|Type|Types|Token|Key|Secret|Password|Cookie|Cookies|Credential|Credentials|Info|Auth))"
)
_OPERATION = LatePattern(r"[ \t]+(?:[-+%|&?=!<>/*]|(?:or|and|if|else|is|in|not|as|for)\b)|[ \t]*(?:==|!=)")
_CLOSED = LatePattern(
    r"[ \t]*(?:[-+,);%|&?:\]}.=]|\b(?:if|or|and|for|in|else)\b)[ \t({\[\w]|[ \t)\]},;.]*\Z"
)  # what follows a closing quote
_TARGETS = LatePattern(r"[A-Za-z_][\w.]{0,60},[ ][A-Za-z_.]{0,60}\Z")  # before the last name of `user, password = …`
_PROSE = LatePattern(r",? [a-z]+ [a-z]")
_PASSWORD = ("pass", "pwd", "psk")  # how the names begin of what people choose themselves


def is_ordinary(value: str) -> bool:
    """Return whether a value is a word that follows such names, a number of one digit, or a reference to a secret."""
    return not value or _ORDINARY.fullmatch(value) is not None or is_reference(value)


def is_reference(value: str) -> bool:
    """Return whether a value only says where the secret is: `$TOKEN`, `{token}`, `%s`, `<token>`."""
    return _REFERENCE.fullmatch(value.strip("\"' \t")) is not None


def is_name(value: str) -> bool:
    """Return whether a value is itself what a secret is called: `api_key`, `TOKEN`."""
    return _NAME_LAST.search(value) is not None and _IDENTIFIER.fullmatch(value) is not None


def is_code(found: re.Match[str], value: str, *, is_password: bool = False) -> bool:
    """Return whether the text behind a name is part of a program: a variable, a call, a type.

    found: a match with the groups `name`, `sep` and, where the value has no quotes, `bare`. is_password: its name means
    one in whatever language.
    """
    text, end, sign = found.string, found.end(), found["sep"]
    is_password = is_password or found["name"].lower().startswith(_PASSWORD)
    if sign.strip().startswith(("==", "!=")) and not is_password and (len(value) < 8 or not has_digit(value)):
        return True
    if found["bare"] is None:
        # The quote before it may have been a closing one: `"token=" + repr(token)`.
        return _CLOSED.match(value) is not None
    if _IDENTIFIER.fullmatch(value) is None:
        return False
    following = text[end : end + 1]
    if following in ("(", "["):
        return True
    if has_digit(value) or len(value) > 64:
        return False
    before = text[max(found.start() - 124, 0) : found.start()]
    if sign.strip() == "=" and _TARGETS.search(before) is not None:
        return True
    if _NAME_LAST.search(value) is not None or _OPERATION.match(text, end) is not None:
        return True
    is_spaced = sign[-1:] in " \t"
    if found["name"].isupper() and sign == "=":  # a variable of a shell, whatever stands behind its value
        return False
    closes = following == ")" or (following == "," and text[end + 1 : end + 2] in " \n")
    if is_password:
        is_type = is_spaced and ":" in sign and _TYPE.fullmatch(value) is not None
        return is_type or ("." in value and is_spaced) or (closes and found["name"].islower())
    return is_spaced or closes or following == "." or "." in value or _PROSE.match(text, end) is not None


def is_login(value: str) -> bool:
    """Return whether a value is a user and a password as docker's and npm's files keep them, in base64."""
    if len(value) < 6 or not value.isascii():
        return False
    try:
        plain = base64.b64decode(value + "=" * (-len(value) % 4), validate=True)
    except ValueError:
        return False
    return b":" in plain or (len(value) >= 20 and is_mixed(value))


def is_mixed(value: str) -> bool:
    """Return whether a text has capital letters, small ones and digits."""
    return re.search("[A-Z]", value) is not None and re.search("[a-z]", value) is not None and has_digit(value)


def has_digit(value: str) -> bool:
    """Return whether a text has a digit."""
    return any(character.isdigit() for character in value)


def is_random(value: str) -> bool:
    """Return whether a text of letters, digits and a few signs looks as if it had been drawn, not written.

    Words and names change seldom between small letters, capital letters and digits; drawn characters do so nearly every
    second time.
    """
    letters = [character for character in value if character.isalnum()]
    kinds = [0 if character.isdigit() else 1 if character.islower() else 2 for character in letters]
    changes = sum(one != other for one, other in pairwise(kinds))
    return kinds.count(0) >= 2 and len(set(kinds)) >= 2 and changes * 4 >= len(kinds)
