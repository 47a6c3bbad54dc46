"""Agent files: a `---` line, YAML, a `---` line, and the instructions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from oulipoly_engine.config.base import text_file
from oulipoly_engine.config.base.problem import Level, Loaded, Problem, describe_value
from oulipoly_engine.config.schema.agents import AgentKeys
from oulipoly_engine.config.schema.faults import check
from oulipoly_engine.core.accounts.accounts import Agent
from oulipoly_engine.core.text.nearest import nearest

_KEYS = tuple(AgentKeys.model_fields)
_LONGEST_KEYS = 64 << 10  # characters; PyYAML reads some 100 KB a second
_FENCE = re.compile(r"---[ \t]*\r?\n")
_CLOSING = re.compile(r"^---[ \t]*(?:\r?\n|\Z)", re.MULTILINE)


def parse(path: Path, raw: bytes | None) -> Loaded[Agent | None]:
    """Return the agent of a file, None when it has an error, and all problems of the file."""
    match text_file.read_text(path, raw):
        case None:
            return Loaded(None, (_problem(path, None, "", "there is no such file", "correct the path"),))
        case str(text):
            return _parse_text(path, text)
        case problem:
            return Loaded(None, (problem,))


def _parse_text(path: Path, text: str) -> Loaded[Agent | None]:
    """Read an agent out of a text."""
    keys, body = split_frontmatter(path, text)
    if isinstance(keys, Problem):
        return Loaded(None, (keys,))
    problems = tuple(_problems(path, keys, text))
    if any(problem.level is Level.ERROR for problem in problems):
        return Loaded(None, problems)
    values = {key: keys.get(key) or "" for key in _KEYS}
    return Loaded(Agent(path.stem, body=body, path=path, **values), problems)


def split_frontmatter(path: Path, text: str) -> tuple[Mapping[str, str] | Problem, str]:
    """Return the keys of a text, or why they cannot be read, and its body: all after the second `---` line.

    The body's last newline is part of it. Values are not yet known to be texts.
    """
    opening = _FENCE.match(text)
    if opening is None:
        fix = "begin the file with a `---` line, the keys, and a `---` line"
        return _problem(path, 1, "", "the file has no frontmatter", fix), text
    closing = _CLOSING.search(text, opening.end())
    if closing is None:
        fix = "put a `---` line after its last key"
        return _problem(path, 1, "", "the frontmatter has no end", fix), text
    return _yaml(path, text[opening.end() : closing.start()]), text[closing.end() :]


def find_line(text: str, key: str) -> int | None:
    """Return the line of a frontmatter key in an agent file's text, from 1; None where it is not found."""
    match = re.search(rf"^['\"]?{re.escape(key)}['\"]?[ \t]*:", text, re.MULTILINE)
    return text.count("\n", 0, match.start()) + 1 if match else None


def _yaml(path: Path, text: str) -> Mapping[str, str] | Problem:
    """Read the frontmatter; values are not yet known to be texts."""
    if len(text) > _LONGEST_KEYS:
        message = f"the frontmatter has more than {_LONGEST_KEYS >> 10} KB"
        return _problem(path, 1, "", message, "put the instructions behind its closing `---` line")
    import yaml  # noqa: PLC0415 - 15 ms, only where an agent is read

    try:
        keys = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        reason = getattr(error, "problem", None) or str(error).splitlines()[0]
        line = mark.line + 2 if mark is not None else 1  # counted from 0, and the first line is the fence
        return _problem(path, line, "", f"the frontmatter is not valid YAML: {reason}", "correct it there")
    except (RecursionError, ValueError) as error:  # ValueError: a date like 2026-13-45
        return _problem(path, 2, "", f"the frontmatter cannot be read: {error}", "put texts in quotes")
    if keys is None:
        return {}
    if not isinstance(keys, dict):
        return _problem(
            path, 2, "", f"the frontmatter is {describe_value(keys)}, not keys with values", "write `key: value`"
        )
    return keys


def _problems(path: Path, keys: Mapping[str, object], text: str) -> list[Problem]:
    _, faults = check(AgentKeys, {key: keys[key] for key in _KEYS if key in keys})
    wrong = {fault.path[0] for fault in faults}
    found: list[Problem] = []
    for key, value in keys.items():
        if key in wrong:
            message = f"in the frontmatter it must be a text, not {describe_value(value)}"
            found.append(_problem(path, find_line(text, key), key, message, "put it in quotes"))
        elif key in _KEYS:
            continue
        elif near := nearest(str(key), _KEYS):  # other keys are other tools' own (name, tools, color)
            message = f"`{key}` is not a known key (did you mean `{near[0]}`?)"
            line = find_line(text, str(key))
            found.append(Problem(Level.WARNING, path, line, str(key), message, f"rename it to `{near[0]}`"))
    return found


def _problem(path: Path, line: int | None, key: str, message: str, fix: str) -> Problem:
    return Problem(Level.ERROR, path, line, key, message, fix)
