"""Areas inputs.*: `-i key=value` and a model's schema to CLI arguments."""

import re

import pytest

from oulipoly_engine.config.parse.models import input_specs
from oulipoly_engine.core.accounts import inputs
from oulipoly_engine.errors import InputInvalid


def parse(vector, tmp_path):
    if vector["expected"] == "error":
        with pytest.raises(InputInvalid):
            inputs.parse_pair(vector["input"]["arg"])
        return
    assert vector["expected"] == list(inputs.parse_pair(vector["input"]["arg"]))


def resolve(vector, tmp_path):
    specs, faults = input_specs(vector["input"]["schema"])
    assert () == faults
    given = {name: tuple(values) for name, values in vector["input"]["given"].items()}
    expected = vector["expected"]
    if isinstance(expected, list):
        assert expected == list(inputs.resolve(specs, given, vector["input"].get("prompt")))
        return
    with pytest.raises(InputInvalid) as caught:
        inputs.resolve(specs, given, vector["input"].get("prompt"))
    if isinstance(expected, dict):  # the text is free, its words are not
        for word in re.findall(r"\w+", expected["error"]):
            assert word.lower() in caught.value.message.lower()


DRIVERS = {"inputs.parse": parse, "inputs.resolve": resolve}
