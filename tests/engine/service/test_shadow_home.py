"""A shadow home: a login of its own, links to all else, and nothing of the user's overwritten."""

import pytest

from oulipoly_engine.core.live.wires.table import WIRES
from oulipoly_engine.errors import ShadowHomeRefused
from oulipoly_engine.service.shadow_home import prepare

_CODEX, _CLAUDE = WIRES["codex"].shadow, WIRES["claude"].shadow


@pytest.fixture
def home(tmp_path):
    folder = tmp_path / "codex"
    (folder / "sessions").mkdir(parents=True)
    (folder / "config.toml").write_text("a = 1\n")
    (folder / "auth.json").write_text("{}")
    return folder


@pytest.fixture
def shadow(tmp_path):
    return tmp_path / "shadow"


def test_all_but_the_login_is_linked(home, shadow):
    prepare(_CODEX, home, shadow)

    assert {"config.toml": home / "config.toml", "sessions": home / "sessions"} == {
        path.name: path.readlink() for path in shadow.iterdir()
    }
    assert 0o700 == shadow.stat().st_mode & 0o777


def test_what_came_since_is_linked_and_the_rest_stays(home, shadow):
    prepare(_CODEX, home, shadow)
    (shadow / "auth.json").write_text("own")
    (shadow / "models_cache.json").write_text("own")
    (home / "history.jsonl").write_text("")

    prepare(_CODEX, home, shadow)

    assert "own" == (shadow / "auth.json").read_text()
    assert home / "history.jsonl" == (shadow / "history.jsonl").readlink()
    assert "{}" == (home / "auth.json").read_text()


def test_sessions_are_shared_before_the_first_one(tmp_path, shadow):
    """Made by the CLI in the shadow home, the folder would hide them from the other login."""
    (tmp_path / "claude").mkdir()

    prepare(_CLAUDE, tmp_path / "claude", shadow)

    assert tmp_path / "claude/projects" == (shadow / "projects").readlink()


@pytest.mark.parametrize("name", ["auth.json", "models_cache.json"])
def test_a_login_that_is_a_link_is_refused(home, shadow, name):  # vector 48
    shadow.mkdir()
    (shadow / name).symlink_to(home / "auth.json")

    with pytest.raises(ShadowHomeRefused, match="is a link"):
        prepare(_CODEX, home, shadow)


def test_the_home_is_not_its_own_shadow(home, tmp_path):  # vector 48
    (tmp_path / "alias").symlink_to(home)

    for shadow in (home, tmp_path / "alias"):
        with pytest.raises(ShadowHomeRefused, match="the home itself"):
            prepare(_CODEX, home, shadow)


def test_neither_lies_in_the_other(home):
    for one, other in ((home, home / "shadow"), (home / "sessions", home)):
        with pytest.raises(ShadowHomeRefused, match="one in the other"):
            prepare(_CODEX, one, other)


def test_a_link_to_elsewhere_is_set_right(home, shadow, tmp_path):  # vector 48
    shadow.mkdir()
    (shadow / "config.toml").symlink_to(tmp_path / "elsewhere")

    prepare(_CODEX, home, shadow)

    assert home / "config.toml" == (shadow / "config.toml").readlink()
    assert [] == [path.name for path in shadow.iterdir() if path.name.startswith(".")]


def test_a_file_in_the_place_of_a_link_is_left_and_refused(home, shadow):
    shadow.mkdir()
    (shadow / "config.toml").write_text("mine")

    with pytest.raises(ShadowHomeRefused, match="no link"):
        prepare(_CODEX, home, shadow)
    assert "mine" == (shadow / "config.toml").read_text()


def test_what_the_system_refuses_is_told(home, tmp_path):
    (tmp_path / "file").write_text("")

    with pytest.raises(ShadowHomeRefused, match="cannot be prepared"):
        prepare(_CODEX, home, tmp_path / "file" / "shadow")
