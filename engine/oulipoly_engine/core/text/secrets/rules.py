"""Secrets that are known by what stands around them: one row for each kind. Pure.

A row is the kind, what has to be in a text for it, and what takes the secret out. Every pattern is linear: it starts
only where its class of characters begins, and every repetition before a required part is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from oulipoly_engine.core.text.secrets.commands import COMMANDS
from oulipoly_engine.core.text.secrets.names import (
    HEADER_OF_ONE,
    IN_OTHER_LANGUAGES,
    MORE_BEFORE_SIGN,
    MORE_NAMES,
    MORE_NEEDS,
    NAME_BEFORE_SIGN,
    NAME_OF_ONE,
)
from oulipoly_engine.core.text.secrets.rule import (
    REDACTED,
    SIGN_AND_VALUE,
    STRING_PREFIX,
    Rule,
    line_rule,
    rare_rule,
    rule,
    take_out,
    take_out_value,
    value_of,
)
from oulipoly_engine.core.text.secrets.values import (
    has_digit,
    is_code,
    is_login,
    is_mixed,
    is_name,
    is_ordinary,
    is_reference,
)
from oulipoly_engine.core.text.secrets.vendors import VENDORS
from oulipoly_engine.late_pattern import LatePattern

# To the end of the block, or of the text when the block is cut.
_KEY_BLOCK = LatePattern(
    r"-----?[ ]?BEGIN (?:(?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?|OpenVPN Static key V1)[ ]?-----?"
    r".*?(?:-----?[ ]?END [A-Za-z0-9 ]{0,60}-----?|\Z)",
    re.DOTALL,
)
_PUTTY = LatePattern(
    r"Private-(?:Lines|MAC|Hash):[ \t]{0,4}(?P<value>[0-9A-Fa-f]{1,64}(?:(?:\\r|\r)?(?:\\n|\n)[A-Za-z0-9+/=]+){0,400})"
)
_JSON_KEY = LatePattern(
    r"""\\{0,3}"(?:d|p|q|dp|dq|qi|k)\\{0,3}"[ \t]{0,4}:[ \t]{0,4}\\{0,3}"(?P<value>[A-Za-z0-9_-]{16,})"""
)
_HEADER = LatePattern(
    rf"""(?P<name>\b(?:proxy-)?authorization|\bx-api-key|\bx-goog-api-key|\b(?:set-)?cookie)
        (?P<sep>\\{{0,3}}["']?\]?[ \t]{{0,4}}[:=][ \t]{{0,4}}{STRING_PREFIX}\\{{0,3}}["']?)
        (?P<value>[^"'\r\n\\]+)""",
    re.IGNORECASE | re.VERBOSE,
)
_NAMED, _NAMED_TOO, _NAMED_FOREIGN = (
    LatePattern(rf"(?P<name>{name}){SIGN_AND_VALUE}", re.VERBOSE)
    for name in (
        NAME_BEFORE_SIGN,
        MORE_BEFORE_SIGN,
        rf"(?i:{'|'.join(name.replace(' ', '[ ]') for name in IN_OTHER_LANGUAGES)})",
    )
)
_FLAG = LatePattern(
    rf"""(?<![\w-])(?P<flag>--(?:[a-z0-9]{{1,24}}-){{0,4}}{NAME_OF_ONE})(?P<gap>[ \t]{{1,4}})
        (?P<value>"[^"\r\n]*"|'[^'\r\n]*'|[^\s"'<>|&;-][^\s"']*)""",
    re.IGNORECASE | re.VERBOSE,
)
# Flags that are one of a secret only with some values: `--auth basic`, `--pass 2`.
SHORT_FLAGS = ("pass", "auth", "pat")
_SHORT_FLAG = LatePattern(
    rf"--(?<![\w-]--)(?P<name>{'|'.join(SHORT_FLAGS)})(?:[ \t]{{1,4}}|=)"
    r"(?P<value>\"[^\"\r\n]+\"|'[^'\r\n]+'|[^\s\"'`<>;|&-][^\s\"'`<>;|&]*)"
)
_BETWEEN = r"""(?P<quote>\\{0,3}["']),(?:\s|\\[nrt]){0,80}(?P=quote)"""  # two words of a list
_LISTED = LatePattern(
    rf"""--(?<=["']--)(?:(?:[a-z0-9]{{1,24}}-){{0,4}}(?P<name>{NAME_OF_ONE}|{"|".join(SHORT_FLAGS)})){_BETWEEN}
        (?P<value>[^\s"'\\-][^\s"'\\]*)(?=(?P=quote))""",
    re.IGNORECASE | re.VERBOSE,
)
_HEADER_FLAG = LatePattern(
    rf"""-(?<![\w-]-)(?:H|-header)(?:[ =]{{0,4}}\\{{0,3}}["']|{_BETWEEN})
        (?i:{HEADER_OF_ONE}):[ ]{{0,4}}
        (?P<value>[^"'\r\n\\]+)(?=\\{{0,3}}["'])""",
    re.VERBOSE,
)
_SCHEME = LatePattern(r"\b(?P<scheme>bearer|basic)(?P<gap>[ \t]{1,4})(?P<value>[A-Za-z0-9._~+/=-]{8,})", re.IGNORECASE)
_IN_QUERY = LatePattern(
    r"[?&](?:key|auth|sig|signature|x-(?:amz|goog)-(?:signature|credential))=(?P<value>[^&#\s\"'<>\\]+)", re.IGNORECASE
)
_URL_LOGIN = LatePattern(r"://(?P<user>[^\s/@:?#\"'<>]{0,256}):(?P<password>[^\s/\"'<>]{0,256})@")  # an @ may be inside
_URL_TOKEN = LatePattern(r"://(?P<value>[^\s/@:?#\"'<>\\()]{8,512})@(?=[A-Za-z0-9\[])(?<!\.)")
_LIKE_PROGRAM = LatePattern(r"(?:https?|wss?)\Z", re.IGNORECASE)  # a user alone is common before other hosts
# The words of a passphrase, which `_NAMED` would take for prose behind the first one.
_PASSPHRASE = LatePattern(
    r"(?:[Pp](?i:assphrase)|[Mm](?i:nemonic)|[SsRr](?i:(?<=s)eed[ _-]?phrase|(?<=r)ecovery[ _-]?phrase))"
    r"[\"']?(?:\*\*)?[ \t]{0,4}[:=](?:\*\*)?[ \t]{0,4}\\{0,3}[\"']?(?P<value>[\w'-]+(?: [\w'-]+){2,23})"
)
_BLOCK_HEAD = LatePattern(r":[ \t]{1,4}[|>][-+0-9]{0,2}[ \t]{0,4}\r?\n")  # of a YAML text of several lines
_NAME_AT_END = LatePattern(rf"""(?:{NAME_BEFORE_SIGN}|{MORE_BEFORE_SIGN})["']?[ \t]{{0,4}}\Z""")
_INDENT = LatePattern(r"[ \t]*")
_ELEMENT = LatePattern(
    rf"<[\w.:-]{{0,40}}?{NAME_OF_ONE}(?:[ \t][^<>\r\n]{{0,80}})?>(?P<value>[^<>\r\n]+)(?=</)", re.IGNORECASE
)
_VARIABLE = LatePattern(
    rf"(?P<name>(?i:{MORE_NAMES}|dd-ap(?:plication|i)-key|x-(?:functions|auth)-key)|(?<=[a-z])Pw){SIGN_AND_VALUE}",
    re.VERBOSE,
)
_ATTRIBUTE = LatePattern(
    rf"""(?:key|name)=\\{{0,3}}["'][\w.:-]{{0,60}}?{NAME_OF_ONE}\\{{0,3}}["'][ \t]{{1,4}}value=
        \\{{0,3}}["'](?P<value>[^"'\r\n\\<>]+)""",
    re.IGNORECASE | re.VERBOSE,
)
_COMPARED = LatePattern(
    r"(?P<quote>[\"'])(?P<value>[^\"'\s]{4,256})(?P=quote)[ \t]{1,4}[!=]==?[ \t]{1,4}[\w.$>-]{0,60}"
    r"(?i:passw(?:or)?d|secret|api_?key)\b"
)
_CODE_IN_QUERY = LatePattern(r"[?&]code=(?P<value>[A-Za-z0-9_%/+=-]{32,})")
_PGPASS = LatePattern(
    r"(?P<host>[A-Za-z0-9._*-]{1,253}):(?P<port>[0-9]{4,5}|\*):(?P<base>[\w.*-]{1,63}):(?P<user>[\w.*@-]{1,63})"
    r":(?P<value>(?:[^\s:\"'\\<>]|\\[:\\]){2,256})"
)
_KEY_DATA = LatePattern(r"client-key-data\\{0,3}[\"']?[ \t]{0,4}:[ \t]{0,4}\\{0,3}[\"']?(?P<value>[A-Za-z0-9+/=]{16,})")
_SESSION_COOKIE = LatePattern(
    r"(?:PHPSESSID|JSESSIONID|ASP\.NET_SessionId|connect\.sid|_gitlab_session|laravel_session)=(?P<value>[^\s;,\"'&\\]{8,})"
)
_AWS_ID = LatePattern(r"A(?:KI|SI|BI|CC)A[0-9A-Z]{16}(?![0-9A-Za-z])")
_AWS_SECRET = LatePattern(r"(?<![A-Za-z0-9/+=_.-])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=_.-])")
_AWS_NEAR = 240  # characters between an id and its secret: a line of a CSV file, two lines of a credentials file

_PLACE = LatePattern(r"[/~.%$]|[A-Za-z]:(?:[\\/]|\Z)|file:")  # how a folder begins, which is what `PWD` mostly holds
_OWNER_OF_PASS = LatePattern(
    r"(?<![A-Za-z])(?:db|database|user|admin|root|mysql|mariadb|pg|postgres|redis|mongo|smtp|imap|mail|email|ftp|ssh|proxy"
    r"|sudo|become|ldap|sql)[_-]?\Z",
    re.IGNORECASE,
)
_ESCAPE = LatePattern(r"(?:\\[bfnrtv]|[\[;0-9]m|%[0-9A-F]{2})\Z")  # whose last letter is none of the word behind it
_FOLLOWED = LatePattern(r"\(| [a-z]+ [a-z]")  # a call, or a sentence
_CALL = LatePattern(r"[A-Za-z_][\w.]{0,100}[(\[]")
_PLAIN_WORD = LatePattern(r"[A-Za-z_.]{1,32}[,;)]?[ \t]*(?:$|=|\|)")


def _header(found: re.Match[str]) -> str:
    name, value = found["name"].lower(), found["value"].strip()
    is_quoted = found["sep"][-1] in "\"'"
    if is_reference(value) or (name.endswith("cookie") and "=" not in value):
        return found[0]
    if value.lower() in ("basic", "bearer") or (not is_quoted and (_CALL.match(value) or _PLAIN_WORD.match(value))):
        return found[0]
    return take_out(found)


def _named(found: re.Match[str]) -> str:
    group, value = value_of(found)
    is_count = found["name"].lower() == "token" and value.isdecimal() and len(value) <= 7  # below ten million
    return found[0] if is_count or is_ordinary(value) or is_code(found, value) else take_out(found, group)


def _named_in_context(found: re.Match[str]) -> str:
    """Redact what follows a name that is the name of a secret only in some places, or with some values."""
    name, text = found["name"].lower(), found.string
    group, value = value_of(found)
    before = text[max(found.start("name") - 12, 0) : found.start("name")]
    match name:
        case "auth":
            is_none = _is_inside_word(found) or not is_login(value)
        case "pwd":
            is_call = group == "bare" and _FOLLOWED.match(text, found.end()) is not None
            is_none = _is_inside_word(found) or is_call or _PLACE.match(value) is not None or _is_count(value)
        case "psk":
            is_none = _is_inside_word(found)
        case "pass":
            is_variable = found["name"] == "PASS" and before.endswith("_")
            is_none = _is_count(value) or not (is_variable or _OWNER_OF_PASS.search(before))
        case _:
            is_none = False
    return found[0] if is_none or is_ordinary(value) or is_code(found, value) else take_out(found, group)


def _is_inside_word(found: re.Match[str]) -> bool:
    """Return whether a letter or a digit stands before a name."""
    before = found.string[max(found.start("name") - 3, 0) : found.start("name")]
    return before[-1:].isalnum() and before.isascii() and _ESCAPE.search(before) is None


def _is_count(value: str) -> bool:
    return value.isdecimal() and len(value) <= 3


def _named_in_other_languages(found: re.Match[str]) -> str:
    group, value = value_of(found)
    is_none = _is_inside_word(found) or is_ordinary(value) or is_code(found, value, is_password=True)
    return found[0] if is_none else take_out(found, group)


def _flag(found: re.Match[str]) -> str:
    return found[0] if is_ordinary(found["value"].strip("\"'.,:;!?)")) else take_out(found)


def _short_flag(found: re.Match[str]) -> str:
    return take_out(found) if is_secret_of_flag(found["name"], found["value"].strip("\"'")) else found[0]


def _listed(found: re.Match[str]) -> str:
    """Redact the word behind a flag in a list, unless it is a name too: what an option is called in a program."""
    name, value = found["name"].lower(), found["value"]
    if name in SHORT_FLAGS:
        return take_out(found) if is_secret_of_flag(name, value) else found[0]
    return found[0] if is_ordinary(value) or is_name(value) else take_out(found)


def is_secret_of_flag(name: str, value: str) -> bool:
    """Return whether a value is one behind `--pass`, `--auth` or `--pat`, which have other values as well."""
    if _PLACE.match(value) is not None or "://" in value or is_reference(value) or _is_count(value):
        return False
    if name.lower() == "auth":
        return ":" in value.strip(":") or (len(value) >= 16 and has_digit(value))
    return len(value) >= 4 and has_digit(value)


def _scheme(found: re.Match[str]) -> str:
    """Redact what follows `Bearer`, unless it is words."""
    value = found["value"]
    is_words = not has_digit(value) and (len(value) < 20 or not value.isalnum())
    if found["scheme"].lower() == "basic":
        is_words = not (is_login(value) or is_mixed(value))
    return found[0] if is_words else take_out(found)


def _query(found: re.Match[str]) -> str:
    return found[0] if is_ordinary(found["value"]) or found["value"].startswith(("%s", "{", "$")) else take_out(found)


def _url_login(found: re.Match[str]) -> str:
    is_none = is_reference(found["password"]) and (not has_digit(found["user"]) or is_reference(found["user"]))
    return found[0] if is_none else f"://{REDACTED}@"


def _url_token(found: re.Match[str]) -> str:
    scheme = found.string[max(found.start() - 5, 0) : found.start()]
    value = found["value"]
    is_token = (has_digit(value) and "." not in value) or len(value) >= 24
    is_none = _LIKE_PROGRAM.search(scheme) is None or not is_token or is_reference(value)
    return found[0] if is_none else take_out(found)


def _variable(found: re.Match[str]) -> str:
    """Redact the value of a variable or a header, unless it is a place or short; in a program also a word is none."""
    group, value = value_of(found)
    is_format = value.startswith("{")
    is_none = (
        len(value) < 6 or is_format or _PLACE.match(value) is not None or is_ordinary(value) or is_code(found, value)
    )
    name = found["name"]
    is_word = not name.isupper() and (name == "_pat" or not has_digit(value))
    return found[0] if is_none or is_word else take_out(found, group)


def _compared(found: re.Match[str]) -> str:
    """Redact what a program compares a password with, unless it is a word."""
    return take_out(found) if has_digit(found["value"]) else found[0]


def _pgpass(found: re.Match[str]) -> str:
    """Redact the last of the five fields of a line of .pgpass, unless they are those of an address or of a message."""
    # Of an address's parts both could be hexadecimal; a database may be called `db`.
    is_name = not re.fullmatch(r"[0-9.]+", found["base"]) and not re.fullmatch(
        r"[0-9a-f]{0,4}|[0-9.]+", found["user"], re.IGNORECASE
    )
    before = found.string[found.start() - 1 : found.start()] if found.start() else ""
    is_place = before in ("/", ":") or is_ordinary(found["value"]) or found["value"].startswith("//")
    return found[0] if is_place or not is_name else take_out(found)


def _aws(text: str) -> str:
    """Redact the secrets that stand near the id of an AWS key, without a name of their own."""
    pieces, at = [], 0
    for secret in _AWS_SECRET.finditer(text):
        begin = max(secret.start() - _AWS_NEAR, 0)
        if is_mixed(secret[0]) and _AWS_ID.search(text, begin, secret.end() + _AWS_NEAR) is not None:
            pieces += [text[at : secret.start()], REDACTED]
            at = secret.end()
    return "".join([*pieces, text[at:]])


def find_blocks(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the indented lines after `password: |`: where they begin and end, and how deep the first one is."""
    at = 0
    for head in _BLOCK_HEAD.finditer(text):
        if head.start() < at or _NAME_AT_END.search(text, max(head.start() - 40, 0), head.start()) is None:
            continue
        line = text.rfind("\n", at, head.start()) + 1 or at
        begin = re.match(r"[ \t]*(?:-[ \t]{1,4})*", text[line : head.start()])
        end, first = _block_end(text, head.end(), begin.end() if begin is not None else 0)
        if end > head.end():
            yield head.end(), end, first
            at = end


def _blocks(text: str) -> str:
    """Redact the indented lines after `password: |`."""
    pieces, at = [], 0
    for begin, end, first in find_blocks(text):
        tail = "\n" if text[end - 1] == "\n" else ""
        pieces += [text[at:begin], first, REDACTED, tail]
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


_NAMES = ("key", "token", "secret", "passw", "passphrase", "credential", "cookie")
RULES = (
    rule("private key", ("-begin ", "- begin "), _KEY_BLOCK, lambda _: REDACTED),
    rule("PuTTY key", ("private-",), _PUTTY, take_out),
    line_rule("JSON web key", ("kty",), _JSON_KEY, take_out),
    rule("kubeconfig", ("client-key-data",), _KEY_DATA, take_out),
    Rule("AWS secret", ("akia", "asia", "abia", "acca"), _aws),
    line_rule("header", ("authorization", "api-key", "cookie"), _HEADER, _header),
    Rule("block of YAML", (": |", ": >", ":  ", ":\t"), _blocks),
    rule("passphrase", ("phrase", "mnemonic"), _PASSPHRASE, take_out_value),
    rule("element", ("</",), _ELEMENT, take_out_value),
    *COMMANDS,
    VENDORS,
    line_rule(
        "variable or header",
        (*MORE_NEEDS, "pw", "dd-ap", "x-functions-key", "x-auth-key"),
        _VARIABLE,
        _variable,
    ),
    rare_rule("attribute", _NAMES, (" value=", "\tvalue="), _ATTRIBUTE, take_out_value),
    rare_rule("comparison", _NAMES, ("== ", "==\t", "!= "), _COMPARED, _compared),
    line_rule("code in a query", ("code=",), _CODE_IN_QUERY, _query),
    rule("pgpass", (":543", ":6432:", ":*:", "pgpass", ":25060:"), _PGPASS, _pgpass),
    rule(
        "session cookie", ("sessid", "sessionid", "connect.sid", "b_session=", "l_session="), _SESSION_COOKIE, take_out
    ),
    rule("name", _NAMES, _NAMED, _named),
    rule(
        "name in its place",
        ("pwd", "pass", "psk", "auth", "account", "master", "secret_key_base"),
        _NAMED_TOO,
        _named_in_context,
    ),
    rule("name in another language", IN_OTHER_LANGUAGES, _NAMED_FOREIGN, _named_in_other_languages),
    line_rule("flag", ("--",), _FLAG, _flag),
    rare_rule("flag with some values", ("--",), ("--pass", "--auth", "--pat"), _SHORT_FLAG, _short_flag),
    rare_rule("flag in a list", ("--",), ('"--', "'--"), _LISTED, _listed),
    rare_rule("header of a command", (*_NAMES, "authorization"), ("-H", "--header"), _HEADER_FLAG, take_out_value),
    line_rule("scheme", ("bearer", "basic"), _SCHEME, _scheme),
    rule("login in a URL", ("://",), _URL_LOGIN, _url_login),
    rule("token in a URL", ("://",), _URL_TOKEN, _url_token),
    line_rule("query", ("key=", "auth=", "sig=", "signature=", "credential="), _IN_QUERY, _query),
)
