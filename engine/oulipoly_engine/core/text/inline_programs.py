"""Which words of a command line some program reads as a program of its own: `sh -c WORD`, `awk WORD`. Pure.

What stands there is no longer one quoted argument, whatever it was put in as: a title in it could become a command.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

# Their options run nothing: `grep -e WORD` is a pattern, `wc -c FILE` counts. Every word behind them is their argument.
_HARMLESS = frozenset(
    (
        *("cat", "cmp", "cut", "diff", "du", "echo", "egrep", "fgrep", "grep", "gzip", "head", "hexdump", "jq", "ls"),
        *(
            "md5sum",
            "nl",
            "notify-send",
            "od",
            "printf",
            "rg",
            "sha1sum",
            "sha256sum",
            "sort",
            "stat",
            "tail",
            "wc",
            "xxd",
        ),
    )
)
_READ_ALL = frozenset(("eval", "ssh", "watch"))  # they put all their words together for a shell
_STARTERS = frozenset(["doas", "env", "nice", "nohup", "setsid", "sudo", "time", "timeout", "xargs"])
# Which option of an interpreter a program follows, in the next word or in the same one; letters may stand before it.
_INTERPRETERS = tuple(
    (re.compile(names), re.compile(options))
    for names, options in (
        (r"(ba|da|z|k|mk|a|fi|tc|c)?sh|busybox|su|runuser|script|flock", r"-\w*c.*|--command(=.*)?"),
        (r"(python|pypy)[\d.]*", r"-\w*c.*"),
        (r"(perl|ruby)[\d.]*", r"-\w*[eE].*"),
        (r"node|nodejs|bun|deno", r"-\w*[ep].*|--(eval|print)(=.*)?|eval"),
        (r"php[\d.]*", r"-\w*[rBRE].*|--(run|process-\w+)(=.*)?"),
        (
            r"lua[\d.]*|luajit|julia|guile|R|Rscript|osascript|scala|elixir|groovy|emacs|emacsclient",
            r"-\w*[eE].*|--e.*",
        ),
        (r"env", r"-\w*S.*|--split-string(=.*)?"),
        (r"n?vim?|ex|view", r"-c|--cmd|\+.*"),
    )
)
_TEXT_PROGRAM = re.compile(r"[gmn]?awk|g?sed")
_TEXT_VALUE = re.compile(r"-v|--assign|-F|--field-separator")  # of awk: data, the right place for a title
_TEXT_INLINE = re.compile(r"-[nrEsuz]*e|--expression|--source")
_TEXT_FILE = re.compile(r"-[nrEsuz]*f|--file")
_ANY_OPTION = re.compile(r"-[a-z]*c|-e|-E|--eval|--command|-exec|-S")  # of a program that nobody knows


def find_inline_programs(words: Sequence[str]) -> dict[int, str]:
    """Return the places of the words that are read as programs, each with the word that makes it one.

    words: a program and its arguments; further programs among them, as behind `env` and `sudo`, are found too. Of what
    is not known, rather too much is found.
    """
    names = [PurePosixPath(word).name for word in words]
    if not words or names[0] in _HARMLESS or names[:2] == ["git", "grep"]:
        return {}
    found = {place + 1: word for place, word in enumerate(words[:-1]) if _ANY_OPTION.fullmatch(word)}
    for place, name in enumerate(names):
        if name in _READ_ALL and (place == 0 or names[0] in _STARTERS):
            found |= dict.fromkeys(range(place + 1, len(words)), name)
        if _TEXT_PROGRAM.fullmatch(name):
            found |= dict.fromkeys(_find_text(words, place + 1), name)
        for interpreter, option in _INTERPRETERS:
            if interpreter.fullmatch(name):
                found |= dict.fromkeys(_find_behind(words, place + 1, option), name)
    return found


def _find_behind(words: Sequence[str], begin: int, option: re.Pattern[str]) -> Iterator[int]:
    """Yield an option and the program behind it; further options may stand between them: `sh -c -x -- PROGRAM`."""
    for first in (place for place in range(begin, len(words)) if option.fullmatch(words[place])):
        yield first
        if words[first].startswith("+") or "=" in words[first]:
            continue
        for place in range(first + 1, len(words)):
            yield place
            if not words[place].startswith(("-", "+")):
                break


def _find_text(words: Sequence[str], begin: int) -> Iterator[int]:
    """Yield what awk and sed run: what follows -e, or the first word that is no option unless -f names a file."""
    place, has_program = begin, False
    while place < len(words):
        word = words[place]
        if _TEXT_VALUE.fullmatch(word):
            place += 1
        elif _TEXT_FILE.fullmatch(word):
            place, has_program = place + 1, True
        elif _TEXT_INLINE.fullmatch(word):
            place, has_program = place + 1, True
            yield place
        elif not word.startswith("-"):
            if not has_program:
                yield place
            return
        elif not word.startswith(("-v", "-F", "--assign=", "--field-separator=")):
            yield place
        place += 1
