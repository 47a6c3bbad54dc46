"""The one redactor: take secrets out of text before it is shown, stored or sent. Pure.

It knows secrets by what stands around them (`secrets/rules.py`) and by their form (`secrets/shapes.py`). Whether a
value is one at all, `secrets/values.py` says.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Iterator, Sequence

from oulipoly_engine.core.text.secrets.commands import find_here_tag
from oulipoly_engine.core.text.secrets.names import HEADER_OF_ONE, NAME_OF_ONE
from oulipoly_engine.core.text.secrets.rule import REDACTED as REDACTED
from oulipoly_engine.core.text.secrets.rule import Rule, keep_reference, take_out
from oulipoly_engine.core.text.secrets.rules import RULES, SHORT_FLAGS, find_blocks, is_secret_of_flag
from oulipoly_engine.core.text.secrets.shapes import ANY_DOTTED, DOTTED, SHAPES, Shape
from oulipoly_engine.core.text.secrets.values import is_ordinary, is_random
from oulipoly_engine.late_pattern import LatePattern

# A removed secret can bring a name and a value together that did not touch before, so passes go on until nothing
# changes. Three were the most that 150,000 random mixtures of secrets and quotes needed; the bound is for hostile
# text.
_MOST_PASSES = 10
_STRETCH = 2048  # characters, up to the end of a line: rules are tried only where a stretch has what they need
# What goes over a line's end with some secrets: how it begins, what follows there, and how far. No text is cut in it.
_HERE_TEXT = LatePattern(r"\b[^\r\n<]{0,100}<<")
_WORD_AND_END = LatePattern(r"[ \t]{1,4}[^\s;]{1,128}[ \t]*\r?\n")
_KEY_ID = LatePattern("[0-9A-Z]{16}")
_BEFORE, _NEAR, _FAR, _TO_END = 256, 1024, 32_768, -1  # characters; the last: to the end of a key
_OVER_LINES = (
    *((mark, None, _TO_END) for mark in ("-BEGIN ", "- BEGIN ")),
    ("Private-Lines:", None, _FAR),
    *((mark, _HERE_TEXT, _FAR) for mark in ("-stdin", "-token", "passwd")),
    *((mark, None, _NEAR) for mark in ("\\\n", "\\\r\n", "IDENTIFIED", "Identified", "identified")),
    *((mark, _KEY_ID, _NEAR) for mark in ("AKIA", "ASIA", "ABIA", "ACCA")),
    *((mark, _WORD_AND_END, _NEAR) for mark in ("login", "LOGIN", "user", "USER", "role", "ROLE")),
)
# Many needs have the same few letters in them, without which they need not be looked for one by one.
_COMMON = (
    *("pass", "key", "login", "auth", "sql", "ssl", "cred", "private", "secret", "zip", "http", "token", "client"),
    *("set", "code", "clave", "contrase", "slo", "kode", "paro", "begin ", "phrase", "<<", "_pa"),
)
_RULE_NEEDS: dict[str, set[str]] = {}
for _rule, _need in ((rule, need) for rule in RULES for need in rule.needs):
    _RULE_NEEDS.setdefault(next((part for part in _COMMON if part in _need), _rule.gate or _need), set()).add(_need)
# A token that begins with its prefix is looked for by its first three characters, at the beginnings of words that are
# long enough, also behind what `secrets/shapes.py` takes for no part of a word.
_START = 3
_PREFIXED: dict[str, list[Shape]] = {}
for _row in SHAPES:
    for _need in _row.needs if _row.is_prefix else ():
        _PREFIXED.setdefault(_need[:_START], []).append(_row)
_STARTS = frozenset(_PREFIXED)
# No slash is the second of them but in `1//`: the `x/` of a path would hide what begins behind it.
_WORD_STARTS = LatePattern(
    r"(?<![A-Za-z0-9_-])[A-Za-z0-9](?:[A-Za-z0-9-][A-Za-z0-9_./-]|//)(?=[A-Za-z0-9_.:+/~%=-]{8})"
)
_ESCAPED_STARTS = LatePattern(r"(?:\\[bfnrtv]|[\[;0-9]m|%[0-9A-Fa-f]{2})([A-Za-z0-9][A-Za-z0-9/-][A-Za-z0-9_./-])")
_LEAST_SHAPE = 11  # characters: `sk-ant-` and four more
_ANYWHERE = tuple(shape for shape in SHAPES if not shape.is_prefix)
_LEAST_ANYWHERE = 24  # characters
_NEEDS_ANYWHERE = frozenset(need for shape in _ANYWHERE for need in shape.needs)

# What stands between the pieces of a secret that is broken: a terminal's colours, also as JSON and C write them,
# characters of no width, and a shell's quotes and backslashes inside a word. And escapes of what needs none.
# It begins with a set of characters, by which the search for it is several times as fast.
_NO_WIDTH = r"\u00ad\u200b-\u200f\u2060-\u2064\u2066-\u2069\u202a-\u202e\ufeff"
_BREAKS = LatePattern(
    rf"[\x1b\\\"'{_NO_WIDTH}](?:"
    r"(?:(?<=\x1b)|(?<=\\)\\{0,3}(?:u001[bB]|x1[bB]|033|e(?=\[)))"
    r"(?:\[[0-9;:?]{0,32}[A-Za-z]|\][^\x07\x1b\\]{0,200}(?:\x07|\x1b\\))"
    rf"|(?<=[{_NO_WIDTH}])"
    r"|(?<=\\)\\{0,3}u(?:00[aA][dD]|200[b-fB-F]|206[0-9]|[fF][eE][fF][fF])"
    r"|(?<=\\)\\{0,3}(?:u00|x)(?P<code>[2-7][0-9A-Fa-f])|(?<=\w\\)(?=[-_.+=:~])"
    r"""|(?<=[\w-]{3}["'])["']?(?=[\w-]{4}))"""
)

_LOOKED_AT = 256  # characters behind a break

_FLAG_WORD = LatePattern(
    rf"-{{1,2}}[\w-]{{0,60}}{NAME_OF_ONE}|--?(?:header|user)|-H|--(?:proxy-user|{'|'.join(SHORT_FLAGS)})", re.IGNORECASE
)
# Whose a short flag has to be for a secret to follow it, and its long form.
_SHORT_FLAGS = {"-u": ("curl", "--user"), "-U": ("curl", "--proxy-user"), "-p": ("sshpass", "--password")}
_AUTH_HEADER = LatePattern(rf"{HEADER_OF_ONE}:[ ]{{0,4}}(?P<value>.+)", re.IGNORECASE | re.DOTALL)
_BARE = LatePattern(r"[A-Za-z0-9_+/=~.-]{32,}")
_UUID = LatePattern(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def redact(text: str) -> str:
    """Return the text with each secret replaced by `[redacted]`; redacting twice changes nothing more.

    A line with a secret that colours, escapes or quotes break into pieces comes without those.
    """
    if len(text) <= _STRETCH:
        return _redact_stretch(text)
    return "".join(_redact_stretch(stretch) for stretch in _stretches(text, _find_wholes(text)))


def _find_wholes(text: str) -> list[tuple[int, int]]:
    """Return what is not to be cut, the first one first: where it begins and ends."""
    wholes = [(begin - _BEFORE, end) for begin, end, _ in find_blocks(text)]
    missing = _find_missing(text)
    for mark, rest, reach in _OVER_LINES:
        if not missing.isdisjoint(mark):
            continue
        place = text.find(mark)
        while place >= 0:
            after = place + len(mark)
            if rest is None or rest.match(text, after) is not None:
                end = text.find("END ", after) if reach == _TO_END else after + reach
                end = end if end >= 0 else len(text)
                wholes.append((place - _BEFORE, end))
                after = end if reach == _TO_END else after
            place = text.find(mark, after)
    return sorted(wholes)


def _join_broken(text: str) -> str:
    """Return a text whose lines have no breaks where they hide a secret; all others are as they were."""
    lines = text.splitlines(keepends=True)
    broken = "".join(line for line in lines if _BREAKS.search(line) is not None)
    joined = _BREAKS.sub(_join, broken)
    if joined == broken or _redact_whole(joined) == joined:
        return text
    return "".join(map(_join_broken_line, lines))


def _join_broken_line(line: str) -> str:
    joined = _BREAKS.sub(_join, line)
    if joined == line or _redact_whole(joined) == joined:
        return line
    mended = _redact_whole(_BREAKS.sub(_mend, line))
    is_seen_anyway = _BREAKS.sub(_mend, _redact_whole(line)) == mended
    return line if is_seen_anyway else mended


def _join(found: re.Match[str]) -> str:
    """Return the character that an escape stands for; nothing for what is only between two."""
    code = found["code"]
    if code is None:
        return ""
    character = chr(int(code, 16))
    return character if character.isalnum() or character in "-_./+=:~" else found[0]


def _mend(found: re.Match[str]) -> str:
    """Do the same, but keep a secret apart that begins behind a break: it would be none as the end of a word."""
    following = found.string[found.end() : found.end() + _LOOKED_AT]
    return _join(found) or (" " if _begins_token(following) else "")


def _begins_token(text: str) -> bool:
    """Return whether a text begins with a token that is known by its form."""
    shapes = _PREFIXED.get(text[:_START], ())
    if any(shape.pattern.match(text) is not None for shape in shapes):
        return True
    others = _ANYWHERE if _find_words(_NEEDS_ANYWHERE, text) else ()
    dotted = DOTTED if ANY_DOTTED.search(text) is not None else ()
    return any(shape.pattern.match(text) is not None for shape in (*others, *dotted))


def find_closing(line: str) -> str | None:
    """Return how the line begins that ends the secret of several lines which this one begins; None if it begins none.

    For texts that come line by line: a private key, and what a command reads from the lines behind it.
    """
    plain = strip_breaks(line)
    if "-----BEGIN" in plain and "PRIVATE KEY" in plain:
        return None if "-----END" in plain else "-----END"
    return find_here_tag(plain)


def strip_breaks(text: str) -> str:
    """Return a text without colours, characters of no width and needless escapes."""
    return _BREAKS.sub(_join, text)


def restore(text: str, clean: str, written: str) -> str:
    """Return a changed text with the secrets back in it that it shows as redacted.

    clean: what was changed. written: the same with its secrets. Where the text shows fewer or more of them than
    `clean`, nobody knows which they are, and they stay redacted.
    """
    pieces = clean.split(REDACTED)
    if clean == written or text.count(REDACTED) != len(pieces) - 1:
        return text
    if not written.startswith(pieces[0]):
        return text
    secrets, end = [], len(pieces[0])
    for piece in pieces[1:]:
        place = written.find(piece, end) if piece else len(written)
        if place < 0:
            return text
        secrets.append(written[end:place])
        end = place + len(piece)
    following = iter(secrets)
    return re.sub(re.escape(REDACTED), lambda _: next(following), text)


def redact_beginning(text: str, length: int) -> str:
    """Return the first characters of a text without secrets: half of one that is cut has no form that is known."""
    return redact(text[: 4 * length])[:length]


def redact_strictly(text: str) -> str:
    """Return the text without secrets, and without anything else that looks drawn and has 32 characters or more.

    For short messages of scripts that handle logins: there a false alarm costs a hash, in a transcript it would cost
    every commit and checksum. UUIDs stay: vendors name requests by them.
    """
    return _BARE.sub(_bare, redact(text))


def _bare(found: re.Match[str]) -> str:
    run = found[0]
    pieces = re.split(r"[/.=+~]", run) if run[0] in "/~." or "//" in run else [run]
    is_secret = any(len(piece) >= 32 and not _UUID.fullmatch(piece) and is_random(piece) for piece in pieces)
    return REDACTED if is_secret else run


def _stretches(text: str, wholes: Iterable[tuple[int, int]] = ()) -> Iterator[str]:
    """Yield the pieces of a text, cut at the ends of lines, and nowhere inside of a whole."""
    following = iter(wholes)
    no_more = (len(text), 0)
    first, last = next(following, no_more)
    begin = 0
    while begin < len(text):
        end = text.find("\n", begin + _STRETCH) + 1 or len(text)
        while first < end:
            if last > end:
                end = text.find("\n", last) + 1 or len(text)
            first, last = next(following, no_more)
        yield text[begin:end]
        begin = end


def _redact_stretch(text: str) -> str:
    if _BREAKS.search(text) is None:
        return _redact_whole(text)
    # Where nothing is broken but between words, the text without breaks tells all, and mostly it tells of nothing.
    if not _has_broken_words(text):
        joined = _BREAKS.sub(_join, text)
        if _redact_whole(joined) == joined:
            return text
    return _redact_whole(_join_broken(text))


def _has_broken_words(text: str) -> bool:
    """Return whether a break is the end of one word and the beginning of another."""
    end, before = -1, ""
    for found in _BREAKS.finditer(text):
        if found.start() != end:
            before = text[found.start() - 1 : found.start()]
        end = found.end()
        after = text[end : end + 1]
        if (before.isalnum() or before in ("_", "-")) and (after.isalnum() or after in ("_", "-")):
            return True
    return False


def _redact_whole(text: str) -> str:
    for _ in range(_MOST_PASSES):
        shown = _pass(text)
        if shown == text:
            break
        text = shown
    return text


def _pass(text: str) -> str:
    # What a rule cannot do without is looked for first: most texts have none of it, and compile no pattern either.
    folded = _fold(text)
    needs = {need for part in _find_words(_RULE_NEEDS, folded) for need in _find_words(_RULE_NEEDS[part], folded)}
    if needs:
        for rule in RULES:
            if not needs.isdisjoint(rule.needs):
                text = _apply_near_needs(rule, text) if rule.is_in_line else rule.apply(text)
    if len(text) < _LEAST_SHAPE:
        return text
    starts = _STARTS.intersection(_WORD_STARTS.findall(text))
    if "\\" in text or "%" in text or "\x1b" in text:
        starts = starts.union(_STARTS.intersection(_ESCAPED_STARTS.findall(text)))
    for start in sorted(starts):
        for shape in _PREFIXED[start]:
            if any(map(text.__contains__, shape.needs)):
                text = _take_out_shape(text, shape)
    needs = _find_words(_NEEDS_ANYWHERE, text) if len(text) >= _LEAST_ANYWHERE else set()
    if needs:
        for shape in _ANYWHERE:
            if not needs.isdisjoint(shape.needs):
                text = _take_out_shape(text, shape)
    if ANY_DOTTED.search(text) is not None:
        for shape in DOTTED:
            text = _take_out_shape(text, shape)
    return text


def _apply_near_needs(rule: Rule, text: str) -> str:
    """Apply a rule of one line to those stretches of a text that have what it needs."""
    if len(text) <= _STRETCH:
        return rule.apply(text)
    stretches = _stretches(text)
    return "".join(rule.apply(piece) if _find_words(rule.needs, _fold(piece)) else piece for piece in stretches)


def _find_words(words: Iterable[str], text: str) -> set[str]:
    """Return those words that are in a text. One pattern for all of them is no faster, and takes 1 ms to compile."""
    missing = _find_missing(text)
    if missing:
        words = filter(missing.isdisjoint, words)
    return {word for word in words if word in text}


def _find_missing(text: str) -> frozenset[str]:
    """Return characters that a long text does not have: no word with one of them need be looked for in it.

    Nearly each is found at once, or is missing: lines of 40 MB without blanks are digits, drawn letters or one sign.
    """
    if len(text) <= _STRETCH:
        return frozenset()
    return frozenset(character for character in string.printable if character not in text)


def _fold(text: str) -> str:
    """Return a text in small letters, with an i and an s for what a pattern that ignores case takes for them."""
    if text.isascii():
        return text.lower()
    folded = text.casefold()
    return folded.replace("\u0131", "i").replace("\u0307", "")


def _take_out_shape(text: str, shape: Shape) -> str:
    has_place = "value" in shape.pattern.compiled.groupindex
    return shape.pattern.sub(take_out if has_place else REDACTED, text)


def may_begin_token(word: str) -> bool:
    """Return whether a word is the beginning of a token that is known by its form, or begins as one."""
    needs = (need for shape in SHAPES if shape.is_prefix for need in shape.needs)
    return any(need.startswith(word) or word.startswith(need) for need in needs)


def redact_argv(argv: Sequence[str]) -> tuple[str, ...]:
    """Return the arguments without secrets, including those that follow a flag such as `--api-key`."""
    shown: list[str] = []
    previous = ""
    programs = {argument.rpartition("/")[2] for argument in argv}
    for argument in argv:
        program, flag = _SHORT_FLAGS.get(previous, ("", ""))
        hidden = _after_flag(flag if program in programs else previous, argument)
        if hidden is None and argument.startswith("-H"):  # in one word: `-HAuthorization: …`
            hidden = _after_flag("-H", argument)
        shown.append(hidden or redact(argument))
        previous = argument
    return tuple(shown)


def _after_flag(flag: str, value: str) -> str | None:
    if not _FLAG_WORD.fullmatch(flag) or value.startswith("--") or not value:
        return None
    if flag.lstrip("-").lower() in ("user", "proxy-user"):
        return REDACTED if ":" in value else None
    if flag == "-H" or flag.lstrip("-").lower() == "header":
        found = _AUTH_HEADER.fullmatch(value)
        return None if found is None or is_ordinary(found["value"]) else take_out(found)
    if flag.lstrip("-").lower() in SHORT_FLAGS:
        return REDACTED if is_secret_of_flag(flag.lstrip("-"), value) else None
    return keep_reference(value)
