"""Conversation tree, vectors 10 to 13, 16, 18, 20 and 21: settings as the contract has them."""

import json

import pytest

from oulipoly_engine.config import load
from oulipoly_engine.config.edit import settings_edit
from oulipoly_engine.config.edit.write_files import write
from oulipoly_engine.core.accounts.accounts import Settings
from oulipoly_engine.paths import Above, Paths
from oulipoly_engine.records import replace


@pytest.fixture
def paths(tmp_path):
    (tmp_path / "config").mkdir()
    (tmp_path / ".agent-runner").mkdir()
    above = Above(project=tmp_path / ".agent-runner", is_trusted=lambda _folder, _digest: True)
    return Paths(config=tmp_path / "config", data=tmp_path / "data", home=tmp_path, above=above)


def read(paths, **above):
    return load.load_settings(replace(paths, above=replace(paths.above, **above))).value


def test_vector_10_defaults():
    settings = Settings()

    assert (None, None, True, True, 120, True) == (
        settings.thinking_level,
        settings.default_model,
        settings.extensions_enabled,
        settings.auto_compaction,
        settings.tool_timeout_seconds,
        settings.stream_responses,
    )


def test_vectors_11_to_13_a_file_of_either_form_changes_what_it_names(paths):
    paths.settings.write_text('default_provider = "deepseek"\n')
    (paths.above.project / "settings.toml").write_text('default_model = "openai/gpt-4o"\n')
    toml = read(paths)
    (paths.above.project / "settings.json").write_text('{"auto_compaction": false}')
    in_json = read(paths)

    assert ("openai/gpt-4o", "deepseek", True) == (toml.default_model, toml.default_provider, toml.auto_compaction)
    assert (None, "deepseek", False) == (in_json.default_model, in_json.default_provider, in_json.auto_compaction)


def test_vector_16_what_is_given_later_stands_above_and_changes_nothing_else(paths):
    (paths.above.project / "settings.toml").write_text('default_model = "openai/gpt-4o"\n')
    model = read(paths, options={"default_model": "claude"})
    both = read(paths, options={"default_model": "claude", "default_provider": "google"})

    assert ("claude", None) == (model.default_model, model.default_provider)
    assert ("claude", "google") == (both.default_model, both.default_provider)


@pytest.mark.parametrize(
    ("text", "timeout", "count"),
    [
        ('{"version": 0, "tool_timeout_seconds": 0}', 120, 0),
        ('{"version": 2, "tool_timeout_seconds": 7}', 7, 0),
        ('{"version": 9999, "tool_timeout_seconds": 7}', 120, 1),
    ],
)
def test_vector_20_versions(paths, text, timeout, count):
    (paths.above.project / "settings.json").write_text(text)
    loaded = load.load_settings(paths)

    assert (timeout, count) == (loaded.value.tool_timeout_seconds, len(loaded.problems))
    assert all("9999" in problem.message for problem in loaded.problems)


@pytest.mark.parametrize("name", ["settings.toml", "settings.json"])
def test_vector_21_what_is_saved_is_read_again_and_keeps_its_form(paths, name):
    file = paths.above.project / name
    file.write_text('{"theme": "nord", "unknown": [1]}' if name.endswith("json") else '# mine\ntheme = "nord"\n')
    known = settings_edit.names(paths)

    def save(key, typed):
        setting = settings_edit.of_project(paths, known[key], paths.home)
        write(settings_edit.plan([(setting, typed)]))

    save("settings.auto_compaction", "false")
    save("settings.tool_timeout_seconds", "60")
    save("settings.default_provider", "google")
    settings = read(paths)
    assert (False, 60, "google") == (
        settings.auto_compaction,
        settings.tool_timeout_seconds,
        settings.default_provider,
    )
    save("settings.tool_timeout_seconds", "")
    assert 120 == read(paths).tool_timeout_seconds
    if name.endswith("json"):
        kept = {"theme": "nord", "unknown": [1], "auto_compaction": False, "default_provider": "google"}
        assert kept == json.loads(file.read_text())
    else:
        assert file.read_text().startswith('# mine\ntheme = "nord"\n')
