"""A home with a login of its own, in which all else is what another home has (contract, B.9).

Two logins then see the same sessions, and either goes on with what the other began.
"""

from __future__ import annotations

import os
from pathlib import Path

from oulipoly_engine.core.live.wires.wire import HomeParts
from oulipoly_engine.errors import ShadowHomeRefused
from oulipoly_engine.private_files import make_folder


def prepare(parts: HomeParts, home: Path, shadow: Path) -> None:
    """Make a shadow home, or bring it up to date: a link for each entry of the home, but for the login's own files.

    parts: of the CLI's home. Raises ShadowHomeRefused.
    """
    try:
        _prepare(parts, home, shadow)
    except OSError as error:
        raise ShadowHomeRefused(f"the shadow home {shadow} cannot be prepared: {error.strerror or error}") from error


def _prepare(parts: HomeParts, home: Path, shadow: Path) -> None:
    real, own = home.resolve(), shadow.resolve()
    if real == own:
        raise ShadowHomeRefused(f"the shadow home {shadow} is the home itself: name another folder")
    if real in own.parents or own in real.parents:
        message = f"the shadow home {shadow} and the home {home} lie one in the other: name a folder beside it"
        raise ShadowHomeRefused(message)
    for name in parts.shared:
        make_folder(home / name)
    make_folder(shadow)
    for name in sorted(parts.own):
        if (shadow / name).is_symlink():
            message = f"{shadow / name} is a link, but a login of its own has to be a file there: remove it, and log in"
            raise ShadowHomeRefused(message)
    for entry in sorted(real.iterdir()):
        if entry.name not in parts.own:
            _link(shadow / entry.name, entry)


def _link(place: Path, target: Path) -> None:
    if place.is_symlink():
        if place.readlink() == target:
            return
        other = place.with_name(f".{place.name}.{os.getpid()}.link")
        other.unlink(missing_ok=True)
        other.symlink_to(target)
        other.replace(place)
    elif os.path.lexists(place):
        raise ShadowHomeRefused(f"{place} is there and no link to {target}: move it away, or put what is in it there")
    else:
        try:
            place.symlink_to(target)
        except FileExistsError:  # another process was faster
            if not place.is_symlink() or place.readlink() != target:
                raise
