"""The socket of the own user's programs. They show no token, for they could run `agents` themselves.

It is a Unix socket: the kernel says who is at its other end. Of an address of this computer nobody can say that, for
`ssh -R` or a proxy of the same user's passes on what the network sends.
"""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path
from typing import Any

from oulipoly_engine.errors import RequestRefused
from oulipoly_engine.host.peer_credentials import is_same_user
from oulipoly_engine.host.runtime_folder import claim, claim_name
from oulipoly_engine.web.connections import BoundedListener


class OwnSocket(BoundedListener):
    """A listening socket in a folder of the user's own. Whoever closes it takes it away."""

    def __init__(self, folder: Path, port: int) -> None:
        """Listen at `PORT.sock`, the port with six digits; at another name where a server at another address has it.

        Raises RequestRefused, RuntimeFolderUnsafe.
        """
        self._lock: int | None = None
        try:
            claimed = claim_name(folder, f"{port:06}") or claim(folder)
            self._place, self._lock = claimed
            super().__init__(fileno=self._place.listen().detach())
        except OSError as error:
            self._give_up_place()
            raise RequestRefused(f"cannot listen on a socket in {folder}: {error.strerror or error}") from error

    @property
    def path(self) -> Path:
        """Return where it is."""
        return self._place.socket

    def accept(self) -> tuple[socket.socket, Any]:
        """Return a connection and its client. Raises ConnectionAbortedError for one that is refused."""
        accepted, client = super().accept()
        if not is_same_user(accepted):
            accepted.close()
            raise ConnectionAbortedError(errno.ECONNABORTED, "this connection is another user's")
        return accepted, client

    def close(self) -> None:
        """Close it, and take it away."""
        super().close()
        self._give_up_place()

    def _give_up_place(self) -> None:
        if self._lock is not None:
            self._place.remove()
            os.close(self._lock)
            self._lock = None
