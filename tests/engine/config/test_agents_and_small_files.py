from pathlib import Path

import pytest

from oulipoly_engine.config.base.app_settings import AppSettings
from oulipoly_engine.config.load import list_agents, load_agent, load_agent_file, load_sessions, load_settings
from oulipoly_engine.config.parse import settings_keys
from oulipoly_engine.config.schema.app import AppTable
from oulipoly_engine.config.schema.settings import SettingsTable
from oulipoly_engine.core.accounts.accounts import SessionScripts, Settings
from oulipoly_engine.errors import AgentFileInvalid, AgentUnknown, ConfigInvalid
from oulipoly_engine.paths import Paths


@pytest.fixture
def paths(tmp_path):
    (tmp_path / "c" / "agents").mkdir(parents=True)
    return Paths(tmp_path / "c", tmp_path / "d", Path("/home/me"))


def agent(paths, text, name="reviewer"):
    (paths.agents / f"{name}.md").write_bytes(text.encode())
    return load_agent(paths, name)


def refusal(paths, text):
    with pytest.raises(AgentFileInvalid) as caught:
        agent(paths, text)
    return caught.value.message


def test_agent_has_its_keys_and_its_body_to_the_last_newline(paths):
    found = agent(paths, "---\ndescription: 'Code review'\nmodel: haiku\n---\nBe terse.\n---\nMore.\n").value

    assert ("reviewer", "Code review", "haiku", "") == (found.name, found.description, found.model, found.output_format)
    assert "Be terse.\n---\nMore.\n" == found.body


@pytest.mark.parametrize(
    "text", ["---\n---\nbody", "\ufeff---\r\nmodel:\r\n---\r\nbody", "---  \nmodel: ''\n--- \nbody", "---\n\n---\nbody"]
)
def test_missing_keys_are_empty_and_line_ends_do_not_matter(paths, text):
    found = agent(paths, text).value

    assert ("", "", "", "body") == (found.description, found.model, found.output_format, found.body)


@pytest.mark.rows_share_fixtures
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("just text", "has no frontmatter"),
        ("", "has no frontmatter"),
        ("---\nmodel: x\nno end", "the frontmatter has no end"),
        ("---\nmodel: [x\n---\nbody", "the frontmatter is not valid YAML"),
        ("---\n- a\n---\n", "the frontmatter is a list"),
        ("---\nmodel: 5\n---\n", ":2: model: in the frontmatter it must be a text, not the number 5"),
        ("---\nmodel: !!python/object:os.system x\n---\n", "the frontmatter is not valid YAML"),
        ("---\ndescription: 2026-13-45\n---\n", "frontmatter"),
    ],
)
def test_bad_frontmatter_names_the_agent_and_the_file(paths, text, words):
    message = refusal(paths, text)

    assert message.startswith(f"agent 'reviewer': {paths.agents / 'reviewer.md'}")
    assert words in message


def test_unreadable_agent_file_names_its_path(tmp_path):
    with pytest.raises(AgentFileInvalid, match=r"nowhere\.md: there is no such file"):
        load_agent_file(tmp_path / "nowhere.md")


def test_agent_file_is_named_after_its_stem(paths, tmp_path):
    (tmp_path / "mine.md").write_text("---\n---\nhello")

    assert "mine" == load_agent_file(tmp_path / "mine.md").value.name


def test_unknown_agent_names_the_nearest(paths):
    agent(paths, "---\n---\n", "code-reviewer")

    with pytest.raises(AgentUnknown, match=r"Unknown agent 'code-reviewr': did you mean code-reviewer\?"):
        load_agent(paths, "code-reviewr")
    assert ("code-reviewer",) == list_agents(paths)


def test_whole_prompt_in_place_of_an_agent_is_unknown(paths):
    with pytest.raises(AgentUnknown):
        load_agent(paths, "write me a story about " + "cats " * 200)


def test_mistyped_key_is_a_warning_and_foreign_keys_are_none(paths):
    problems = agent(paths, "---\nname: x\nmodle: y\ntools: [a]\n---\n").problems

    assert [("warning", 3, "rename it to `model`")] == [(item.level, item.line, item.fix) for item in problems]


def test_settings_are_read(paths):
    paths.settings.write_text('diagnostics_model = "haiku"\ntie_rule = "lowest-use"\nrouting_ttl_seconds = 5\n')

    assert Settings("haiku", tie_rule="lowest-use", routing_ttl_s=5.0) == load_settings(paths).value


def test_each_field_of_the_settings_has_a_key_with_the_same_default(paths):
    declared = {key: field.get_default() for key, field in SettingsTable.model_fields.items()}

    assert declared == settings_keys.to_file(Settings()) | {"runtimes": {}, "cli_agent_runtime": {}}


def test_each_field_of_the_apps_settings_has_a_key_with_the_same_default():
    declared = {key: field.get_default() for key, field in AppTable.model_fields.items()}

    assert declared | {"views": [], "commands": []} == settings_keys.to_file(AppSettings())


def test_missing_settings_are_defaults_without_a_word(paths):
    assert (Settings(), ()) == (load_settings(paths).value, load_settings(paths).problems)


@pytest.mark.parametrize(
    "text",
    ["= broken", 'default_provider = "a"\ndiagnostics_model = 5', 'tie_rule = "fewest"', "routing_ttl_seconds = -1"],
)
def test_invalid_settings_count_as_empty_with_a_warning(paths, text):
    paths.settings.write_text(text)
    loaded = load_settings(paths)

    assert Settings() == loaded.value
    assert ["warning"] == [problem.level for problem in loaded.problems]


def test_sessions_are_read_with_home_replaced(paths):
    paths.sessions.write_text(
        '[a]\nturn_script = "claude-code-turns ~/.claude/projects"\nstate_dir = "~/cursor"\ntranscript_locator = ""\n'
    )

    expected = SessionScripts("claude-code-turns ~/.claude/projects", None, Path("/home/me/cursor"))
    assert {"a": expected} == load_sessions(paths).value


def test_sessions_entry_without_a_turn_script_is_refused(paths):
    paths.sessions.write_text('[a]\ntype = "claude-code"\npaths = ["x"]\n')

    with pytest.raises(ConfigInvalid, match=r":1: \[a\]\.turn_script: `turn_script` is missing"):
        load_sessions(paths)


def test_missing_sessions_file_is_empty(paths):
    assert {} == load_sessions(paths).value
