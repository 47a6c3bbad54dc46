"""The proxy of a runtime: its variables, and its URL without who logs in."""

import pytest

from oulipoly_engine.core.live.runtimes import hide_proxy, mask_proxy, proxy_environment


def test_a_proxy_is_said_in_both_spellings():  # vector 49
    variables = proxy_environment("http://127.0.0.1:8080")

    names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
    assert {"http://127.0.0.1:8080"} == {variables[spelt] for name in names for spelt in (name, name.lower())}
    assert "localhost,127.0.0.1,::1" == variables["NO_PROXY"] == variables["no_proxy"]
    assert 8 == len(variables)


@pytest.mark.parametrize("blank", ["", "  ", "\n"])
def test_a_blank_proxy_is_none(blank):  # vector 49
    assert {} == proxy_environment(blank)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("http://ann:CANARY@proxy:80/x?CANARY", "http://•••@proxy:80"),
        ("http://ann:CAN@CANARY@proxy", "http://•••@proxy"),
        ("ann:CANARY@proxy", "•••@proxy"),
        ("http://ann:CAN/CANARY@proxy", "http://•••@proxy"),
    ],
)
def test_who_logs_in_is_never_shown(url, shown):
    assert shown == mask_proxy(url)


def test_a_program_that_prints_it_shows_nothing_either():
    told = "cannot reach http://ann:CANARY@proxy:80 as ann:CANARY with CANARY"

    assert "CANARY" not in hide_proxy(told, "http://ann:CANARY@proxy:80")
