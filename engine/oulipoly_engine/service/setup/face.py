"""What the set-up agent needs of whoever draws it, and of what lies above the services."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from oulipoly_engine.config.edit.undo import Step
from oulipoly_engine.core.setup.dialogs import Answer, AnyDialog, AnyShown
from oulipoly_engine.core.setup.events import Agreement, Told
from oulipoly_engine.paths import Paths
from oulipoly_engine.records import Record
from oulipoly_engine.service.setup.secrets import Secrets
from oulipoly_engine.service.setup.sync import Sync


class SetupFace(Protocol):
    """Draws the set-up; every method is called in one thread, and may block for as long as a person thinks."""

    def ask(self, dialog: AnyDialog) -> Answer:
        """Ask a person; Skipped and Cancelled are answers to everything."""

    def agree(self, agreement: Agreement) -> bool:
        """Return whether a person says yes to what would be done."""

    def show(self, shown: AnyShown) -> None:
        """Show what came of something."""

    def tell(self, event: Told) -> None:
        """Say what goes on."""


class Ports(Record):
    """What actions need besides files and commands. Everything may raise RunnerError, whose message the model gets."""

    face: SetupFace
    paths: Paths
    environ: Mapping[str, str]
    secrets: Secrets
    write: Callable[[Step], None]  # so that it can be undone
    test_model: Callable[[str], tuple[bool, str]]  # a pool's name: whether it answered, and what
    add_by_key: Callable[[str, str, str], str]  # a CLI, whose key, the key: what was done, or that the person said no
    after_login: Callable[[], str]  # which accounts there are more now; a person may be asked to add a login
    sync: Callable[[], Sync]  # looks at the homes as they are now
    remember: Callable[[str, str, Mapping[str, object], tuple[tuple[str, str], ...]], str]
