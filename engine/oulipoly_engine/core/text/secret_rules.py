"""Secrets that are known by what stands around them: one row for each kind. Pure.

A row is the kind, what has to be in a text for it, and what takes the secret out. Every pattern is linear: it starts
only where its class of characters begins, and every repetition before a required part is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from oulipoly_engine.core.text.late_pattern import LatePattern
from oulipoly_engine.core.text.secret_values import (
    has_digit,
    is_code,
    is_login,
    is_mixed,
    is_name,
    is_ordinary,
    is_reference,
)

REDACTED = "[redacted]"


class Rule(NamedTuple):
    """One kind of secret."""

    kind: str
    needs: tuple[str, ...]  # one of them is in every text that has one, in small letters
    apply: Callable[[str], str]  # takes the secrets of this kind out of a text
    is_in_line: bool = False  # no secret of this kind goes over a line's end, nor does what tells it


def _rule(kind: str, needs: tuple[str, ...], pattern: LatePattern, change: Callable[[re.Match[str]], str]) -> Rule:
    return Rule(kind, needs, lambda text: pattern.sub(change, text))


def _line_rule(kind: str, needs: tuple[str, ...], pattern: LatePattern, change: Callable[[re.Match[str]], str]) -> Rule:
    """Return a rule that is tried only near its needs, however long the text is."""
    return Rule(kind, needs, lambda text: pattern.sub(change, text), is_in_line=True)


def _rare_rule(
    kind: str,
    needs: tuple[str, ...],
    words: tuple[str, ...],
    pattern: LatePattern,
    change: Callable[[re.Match[str]], str],
) -> Rule:
    """Return a rule that is tried where one of the words is too: texts without its needs are not searched for those."""

    def apply(text: str) -> str:
        return pattern.sub(change, text) if any(word in text for word in words) else text

    return Rule(kind, needs, apply)


NAME_OF_ONE = (
    r"(?:api[ _-]?key|access[ _-]?key(?:[ _-]?id)?"
    r"|(?:secret|private|signing|encryption|auth|subscription|shared)[ _-]?key"
    r"|token|secret|passw(?:or)?d|passphrase|credential|cookie|psk)"
)
# The same names, and some that are one only before a sign. Each begins with a set of letters, by which the search for
# it is four times as fast; the long s is what ignoring case takes for an s.
_NAME_BEFORE_SIGN = (
    r"[AaCcEePpSs\u017fTt](?i:(?<=a)(?:pi[ _-]?key|ccess[ _-]?key(?:[ _-]?id)?|uth[ _-]?key)"
    r"|(?<=s)(?:ecret(?:[ _-]?key)?|igning[ _-]?key|ubscription[ _-]?key|hared[ _-]?key)"
    r"|(?<=p)(?:rivate[ _-]?key|assw(?:or)?d|assphrase)|(?<=e)ncryption[ _-]?key|(?<=t)oken|(?<=c)(?:redential|ookie))"
)
_MORE_BEFORE_SIGN = (
    r"[AaMmPpSs\u017f](?i:(?<=p)(?:wd|ass|sk)|(?<=a)(?:uth|ccount[_-]?key)|(?<=s)ecret_key_base|(?<=m)aster[_-]?key)"
)
# "Password" in other languages, and "key" where only a program's key can be meant. Small letters.
IN_OTHER_LANGUAGES = (
    *(
        "passwort",
        "kennwort",
        "zugangscode",
        "api-schl\u00fcssel",
        "mot de passe",
        "mdp",
        "cl\u00e9 api",
        "cl\u00e9 secr\u00e8te",
    ),
    *("contrase\u00f1a", "contrasena", "contrasenya", "clave secreta", "clave de acceso", "clave api", "senha"),
    *("palavra-passe", "palavra passe", "chave secreta", "parola", "parol\u0103", "chiave segreta", "wachtwoord"),
    *("l\u00f6senord", "losenord", "passord", "adgangskode", "kodeord", "salasana", "has\u0142o", "haslo", "heslo"),
    *(
        "jelsz\u00f3",
        "jelszo",
        "\u015fifre",
        "sifre",
        "slapta\u017eodis",
        "lozinka",
        "zaporka",
        "geslo",
        "parool",
        "salas\u00f5na",
    ),
    *(
        "lykilor\u00f0",
        "pasahitza",
        "kata sandi",
        "m\u1eadt kh\u1ea9u",
        "\u043f\u0430\u0440\u043e\u043b\u044c",
        "\u043f\u0430\u0440\u043e\u043b\u0430",
    ),
    *(
        "\u043b\u043e\u0437\u0438\u043d\u043a\u0430",
        "\u03ba\u03c9\u03b4\u03b9\u03ba\u03cc\u03c2",
        "\u5bc6\u7801",
        "\u5bc6\u78bc",
        "\u53e3\u4ee4",
        "\u79d8\u5bc6\u9375",
    ),
    *(
        "\u30d1\u30b9\u30ef\u30fc\u30c9",
        "\u6697\u8a3c\u756a\u53f7",
        "\ube44\ubc00\ubc88\ud638",
        "\uc554\ud638",
        "\u0e23\u0e2b\u0e31\u0e2a\u0e1c\u0e48\u0e32\u0e19",
    ),
    *(
        "\u092a\u093e\u0938\u0935\u0930\u094d\u0921",
        "\u0643\u0644\u0645\u0629 \u0627\u0644\u0645\u0631\u0648\u0631",
        "\u0643\u0644\u0645\u0629 \u0627\u0644\u0633\u0631",
    ),
    *("\u05e1\u05d9\u05e1\u05de\u05d4", "\u05e1\u05d9\u05e1\u05de\u05d0"),
)
# A secret in a command: quoted, perhaps with escaped quotes, or up to the next blank.
_WORD = r"""(?:(?P<quote>\\{0,3}["'])(?P<quoted>[^"'\r\n\\]+)|(?P<word>[^\s"'`<>;|&\\][^\s"'`<>;|&\\]*))"""

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
_STRING_PREFIX = r"""(?:[rbfuRBFU]{1,2}(?=["']))?"""
_HEADER = LatePattern(
    rf"""(?P<name>\b(?:proxy-)?authorization|\bx-api-key|\bx-goog-api-key|\b(?:set-)?cookie)
        (?P<sep>\\{{0,3}}["']?\]?[ \t]{{0,4}}[:=][ \t]{{0,4}}{_STRING_PREFIX}\\{{0,3}}["']?)
        (?P<value>[^"'\r\n\\]+)""",
    re.IGNORECASE | re.VERBOSE,
)
_SIGN_AND_VALUE = rf"""
        (?P<sep>\\{{0,3}}["']?\]?(?:\*\*)?[ \t\u00a0]{{0,4}}
            (?:(?::[ ]?(?:str|[Ss]tring|bytes|&(?:'static[ ])?str)(?:[ ]?\|[ ]?None)?[ ]?=)|:=|=>|[=!]==?|[:=\uff1a])
            (?:\*\*)?[ \t\u00a0]{{0,4}}{_STRING_PREFIX})
        (?:
            (?P<escaped>\\{{1,7}}["'])(?P<in_escaped>[^"'\\\r\n]+)
          | "(?P<in_double>(?:[^"\\\r\n]|\\.)+)
          | '(?P<in_single>(?:[^'\\\r\n]|\\.)+)
          | (?<!=)`(?P<in_code>[^`\r\n]+)(?=`)
          | (?P<bare>(?i:\[redacted\])?[^\s"'\x1b`,;&(){{}}\[\]<>\\]*)
        )"""
_NAMED, _NAMED_TOO, _NAMED_FOREIGN = (
    LatePattern(rf"(?P<name>{name}){_SIGN_AND_VALUE}", re.VERBOSE)
    for name in (
        _NAME_BEFORE_SIGN,
        _MORE_BEFORE_SIGN,
        rf"(?i:{'|'.join(name.replace(' ', '[ ]') for name in IN_OTHER_LANGUAGES)})",
    )
)
_FLAG = LatePattern(
    rf"""(?<![\w-])(?P<flag>--(?:[a-z0-9]{{1,24}}-){{0,4}}{NAME_OF_ONE})(?P<gap>[ \t]{{1,4}})
        (?P<value>"[^"\r\n]*"|'[^'\r\n]*'|[^\s"'-][^\s"']*)""",
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
HEADER_OF_ONE = rf"[\w-]{{0,40}}?(?:{NAME_OF_ONE.replace('[ _-]', '[_-]')}|authorization)[\w-]{{0,20}}"
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
_NAME_AT_END = LatePattern(rf"""(?:{_NAME_BEFORE_SIGN}|{_MORE_BEFORE_SIGN})["']?[ \t]{{0,4}}\Z""")
_INDENT = LatePattern(r"[ \t]*")
_ELEMENT = LatePattern(
    rf"<[\w.:-]{{0,40}}?{NAME_OF_ONE}(?:[ \t][^<>\r\n]{{0,80}})?>(?P<value>[^<>\r\n]+)(?=</)", re.IGNORECASE
)
_CURL = LatePattern(
    rf"""curl(?:(?<!\wcurl)|(?<=\\[nrt]curl)|(?<=[0-9]mcurl))\b(?:[^\r\n\\]|\\.|\\\r?\n){{0,200}}?[ \t\n]
        (?:-[uU][ \t]{{0,4}}|--(?:proxy-)?user(?:[ \t]{{1,4}}|=))
        (?=[^\s:]{{0,128}}:[^\s"'\\]){_WORD}""",
    re.VERBOSE,
)
_MYSQL = LatePattern(rf"(?:mysql|mariadb)[\w-]{{0,12}}[ \t](?:[^\r\n;|&]{{0,200}}?[ \t])?-p{_WORD}")
_SSHPASS = LatePattern(rf"sshpass[ \t]{{1,4}}(?:-[ev][ \t]{{1,4}}){{0,2}}-p[ \t]{{0,4}}{_WORD}")
_PROGRAM_FLAG = LatePattern(
    rf"""(?:(?:docker|podman|helm|nerdctl)[ ](?:registry[ ])?login\b[^\r\n;|&]{{0,200}}?[ ]-p[ ]{{1,4}}
        |redis-cli\b[^\r\n;|&]{{0,200}}?[ ]-a[ ]{{1,4}}|ldap[a-z]{{3,10}}\b[^\r\n;|&]{{0,200}}?[ ]-w[ ]{{1,4}}
        |htpasswd[ ]-[A-Za-z]{{0,6}}b[A-Za-z]{{0,6}}[ ]{{1,4}}(?:[^\s;|&]{{1,200}}[ ]{{1,4}}){{1,2}}){_WORD}""",
    re.VERBOSE,
)
_OPENSSL = LatePattern(rf"-pass(?:in|out)?[ \t]{{1,4}}[\"']?pass:{_WORD}")
_SAMBA = LatePattern(r"(?:smb|rpc)client\b[^\r\n;|&]{0,200}?[ ]-U[ ]{0,4}[\"']?[^\s%\"']{1,64}%(?P<value>[^\s\"'\\]+)")
_SQL = LatePattern(
    r"(?:(?<=\b)identified(?:[ ]{1,4}with[ ]{1,4}\S{1,64})?[ ]{1,4}by(?:[ ]{1,4}password)?[ ]{1,4}"
    r"|(?:create|alter)[ ]{1,4}(?:user|role|login)\b[^;\r\n]{0,200}?\bpassword[ ]{1,4}=?[ ]{0,4})"
    r"\\{0,3}[\"'](?P<value>[^\"'\r\n\\]+)",
    re.IGNORECASE,
)
_DEFINE = LatePattern(
    r"define\([ ]{0,4}[\"'][A-Z0-9_]{0,60}(?:PASSWORD|SECRET|TOKEN|KEY|SALT)[\"']"
    r"[ ]{0,4},[ ]{0,4}[\"'](?P<value>[^\"'\r\n]+)"
)
_ORACLE = LatePattern(r"jdbc:oracle:[a-z0-9]{2,5}:[^\s/@\"']{1,64}/(?P<value>[^\s@\"']{1,256})@")
_VARIABLE = LatePattern(
    r"(?P<name>[ACDFGHSUXdx_](?:(?<=A)PP_KEY|(?<=H)MAC_KEY|(?<=F)ERNET_KEY|(?<=S)TORAGE_KEY|(?<=U)NSEAL_KEY|(?<=G)H_PAT"
    r"|(?<=_)PAT|(?<=_)PW|(?<=C)REDENTIALS|(?i:(?<=d)d-ap(?:plication|i)-key|(?<=x)-(?:functions|auth)-key)))"
    rf"{_SIGN_AND_VALUE}",
    re.VERBOSE,
)
_MORE_PROGRAMS = LatePattern(
    rf"""(?:(?:mongosh|mongo(?:dump|restore|export|import)?|twine|az|cqlsh)[ ][^\r\n;|&]{{0,200}}?(?<=[ ])-p[ ]{{1,4}}
        |(?:sqlcmd|bcp)[ ][^\r\n;|&]{{0,200}}?(?<=[ ])-P[ ]{{0,4}}|\bzip[ ][^\r\n;|&]{{0,200}}?(?<=[ ])-P[ ]{{1,4}}
        |\b7z[a-z]?[ ][a-z][ ][^\r\n;|&]{{0,200}}?(?<=[ ])-p|-(?:(?:src|dest)?storepass|keypass)[ ]{{1,4}}
        |openssl[ ][^\r\n;|&]{{0,200}}?(?<=[ ])-k[ ]{{1,4}}
        |vault[ ](?:login|operator[ ]unseal)[ ]{{1,4}}(?!-)(?:token=)?
        |\bhttps?[ ][^\r\n;|&]{{0,200}}?(?<=[ ])-a[ ]{{1,4}}[^\s:]{{1,64}}:){_WORD}""",
    re.VERBOSE,
)
_PIPED = LatePattern(
    r"""(?:echo|printf)(?:[ ]-[ne]{1,2}|[ ]["']?%s["']?)?[ ]{1,4}
        (?P<value>"[^"\r\n]{1,400}"|'[^'\r\n]{1,400}'|[^\s|;&"']{1,400})
        [ ]{0,4}\|[ ]{0,4}(?:sudo[ ])?(?:chpasswd|gh[ ]auth[ ]login[^\r\n|]{0,200}--with-token
        |[a-z]{2,12}[ ][^\r\n|]{0,200}--password-stdin)""",
    re.VERBOSE,
)
_CODE_IN_QUERY = LatePattern(r"[?&]code=(?P<value>[A-Za-z0-9_%/+=-]{32,})")
_NETRC = LatePattern(rf"login[ \t]{{1,4}}\S{{1,128}}\s{{1,16}}password[ \t]{{1,4}}{_WORD}")
_MACHINE = LatePattern(r"(?:machine[ \t]{1,4}\S{1,256}|default)\s{1,16}\Z")
_SET = LatePattern(
    rf"""[Ss](?<!\w.)(?i:et(?:x(?:[ \t]{{1,4}}/m)?|env|(?:[ \t]{{1,4}}-{{1,2}}[a-z-]{{1,12}}){{1,4}})[ \t]{{1,4}}
        [A-Za-z0-9_]{{0,60}}?(?:{NAME_OF_ONE}|pwd|(?<=_)pass|secret_key_base)[ \t]{{1,4}}){_WORD}""",
    re.VERBOSE,
)
_PGPASS = LatePattern(
    r"(?P<host>[A-Za-z0-9._*-]{1,253}):(?P<port>[0-9]{4,5}|\*):(?P<base>[\w.*-]{1,63}):(?P<user>[\w.*@-]{1,63})"
    r":(?P<value>(?:[^\s:\"'\\<>]|\\[:\\]){2,256})"
)
_KEY_DATA = LatePattern(r"client-key-data\\{0,3}[\"']?[ \t]{0,4}:[ \t]{0,4}\\{0,3}[\"']?(?P<value>[A-Za-z0-9+/=]{16,})")
_SESSION_COOKIE = LatePattern(r"(?:PHPSESSID|JSESSIONID|ASP\.NET_SessionId|connect\.sid)=(?P<value>[^\s;,\"'&\\]{8,})")
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
_NUMBERS = LatePattern(r"[0-9:.]+")  # of ports, and of a user and a group
_FOLLOWED = LatePattern(r"\(| [a-z]+ [a-z]")  # a call, or a sentence
_CALL = LatePattern(r"[A-Za-z_][\w.]{0,100}[(\[]")
_PLAIN_WORD = LatePattern(r"[A-Za-z_.]{1,32}[,;)]?[ \t]*(?:$|=|\|)")


def take_out(found: re.Match[str], group: str = "value") -> str:
    """Return a match with one of its groups redacted."""
    begin, end = found.start(group) - found.start(), found.end(group) - found.start()
    return found[0][:begin] + REDACTED + found[0][end:]


def keep_reference(value: str) -> str:
    """Return a value that only says where the secret is, and what stands for any other."""
    return value if is_reference(value) else REDACTED


def _header(found: re.Match[str]) -> str:
    name, value = found["name"].lower(), found["value"].strip()
    is_quoted = found["sep"][-1] in "\"'"
    if is_reference(value) or (name.endswith("cookie") and "=" not in value):
        return found[0]
    if value.lower() in ("basic", "bearer") or (not is_quoted and (_CALL.match(value) or _PLAIN_WORD.match(value))):
        return found[0]
    return take_out(found)


def _named(found: re.Match[str]) -> str:
    group, value = _value_of(found)
    is_count = found["name"].lower() == "token" and value.isdecimal() and len(value) <= 7  # below ten million
    return found[0] if is_count or is_ordinary(value) or is_code(found, value) else take_out(found, group)


def _named_in_context(found: re.Match[str]) -> str:
    """Redact what follows a name that is the name of a secret only in some places, or with some values."""
    name, text = found["name"].lower(), found.string
    group, value = _value_of(found)
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
    group, value = _value_of(found)
    is_none = _is_inside_word(found) or is_ordinary(value) or is_code(found, value, is_password=True)
    return found[0] if is_none else take_out(found, group)


def _value_of(found: re.Match[str]) -> tuple[str, str]:
    """Return the name of the group that holds the value, and the value."""
    groups = ("in_escaped", "in_double", "in_single", "in_code")
    group = next((name for name in groups if found[name]), "bare")
    return group, found[group] or ""


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


def _value(found: re.Match[str]) -> str:
    value = found["value"].strip()
    is_none = is_ordinary(value.partition(" ")[0]) or value.startswith(("{", "$"))
    return found[0] if is_none else take_out(found)


def _word(found: re.Match[str]) -> str:
    """Redact the word or the quoted text at the end of a command."""
    group = "quoted" if found["quoted"] else "word"
    value = found[group]
    if value == REDACTED or is_reference(value) or _NUMBERS.fullmatch(value):
        return found[0]
    return take_out(found, group)


def _variable(found: re.Match[str]) -> str:
    """Redact the value of a variable or a header, unless it is a place or short."""
    group, value = _value_of(found)
    is_none = len(value) < 6 or _PLACE.match(value) is not None or is_ordinary(value) or is_code(found, value)
    return found[0] if is_none else take_out(found, group)


def _piped(found: re.Match[str]) -> str:
    return found[0] if is_reference(found["value"].strip("\"'")) else take_out(found)


def _netrc(found: re.Match[str]) -> str:
    """Redact a password, unless it is a plain word of prose about a login."""
    is_word = found["word"] is not None and found["word"].rstrip(".,:!?)").isalpha()
    before = found.string[max(found.start() - 300, 0) : found.start()]
    return found[0] if is_word and _MACHINE.search(before) is None else _word(found)


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


def _blocks(text: str) -> str:
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


_NAMES = ("key", "token", "secret", "passw", "passphrase", "credential", "cookie")
RULES = (
    _rule("private key", ("-begin ", "- begin "), _KEY_BLOCK, lambda _: REDACTED),
    _rule("PuTTY key", ("private-",), _PUTTY, take_out),
    _line_rule("JSON web key", ("kty",), _JSON_KEY, take_out),
    _rule("kubeconfig", ("client-key-data",), _KEY_DATA, take_out),
    Rule("AWS secret", ("akia", "asia", "abia", "acca"), _aws),
    _line_rule("header", ("authorization", "api-key", "cookie"), _HEADER, _header),
    Rule("block of YAML", (": |", ": >", ":  ", ":\t"), _blocks),
    _rule("passphrase", ("phrase", "mnemonic"), _PASSPHRASE, _value),
    _rule("element", ("</",), _ELEMENT, _value),
    _rule("curl", ("curl",), _CURL, _word),
    _rule("mysql", ("mysql", "mariadb"), _MYSQL, _word),
    _rule("sshpass", ("sshpass",), _SSHPASS, _word),
    _rule("flag of a program", ("login ", "redis-cli", "ldap", "htpasswd"), _PROGRAM_FLAG, _word),
    _rule("openssl", ("pass:",), _OPENSSL, _word),
    _rule("samba", ("smbclient", "rpcclient"), _SAMBA, take_out),
    _line_rule("SQL", ("identified", "create ", "alter "), _SQL, _value),
    _line_rule("PHP", ("define(",), _DEFINE, _value),
    _line_rule("Oracle", ("jdbc:oracle",), _ORACLE, take_out),
    _rule(
        "variable or header",
        (
            *("app_key", "hmac_key", "fernet_key", "storage_key", "unseal_key", "_pat", "_pw", "credentials"),
            *("dd-ap", "x-functions-key", "x-auth-key"),
        ),
        _VARIABLE,
        _variable,
    ),
    _line_rule(
        "flag of another program",
        (
            *("mongo", "twine ", "az ", "cqlsh ", "sqlcmd ", "bcp ", "zip ", "7z", "storepass", "keypass", "openssl "),
            *("vault ", "http ", "https "),
        ),
        _MORE_PROGRAMS,
        _word,
    ),
    _line_rule("secret in a pipe", ("--password-stdin", "--with-token", "chpasswd"), _PIPED, _piped),
    _line_rule("code in a query", ("code=",), _CODE_IN_QUERY, _query),
    _rule("netrc", ("login",), _NETRC, _netrc),
    _rule("pgpass", (":543", ":6432:", ":*:", "pgpass", ":25060:"), _PGPASS, _pgpass),
    _rule("set", ("set -", "set\t", "set  ", "setx", "setenv"), _SET, _word),
    _rule("session cookie", ("sessid", "sessionid", "connect.sid"), _SESSION_COOKIE, take_out),
    _rule("name", _NAMES, _NAMED, _named),
    _rule(
        "name in its place",
        ("pwd", "pass", "psk", "auth", "account", "master", "secret_key_base"),
        _NAMED_TOO,
        _named_in_context,
    ),
    _rule("name in another language", IN_OTHER_LANGUAGES, _NAMED_FOREIGN, _named_in_other_languages),
    _line_rule("flag", ("--",), _FLAG, _flag),
    _rare_rule("flag with some values", ("--",), ("--pass", "--auth", "--pat"), _SHORT_FLAG, _short_flag),
    _rare_rule("flag in a list", ("--",), ('"--', "'--"), _LISTED, _listed),
    _rare_rule("header of a command", (*_NAMES, "authorization"), ("-H", "--header"), _HEADER_FLAG, _value),
    _line_rule("scheme", ("bearer", "basic"), _SCHEME, _scheme),
    _rule("login in a URL", ("://",), _URL_LOGIN, _url_login),
    _rule("token in a URL", ("://",), _URL_TOKEN, _url_token),
    _line_rule("query", ("key=", "auth=", "sig=", "signature=", "credential="), _IN_QUERY, _query),
)
