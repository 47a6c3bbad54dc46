"""The door to accounts as part of the configuration. Each part is loaded when it is asked for."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from oulipoly_engine.facade.base.home import Part

if TYPE_CHECKING:
    from oulipoly_engine.facade.accounts.additions import AccountAdditions
    from oulipoly_engine.facade.accounts.changes import AccountChanges
    from oulipoly_engine.facade.accounts.detection import Detection
    from oulipoly_engine.facade.accounts.logins import AccountLogins
    from oulipoly_engine.facade.accounts.removals import AccountRemovals

# ruff: noqa: PLC0415 - a command needs one or two parts


class AccountSetup(Part):
    """The accounts of one user on their way in and out of the configuration."""

    @cached_property
    def detection(self) -> Detection:
        """Return what finds CLIs and logins on this machine."""
        from oulipoly_engine.facade.accounts.detection import Detection

        return Detection(self._home)

    @cached_property
    def additions(self) -> AccountAdditions:
        """Return what makes new accounts."""
        from oulipoly_engine.facade.accounts.additions import AccountAdditions

        return AccountAdditions(self._home)

    @cached_property
    def logins(self) -> AccountLogins:
        """Return what asks who is logged in, and logs in."""
        from oulipoly_engine.facade.accounts.logins import AccountLogins

        return AccountLogins(self._home)

    @cached_property
    def changes(self) -> AccountChanges:
        """Return what writes changes of the accounts' files, and takes them back."""
        from oulipoly_engine.facade.accounts.changes import AccountChanges

        return AccountChanges(self._home)

    @cached_property
    def removals(self) -> AccountRemovals:
        """Return what takes accounts away."""
        from oulipoly_engine.facade.accounts.removals import AccountRemovals

        return AccountRemovals(self._home)
