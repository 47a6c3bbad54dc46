"""The process that compacts a session for its host, which lets no message through meanwhile. Run as a module."""

from __future__ import annotations

from oulipoly_engine.facade.engine import Engine
from oulipoly_engine.host import launcher


def main() -> None:
    """Take the session's id, and compact it; never returns."""
    session_id = launcher.read_order().decode()
    launcher.detach(lambda: _compact(session_id))


def _compact(session_id: str) -> None:
    launcher.answer(b"begun", None)
    engine = Engine()
    engine.live.compact_when_due(session_id)
    engine.close()


if __name__ == "__main__":
    main()
