"""What an account's programs see: its CLI, its quota script and its login refresh."""

from __future__ import annotations

from collections.abc import Mapping

from oulipoly_engine.core.accounts import arguments
from oulipoly_engine.core.accounts.accounts import Account


def read_environment(environ: Mapping[str, str], account: Account, patience_s: float | None = None) -> dict[str, str]:
    """Return an environment with an account's own variables, and with its API key where that is in the keyring.

    patience_s: with a locked keyring; None: as long as its user may take for its password. Raises AccountUnusable.
    """
    own = arguments.environment(environ, account)
    if account.keyring is not None:
        from oulipoly_engine.service.accounts import keyring_entries  # noqa: PLC0415 - few accounts need it

        patience = keyring_entries.PATIENCE_S if patience_s is None else patience_s
        own[account.keyring.variable] = keyring_entries.read_key(account.name, account.keyring, patience)
    return own
