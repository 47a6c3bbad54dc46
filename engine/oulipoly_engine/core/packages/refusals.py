"""Why a package is not taken, or not there."""

from __future__ import annotations

from oulipoly_engine.errors import RequestRefused


class PackageRefused(RequestRefused, slug="package-refused", exit_code=2):
    """A package holds what we do not take, or its source gives none; the message names the file and the way out."""


class PackageMissing(RequestRefused, slug="package-not-found", exit_code=2):
    """No package of that name is installed."""
