"""What a one-shot is asked and answers, in a private file until somebody looks: then it becomes entries.

A file is one line of JSON with the prompt, written as the CLI starts, and behind it the answer, once that has ended.
Neither holds secrets that we know. What hides them, 20 modules, is loaded only where a text can hold any.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

from oulipoly_engine.private_files import make_folder, open_private
from oulipoly_engine.records import Record

_FOLDER = "unread"  # beside the result files
_MOST_BYTES = 1 << 20  # of an answer, which takes 0.3 s to be looked through
_CUT = "\n[the rest was not kept]"
# No secret that we know is in a text of short words that is made of these alone and has none of the words below, those
# that `core/text/secrets` knows secrets by. Of quotes there are none: they can break such a word.
_HARMLESS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .,!?;()+/\n"
_SHORT_WORD = 15  # characters
_TELLING = (
    b"7z|abia|acca|account|adgangskode|akia|alter |asia|auth|az |basic|bcp |bearer|bpat|chiave segreta|"
    b"clave api|clave de acceso|connect.sid|contrasena|contrasenya|cookie|cqlsh |create |credential|curl|"
    b"define (|define(|env |epat|expdp |eyj|geslo|haslo|heslo|hpat|http |https |identified|impdp |jelszo|"
    b"kata sandi|kennwort|key|kinit|kodeord|kty|ldap|login|losenord|lozinka|mariadb|master|mdp|mnemonic|mongo|"
    b"mysql|openssl |osql |parola|parool|pasahitza|pass|phrase|psk|pw|rar |rman |rpcclient|salasana|secret|"
    b"senha|sessid|sessionid|set  |setenv|setx|sifre|smbclient|sqlcmd |sqlldr |sqlplus |token|tsql |twine |"
    b"useradd |usermod |vault |wachtwoord|xh |xhs |xox|zaporka|zip |zugangscode"
).split(b"|")


class SavedPrompt(Record):
    """The first line of a file."""

    prompt: str
    may_be_told: bool  # its CLI may tell the id of its session by the end
    may_be_found: bool  # a turn script may find its session, behind the end too


class RunText:
    """The file of one run. A disk that takes nothing costs the text, never the run."""

    def __init__(self, folder: Path, uuid: str, saved: SavedPrompt) -> None:
        """Name the file. folder: that of the result files. saved: with the prompt as it is given."""
        self._path = folder / _FOLDER / uuid
        self._saved = saved
        self._answer = bytearray()

    def begin(self) -> None:
        """Write the prompt: the CLI runs."""
        saved = self._saved
        head = json.dumps(
            {"prompt": self.clean_prompt(), "may_be_told": saved.may_be_told, "may_be_found": saved.may_be_found}
        )
        with suppress(OSError):
            make_folder(self._path.parent)
            self._append(f"{head}\n".encode(), os.O_EXCL)

    def add(self, data: bytes | memoryview) -> None:
        """Take bytes of the answer, up to a limit."""
        if len(self._answer) <= _MOST_BYTES:
            self._answer += data[: _MOST_BYTES + 1 - len(self._answer)]

    def end(self) -> None:
        """Write the answer behind the prompt, unless it is no text."""
        if self._answer and b"\0" not in self._answer and self._path.exists():
            with suppress(OSError):
                self._append(self.clean_answer().encode("utf-8", "surrogatepass"), os.O_APPEND)

    def clean_prompt(self) -> str:
        """Return the prompt without secrets."""
        return _hide_secrets(self._saved.prompt.encode("utf-8", "surrogatepass"))

    def clean_answer(self) -> str:
        """Return the answer so far without secrets; empty where it is no text."""
        return "" if b"\0" in self._answer else _hide_secrets(bytes(self._answer))

    def _append(self, data: bytes, flag: int) -> None:
        with os.fdopen(open_private(self._path, os.O_WRONLY | flag), "wb") as file:
            file.write(data)


def list_files(folder: Path) -> tuple[Path, ...]:
    """Return the files that wait to be entered, named by their runs. folder: that of the result files."""
    try:
        return tuple(sorted((folder / _FOLDER).iterdir()))
    except OSError:
        return ()


def read_prompt(path: Path) -> SavedPrompt | None:
    """Return what a run was asked; None where its runner was killed as it began. Raises OSError."""
    with path.open("rb") as file:
        head = file.readline()
    try:
        return SavedPrompt(**json.loads(head))
    except (ValueError, TypeError):
        return None


def read_answer(path: Path) -> str:
    """Return what of a run's answer was passed on. Raises OSError."""
    _, _, answer = path.read_bytes().partition(b"\n")
    return answer.decode("utf-8", "replace")


def _hide_secrets(data: bytes) -> str:
    """Return a text without its secrets, up to the limit."""
    text = data[:_MOST_BYTES].decode("utf-8", "replace")
    if len(data) > _MOST_BYTES:
        text += _CUT
    if not may_hold_secret(data):
        return text
    from oulipoly_engine.core.text.redact import redact  # noqa: PLC0415 - see above

    return redact(text)


def may_hold_secret(data: bytes) -> bool:
    """Return whether a text has to be looked through for secrets, as most have not."""
    if data.translate(None, _HARMLESS) or any(len(word) > _SHORT_WORD for word in data.split()):
        return True
    folded = data.lower()
    return any(word in folded for word in _TELLING)
