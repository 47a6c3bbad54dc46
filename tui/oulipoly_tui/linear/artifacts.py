"""Artifacts for screen readers: what a session's runs have returned, received, sent and kept, each whole by itself."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.text.columns import size_text
from oulipoly_engine.core.text.quantities import moment
from oulipoly_engine.errors import RunnerError
from oulipoly_engine.facade.artifacts import PREVIEW_BYTES
from oulipoly_engine.facade.sessions.values import FileExists
from oulipoly_engine.paths import expand_user
from oulipoly_tui.view.sessions.artifacts import GROUPS, newest_first, shown, title_of

if TYPE_CHECKING:
    from pathlib import Path

    from oulipoly_engine.core.artifacts.versions import Version
    from oulipoly_engine.core.sessions.sessions import Session
    from oulipoly_tui.linear.talk import Talk

_SAID = 400  # characters of what a maker says, in a list
_NOTHING = (
    "No artifacts. They are files that agents keep and hand to each other: a run makes one by "
    "agent-messenger return, or agent-scratchpad write."
)


def open_list(talk: Talk, one: Session) -> None:
    """List what a session's runs have, ten at a time, and let one be chosen."""
    artifacts = talk.engine.artifacts.of_session([part.session_id for part in one.parts])
    found = [(heading, version) for field, heading in GROUPS for version in newest_first(getattr(artifacts, field))]
    if not found:
        talk.say(_NOTHING)
        return
    talk.say(f"{len(found)} artifact{'s' * (len(found) != 1)}.")
    chosen = talk.choose_of_many("Artifact", found, _format)
    if chosen is not None:
        version = chosen[1]
        older = [other for _, other in found if other.address == version.address.at(other.number)]
        _open(talk, version, [other for other in older if other.number < version.number])


def _format(artifact: tuple[str, Version]) -> str:
    heading, one = artifact
    said = shown((one.verdict_line or "")[:_SAID])
    facts = (
        f"{shown(one.address.name)} version {one.number}",
        heading,
        size_text(one.content_len),
        shown(one.format_hint or ""),
        f"stored {moment(one.created_at)}",
        f"labels {' '.join(one.labels)}" if one.labels else "",
    )
    return f"{', '.join(text for text in facts if text)}.{f' Its maker says: {said}' if said else ''}"


def _open(talk: Talk, one: Version, older: list[Version]) -> None:
    actions: dict[str, Callable[[], None]] = {"Read it": partial(_read, talk, one)}
    if older:
        before = max(older, key=lambda other: other.number)
        actions[f"What differs from version {before.number}"] = partial(_compare, talk, before, one)
    actions["Say its address, run and hash"] = partial(_say_facts, talk, one)
    if not talk.read_only:
        actions["Save it to a file"] = partial(_save, talk, one)
        actions["Remove it"] = partial(_remove, talk, one)
    label = talk.choose(title_of(one), list(actions))
    if label is not None:
        actions[label]()


def _read(talk: Talk, one: Version) -> None:
    text = talk.engine.artifacts.preview(one)
    if text is None:
        talk.say(f"It is not a text: {one.content_len} bytes, sha256 {one.sha256}.")
        return
    talk.quote(f"Text:\n{text}")
    if one.content_len > PREVIEW_BYTES:
        talk.say("That is its beginning. Save it to read the rest.")


def _compare(talk: Talk, before: Version, one: Version) -> None:
    lines = talk.engine.artifacts.diff(before.address, one.address)
    talk.quote("\n".join(("Difference:", *lines)) if lines else "Nothing differs.")


def _say_facts(talk: Talk, one: Version) -> None:
    facts: Mapping[str, str | None] = {
        "Address": shown(one.address.text),
        "Made by run": one.producer,
        "Stored at": to_text(one.created_at),
        "Sha256": one.sha256,
    }
    for name, text in facts.items():
        talk.quote(f"{name} {text or 'unknown'}.")


def _save(talk: Talk, one: Version) -> None:
    def write(text: str) -> Path:
        path = expand_user(text)
        target = path / one.file_name if os.path.isdir(path) else path  # noqa: PTH112 - raises nothing
        try:
            talk.engine.artifacts.save(one.address, target)
        except FileExists as error:
            if not talk.confirm(f"{target} is there already. Replace it?"):
                message = f"{target} stays as it is: name another file"
                raise RunnerError(message) from error
            talk.engine.artifacts.save(one.address, target, force=True)
        return target

    hint = f"Type a file or a folder. In a folder it is called {one.file_name}."
    done = talk.ask_until("File or folder", write, hint)
    if done is not None:
        talk.quote(f"Saved {done}. {one.content_len} bytes.")


def _remove(talk: Talk, one: Version) -> None:
    what = f"{title_of(one)}, {size_text(one.content_len)}, could not be read any more, and not be brought back."
    if talk.confirm(f"{what} Remove it?"):
        talk.engine.artifacts.remove_by_hand(one.address)
        talk.say("Removed.")
