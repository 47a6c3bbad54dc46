"""What is given to the artifact store as a content: read from pipes and files, up to a limit."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from oulipoly_engine.blobs.blobs import BLOCK
from oulipoly_engine.core.text.columns import size_text
from oulipoly_engine.errors import ArtifactInputFailed, ArtifactStoreUnusable

IN_ROW = 64 << 10  # bytes that a row holds; more lies in a file


def blocks_of(source: BinaryIO, head: bytes, most: int | None) -> Iterator[bytes]:
    """Yield a content, of which the head was read already, but no more than so many bytes: a pipe may have no end.

    Raises ArtifactInputFailed, ArtifactStoreUnusable.
    """
    size = 0
    while head:
        size += len(head)
        if most is not None and size > most:
            raise ArtifactStoreUnusable(
                f"the content has more than {size_text(most)}, which the artifact store may hold: raise the limit"
            )
        yield head
        head = read_part(source, BLOCK)


def read_part(source: BinaryIO, most: int) -> bytes:
    """Read so many bytes, fewer at the end alone: a pipe gives what it has. Raises ArtifactInputFailed."""
    parts, left = [], most
    try:
        while left and (part := source.read(left)) != b"":
            if part is None:  # somebody left our stdin non-blocking, and it has nothing yet
                os.set_blocking(source.fileno(), True)
                continue
            parts.append(part)
            left -= len(part)
    except (OSError, ValueError) as error:
        raise ArtifactInputFailed(f"the content cannot be read: {getattr(error, 'strerror', None) or error}") from error
    return parts[0] if len(parts) == 1 else b"".join(parts)


@contextmanager
def refusals(folder: Path) -> Iterator[None]:
    """Turn an OSError of the block into ArtifactStoreUnusable that says what to do about the folder of contents."""
    try:
        yield
    except OSError as error:
        way = f"cannot write into {folder}: {error.strerror or error}: check its rights"
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            way = f"the disk that holds {folder} is full: free some space, or collect what was removed"
        raise ArtifactStoreUnusable(way) from error
