"""Secrets in commands, in SQL and in what commands read: one row for each kind. Pure.

Every pattern is linear: see `rules.py`.
"""

from __future__ import annotations

import re

from oulipoly_engine.core.text.secrets.names import MORE_NAMES, NAME_OF_ONE
from oulipoly_engine.core.text.secrets.rule import REDACTED, line_rule, rule, take_out, take_out_value
from oulipoly_engine.core.text.secrets.values import has_digit, is_reference
from oulipoly_engine.late_pattern import LatePattern

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
_OPENSSL = LatePattern(rf"-pass(?:in|out|word)?[ \t]{{1,4}}[\"']?pass:{_WORD}")
_SAMBA = LatePattern(r"(?:smb|rpc)client\b[^\r\n;|&]{0,200}?[ ]-U[ ]{0,4}[\"']?[^\s%\"']{1,64}%(?P<value>[^\s\"'\\]+)")
_QUOTED_IN_SQL = r"(?:\\{0,3}[\"']|\$\$)(?P<value>(?:[^\"'\r\n\\$]|''(?=[^\s,;)])|\$(?!\$))+)"
_SQL = LatePattern(
    r"(?:(?<=\b)identified(?:[ ]{1,4}with[ ]{1,4}\S{1,64})?[ ]{1,4}(?:by|as)(?:[ ]{1,4}(?:password|values))?[ ]{1,4}"
    r"|(?<=\[redacted\][\"'])[ ]{1,4}replace[ ]{1,4}"
    r"|(?:create|alter)[ ]{1,4}(?:user|role|login)\b[^;]{0,200}?\bpassword[ ]{1,4}=?[ ]{0,4}n?"
    r"|(?<=\b)set[ ]{1,4}password(?:[ ]{1,4}for[ ]{1,4}[^\s;]{1,128})?[ ]{0,4}=[ ]{0,4}(?:password[ ]?\([ ]?)?)"
    + _QUOTED_IN_SQL,
    re.IGNORECASE,
)
_SQL_WORD = LatePattern(
    r"(?:create|alter)[ ]{1,4}user[ ]{1,4}[^\s;]{1,128}\s{1,8}identified[ ]{1,4}by[ ]{1,4}"
    rf"(?!values){_WORD}",
    re.IGNORECASE,
)
_DEFINE = LatePattern(
    r"define[ ]?\([ \t]{0,4}[\"'][A-Z0-9_]{0,60}(?:PASSWORD|PASS|PWD|SECRET|TOKEN|KEY|SALT)[\"']"
    r"[ \t]{0,4},[ \t]{0,4}[\"'](?P<value>[^\"'\r\n]+)",
    re.IGNORECASE,
)
_ORACLE = LatePattern(
    r"(?:jdbc:oracle:[a-z0-9]{2,5}:|\b(?:sqlplus|sqlldr|expdp|impdp|rman)[ ](?:[^\r\n;|&]{0,80}?[ ])?)"
    r"[\"']?[\w$#]{1,64}[\"']?/[\"']?(?P<value>[^\s@\"'/]{1,256})[\"']?@",
    re.IGNORECASE,
)
# Which options of a program a secret follows; by the programs, of which one is tried after the other.
_OPTIONS = (
    (r"mongosh|mongo(?:dump|restore|export|import|files)?|twine|cqlsh", r"-p[ =]{0,4}"),
    (r"az|useradd|usermod", r"-p[ ]{1,4}"),
    (r"sqlcmd|bcp|osql|tsql", r"-P[ ]{0,4}"),
    (r"(?:un)?zip", r"-[A-Za-z]{0,6}P[ ]{0,4}"),
    (r"7z{1,2}[a-z]?[ ][a-z]", r"-p"),
    (r"(?:un)?rar[ ][a-z]{1,2}", r"-h?p"),
    (r"keytool", r"-new[ ]{1,4}"),
    (r"openssl", r"-[kK][ ]{1,4}"),
    (r"openssl[ ]passwd", r"(?:-[0-9a-z]{1,8}[ ]{1,4}){1,4}"),
    (r"gh[ ]secret[ ]set", r"(?:--body|-b)[ =]{1,4}"),
    (r"kubectl[ ]create[ ]secret", r"--from-literal[ =]{1,4}[\w.-]{1,64}="),
    (r"https?|xhs?", r"-a[ ]{1,4}[^\s:]{1,64}:"),
    (r"(?:https?|xhs?)[ ][^\r\n;|&]{0,80}?(?:-A[ ]|--auth-type[ =])bearer", r"(?:-a[ ]|--auth[ =])"),
)
_MORE_PROGRAMS = LatePattern(
    "(?:"
    + "|".join(rf"\b(?:{program})[ ](?:[^\r\n;|&]{{0,200}}?[ ])?{option}" for program, option in _OPTIONS)
    + rf"|-(?:(?:src|dest)?storepass|keypass)[ ]{{1,4}})(?!-){_WORD}"
)
_VAULT = LatePattern(
    r"vault[ ](?:login|(?:operator[ ])?(?:unseal|rekey|generate-root)|token[ ](?:lookup|renew|revoke))[ ]{1,4}"
    rf"(?:-[\w=:/.-]{{1,120}}[ ]{{1,4}}){{0,4}}(?!-)(?:token=|(?![a-z_]{{1,32}}=)){_WORD}"
)
# What reads a secret from its standard input.
_READERS = (
    r"(?:sudo[ ](?:-[A-Za-z]{1,8}[ ]){0,4})?(?:chpasswd|(?:smb)?passwd|(?:gh|glab)[ ]auth[ ]login|[a-z0-9]{2,12}[ ]"
    r"[^\r\n|<]{0,200}?--(?:password|token)-stdin|kinit)\b"
)
_PIPED = LatePattern(
    r"(?:echo|printf)(?:[ ]-[neE]{1,3}|[ ][\"']?%s(?:\\n)?[\"']?)?[ ]{1,4}"
    r"(?P<value>\"[^\"\r\n]{1,400}\"|'[^'\r\n]{1,400}'|[^\s|;&\"'()]{1,400})"
    r"(?:;[ ]{0,4}echo[ ]{1,4}\[redacted\])?[ ]{0,4}\)?[ ]{0,4}\|[ ]{0,4}"
    rf"(?:{_READERS}|sudo[ ](?:-[A-Za-z]{{1,8}}[ ]){{0,3}}-[A-Za-z]{{0,6}}S\b)"
)
_IN_PIPES = ("-stdin", "passwd", "auth login", "kinit", "sudo -")
_HERE_WORD = LatePattern(rf"{_READERS}[^\r\n|<]{{0,100}}<<<[ ]{{0,4}}{_WORD}")
_HERE_HEAD = rf"{_READERS}[^\r\n|<]{{0,100}}<<-?[ ]?\\{{0,3}}[\"']?(?P<tag>\w{{1,20}})"
_LINE = r"(?:[^\r\n\\]|\\(?![rn]))"  # a character of a line, which may stand in JSON
_END = r"(?:\r?\n|(?:\\r)?\\n)"
_HERE_TEXT = LatePattern(
    rf"{_HERE_HEAD}{_LINE}{{0,100}}{_END}"
    rf"(?P<value>(?![ \t]{{0,40}}(?P=tag)\b){_LINE}{{1,1000}}"
    rf"(?:{_END}(?![ \t]{{0,40}}(?P=tag)\b){_LINE}{{0,1000}}){{0,20}})"
)
_HERE_TEXT_OPENS = LatePattern(_HERE_HEAD)
_NETRC = LatePattern(rf"login[ \t]{{1,4}}\S{{1,128}}\s{{1,16}}password[ \t]{{1,4}}{_WORD}")
_MACHINE = LatePattern(r"(?:machine[ \t]{1,4}\S{1,256}|default)\s{1,16}\Z")
_SET = LatePattern(
    rf"""(?:[Ss](?<!\w.)(?i:et(?:x(?:[ \t]{{1,4}}/m)?|env|(?:[ \t]{{1,4}}-{{1,2}}[a-z-]{{1,12}}){{1,4}}))|\bENV)
        [ \t]{{1,4}}
        (?i:[A-Za-z0-9_]{{0,60}}?(?:{NAME_OF_ONE}|{MORE_NAMES}|pwd|(?<=_)pass|secret_key_base)[ \t]{{1,4}}){_WORD}""",
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


def _bare_in_sql(found: re.Match[str]) -> str:
    """Redact what Oracle takes for a password without quotes, unless it is a word of prose."""
    value = found["word"] or ""
    return _word(found) if has_digit(value) or value.endswith(";") else found[0]


def find_here_tag(line: str) -> str | None:
    """Return the line that ends the secret text which a command reads from the lines behind this one."""
    found = _HERE_TEXT_OPENS.search(line) if "<<" in line else None
    return None if found is None or "<<<" in line else found["tag"]


COMMANDS = (
    rule("curl", ("curl",), _CURL, _word),
    rule("mysql", ("mysql", "mariadb"), _MYSQL, _word),
    rule("sshpass", ("sshpass",), _SSHPASS, _word),
    rule("flag of a program", ("login ", "redis-cli", "ldap", "htpasswd"), _PROGRAM_FLAG, _word),
    rule("openssl", ("pass:",), _OPENSSL, _word),
    rule("samba", ("smbclient", "rpcclient"), _SAMBA, take_out),
    rule("SQL", ("identified", "create ", "alter ", "set password"), _SQL, take_out_value),
    rule("SQL without quotes", ("identified",), _SQL_WORD, _bare_in_sql),
    line_rule("PHP", ("define(", "define ("), _DEFINE, take_out_value),
    line_rule("Oracle", ("jdbc:oracle", "sqlplus ", "sqlldr ", "expdp ", "impdp ", "rman "), _ORACLE, take_out),
    line_rule(
        "flag of another program",
        (
            *("mongo", "twine ", "az ", "cqlsh ", "sqlcmd ", "bcp ", "osql ", "tsql ", "zip ", "7z", "rar "),
            *("keytool ", "storepass", "keypass", "openssl ", "useradd ", "usermod ", "gh secret", "create secret"),
            *("http ", "https ", "xh ", "xhs "),
        ),
        _MORE_PROGRAMS,
        _word,
        gate=" -",
    ),
    line_rule("vault", ("vault ",), _VAULT, _word),
    line_rule("secret in a pipe", _IN_PIPES, _PIPED, _piped, gate="|"),
    line_rule("here-string", ("<<<",), _HERE_WORD, _word),
    rule("here-text", ("<<",), _HERE_TEXT, _piped),
    rule("netrc", ("login",), _NETRC, _netrc),
    rule("set", ("set -", "set\t", "set  ", "setx", "setenv", "env "), _SET, _word),
)
