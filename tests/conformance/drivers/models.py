"""Areas models.*: a model's group and facet."""

from oulipoly_engine.core.accounts.accounts import group_name


def group(vector, tmp_path):
    name, facet = group_name(vector["input"]["name"])
    expected = vector["expected"]

    if isinstance(expected, str):
        assert (expected, None) == (name, facet)
    else:
        assert [*expected, None][:2] == [name, facet]


DRIVERS = {"models.group": group}
