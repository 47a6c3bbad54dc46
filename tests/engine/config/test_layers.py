"""Settings in five layers: the last that has one counts, and a project says only what it may."""

import json
import os
from contextlib import closing
from pathlib import Path

import pytest

from oulipoly_engine.config import app_file, layers, load
from oulipoly_engine.config.base.app_settings import AppSettings
from oulipoly_engine.config.check import check
from oulipoly_engine.config.origins import read_origins
from oulipoly_engine.config.parse import layers as parsing
from oulipoly_engine.core.accounts.accounts import Settings
from oulipoly_engine.errors import UsageInvalid
from oulipoly_engine.facade.configuration import refuse_wrong_options
from oulipoly_engine.facade.engine import Engine, Surroundings
from oulipoly_engine.paths import Above, Paths, above_of, find_project, with_options
from oulipoly_engine.records import replace
from oulipoly_tui import find_app_faults, split_settings


@pytest.fixture
def paths(tmp_path):
    config = tmp_path / "config"
    config.mkdir()
    return Paths(config=config, data=tmp_path / "data", home=tmp_path, cache=tmp_path / "cache")


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project" / ".agent-runner"
    folder.mkdir(parents=True)
    return folder


def with_above(paths, **above):
    return replace(paths, above=Above(**above))


def test_the_last_layer_that_has_a_setting_counts_and_shows_what_it_hides(paths, project):
    app_file.path_of(paths).write_text('# mine\ntheme = "own"\nfooter = "compact"\n')
    (project / "settings.toml").write_text('\ntheme = "monokai"\nfooter = "off"\n')
    above = {"project": project, "environment": {"AGENT_RUNNER_THEME": "nord", "OXI_THEME": "oxi"}}
    whole = with_above(paths, **above, options={"theme": "dracula"})

    steps = [paths, with_above(paths, project=project), with_above(paths, **above), whole]
    assert ["own", "monokai", "nord", "dracula"] == [app_file.read(each).value.theme for each in steps]
    assert "off" == app_file.read(whole).value.footer

    (theme,) = (each for each in read_origins(whole).settings if each.key == "theme")
    own, toml = app_file.path_of(paths), project / "settings.toml"
    assert [
        ("command line", "dracula", "--set theme"),
        ("environment", "nord", "$AGENT_RUNNER_THEME"),
        ("project", "monokai", f"{toml}:2"),
        ("global", "own", f"{own}:2"),
        ("built-in", None, ""),
    ] == [(each.layer, each.value, each.source) for each in (theme.holds, *theme.shadowed)]


@pytest.mark.parametrize(
    ("variable", "text", "key", "expected"),
    [
        ("OXI_MODEL", "anthropic/claude-haiku-4", "default_model", "anthropic/claude-haiku-4"),
        ("OXI_PROVIDER", "deepseek", "default_provider", "deepseek"),
        ("OXI_THINKING", "MINIMAL", "thinking_level", "minimal"),
        *(("OXI_AUTO_COMPACTION", word, "auto_compaction", True) for word in ("true", "1", "yes", "ON")),
        *(("OXI_AUTO_COMPACTION", word, "auto_compaction", False) for word in ("false", "0", "no", "off")),
        ("OXI_STREAM", "false", "stream_responses", False),
        ("OXI_TOOL_TIMEOUT", "60", "tool_timeout_seconds", 60),
        ("OXI_TEMPERATURE", "0.7", "default_temperature", 0.7),
        ("OXI_MAX_TOKENS", "1024", "max_tokens", 1024),
        ("OXI_SESSION_DIR", "/tmp/env-sessions", "session_dir", "/tmp/env-sessions"),
        ("OXI_EXTENSIONS_ENABLED", "0", "extensions_enabled", False),
        ("AGENT_RUNNER_COMPACTION_THRESHOLD", "0.7", "compaction_threshold", 0.7),
        ("AGENT_RUNNER_ARCHIVE_LIMIT_MB", "3", "archive_limit_bytes", 3 << 20),
        ("AGENT_RUNNER_SERVE_ROOTS", "/a, /b", "serve_roots", ("/a", "/b")),
        ("AGENT_RUNNER_SERVE_ROOTS", '["/a,b"]', "serve_roots", ("/a,b",)),
    ],
)
def test_a_variable_is_read_as_its_setting_has_it(paths, variable, text, key, expected):
    read = load.load_settings(with_above(paths, environment=above_of({variable: text, "PATH": "/bin"})))

    assert ((), expected) == (read.problems, getattr(read.value, key))


def test_what_cannot_be_used_is_told_and_leaves_what_lies_below(paths, project):
    paths.settings.write_text("auto_compaction = false\n")
    (project / "settings.toml").write_text('tie_rule = "cheapest"\nfooter = "off"\ntie_rul = "lowest-use"\n')
    whole = with_above(paths, project=project, environment={"OXI_AUTO_COMPACTION": "maybe"})
    read = load.load_settings(whole)

    assert "off" == app_file.read(whole).value.footer
    assert replace(Settings(), auto_compaction=False) == read.value
    problems = [(str(each.file), each.line, each.fix) for each in read.problems]
    file = str(project / "settings.toml")
    assert [(file, 1, "write one of these in quotes"), (file, 3, "write tie_rule")] == problems[:2]
    assert ["$OXI_AUTO_COMPACTION"] == [file for file, *_ in problems[2:]]
    for given in ({"tie_rule": "cheapest"}, {"tie_rul": "lowest-use"}):
        with pytest.raises(UsageInvalid, match="--set tie_rul"):
            load.load_settings(with_above(paths, options=given))


def test_of_one_folder_json_counts_and_of_several_the_nearest(paths, project):
    (project / "settings.toml").write_text('tie_rule = "lowest-use"\n')
    assert "lowest-use" == load.load_settings(with_above(paths, project=project)).value.tie_rule
    (project / "settings.json").write_text('{"tie_rule": "most-headroom"}')
    assert "most-headroom" == load.load_settings(with_above(paths, project=project)).value.tie_rule
    (project / "settings.json").write_text('{"tie_rule": ')
    broken = load.load_settings(with_above(paths, project=project))
    assert ("fewest-calls", 1) == (broken.value.tie_rule, len(broken.problems))

    inner = project.parent / "inner"
    (inner / "deep").mkdir(parents=True)
    assert project == find_project(inner / "deep")
    (inner / ".agent-runner").mkdir()
    assert inner / ".agent-runner" == find_project(inner / "deep")


def test_a_project_says_what_spends_or_permits_only_while_it_is_as_a_person_has_seen_it(paths, project):
    file = project / "settings.toml"
    file.write_text('auto_compaction = false\ntheme = "nord"\nserve_commit = true\n')
    trusted = set()
    above = Above(project=project, is_trusted=lambda folder, digest: (folder, digest) in trusted)
    project_paths = replace(paths, above=above)

    def look():
        ignored = {each.key for each in read_origins(project_paths).ignored}
        settings = load.load_settings(project_paths).value
        return settings.auto_compaction, settings.serve_commit, app_file.read(project_paths).value.theme, ignored

    assert (True, False, "nord", {"auto_compaction", "serve_commit"}) == look()
    trusted.add((project, layers.read_project(project_paths, project, file)[1]))
    assert (False, False, "nord", {"serve_commit"}) == look()
    file.write_text(f"{file.read_text()}keep_turn_files = false\n")
    assert (True, False, "nord", {"auto_compaction", "serve_commit", "keep_turn_files"}) == look()
    elsewhere = paths.home / "other" / ".agent-runner"
    elsewhere.mkdir(parents=True)
    (elsewhere / file.name).write_text("auto_compaction = false\n")
    (project / file.name).write_text("auto_compaction = false\n")
    trusted.add((elsewhere, layers.read_project(project_paths, project, file)[1]))
    assert load.load_settings(replace(project_paths, above=replace(above, project=elsewhere))).value.auto_compaction


def test_what_has_not_changed_is_read_without_a_schema(paths, project, monkeypatch):
    (project / "settings.toml").write_text('tie_rule = "lowest-use"\n')
    whole = with_above(
        paths, project=project, environment={"OXI_AUTO_COMPACTION": "off"}, options={"work_max_running": "3"}
    )
    first = load.load_settings(whole)
    for name in ("parse_project", "parse_environment", "parse_texts"):
        monkeypatch.setattr(parsing, name, lambda *_: pytest.fail("it was parsed again"))

    assert ("lowest-use", False, 3) == (
        first.value.tie_rule,
        first.value.auto_compaction,
        first.value.work_max_running,
    )
    assert first == load.load_settings(whole)


def test_nothing_above_and_a_project_that_cannot_be_read_leave_the_defaults(paths, project):
    assert (Settings(), AppSettings()) == (load.load_settings(paths).value, app_file.read(paths).value)
    unreadable = project / "settings.json"
    contents = (b"\xff\xfe", b"[]", b"[" * 100_000, json.dumps({"a" * 99: 1}).encode(), b'{"version": 9999}')
    for content in contents:
        unreadable.write_bytes(content)
        read = load.load_settings(with_above(paths, project=project))
        assert (Settings(), [unreadable]) == (read.value, [each.file for each in read.problems])


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (Path.mkdir, "a folder"),
        (lambda path: path.symlink_to(path.name), "symbolic links"),
        (lambda path: path.symlink_to("nowhere"), "a link to nothing"),
        (lambda path: os.mkfifo(path), "a FIFO"),
        (lambda path: path.write_bytes(b"") or os.truncate(path, 100 << 20), "more than 4 MB"),
    ],
    ids=["folder", "cycle", "link", "fifo", "100 MB"],
)
def test_what_stands_in_place_of_a_projects_file_is_told(paths, project, make, expected):
    make(project / "settings.toml")
    (problem,) = load.load_settings(with_above(paths, project=project)).problems

    assert project / "settings.toml" == problem.file
    assert expected in problem.message


def test_a_name_of_nothing_is_laid_to_the_layer_that_says_it_and_refused_on_the_command_line(paths, project):
    paths.settings.write_text('default_provider = "ada"\n')
    (project / "settings.toml").write_text('\ntheme = "nosuch"\n')
    variables = {
        "AGENT_RUNNER_DEFAULT_PROVIDER": "bob",
        "AGENT_RUNNER_TIE_RUL": "lowest-use",
        "AGENT_RUNNER_HOMEBREW": "x",
    }
    problems = check(with_above(paths, project=project, environment=variables), find_app_faults=find_app_faults)

    named = [("$AGENT_RUNNER_TIE_RUL", None), ("$AGENT_RUNNER_DEFAULT_PROVIDER", None)]
    assert [*named, (str(project / "settings.toml"), 2)] == [(str(each.file), each.line) for each in problems]
    for key in ("theme", "default_provider", "default_model"):
        with pytest.raises(UsageInvalid, match=f"--set {key}: there is no|--set {key}: the account"):
            refuse_wrong_options(with_above(paths, options={key: "nosuch"}), find_app_faults=find_app_faults)
    refuse_wrong_options(with_above(paths, options={"theme": "light"}), find_app_faults=find_app_faults)


@pytest.mark.parametrize(
    ("words", "own", "given"),
    [
        ((), [], []),
        (("--set", "a=1", "--set=b=2", "--read-only"), ["--read-only"], ["a=1", "b=2"]),
        (("--read-only", "--set", "a=1"), ["--read-only", "--set", "a=1"], []),
        (("--set",), ["--set"], []),
    ],
)
def test_settings_stand_at_the_beginning_of_the_apps_command_line(words, own, given):
    assert (own, given) == split_settings(words)


@pytest.mark.parametrize("text", ["theme", "=x", ""])
def test_what_is_no_pair_is_refused(paths, text):
    with pytest.raises(UsageInvalid, match="--set takes KEY=VALUE"):
        with_options(paths, [text])


def test_what_stays_open_follows_a_project_and_a_persons_trust(tmp_path, project):
    file = project / "settings.toml"
    file.write_text("auto_compaction = false\n")
    paths = Paths(config=tmp_path / "none", data=tmp_path / "data", home=tmp_path, above=Above(project=project))
    engine = Engine(Surroundings(paths=paths))
    configuration = engine.configuration

    def counts():
        return not configuration.read_configuration().settings.auto_compaction

    with closing(engine):
        assert not counts()
        configuration.trust(configuration.project(project.parent))
        assert counts()
        file.write_text("auto_compaction = false\nkeep_turn_files = false\n")
        assert not counts()
        configuration.trust(configuration.project(project.parent))
        assert counts()
        for grant in engine.grants.list():
            engine.grants.revoke(grant.grant_id)
        assert not counts()


@pytest.mark.parametrize(
    ("text", "is_on"),
    [("1", True), ("true", True), ("YES", True), ("on", True), ("0", False), ("no", False), ("", False), ("x", False)],
)
@pytest.mark.parametrize("variable", ["OXI_TELEMETRY", "AGENT_RUNNER_TELEMETRY"])
def test_a_variable_that_does_not_say_yes_switches_telemetry_off(paths, variable, text, is_on):  # vector 46
    paths.settings.write_text("telemetry = true\n")
    settings = load.load_settings(with_above(paths, environment=above_of({variable: text}))).value

    assert (is_on, True) == (settings.telemetry, load.load_settings(paths).value.telemetry)
