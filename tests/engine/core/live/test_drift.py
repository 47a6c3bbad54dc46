"""How an installed CLI differs from those that were tested."""

import pytest

from oulipoly_engine.core.accounts.clis.table import CLIS
from oulipoly_engine.core.live import failures
from oulipoly_engine.core.live.drift import CODEX_METHODS, check_version, describe_lost_methods, read_methods
from oulipoly_engine.core.live.runtime_status import Probe


@pytest.mark.parametrize(
    ("version", "reason", "codes"),
    [
        ("0.169.0", "", []),
        ("0.170.2", "", ["cli_runtime.version_untested"]),
        ("0.170.0-alpha.3", "", ["cli_runtime.version_untested"]),
        ("0.59.9", failures.UNSUPPORTED_VERSION, []),
        ("0.59.0-alpha.3", failures.UNSUPPORTED_VERSION, []),
        ("0.0.0", "", ["cli_runtime.version_untested"]),
        ("0.1.0-demo", "", ["cli_runtime.version_untested"]),
        ("", "", []),
        ("unknown", "", []),
    ],
)
def test_a_version_is_too_old_tested_or_other(version, reason, codes):
    """What somebody has built has numbers that say nothing of its age: codex built from its sources is 0.0.0."""
    found = check_version(Probe(version=version), CLIS["codex"])

    assert reason == found.reason
    assert codes == [one.code for one in found.diagnostics]
    assert bool(reason) == (found.minimum_version == "0.60")


def test_a_failure_stays_what_it_is_whatever_the_version():
    assert failures.NEEDS_AUTH == check_version(Probe(failures.NEEDS_AUTH, version="0.1.0"), CLIS["codex"]).reason


def test_an_agent_that_nobody_knows_has_no_version_to_be_compared():
    assert Probe(version="0.0.1") == check_version(Probe(version="0.0.1"), None)


def test_methods_that_the_installed_version_lacks_are_named():
    schema = '{"oneOf": [' + ", ".join(f'{{"const": "{name}"}}' for name in CODEX_METHODS) + "]}"

    assert describe_lost_methods(read_methods([schema])) is None
    lost = describe_lost_methods(read_methods([schema.replace("turn/steer", "turn/nudge")]))
    assert "turn/steer" in lost.message
    assert "turn/start" not in lost.message


def test_a_schema_that_was_not_written_says_nothing():
    assert describe_lost_methods(read_methods([])) is None
