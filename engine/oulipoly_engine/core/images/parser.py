"""Read an Agentfile. Pure.

    # syntax=openotters/agentfile:1      on the first line or nowhere
    FROM scratch | REFERENCE             the first directive, once
    KEYWORD words …                      in any case; `${KEY}` is replaced by an ARG that stands above it
    CONTEXT|BIN … <<MARK                 the lines that follow, up to one that is MARK

Every error names its line.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping

from oulipoly_engine.core.images import names, words
from oulipoly_engine.core.images.agentfile import (
    SCRATCH,
    SYNTAX,
    Add,
    Agent,
    Agentfile,
    Bin,
    Config,
    Context,
    Env,
    put_all,
)
from oulipoly_engine.core.images.references import parse_reference
from oulipoly_engine.core.images.refusals import AgentfileInvalid, ReferenceInvalid
from oulipoly_engine.core.images.words import Word
from oulipoly_engine.core.text.nearest import nearest
from oulipoly_engine.records import replace

LONGEST = 1 << 20  # bytes of an Agentfile
_BOM = b"\xef\xbb\xbf"
_SYNTAX = re.compile(r"#\s*syntax\s*=\s*(.*)")
_FILE = "file://"


def parse_agentfile(data: bytes, source: str = "Agentfile") -> Agentfile:
    """Read the bytes of an Agentfile. source: its name in the origins. Raises AgentfileInvalid."""
    if len(data) > LONGEST:
        raise AgentfileInvalid(f"the Agentfile has more than {LONGEST >> 20} MB: put texts into files of their own")
    if data.startswith(_BOM):
        raise AgentfileInvalid("line 1: the Agentfile begins with a byte order mark: save it as UTF-8 without one")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise AgentfileInvalid(f"line {line}: the Agentfile is not UTF-8: save it as UTF-8") from error
    return _Parser(text, source).parse()


class _Parser:
    """Goes through the lines of one Agentfile."""

    def __init__(self, text: str, source: str) -> None:
        self._lines = text.split("\n")
        self._source = source
        self._next = 0  # the index of the line that is read next
        self._line = 0  # the number of the line of the directive at hand
        self._agent = Agent("")
        self._origins: dict[str, str] = {}

    def parse(self) -> Agentfile:
        while self._next < len(self._lines):
            text = self._lines[self._next].strip()
            self._next += 1
            self._line = self._next
            if text.startswith("#"):
                self._check_comment(text)
            elif text:
                try:
                    self._take(text)
                except (ValueError, ReferenceInvalid) as error:
                    raise self._error(str(error)) from error
        if not self._agent.base:
            raise AgentfileInvalid("FROM is required: begin with `FROM scratch`, or with the image of a parent")
        return Agentfile(SYNTAX, self._agent, self._origins)

    def _error(self, problem: str) -> AgentfileInvalid:
        return AgentfileInvalid(f"line {self._line}: {problem}", line=self._line)

    def _check_comment(self, text: str) -> None:
        match = _SYNTAX.fullmatch(text)
        if match is None:
            return
        if self._line != 1:
            raise self._error("`# syntax=` counts on line 1 alone: move it there, or delete it")
        if match[1].strip() != SYNTAX:
            raise self._error(f"the syntax {match[1].strip()[:60]!r} is not supported: the one there is is {SYNTAX}")

    def _take(self, text: str) -> None:
        keyword, _, rest = text.replace("\t", " ").partition(" ")
        keyword = keyword.upper()
        rest = text[len(keyword) :].strip()
        take = _DIRECTIVES.get(keyword)
        if take is None:
            near = nearest(keyword, _DIRECTIVES)
            hint = f" (did you mean {near[0]}?)" if near else f": directives are {', '.join(_DIRECTIVES)}"
            raise ValueError(f"{keyword[:40]} is not a directive{hint}")
        if keyword != "FROM" and not self._agent.base:
            raise ValueError("FROM must be the first instruction")
        take(self, rest)

    def _words(self, rest: str) -> list[Word]:
        args = self._agent.args
        return [replace(word, text=words.replace_arguments(word.text, args)) for word in words.split_words(rest)]

    def _single(self, rest: str, what: str) -> str:
        parts = self._words(rest)
        if len(parts) != 1 or not parts[0].text:
            raise ValueError(f"it takes {what}, and nothing else")
        return parts[0].text

    def _set(self, **changes: object) -> None:
        self._agent = replace(self._agent, **changes)

    def _note(self, key: str) -> None:
        self._origins[key] = f"{self._source}:{self._line}"

    def _refuse_repeated(self, key: str) -> None:
        if key in self._origins:
            raise ValueError(f"{key} stands on line {self._origins[key].rpartition(':')[2]} already")

    def _base(self, rest: str) -> None:
        if self._agent.base:
            raise ValueError("FROM must stand exactly once")
        base = self._single(rest, "`scratch` or a reference")
        if base != SCRATCH:
            parse_reference(base)
        self._set(base=base)
        self._note("from")

    def _runtime(self, rest: str) -> None:
        runtime = self._single(rest, "the reference of a runtime")
        parse_reference(runtime)
        for config in self._agent.configs:  # keys are the runtime's own
            self._origins.pop(f"config {config.key}", None)
        self._set(runtime=runtime, configs=())
        self._note("runtime")

    def _model(self, rest: str) -> None:
        self._set(model=self._single(rest, "PROVIDER/NAME"))
        self._note("model")

    def _name(self, rest: str) -> None:
        name = self._single(rest, "a name")
        _refuse("NAME", name, names.check_path_safe(name))
        self._set(name=name)
        self._note("name")

    def _context(self, rest: str) -> None:
        line, body = self._split_heredoc(rest)
        parts = self._words(line)
        if not parts:
            raise ValueError('CONTEXT takes NAME ["DESCRIPTION"] and file://PATH or <<MARK')
        name = parts.pop(0).text
        _refuse("CONTEXT", name, names.check_context(name))
        description = _take_description(parts)
        file = ""
        if parts and not parts[0].is_text and parts[0].text.startswith(_FILE):
            file = parts.pop(0).text.removeprefix(_FILE)
            _refuse(_FILE, file, names.check_source(file))
            if body is not None:
                raise ValueError(f"CONTEXT {name} has a file and a heredoc: keep one of them")
        elif body is None:
            raise ValueError(f"CONTEXT {name} has no content: give file://PATH, or <<MARK and lines up to MARK")
        _refuse_more(parts)
        context = Context(name, description, body or "", file)
        self._set(contexts=put_all(self._agent.contexts, (context,), lambda each: each.name))
        self._note(f"context {name}")

    def _config(self, rest: str) -> None:
        parts = self._words(rest)
        if not parts:
            raise ValueError('CONFIG takes KEY[!][=VALUE] ["DESCRIPTION"]')
        pair = words.read_pair(parts.pop(0))
        key = pair.key.removesuffix("!")
        is_required = pair.key.endswith("!")
        _refuse("CONFIG", key, names.check_label(key))
        if is_required and pair.value is not None:
            raise ValueError(f"CONFIG {key}: required configs cannot have a default: take `!` or the value away")
        description = _take_description(parts)
        _refuse_more(parts)
        value = None if pair.value is None else words.read_value(pair.value, is_quoted=pair.is_quoted)
        self._set(configs=(*self._agent.configs, Config(key, value, description, is_required)))
        self._note(f"config {key}")

    def _env(self, rest: str) -> None:
        parts = self._words(rest)
        pair = words.read_pair(parts.pop(0)) if parts else None
        if pair is None or pair.value is None:
            raise ValueError('ENV takes KEY=VALUE ["DESCRIPTION"]')
        _refuse("ENV", pair.key, names.check_variable(pair.key))
        description = _take_description(parts)
        _refuse_more(parts)
        variable = Env(pair.key, pair.value, description)
        self._set(envs=put_all(self._agent.envs, (variable,), lambda each: each.key))
        self._note(f"env {pair.key}")

    def _bin(self, rest: str) -> None:
        line, body = self._split_heredoc(rest)
        parts = self._words(line)
        if len(parts) < 2:
            raise ValueError('BIN takes NAME REFERENCE ["DESCRIPTION"] [<<MARK]')
        name = parts.pop(0).text
        image = parts.pop(0).text
        _refuse("BIN", name, names.check_path_safe(name))
        parse_reference(image)
        description = _take_description(parts)
        _refuse_more(parts)
        self._refuse_repeated(f"bin {name}")
        self._set(bins=(*self._agent.bins, Bin(name, image, description, body or "")))
        self._note(f"bin {name}")

    def _add(self, rest: str) -> None:
        parts = self._words(rest)
        if not parts or parts[0].is_text:
            raise ValueError('ADD takes SRC [NAME] ["DESCRIPTION"]')
        source = parts.pop(0).text
        _refuse("ADD", source, names.check_source(source))
        # The absolute path that older files have means its last part.
        has_target = bool(parts) and not parts[0].is_text
        target = parts.pop(0).text if has_target else source
        name = posixpath.basename(target)
        _refuse("ADD", name, names.check_path_safe(name))
        description = _take_description(parts)
        _refuse_more(parts)
        self._refuse_repeated(f"add {name}")
        self._set(adds=(*self._agent.adds, Add(source, name, description)))
        self._note(f"add {name}")

    def _exec(self, rest: str) -> None:
        arguments = words.read_list(rest)
        self._set(exec=tuple(words.replace_arguments(each, self._agent.args) for each in arguments))
        self._note("exec")

    def _label(self, rest: str) -> None:
        parts = self._words(rest)
        pair = words.read_pair(parts[0]) if parts else None
        if pair is None or pair.value is None or not pair.key or len(parts) > 1:
            raise ValueError('LABEL takes KEY=VALUE; a value with blanks stands in quotes: KEY="a value"')
        self._set(labels=self._agent.labels | {pair.key: pair.value})
        self._note(f"label {pair.key}")

    def _arg(self, rest: str) -> None:
        parts = self._words(rest)
        pair = words.read_pair(parts[0]) if parts else None
        if pair is None or len(parts) > 1 or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]*", pair.key):
            raise ValueError("ARG takes KEY[=DEFAULT]; KEY is letters, digits and `_`")
        if pair.value is not None:
            self._set(args=self._agent.args | {pair.key: pair.value})
        self._note(f"arg {pair.key}")

    def _capability(self, rest: str) -> None:
        parts = [names.as_label(word.text) for word in self._words(rest)]
        if not parts:
            raise ValueError("CAPABILITY takes one name or several")
        for name in parts:
            _refuse("CAPABILITY", name, names.check_label(name))
            self._note(f"capability {name}")
        self._set(capabilities=tuple(dict.fromkeys((*self._agent.capabilities, *parts))))

    def _split_heredoc(self, rest: str) -> tuple[str, str | None]:
        """Return a line without its `<<MARK`, and the lines that follow it up to MARK; None: it has no such mark."""
        match = re.search(r"(?:^|\s)<<(\S+)$", rest)
        if match is None:
            return rest, None
        body: list[str] = []
        while self._next < len(self._lines):
            line = self._lines[self._next].removesuffix("\r")
            self._next += 1
            if line.strip() == match[1]:
                return rest[: match.start()], "\n".join(body).rstrip("\n")
            body.append(line)
        raise ValueError(f"the heredoc has no end: a line that is {match[1][:60]} is missing")


def _refuse(directive: str, name: str, problem: str) -> None:
    if problem:
        raise ValueError(f"{directive} {name[:80]!r} {problem}")


def _refuse_more(parts: list[Word]) -> None:
    if parts:
        raise ValueError(f"{parts[0].text[:60]!r} is too much here: a description stands in quotes")


def _take_description(parts: list[Word]) -> str:
    is_there = bool(parts) and parts[0].is_text
    return parts.pop(0).text if is_there else ""


_DIRECTIVES: Mapping[str, Callable[[_Parser, str], None]] = {
    "FROM": _Parser._base,
    "RUNTIME": _Parser._runtime,
    "MODEL": _Parser._model,
    "NAME": _Parser._name,
    "CONTEXT": _Parser._context,
    "CONFIG": _Parser._config,
    "ENV": _Parser._env,
    "BIN": _Parser._bin,
    "ADD": _Parser._add,
    "EXEC": _Parser._exec,
    "LABEL": _Parser._label,
    "ARG": _Parser._arg,
    "CAPABILITY": _Parser._capability,
}
