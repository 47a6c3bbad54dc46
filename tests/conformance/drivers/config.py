"""Areas config.*: names out of old command lines, and arguments that Codex would get twice."""

from oulipoly_engine.config.base.legacy import derive_provider_name
from oulipoly_engine.core.accounts.clis.adapters import codex_overlap


def derive(vector, tmp_path):
    assert vector["expected"] == derive_provider_name(vector["input"]["command_line"])


def overlap(vector, tmp_path):
    given = vector["input"]
    found = codex_overlap(given["provider"], given["root_args"], given["model_args"])

    assert vector["expected"] == ("ok" if found is None else "reject")


DRIVERS = {"config.derive_provider_name": derive, "config.codex_overlap": overlap}
