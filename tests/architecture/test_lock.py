"""What tests are run with is locked, and fits what pyproject.toml asks for; `scripts/lock` writes it anew."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
_PIN = re.compile(r"^([\w.-]+)==([\w.+!]+)(.*(?:\n    .*)*)", re.MULTILINE)


@pytest.mark.parametrize("extras", ["dev", "dev,browser"])
def test_each_dependency_is_locked_with_hashes_and_fits(extras):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"]]
    for extra in extras.split(","):
        wanted += project["optional-dependencies"][extra]
    pins = {name: (version, rest) for name, version, rest in _PIN.findall(_read(extras))}

    unfit = [text for text in wanted if not _fits(Requirement(text), pins)]

    assert [] == unfit, "scripts/lock"
    assert [] == [name for name, (_version, rest) in pins.items() if "--hash=sha256:" not in rest]


def _read(extras):
    return (ROOT / "requirements" / f"{extras}.txt").read_text()


def _fits(requirement, pins):
    version, _rest = pins.get(canonicalize_name(requirement.name), (None, ""))
    return version is not None and requirement.specifier.contains(version, prereleases=True)
