"""The one redactor: take secrets out of text before it is shown, stored or sent. Pure.

Works by shape (known key prefixes, tokens, key blocks) and by name (`token=...`, `"password": "..."`). Every pattern is
linear: it starts only where its class of characters begins, and every repetition before a required part is bounded.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence

from oulipoly_engine.core.text.late_pattern import LatePattern

REDACTED = "[redacted]"

_NAME_OF_ONE = (
    r"(?:api[ _-]?key|access[ _-]?key(?:[ _-]?id)?|(?:secret|private|signing|encryption|auth|subscription)[ _-]?key"
    r"|token|secret|passw(?:or)?d|passphrase|credential|cookie)"
)
# The same names, and some that are one only before a sign. Each begins with a set of letters, by which the search for
# it is four times as fast; the long s is what ignoring case takes for an s.
_NAME_BEFORE_SIGN = (
    r"[AaCcEePpSs\u017fTt](?i:(?<=a)(?:pi[ _-]?key|ccess[ _-]?key(?:[ _-]?id)?|uth[ _-]?key)"
    r"|(?<=s)(?:ecret(?:[ _-]?key)?|igning[ _-]?key|ubscription[ _-]?key)"
    r"|(?<=p)(?:rivate[ _-]?key|assw(?:or)?d|assphrase)|(?<=e)ncryption[ _-]?key|(?<=t)oken|(?<=c)(?:redential|ookie))"
)
_MORE_BEFORE_SIGN = (
    r"[AaMmPpSs\u017f](?i:(?<=p)(?:wd|ass)|(?<=a)(?:uth|ccount[_-]?key)|(?<=s)ecret_key_base|(?<=m)aster[_-]?key)"
)
# A secret in a command: quoted, perhaps with escaped quotes, or up to the next blank.
_WORD = r"""(?:(?P<quote>\\{0,3}["'])(?P<quoted>[^"'\r\n\\]+)|(?P<word>[^\s"'`<>;|&\\][^\s"'`<>;|&\\]*))"""

# To the end of the block, or of the text when the block is cut.
_KEY_BLOCK = LatePattern(
    r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]{0,60}-----|\Z)", re.DOTALL
)
_HEADER = LatePattern(
    r"""(?P<name>\b(?:proxy-)?authorization|\bx-api-key|\bx-goog-api-key|\b(?:set-)?cookie)
        (?P<sep>\\{0,3}["']?[ \t]{0,4}[:=][ \t]{0,4}\\{0,3}["']?)
        (?P<value>[^"'\r\n\\]+)""",
    re.IGNORECASE | re.VERBOSE,
)
_SIGN_AND_VALUE = r"""
        (?P<sep>\\{0,3}["']?(?:\*\*)?[ \t]{0,4}(?::=|=>|[:=])(?:\*\*)?[ \t]{0,4})
        (?:
            (?P<escaped>\\{1,7}["'])(?P<in_escaped>[^"'\\\r\n]+)
          | "(?P<in_double>(?:[^"\\\r\n]|\\.)+)
          | '(?P<in_single>(?:[^'\\\r\n]|\\.)+)
          | (?<!=)`(?P<in_code>[^`\r\n]+)(?=`)
          | (?P<bare>(?i:\[redacted\])?[^\s"'`,;&(){}\[\]<>\\]*)
        )"""
_NAMED, _NAMED_TOO = (
    LatePattern(rf"(?P<name>{name}){_SIGN_AND_VALUE}", re.VERBOSE) for name in (_NAME_BEFORE_SIGN, _MORE_BEFORE_SIGN)
)
_FLAG = LatePattern(
    rf"""(?<![\w-])(?P<flag>--(?:[a-z0-9]{{1,24}}-){{0,4}}{_NAME_OF_ONE})(?P<gap>[ \t]{{1,4}})
        (?P<value>"[^"\r\n]*"|'[^'\r\n]*'|[^\s"'-][^\s"']*)""",
    re.IGNORECASE | re.VERBOSE,
)
_SCHEME = LatePattern(r"\b(?P<scheme>bearer|basic)(?P<gap>[ \t]{1,4})(?P<value>[A-Za-z0-9._~+/=-]{8,})", re.IGNORECASE)
_IN_QUERY = LatePattern(r"(?P<name>[?&](?:key|auth|sig|signature)=)(?P<value>[^&#\s\"'<>]+)", re.IGNORECASE)
_URL_LOGIN = LatePattern(r"://[^\s/@:?#\"'<>]{0,256}:[^\s/\"'<>]{1,256}@")  # a password may hold an @ itself
# The words of a passphrase, which `_NAMED` would take for prose behind the first one.
_PASSPHRASE = LatePattern(
    r"[Pp](?i:assphrase)(?:\*\*)?[ \t]{0,4}:(?:\*\*)?[ \t]{1,4}(?P<value>[\w'-]+(?: [\w'-]+){2,23})"
)
_BLOCK_HEAD = LatePattern(r":[ \t]{1,4}[|>][-+0-9]{0,2}[ \t]{0,4}\r?\n")  # of a YAML text of several lines
_NAME_AT_END = LatePattern(rf"""(?:{_NAME_BEFORE_SIGN}|{_MORE_BEFORE_SIGN})["']?[ \t]{{0,4}}\Z""")
_INDENT = LatePattern(r"[ \t]*")
_ELEMENT = LatePattern(
    rf"<[\w.:-]{{0,40}}?{_NAME_OF_ONE}(?:[ \t][^<>\r\n]{{0,80}})?>(?P<value>[^<>\r\n]+)(?=</)", re.IGNORECASE
)
_CURL = LatePattern(
    rf"""curl(?<!\wcurl)\b(?:[^\r\n\\]|\\.|\\\r?\n){{0,200}}?[ \t\n]
        (?:-[uU][ \t]{{0,4}}|--(?:proxy-)?user(?:[ \t]{{1,4}}|=))
        (?=[^\s:]{{0,128}}:[^\s"'\\]){_WORD}""",
    re.VERBOSE,
)
_MYSQL = LatePattern(rf"(?:mysql|mariadb)[\w-]{{0,12}}[ \t](?:[^\r\n;|&]{{0,200}}?[ \t])?-p{_WORD}")
_SSHPASS = LatePattern(rf"sshpass[ \t]{{1,4}}(?:-[ev][ \t]{{1,4}}){{0,2}}-p[ \t]{{0,4}}{_WORD}")
_NETRC = LatePattern(rf"login[ \t]{{1,4}}\S{{1,128}}\s{{1,16}}password[ \t]{{1,4}}{_WORD}")
_MACHINE = LatePattern(r"(?:machine[ \t]{1,4}\S{1,256}|default)\s{1,16}\Z")
_SET = LatePattern(
    rf"""[Ss](?<!\w.)(?i:et(?:x(?:[ \t]{{1,4}}/m)?|env|(?:[ \t]{{1,4}}-{{1,2}}[a-z-]{{1,12}}){{1,4}})[ \t]{{1,4}}
        [A-Za-z0-9_]{{0,60}}?(?:{_NAME_OF_ONE}|pwd|(?<=_)pass|secret_key_base)[ \t]{{1,4}}){_WORD}""",
    re.VERBOSE,
)
_SHAPES = LatePattern(
    r"""(?<![A-Za-z0-9_-])(?:
        sk-(?:ant|proj|or|svcacct|admin)-[A-Za-z0-9_-]{4,}
      | (?P<short_key>sk-[A-Za-z0-9_-]{8,})
      | gh[pousr]_[A-Za-z0-9]{16,} | github_pat_[A-Za-z0-9_]{16,} | glpat-[A-Za-z0-9_-]{16,}
      | (?:AKIA|ASIA)[0-9A-Z]{16}(?![0-9A-Za-z]) | AIza[0-9A-Za-z_-]{30,} | ya29\.[A-Za-z0-9_-]{20,}
      | (?:xox[a-z]|xapp)-[A-Za-z0-9-]{8,} | GOCSPX-[A-Za-z0-9_-]{16,}
      | [sr]k_(?:live|test)_[A-Za-z0-9]{8,} | whsec_[A-Za-z0-9]{24,} | SG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,}
      | hooks\.slack\.com/(?P<hook>services|workflows|triggers)/[A-Za-z0-9_/-]{8,}
      | bot[0-9]{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-]) | [0-9]{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])
      | [MNO][DTjz][AEIMQUYcgk][w-z0-5][A-Za-z0-9]{18,26}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}(?![A-Za-z0-9_-])
      | gsk_[A-Za-z0-9]{20,} | xai-[A-Za-z0-9]{20,} | pplx-[A-Za-z0-9]{20,}
      | gl(?:rt|dt|ptt|cbt|ft|soat|oas|agent)-[A-Za-z0-9_-]{16,}
      | do[opr]_v1_[a-f0-9]{32,} | shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{24,} | AGE-SECRET-KEY-1[0-9A-Z]{20,}
      | 1//0[A-Za-z0-9_-]{20,} | key-[0-9a-f]{32}(?![0-9A-Za-z])
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
_ORDINARY = LatePattern(
    r"(?:null|none|nil|true|false|undefined|expired|invalid|missing|required|revoked|empty|unset|not|no|yes|is|was|the|an?"
    r"|str|string|int|ok|bearer|basic|[|>][-+0-9]{0,2})[.!?]{0,3}",
    re.IGNORECASE,
)
_REFERENCE = LatePattern(r"\$(?:[A-Za-z_][A-Za-z0-9_]*|\{[^{}]{0,80}\}?)?")
_PLACE = LatePattern(r"[/~.%$]|[A-Za-z]:(?:[\\/]|\Z)|file:")  # how a folder begins, which is what `PWD` mostly holds
_OWNER_OF_PASS = LatePattern(
    r"(?<![A-Za-z])(?:db|database|user|admin|root|mysql|mariadb|pg|postgres|redis|mongo|smtp|imap|mail|email|ftp|ssh|proxy"
    r"|sudo|ldap|sql)[_-]?\Z",
    re.IGNORECASE,
)
_NUMBERS = LatePattern(r"[0-9:.]+")  # of ports, and of a user and a group
_FOLLOWED = LatePattern(r"\(| [a-z]+ [a-z]")  # a call, or a sentence
_FLAG_WORD = LatePattern(rf"-{{1,2}}[\w-]{{0,60}}{_NAME_OF_ONE}|--?(?:header|user)|--proxy-user", re.IGNORECASE)
# Whose a short flag has to be for a secret to follow it, and its long form.
_SHORT_FLAGS = {"-u": ("curl", "--user"), "-U": ("curl", "--proxy-user"), "-p": ("sshpass", "--password")}
_AUTH_HEADER = LatePattern(r"(?:proxy-)?authorization|cookie|x-api-key", re.IGNORECASE)


def redact(text: str) -> str:
    """Return the text with each secret replaced by `[redacted]`; redacting twice changes nothing more."""
    for _ in range(_MOST_PASSES):
        shown = _pass(text)
        if shown == text:
            break
        text = shown
    return text


def _pass(text: str) -> str:
    # What a pattern cannot do without is looked for first: most texts have none of it, and compile no pattern either.
    if "-----BEGIN" in text:
        text = _KEY_BLOCK.sub(REDACTED, text)
    if has_sign := ":" in text or "=" in text:
        text = _HEADER.sub(lambda found: found["name"] + found["sep"] + _keep_reference(found["value"]), text)
        text = _in_blocks(text)
    text = _in_commands(text)
    if has_sign:
        text = _NAMED.sub(_redact_named, text)
        text = _NAMED_TOO.sub(_redact_named_in_context, text)
    if "--" in text:
        text = _FLAG.sub(lambda found: found["flag"] + found["gap"] + _keep_reference(found["value"]), text)
    folded = text.casefold()
    if "bearer" in folded or "basic" in folded:
        text = _SCHEME.sub(_scheme, text)
    if has_sign:
        text = _URL_LOGIN.sub(f"://{REDACTED}@", text)
        text = _IN_QUERY.sub(lambda found: found["name"] + _keep_reference(found["value"]), text)
    return _SHAPES.sub(_shape, text)


def _in_commands(text: str) -> str:
    """Redact what commands and files hold without a sign before it, or in several words."""
    folded = text.casefold()
    for needed, pattern, change in _ELSEWHERE:
        if needed in folded:
            text = pattern.sub(change, text)
    return text


def _in_blocks(text: str) -> str:
    """Redact the indented lines after `password: |`."""
    pieces, at = [], 0
    for head in _BLOCK_HEAD.finditer(text):
        if head.start() < at or _NAME_AT_END.search(text, max(head.start() - 40, 0), head.start()) is None:
            continue
        line = text.rfind("\n", at, head.start()) + 1 or at
        begin = re.match(r"[ \t]*(?:-[ \t]{1,4})*", text[line : head.start()])
        end, first = _block_end(text, head.end(), begin.end() if begin is not None else 0)
        if end > head.end():
            tail = "\n" if text[end - 1] == "\n" else ""
            pieces += [text[at : head.end()], first, REDACTED, tail]
            at = end
    return "".join([*pieces, text[at:]]) if pieces else text


def _block_end(text: str, begin: int, indent: int) -> tuple[int, str]:
    """Return where the lines end that are indented deeper, and how deep the first one is."""
    end, place, first = begin, begin, ""
    while place < len(text):
        after = text.find("\n", place) + 1 or len(text)
        deep = _INDENT.match(text, place, after)
        depth = deep[0] if deep is not None else ""
        if text[place:after].strip():
            if len(depth) <= indent:
                break
            first, end = first or depth, after
        place = after
    return end, first


def redact_argv(argv: Sequence[str]) -> tuple[str, ...]:
    """Return the arguments without secrets, including those that follow a flag such as `--api-key`."""
    shown: list[str] = []
    previous = ""
    programs = {argument.rpartition("/")[2] for argument in argv}
    for argument in argv:
        program, flag = _SHORT_FLAGS.get(previous, ("", ""))
        shown.append(_after_flag(flag if program in programs else previous, argument) or redact(argument))
        previous = argument
    return tuple(shown)


def _after_flag(flag: str, value: str) -> str | None:
    if not _FLAG_WORD.fullmatch(flag) or value.startswith("--") or not value:
        return None
    if flag.lstrip("-").lower() in ("user", "proxy-user"):
        return REDACTED if ":" in value else None
    if flag.lstrip("-").lower() == "header":
        return None if _AUTH_HEADER.match(value) is None else redact(value)
    return _keep_reference(value)


def _redact_named(found: re.Match[str]) -> str:
    group, value = _value_of(found)
    is_count = found["name"].lower() == "token" and value.isdecimal() and len(value) <= 7  # below ten million
    return found[0] if is_count or _is_ordinary(value) else _without(found, group)


def _redact_named_in_context(found: re.Match[str]) -> str:
    """Redact what follows a name that is the name of a secret only in some places, or with some values."""
    name, text = found["name"].lower(), found.string
    group, value = _value_of(found)
    before = text[max(found.start("name") - 12, 0) : found.start("name")]
    match name:
        case "auth":
            is_none = before[-1:].isalnum() or not _is_login(value)
        case "pwd":
            is_call = group == "bare" and _FOLLOWED.match(text, found.end()) is not None
            is_none = before[-1:].isalnum() or is_call or _PLACE.match(value) is not None
        case "pass":
            is_variable = found["name"] == "PASS" and before.endswith("_")
            is_count = value.isdecimal() and len(value) <= 3
            is_none = is_count or not (is_variable or _OWNER_OF_PASS.search(before))
        case _:
            is_none = False
    return found[0] if is_none or _is_ordinary(value) else _without(found, group)


def _value_of(found: re.Match[str]) -> tuple[str, str]:
    """Return the name of the group that holds the value, and the value."""
    groups = ("in_escaped", "in_double", "in_single", "in_code")
    group = next((name for name in groups if found[name]), "bare")
    return group, found[group] or ""


def _without(found: re.Match[str], group: str) -> str:
    """Return a match with one of its groups redacted."""
    begin, end = found.start(group) - found.start(), found.end(group) - found.start()
    return found[0][:begin] + REDACTED + found[0][end:]


def _is_ordinary(value: str) -> bool:
    return not value or _ORDINARY.fullmatch(value) is not None or _REFERENCE.fullmatch(value) is not None


def _is_login(value: str) -> bool:
    """Return whether a value is a user and a password as docker's and npm's files keep them, in base64."""
    if len(value) < 6 or not value.isascii():
        return False
    try:
        return b":" in base64.b64decode(value + "=" * (-len(value) % 4), validate=True)
    except ValueError:
        return False


def _word(found: re.Match[str]) -> str:
    """Redact the word or the quoted text at the end of a command."""
    group = "quoted" if found["quoted"] else "word"
    value = found[group]
    if value == REDACTED or _REFERENCE.fullmatch(value) or _NUMBERS.fullmatch(value):
        return found[0]
    return _without(found, group)


def _of_netrc(found: re.Match[str]) -> str:
    """Redact a password, unless it is a plain word of prose about a login."""
    is_word = found["word"] is not None and found["word"].rstrip(".,:!?)").isalpha()
    before = found.string[max(found.start() - 300, 0) : found.start()]
    return found[0] if is_word and _MACHINE.search(before) is None else _word(found)


def _value(found: re.Match[str]) -> str:
    value = found["value"].strip()
    is_none = _is_ordinary(value.partition(" ")[0]) or value.startswith(("{", "$"))
    return found[0] if is_none else _without(found, "value")


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
    place = "" if found["hook"] is None else f"hooks.slack.com/{found['hook']}/"
    return found[0] if is_word else place + REDACTED


# What has to be in a text for a pattern to fit, the pattern, and what it does.
_ELSEWHERE = (
    (":", _PASSPHRASE, _value),
    ("</", _ELEMENT, _value),
    ("curl", _CURL, _word),
    ("-p", _MYSQL, _word),
    ("sshpass", _SSHPASS, _word),
    ("login", _NETRC, _of_netrc),
    ("set", _SET, _word),
)
