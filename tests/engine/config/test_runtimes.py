"""`[runtimes.x]` of config.toml: each stands for itself, and what is wrong is told with its line."""

import pytest

from oulipoly_engine.config.check import check
from oulipoly_engine.config.load import load_settings
from oulipoly_engine.config.migration import migrate
from oulipoly_engine.config.show import effective
from oulipoly_engine.config.small_files import read_runtimes
from oulipoly_engine.core.live.runtimes import RuntimeEntry
from oulipoly_engine.paths import Paths


@pytest.fixture
def paths(tmp_path):
    found = Paths(tmp_path / "config", tmp_path / "data", tmp_path, cache=tmp_path / "cache")
    found.config.mkdir()
    return found


@pytest.fixture
def read(paths):
    """Write a config.toml and read its runtimes."""

    def write(text):
        paths.settings.write_text(text)
        return read_runtimes(paths)

    return write


def problems(paths):
    return [
        (problem.line, problem.key, problem.message)
        for problem in check(paths, which=lambda name: name)
        if problem.file == paths.settings
    ]


def test_every_key_is_read_in_its_unit(read, tmp_path):
    loaded = read(
        """
        [runtimes.Work_2]
        kind = "claude"
        name = "Work"
        enabled = false
        program = "~/bin/claude"
        account = "work"
        home = "~/.claude"
        shadow_home = "/s"
        start_words = ["a"]
        args = ["--model", "opus"]
        env = { A = "b" }
        proxy = "http://127.0.0.1:1"
        custom_models = ["own"]
        marker = "END"
        startup_timeout_ms = 1500
        request_timeout_ms = 0
        idle_session_ttl_secs = 60
        stderr_ring_lines = 10
        debug_native_events = true
        """
    )

    assert () == loaded.problems
    assert (
        RuntimeEntry(
            id="work-2",
            key="Work_2",
            kind="claude",
            name="Work",
            is_enabled=False,
            program=str(tmp_path / "bin/claude"),
            home=str(tmp_path / ".claude"),
            shadow_home="/s",
            start_words=("a",),
            args=("--model", "opus"),
            environment={"A": "b"},
            account="work",
            custom_models=("own",),
            startup_s=1.5,
            request_s=0.0,
            idle_s=60.0,
            marker="END",
            proxy="http://127.0.0.1:1",
            debug_native_events=True,
            stderr_lines=10,
        ),
    ) == loaded.value


def test_the_names_of_an_older_program_are_read_too(read):
    (entry,) = read(
        '[runtimes.codex]\ndisplay_name = "Codex"\nbinary_path = "/b/codex"\nhome_path = "/h"\n'
        'shadow_home_path = "/s"\napp_server_args = ["--strict-config"]\nstartup_probe_timeout_ms = 7000\n'
        "event_channel_capacity = 8\n"
    ).value

    assert ("Codex CLI", "/b/codex", "/h", "/s", ("--strict-config",), 7.0) == (
        entry.name,
        entry.program,
        entry.home,
        entry.shadow_home,
        entry.args,
        entry.startup_s,
    )


@pytest.mark.rows_share_fixtures
@pytest.mark.parametrize(
    ("text", "line", "key", "words"),
    [
        ('[runtimes.x]\nprogramm = "a"\n', 2, "runtimes.x.programm", "did you mean `program`?"),
        ('[runtimes.x]\nenabled = "no"\n', 2, "runtimes.x.enabled", "true or false"),
        ('[runtimes.x]\nkind = "codx"\n', 2, "runtimes.x.kind", "is not one of codex"),
        ("[runtimes.x]\nstartup_timeout_ms = -1\n", 2, "runtimes.x.startup_timeout_ms", "greater than or equal"),
        ('[runtimes.x]\naccount = "gone"\n', 2, "runtimes.x.account", "not in providers.toml"),
        ('[runtimes.x]\nargs = ["--enable", "CANARY"]\n', 2, "runtimes.x.args#1", "argument 1 is --enable"),
        ('[runtimes."a/b"]\n', 1, "runtimes.a/b", "cannot be a runtime's name"),
        ("[runtimes.a_b]\n[runtimes.A-B]\n", 2, "runtimes.A-B", "the same name"),
        ("[runtimes]\nx = 3\n", 2, "runtimes.x", "must be a table"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(paths, text, line, key, words):
    paths.settings.write_text(text)

    (found,) = problems(paths)

    assert (line, key) == found[:2]
    assert words in found[2]
    assert "CANARY" not in found[2]


def test_a_slip_in_one_runtime_costs_nothing_else(read, paths):
    loaded = read('tie_rule = "lowest-use"\n[runtimes.a]\nkind = 3\n[runtimes.b]\nkind = "claude"\n')

    assert [("a", True), ("b", False)] == [(entry.id, entry.is_broken) for entry in loaded.value]
    assert "lowest-use" == load_settings(paths).value.tie_rule
    assert () == load_settings(paths).problems


def test_no_runtimes_but_a_list_is_one_problem(paths):
    paths.settings.write_text("runtimes = [1]\n")

    assert [(1, "runtimes")] == [found[:2] for found in problems(paths)]


@pytest.mark.parametrize("enabled", [True, False])
def test_the_older_setting_stands_for_codex_and_claude(read, enabled):
    loaded = read(f"[cli_agent_runtime]\nenabled = {str(enabled).lower()}\n")

    assert [("codex", "Codex CLI", enabled), ("claude", "Claude Code", enabled)] == [
        (entry.kind, entry.name, entry.is_enabled) for entry in loaded.value
    ]
    assert ["agents config migrate"] == [problem.fix.partition("`")[2].strip("`") for problem in loaded.problems]


def test_the_older_setting_changes_no_runtime_that_is_there(read):
    loaded = read('[cli_agent_runtime]\nenabled = false\n[runtimes.codex]\nname = "Mine"\n')

    assert [("codex", "Mine", True), ("claude", "Claude Code", False)] == [
        (entry.id, entry.name, entry.is_enabled) for entry in loaded.value
    ]


def test_what_is_shown_has_no_secret(read, paths):
    read(
        '[runtimes.x]\nproxy = "http://ann:CANARY@proxy:1"\nargs = ["--api-key", "CANARY"]\n'
        'env = { API_KEY = "CANARY", A = "b" }\n'
    )

    shown = effective(paths)["runtimes"]["x"]

    assert "CANARY" not in str(shown)
    assert "http://•••@proxy:1" == shown["proxy"]
    assert "b" == shown["env"]["A"]


def test_without_a_file_there_is_none(paths):
    assert ((), ()) == (read_runtimes(paths).value, read_runtimes(paths).problems)


def test_the_migration_brings_the_older_setting_forward_once(read, paths):
    before = read('# mine\ntie_rule = "lowest-use"\n\n[cli_agent_runtime]\nenabled = false\n').value

    migrate.apply(migrate.plan(paths))
    after = read_runtimes(paths)

    assert () == after.problems
    assert [(one.id, one.kind, one.name, one.is_enabled) for one in before] == [
        (one.id, one.kind, one.name, one.is_enabled) for one in after.value
    ]
    assert paths.settings.read_text().startswith('# mine\ntie_rule = "lowest-use"\n')
    assert "cli_agent_runtime" not in paths.settings.read_text()
    assert () == migrate.plan(paths).files


def test_the_migration_leaves_runtimes_that_are_there(read, paths):
    read('[cli_agent_runtime]\nenabled = false\n\n[runtimes.Codex]\nname = "Mine"\n')

    migrate.apply(migrate.plan(paths))

    assert {"codex": ("Mine", True), "claude": ("Claude Code", False)} == {
        one.id: (one.name, one.is_enabled) for one in read_runtimes(paths).value
    }
