"""Make a transcript's text fit to be shown: secrets out, control characters visible. Pure.

Only stretches that hold a hint of a secret go through the redactor, which works at some 3 MB a second. That changes
nothing of its outcome: each of its patterns needs one of these hints, and stays within a line, but for those of
`_SEVERAL_LINES`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from oulipoly_engine.core.text.redact import REDACTED, redact
from oulipoly_engine.core.transcripts.dialogue import Entry, Findings
from oulipoly_engine.records import replace

_STRETCH = 2048  # characters, up to the end of a line
_HINTS = (
    *("key", "token", "secret", "passw", "passphrase", "credential", "cookie", "authorization", "bearer", "basic"),
    *("sk-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "akia", "asia", "aiza", "ya29."),
    *("xox", "xapp-", "gocspx-", "npm_", "hf_", "pypi-", "eyj", "rt_", "auth=", "sig=", "signature=", REDACTED),
    *("k_live_", "k_test_", "whsec_", "hooks.slack.com/", ":aa", "gsk_", "xai-", "pplx-", "_v1_", "1//0", "shp"),
    *("glrt-", "gldt-", "glptt-", "glcbt-", "glft-", "glsoat-", "gloas-", "glagent-", "curl", "mysql", "mariadb"),
    *("sshpass",),
)
# The shapes that begin with no word, and names that are mostly those of something else.
_HEX_KEY = re.compile(r"[0-9a-f]{32}\.")
_BOT_TOKEN = re.compile(r"\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27}")
_PASS_OR_PWD = re.compile(r"p(?:ass|wd)[\\\"'*]{0,6}[ \t]{0,4}[:=]")
_AUTH = re.compile(r"auth[\\\"'*]{1,6}[ \t]{0,4}[:=]|auth[ \t]{0,4}:")
_SET = re.compile(r"set(?:x|env)?[ \t].{0,160}p(?:wd|ass)[ \t]")
_SEVERAL_LINES = re.compile(
    r"-----BEGIN|:[ \t]{1,4}[|>][-+0-9]{0,2}[ \t]{0,4}\r?\n|\\\r?\n|login[ \t]{1,4}\S{1,128}[ \t]*\n"
)
_LIKE_ASCII = str.maketrans({"\u0131": "i", "\u017f": "s", "\u0307": None})  # what IGNORECASE takes for i and s

_COLOUR = re.compile(r"\x1b\[[0-9;:?]{0,64}[A-Za-z]|\x1b\][^\x07\x1b\n]{0,512}(?:\x07|\x1b\\)")
# C0 but tab and newline, DEL, C1, what turns the direction of text, and lone surrogates.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class Visible:
    """Prepares texts and counts the secrets that were taken out."""

    def __init__(self, *, redacting: bool = True) -> None:
        self.redacting = redacting
        self.secrets = 0

    def text(self, raw: str) -> str:
        """Return a text as it may be shown."""
        text = readable(raw)
        if not self.redacting:
            return text
        shown = redact_text(text)
        if shown != text:
            self.secrets += max(shown.count(REDACTED) - text.count(REDACTED), 1)
        return shown

    def entry(self, entry: Entry) -> Entry:
        """Return an entry as it may be shown."""
        parts = tuple(replace(part, text=self.text(part.text), label=self.text(part.label)) for part in entry.parts)
        model = None if entry.model is None else self.text(entry.model)
        return replace(entry, at=self.text(entry.at), parts=parts, entry_id=self.text(entry.entry_id), model=model)

    def findings(self, found: Findings) -> Findings:
        """Return what was found as it may be shown."""
        return replace(
            found,
            models=[self.text(model) for model in found.models],
            workspaces=[self.text(folder) for folder in found.workspaces],
            first_at=self.text(found.first_at),
            last_at=self.text(found.last_at),
            forked_from=self.text(found.forked_from),
        )


def readable(text: str) -> str:
    """Return a text without terminal colours, its other control characters as visible ones."""
    text = text.replace("\r\n", "\n")
    if "\x1b" in text:
        text = _COLOUR.sub("", text)
    return _CONTROL.sub(_picture, text)


def _picture(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else f"<U+{code:04X}>"


def redact_text(text: str) -> str:
    """Return what the redactor makes of a text, sooner."""
    if _SEVERAL_LINES.search(text):
        return redact(text)
    return "".join(redact(stretch) if _has_hint(stretch) else stretch for stretch in _stretches(text))


def _stretches(text: str) -> Iterator[str]:
    begin = 0
    while begin < len(text):
        end = text.find("\n", begin + _STRETCH) + 1 or len(text)
        yield text[begin:end]
        begin = end


def _has_hint(text: str) -> bool:
    lowered = text.lower()
    if not lowered.isascii():
        lowered = lowered.translate(_LIKE_ASCII)
    if any(hint in lowered for hint in _HINTS) or ("://" in lowered and "@" in lowered):
        return True
    if "SG." in text:
        return True
    patterns = (_PASS_OR_PWD, _AUTH, _SET)
    return any(hint.search(lowered) for hint in patterns) or any(hint.search(text) for hint in (_HEX_KEY, _BOT_TOKEN))
