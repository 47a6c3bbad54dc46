"""Who we are to a registry, by Docker's rules."""

import base64

import pytest

from oulipoly_engine.core.images.credentials import (
    Credentials,
    find_helper,
    find_login,
    read_challenge,
    read_helper,
    server_of,
)

PAIR = base64.b64encode(b"me:s:ecret").decode()
ME = Credentials("me", "s:ecret")
CONFIG = {
    "auths": {
        "ghcr.io": {"auth": PAIR},
        "https://index.docker.io/v1/": {"auth": PAIR},
        "https://reg.example.com:5000/v2/": {"username": "me", "password": "s:ecret"},
        "token.io": {"identitytoken": "t"},
        "broken.io": {"auth": "%%%"},
    },
    "credHelpers": {"gcr.io": "gcloud", "https://index.docker.io/v1/": "hub"},
}


@pytest.mark.parametrize(
    ("registry", "login"),
    [
        ("ghcr.io", ME),
        ("docker.io", ME),
        ("registry-1.docker.io", ME),
        ("reg.example.com:5000", ME),
        ("token.io", Credentials(identity_token="t")),
        ("broken.io", Credentials()),
        ("unknown.io", Credentials()),
        ("reg.example.com", Credentials()),
    ],
)
def test_a_login_is_found_by_its_host_however_it_is_written(registry, login):
    assert login == find_login(CONFIG, registry)


def test_a_helper_of_a_registry_comes_before_the_store_of_all():
    assert ("gcloud", "hub", "") == tuple(find_helper(CONFIG, name) for name in ("gcr.io", "docker.io", "ghcr.io"))
    assert "desktop" == find_helper(CONFIG | {"credsStore": "desktop"}, "ghcr.io")
    assert "https://index.docker.io/v1/" == server_of("docker.io")


def test_what_a_helper_answers_is_a_login_or_an_identity_token():
    assert ME == read_helper({"Username": "me", "Secret": "s:ecret"})
    assert Credentials(identity_token="t") == read_helper({"Username": "<token>", "Secret": "t"})


@pytest.mark.parametrize("config", [{}, {"auths": 1}, {"auths": {"a": 1}}, {"credHelpers": [], "credsStore": 3}])
def test_a_config_of_another_form_has_no_login(config):
    assert ("", True) == (find_helper(config, "a"), find_login(config, "a").is_empty)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        (['Bearer realm="https://a/t",service="s"'], ("bearer", {"realm": "https://a/t", "service": "s"})),
        (["Basic realm=x"], ("basic", {"realm": "x"})),
        (["Negotiate", "bearer Realm=https://a/t, Service = s"], ("bearer", {"realm": "https://a/t", "service": "s"})),
        (['Basic realm="b", Bearer realm="https://a/t"'], ("bearer", {"realm": "https://a/t"})),
        (['Bearer realm="https://a/t", Basic realm="b"'], ("bearer", {"realm": "https://a/t"})),
        (["Negotiate"], ("", {})),
        ([], ("", {})),
    ],
)
def test_a_token_is_preferred_among_what_a_registry_asks_for_however_it_is_written(headers, expected):
    assert expected == read_challenge(headers)
