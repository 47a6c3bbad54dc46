"""Saved views in app.toml: kept, replaced and forgotten, every comment where it is."""

import pytest

from oulipoly_engine.config import app_file
from oulipoly_engine.config.edit import views_edit
from oulipoly_engine.core.sessions.saved_view import SavedView
from oulipoly_engine.core.sessions.sessions import Sort
from oulipoly_engine.errors import ConfigInvalid, RequestRefused, UsageInvalid
from oulipoly_engine.paths import from_environment
from oulipoly_engine.service.accounts.settings import Settings

MINE = SavedView('today\'s "work"', "date:<1d -ci", "day", Sort.ENTRIES, is_reversed=True)


@pytest.fixture
def paths(home):
    return from_environment()


def write(paths, text):
    file = app_file.path_of(paths)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def test_a_view_comes_back_as_it_was_kept(paths):
    assert not views_edit.save(paths, MINE)
    assert (MINE,) == app_file.read(paths).value.views


def test_the_rest_of_the_file_stays_with_its_comments(paths):
    file = write(paths, 'theme = "x" # mine\n\n[keys]\n"pools.drain" = "x"\n')
    views_edit.save(paths, MINE)
    views_edit.delete(paths, MINE.name)

    assert 'theme = "x" # mine\n\n[keys]\n"pools.drain" = "x"\n' == file.read_text().rstrip() + "\n"


def test_a_view_of_that_name_is_replaced(paths):
    views_edit.save(paths, SavedView("a", "one"))

    assert views_edit.save(paths, SavedView("a", "two"))
    assert (SavedView("a", "two"),) == app_file.read(paths).value.views


def test_a_slip_in_one_view_costs_that_one_alone(paths):
    write(paths, '[views.good]\nfilter = "x"\n[views.bad]\nsort = "size"\n')
    found = app_file.read(paths)

    assert (SavedView("good", "x"),) == found.value.views
    assert ["views.bad.sort"] == [one.key for one in found.problems]


@pytest.mark.parametrize("name", ["", " ", "a\nb", "x" * 61])
def test_a_name_that_nobody_could_type_is_refused(paths, name):
    with pytest.raises(UsageInvalid, match="not a name for a view"):
        views_edit.save(paths, SavedView(name))


@pytest.mark.parametrize("text", ["views = 3\n", 'views = {a = {filter = "x"}}\n', "theme = \n"])
def test_a_file_that_cannot_be_edited_stays_as_it_is(paths, text):
    file = write(paths, text)
    with pytest.raises(ConfigInvalid):
        views_edit.save(paths, MINE)

    assert text == file.read_text()


def test_forgetting_what_is_not_there_is_refused(paths):
    with pytest.raises(RequestRefused, match="no saved view 'a'"):
        views_edit.delete(paths, "a")


def test_read_only_keeps_nothing(paths):
    with pytest.raises(RequestRefused):
        Settings(paths, read_only=True).save_view(MINE)
    with pytest.raises(RequestRefused):
        Settings(paths, read_only=True).delete_view("a")
