"""Who we are to a registry, with Docker's configuration and a helper that runs."""

import json

import pytest

from oulipoly_engine.core.images.credentials import Credentials
from oulipoly_engine.core.images.refusals import RegistryFailed
from oulipoly_engine.registry.credentials import look_up

HELPER = """#!/bin/sh
read -r server
case "$1 $server" in
    "get ghcr.io") echo '{"Username": "me", "Secret": "s"}' ;;
    "get gone.io") echo "credentials not found in native keychain"; exit 1 ;;
    *) echo "s3cret"; exit 1 ;;
esac
"""


@pytest.fixture
def ask(tmp_path):
    program = tmp_path / "bin/docker-credential-lab"
    program.parent.mkdir()
    program.write_text(HELPER)
    program.chmod(0o755)
    environ = {"PATH": f"{program.parent}:/usr/bin:/bin", "DOCKER_CONFIG": str(tmp_path)}
    config = {
        "credsStore": "lab",
        "credHelpers": {"other.io": "../lab"},
        "auths": {"gone.io": {"username": "not asked"}},
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    return lambda registry: look_up(registry, environ, tmp_path / "home")


def test_a_helper_s_word_is_final_and_its_output_is_not_told(ask):
    assert (Credentials("me", "s"), Credentials()) == (ask("ghcr.io"), ask("gone.io"))
    with pytest.raises(
        RegistryFailed, match=r"docker-credential-lab gives no login for bad\.io: ended with 1"
    ) as refusal:
        ask("bad.io")
    assert "s3cret" not in refusal.value.message
    with pytest.raises(RegistryFailed, match="not a program's name"):
        ask("other.io")
