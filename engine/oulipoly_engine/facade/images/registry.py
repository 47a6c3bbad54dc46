"""The registry that `registry serve` serves."""

from __future__ import annotations

from oulipoly_engine.facade.base.home import Part
from oulipoly_engine.registry.served import RegistryRefused, ServedRegistry, Upload, read_range

__all__ = ["Registry", "RegistryRefused", "ServedRegistry", "Upload", "read_range"]


class Registry(Part):
    """The registry of one user."""

    def open(self) -> ServedRegistry:
        """Return it; it has a folder of its own, which need not be there. Raises ReadOnly."""
        self._home.refuse_if_read_only("serve a registry")
        return ServedRegistry(self._home.paths.registry)
