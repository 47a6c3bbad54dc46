"""What is asked and ordered about one-shots in the background of what stays open."""

from __future__ import annotations

from pathlib import Path

from oulipoly_engine.errors import UsageInvalid
from oulipoly_engine.facade.base.home import Home
from oulipoly_engine.facade.quota.pools import Pools
from oulipoly_engine.service.runs.background import Background, BackgroundRequest


class BackgroundRuns:
    """One-shots, each in a process of its own; OneShotSaid and OneShotEnded go out."""

    def __init__(self, home: Home, pools: Pools) -> None:
        self._home = home
        self._pools = pools
        self._background = Background(home.listeners, home.clock)

    def start(self, model: str, prompt: str, folder: Path | None = None, *, account: str | None = None) -> int:
        """Start a prompt on a model's pool and return the number of the one-shot.

        account: the member that alone may serve it; None: the pinned one, else whoever is best.
        """
        self._home.refuse_if_read_only("start a one-shot")
        if not prompt.strip():
            raise UsageInvalid("the prompt is empty: write something")
        self._home.files.model(model)
        pin = account or self._pools.pins.get(model)
        return self._background.start(BackgroundRequest(model, prompt, pin, folder, self._home.models_dir))

    def stop(self, number: int) -> None:
        """Interrupt a one-shot."""
        self._background.stop(number)

    @property
    def running(self) -> tuple[int, ...]:
        """Return the numbers of the one-shots that have not ended."""
        return self._background.running

    def close(self) -> None:
        """Stop them all."""
        self._background.close()
