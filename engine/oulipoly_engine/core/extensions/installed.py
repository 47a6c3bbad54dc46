"""Extensions as they lie on this computer: where from, under which name, and what each needs a person's word for. Pure.

Two of one name are both usable: the first keeps it, the other is called `<source>-<name>`. Within a source that is the
one whose folder or file has the name too, so that one that comes later takes no other's grants. Commands and tools of
one name likewise: the short one is the first extension's by name, `<extension>:<name>` means each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import PurePath
from typing import Literal

from oulipoly_engine.core.extensions.manifest import Manifest, Permission, Tier
from oulipoly_engine.core.extensions.states import MOST_FAILURES, State
from oulipoly_engine.records import Record, replace

Source = Literal["option", "user", "installed", "package", "project"]
ORDER: Sequence[Source] = ("option", "user", "installed", "package", "project")  # who keeps a name that several have
SUBJECT_PREFIX = "extension:"  # in the book of grants
RUN = "run"  # the right to be imported at all, beside those of `Permission`
_RUNS_CONFINED = "run its code in a sandbox, which shows it none of your files"
_RUNS = "run its code in this program, where nothing keeps it from what you can do yourself"


class Installed(Record):
    """An extension that was discovered; its code was not imported."""

    manifest: Manifest
    source: Source
    place: str  # its folder, or its file; of one of Python's packages the folder of its module
    digest: str = ""  # SHA-256 of all its files; empty: it cannot be used
    problem: str = ""  # why it cannot
    called: str = ""  # where another one has its name

    @property
    def name(self) -> str:
        """Return what it is called here."""
        return self.called or self.manifest.name

    @property
    def subject(self) -> str:
        """Return who it is in the book of grants."""
        return subject_of(self.name)

    @property
    def rights(self) -> tuple[str, ...]:
        """Return what it needs a person's word for; who names it for one start has said that it may run."""
        permissions = tuple(str(permission) for permission in self.manifest.permissions)
        return permissions if self.source == "option" else (RUN, *permissions)


class Standing(Record):
    """What is known of an extension beside its files."""

    granted: frozenset[str] = frozenset()  # for its files as they are
    is_off: bool = False  # by the settings
    failures: int = 0  # of its files as they are, since it was switched on last
    last_failure: str = ""
    is_broken: bool = False  # its last import has failed
    load_ms: float | None = None  # to import it and to begin, as last measured


def subject_of(name: str) -> str:
    """Return who an extension is in the book of grants."""
    return f"{SUBJECT_PREFIX}{name}"


def find_state(extension: Installed, standing: Standing) -> State:
    """Return the state that an extension has before this process imports it."""
    if standing.is_off or standing.failures >= MOST_FAILURES:
        return "disabled"
    if extension.problem or standing.is_broken:
        return "failed"
    return "active" if may_run(extension, standing) else "pending"


def may_run(extension: Installed, standing: Standing) -> bool:
    """Tell whether a person lets it run. What it asks for beside that may have been withdrawn, and is refused then."""
    return extension.source == "option" or RUN in standing.granted


def missing_rights(extension: Installed, standing: Standing) -> tuple[str, ...]:
    """Return what it still needs a person's word for."""
    return tuple(right for right in extension.rights if right not in standing.granted)


def describe_right(right: str, tier: Tier = "in-process") -> str:
    """Return what a right allows, for people."""
    if right != RUN:
        return Permission(right).right
    return _RUNS if tier == "in-process" else _RUNS_CONFINED


def settle_names(extensions: Iterable[Installed]) -> tuple[Installed, ...]:
    """Return extensions by name, each under a name of its own."""
    taken: set[str] = set()
    settled = []

    def place(extension: Installed) -> tuple[int, bool]:
        return ORDER.index(extension.source), PurePath(extension.place).stem != extension.manifest.name

    for extension in sorted(extensions, key=place):
        name = extension.manifest.name
        number = 1
        while name in taken:
            suffix = "" if number == 1 else f"-{number}"
            name = f"{extension.source}-{extension.manifest.name}{suffix}"
            number += 1
        taken.add(name)
        called = "" if name == extension.manifest.name else name
        settled.append(replace(extension, called=called))
    return tuple(sorted(settled, key=lambda each: each.name))


def list_clashes(extensions: Sequence[Installed]) -> tuple[str, ...]:
    """Return a sentence for each name that several have."""
    sentences = [
        f"there are several extensions {each.manifest.name!r}: the one at {each.place} is called {each.called!r}"
        for each in extensions
        if each.called
    ]
    for kind, names in (
        ("command", [(each.name, command.name) for each in extensions for command in each.manifest.commands]),
        ("tool", [(each.name, tool.name) for each in extensions for tool in each.manifest.tools]),
    ):
        counts = Counter(name for _, name in names)
        for name in sorted(name for name, count in counts.items() if count > 1):
            owners = [owner for owner, other in names if other == name]
            others = ", ".join(f"{owner}:{name}" for owner in owners[1:])
            sentences.append(f"several have a {kind} {name!r}: it is that of {owners[0]}, the others are {others}")
    return tuple(sentences)
