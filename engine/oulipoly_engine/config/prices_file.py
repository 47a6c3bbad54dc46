"""prices.toml: what the user says that models cost, before any list."""

from __future__ import annotations

from collections.abc import Mapping

from oulipoly_engine.config import snapshot
from oulipoly_engine.config.base.problem import Loaded
from oulipoly_engine.core.ledger.prices import Rate
from oulipoly_engine.paths import Paths


def read_prices(paths: Paths) -> Loaded[Mapping[str, Rate]]:
    """Return the rates of the models that the file names; what is wrong with others comes along as warnings."""
    path = paths.config / "prices.toml"

    def parse(raw: bytes | None) -> Loaded[Mapping[str, Rate]]:
        from oulipoly_engine.config.parse import settings  # noqa: PLC0415 - 100 ms, only a changed file needs it

        return settings.parse_prices(path, raw)

    return snapshot.read(paths, path, "prices", Loaded[Mapping[str, Rate]], parse, absent=Loaded({}))
