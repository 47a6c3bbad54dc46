"""What the set-up agent needs of whoever draws it, and of what lies above the services."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from oulipoly_engine.config.edit.undo import Step
from oulipoly_engine.core.accounts.clis.cli import Cli
from oulipoly_engine.core.live.sessions import LiveRequest
from oulipoly_engine.core.setup.dialogs import Answer, AnyDialog, AnyShown, KeyGiven
from oulipoly_engine.core.setup.events import Agreement, Told
from oulipoly_engine.errors import RunnerError
from oulipoly_engine.paths import Paths
from oulipoly_engine.records import Record
from oulipoly_engine.service.setup.secrets import Secrets
from oulipoly_engine.service.setup.sync import Sync


class SetupCancelled(RunnerError, slug="cancelled"):
    """The person ends the set-up."""


class NobodyAnswers(SetupCancelled):
    """Something is asked where nobody can be asked; the message says what, and what to do."""


class AnsweredElsewhere(RunnerError):
    """A question was answered in the inbox while its face waited."""

    def __init__(self, request: LiveRequest) -> None:
        super().__init__(f"it was answered by {request.answered_by}")
        self.request = request


Look = Callable[[], None]  # whether it was answered elsewhere: raises AnsweredElsewhere


def keep_waiting() -> None:
    """Look nowhere: the face alone is asked."""


class SetupFace(Protocol):
    """Draws the set-up; every method is called in one thread, and may block for as long as a person thinks.

    What waits for a person calls `look` a few times a second, and takes the question away when that raises.
    """

    def ask(self, dialog: AnyDialog, look: Look = keep_waiting) -> Answer:
        """Ask a person; Skipped and Cancelled are answers to everything. Raises NobodyAnswers."""

    def agree(self, agreement: Agreement, look: Look = keep_waiting) -> bool:
        """Return whether a person says yes to what would be done. Raises SetupCancelled and NobodyAnswers."""

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
    add_by_key: Callable[[str, str, KeyGiven], str]  # a CLI, whose key: what was done, or that the person said no
    find_keyring: Callable[[], str | None]  # what the user's keyring is called
    after_login: Callable[[], str]  # which accounts there are more now; a person may be asked to add a login
    sync: Callable[[], Sync]  # looks at the homes as they are now
    cli: Cli | None  # that the set-up is about alone
    remember: Callable[[str, str, Mapping[str, object], tuple[tuple[str, str], ...]], str]
