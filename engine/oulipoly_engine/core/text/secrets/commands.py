"""Secrets in commands, in SQL and in what commands read: one row for each kind. Pure.

Every pattern is linear: see `rules.py`.
"""

from __future__ import annotations

import re

from oulipoly_engine.core.text.late_pattern import LatePattern
from oulipoly_engine.core.text.secrets.names import NAME_OF_ONE
from oulipoly_engine.core.text.secrets.rule import REDACTED, line_rule, rule, take_out, take_out_value
from oulipoly_engine.core.text.secrets.values import is_reference

# A secret in a command: quoted, perhaps with escaped quotes, or up to the next blank.
_WORD = r"""(?:(?P<quote>\\{0,3}["'])(?P<quoted>[^"'\r\n\\]+)|(?P<word>[^\s"'`<>;|&\\][^\s"'`<>;|&\\]*))"""
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
_NETRC = LatePattern(rf"login[ \t]{{1,4}}\S{{1,128}}\s{{1,16}}password[ \t]{{1,4}}{_WORD}")
_MACHINE = LatePattern(r"(?:machine[ \t]{1,4}\S{1,256}|default)\s{1,16}\Z")
_SET = LatePattern(
    rf"""[Ss](?<!\w.)(?i:et(?:x(?:[ \t]{{1,4}}/m)?|env|(?:[ \t]{{1,4}}-{{1,2}}[a-z-]{{1,12}}){{1,4}})[ \t]{{1,4}}
        [A-Za-z0-9_]{{0,60}}?(?:{NAME_OF_ONE}|pwd|(?<=_)pass|secret_key_base)[ \t]{{1,4}}){_WORD}""",
    re.VERBOSE,
)
_NUMBERS = LatePattern(r"[0-9:.]+")  # of ports, and of a user and a group


def _word(found: re.Match[str]) -> str:
    """Redact the word or the quoted text at the end of a command."""
    group = "quoted" if found["quoted"] else "word"
    value = found[group]
    if value == REDACTED or is_reference(value) or _NUMBERS.fullmatch(value):
        return found[0]
    return take_out(found, group)


def _piped(found: re.Match[str]) -> str:
    return found[0] if is_reference(found["value"].strip("\"'")) else take_out(found)


def _netrc(found: re.Match[str]) -> str:
    """Redact a password, unless it is a plain word of prose about a login."""
    is_word = found["word"] is not None and found["word"].rstrip(".,:!?)").isalpha()
    before = found.string[max(found.start() - 300, 0) : found.start()]
    return found[0] if is_word and _MACHINE.search(before) is None else _word(found)


COMMANDS = (
    rule("curl", ("curl",), _CURL, _word),
    rule("mysql", ("mysql", "mariadb"), _MYSQL, _word),
    rule("sshpass", ("sshpass",), _SSHPASS, _word),
    rule("flag of a program", ("login ", "redis-cli", "ldap", "htpasswd"), _PROGRAM_FLAG, _word),
    rule("openssl", ("pass:",), _OPENSSL, _word),
    rule("samba", ("smbclient", "rpcclient"), _SAMBA, take_out),
    line_rule("SQL", ("identified", "create ", "alter "), _SQL, take_out_value),
    line_rule("PHP", ("define(",), _DEFINE, take_out_value),
    line_rule("Oracle", ("jdbc:oracle",), _ORACLE, take_out),
    line_rule(
        "flag of another program",
        (
            *("mongo", "twine ", "az ", "cqlsh ", "sqlcmd ", "bcp ", "zip ", "7z", "storepass", "keypass", "openssl "),
            *("vault ", "http ", "https "),
        ),
        _MORE_PROGRAMS,
        _word,
    ),
    line_rule("secret in a pipe", ("--password-stdin", "--with-token", "chpasswd"), _PIPED, _piped),
    rule("netrc", ("login",), _NETRC, _netrc),
    rule("set", ("set -", "set\t", "set  ", "setx", "setenv"), _SET, _word),
)
