"""Look up who we are to a registry: Docker's config.json, and the programs that it names."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from oulipoly_engine.core.images.credentials import Credentials, find_helper, find_login, read_helper, server_of
from oulipoly_engine.core.images.names import check_path_safe
from oulipoly_engine.core.images.refusals import RegistryFailed
from oulipoly_engine.process.script import run_script
from oulipoly_engine.regular_files import read_regular

_PATIENCE_S = 30.0  # a helper may open a keyring, which asks a person
_ASK = 'printf %s "$2" | "docker-credential-$1" get'
_NOT_FOUND = "credentials not found"


def look_up(registry: str, environ: Mapping[str, str], home: Path) -> Credentials:
    """Return the login for a registry; empty where there is none. Raises RegistryFailed where a helper fails."""
    folder = Path(environ["DOCKER_CONFIG"]) if environ.get("DOCKER_CONFIG") else home / ".docker"
    config = _read(folder / "config.json")
    helper = find_helper(config, registry)
    return _ask(helper, registry, environ) if helper else find_login(config, registry)


def _read(path: Path) -> Mapping[str, Any]:
    try:
        config = json.loads(read_regular(path))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise RegistryFailed(f"{path} cannot be read: {why}: correct it, or move it away") from error
    return config if isinstance(config, dict) else {}


def _ask(helper: str, registry: str, environ: Mapping[str, str]) -> Credentials:
    if check_path_safe(helper):
        raise RegistryFailed(f"Docker's config.json names the helper {helper[:60]!r}, which is not a program's name")
    result = run_script(_ASK, environ, arguments=(helper, server_of(registry)), timeout_s=_PATIENCE_S)
    text = result.stdout.decode("utf-8", "replace")
    if result.succeeded:
        try:
            document = json.loads(text)
        except ValueError:
            document = None
        if isinstance(document, dict):
            return read_helper(document)
    if _NOT_FOUND in text:
        return Credentials()
    # Its output may hold a secret.
    raise RegistryFailed(f"docker-credential-{helper} gives no login for {registry}: {result.outcome}: run it by hand")
