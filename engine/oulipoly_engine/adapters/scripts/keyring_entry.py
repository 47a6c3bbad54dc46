"""Find the keyring of this user, and read, write and delete what is ours in it.

`find` prints what keyrings are called; `read ENTRY` prints a value, `write ENTRY` takes one on stdin, `delete ENTRY`.
A process of its own, since a locked keyring asks its user in a window, for as long as that takes, and since the package
costs a quarter of a second: whoever keeps no key there never imports it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

SERVICE = "agent-runner"
FAILED, NO_PACKAGE, NO_KEYRING, LOCKED, NO_ENTRY = 1, 3, 4, 5, 6  # exit codes
# Those that keep nothing, keep plain text in a file, or ask for a password on the terminal.
_UNUSABLE = ("keyring.backends.fail", "keyring.backends.null", "keyrings.alt")


def main() -> int:
    """Do what the arguments say."""
    try:
        import keyring  # noqa: PLC0415 - whether it is installed is what is asked
        from keyring import errors  # noqa: PLC0415 - as above
    except ImportError as error:
        return _fail(NO_PACKAGE, error)
    verb, *entry = sys.argv[1:]
    try:
        usable = list(_find_usable(keyring.get_keyring()))
        if not usable:
            return NO_KEYRING
        if verb == "find":
            sys.stdout.write(", ".join(dict.fromkeys(one.name for one in usable)))
            return 0
        return _use(usable[0], verb, *entry)
    except errors.KeyringLocked as error:
        return _fail(LOCKED, error)
    except errors.InitError as error:  # of a service that no prompt can unlock, or that nobody has set up
        return _fail(LOCKED, error)
    except errors.NoKeyringError as error:
        return _fail(NO_KEYRING, error)
    except Exception as error:
        return _fail(FAILED, error)


def _use(backend: KeyringBackend, verb: str, entry: str) -> int:
    if verb == "write":
        backend.set_password(SERVICE, entry, sys.stdin.read())
        return 0
    value = backend.get_password(SERVICE, entry)
    if value is None:
        return NO_ENTRY
    if verb == "delete":
        backend.delete_password(SERVICE, entry)
    else:
        sys.stdout.write(value)
    return 0


def _find_usable(found: KeyringBackend) -> Iterable[KeyringBackend]:
    """Yield the backends that keep secrets; keyring's own choice may be a chain of several."""
    chained: Iterable[KeyringBackend] = getattr(found, "backends", (found,))
    return (one for one in chained if not type(one).__module__.startswith(_UNUSABLE))


def _fail(code: int, error: Exception) -> int:
    sys.stderr.write(f"{type(error).__name__}: {error}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
