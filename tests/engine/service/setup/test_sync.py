"""Skills and MCP servers are copied between homes, shown first, never over something else unasked, and undone."""

import json
import os

import pytest

from oulipoly_engine.config.edit.undo import undo_last
from oulipoly_engine.core.accounts.accounts import Account
from oulipoly_engine.errors import ConfigInvalid, RequestRefused, UsageInvalid
from oulipoly_engine.paths import from_environment
from oulipoly_engine.records import replace
from oulipoly_engine.service.setup.sync import Sync

SECRET = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
ENTRY = {"type": "stdio", "command": "npx", "args": ["-y", "x"], "env": {"GITHUB_TOKEN": SECRET}}
CODEX = '# mine\nmodel = "gpt-5"  # best\n\n[mcp_servers.other]\ncommand = "o"\n'


def names(folder):
    return sorted(one.name for one in folder.iterdir())


@pytest.fixture
def home(tmp_path):
    files = {
        ".claude.json": json.dumps({"numStartups": 1.0, "mcpServers": {"github": ENTRY}}, indent=2),
        ".claude/skills/commit/SKILL.md": "---\nname: commit\n---\nDo it.\n",
        ".claude/skills/commit/scripts/run.sh": "#!/bin/sh\n",
        ".codex/config.toml": CODEX,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / ".claude/skills/commit/scripts/run.sh").chmod(0o755)
    return tmp_path


@pytest.fixture
def sync(home):
    paths = replace(from_environment(), home=home, data=home / "data")
    account = Account(name="work", command="claude", environment={"CLAUDE_CONFIG_DIR": str(home / "work")})
    return Sync(paths, {"work": account}, {})


def test_homes_tell_what_is_there_without_secrets(sync):
    found = {one.name: one for one in sync.homes()}

    assert {"claude", "codex", "gemini", "opencode", "work"} == set(found)
    assert (("commit",), ["github"]) == (found["claude"].skills, list(found["claude"].servers))
    assert SECRET not in str(found)


def test_server_is_shown_without_its_secret_copied_with_it_and_undone_though_the_file_has_changed(sync, home):
    plan = sync.plan_mcp_sync("claude", "codex", "github")
    assert ("[mcp_servers.github]" in plan.diff, SECRET in plan.diff) == (True, False)

    sync.apply(plan)

    file = home / ".codex/config.toml"
    table = '[mcp_servers.github]\ncommand = "npx"\nargs = ["-y", "x"]\n'
    added = f'\n{table}\n[mcp_servers.github.env]\nGITHUB_TOKEN = "{SECRET}"\n'
    assert CODEX + added == file.read_text()
    assert not sync.plan_mcp_sync("claude", "codex", "github").is_needed
    file.write_text(f"new = 1\n{CODEX}{added}")
    undo_last(home / "data")
    assert f"new = 1\n{CODEX}" == file.read_text()


@pytest.mark.parametrize("target", ["gemini", "opencode", "work"])
def test_file_that_was_missing_is_made_for_its_owner_alone_and_goes_again(sync, home, target):
    plan = sync.plan_mcp_sync("claude", target, "github")
    sync.apply(plan)

    (path,) = plan.step.places
    assert 0o600 == path.stat().st_mode & 0o777
    assert ["github"] == list({one.name: one for one in sync.homes()}[target].servers)
    undo_last(home / "data")
    assert not path.exists()


def test_another_server_of_that_name_is_a_difference_and_comes_back(sync, home):
    file = home / ".gemini/settings.json"
    file.parent.mkdir()
    text = '{ // mine\n  "mcpServers": {\n    "github": {"command": "old", "trust": true}\n  }\n}\n'
    file.write_text(text)
    file.chmod(0o640)

    plan = sync.plan_mcp_sync("claude", "gemini", "github")
    sync.apply(plan)

    assert (True, 0o640) == (plan.replaces, file.stat().st_mode & 0o777)
    assert '"command": "old"' in plan.diff
    undo_last(home / "data")
    assert text == file.read_text()


@pytest.mark.parametrize("target", ["codex", "gemini"])
def test_several_copies_are_one_change_though_they_go_to_one_file(sync, home, target):
    servers = {name: {**ENTRY, "args": [name]} for name in ("a", "b", "c")}
    (home / ".claude.json").write_text(json.dumps({"mcpServers": servers}))
    plans = [sync.plan_mcp_sync("claude", target, name) for name in servers]
    (path,) = plans[0].step.places
    before = path.read_text() if path.exists() else None

    sync.apply(*plans, sync.plan_skill_sync("claude", target, "commit"))

    assert (("commit",), set(servers)) == (sync.home(target).skills, set(sync.home(target).servers) - {"other"})
    step = undo_last(home / "data")
    assert f"copied the MCP server a from claude to {target}, and 3 more" == step.what
    assert (before, ()) == (path.read_text() if path.exists() else None, sync.home(target).skills)


def test_server_changed_since_is_not_undone(sync, home):
    sync.apply(sync.plan_mcp_sync("claude", "codex", "github"))
    file = home / ".codex/config.toml"
    file.write_text(file.read_text().replace('"npx"', '"uvx"'))

    with pytest.raises(RequestRefused, match=r"mcp_servers\.github was changed since, so nothing was undone"):
        undo_last(home / "data")


def test_plan_that_is_out_of_date_writes_nothing(sync, home):
    plan = sync.plan_mcp_sync("claude", "codex", "github")
    file = home / ".codex/config.toml"
    file.write_text('[mcp_servers.github]\ncommand = "mine"\n')

    with pytest.raises(ConfigInvalid, match="changed in the meantime, so nothing was written"):
        sync.apply(plan)
    assert '[mcp_servers.github]\ncommand = "mine"\n' == file.read_text()


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        (".claude.json", '{\n "a": 1,\n "b" 2}', "claude.json, line 3, column 6: this is not JSON"),
        (".claude.json", "[]", "it has to be an object"),
        (".claude.json", '{"mcpServers": []}', "mcpServers has to hold servers by their names"),
        (".claude.json", '{"mcpServers": {"github": {"command": 1}}}', "mcpServers.github.command has to be a text"),
        (".codex/config.toml", "a = ", "config.toml: this is not TOML"),
        (".codex/config.toml", "mcp_servers = 1", "mcp_servers has to hold servers"),
    ],
)
def test_bad_file_is_an_error_that_names_the_place_and_nothing_is_written(sync, home, name, text, complaint):
    (home / name).write_text(text)

    with pytest.raises(ConfigInvalid, match=complaint):
        sync.plan_mcp_sync("claude", "codex", "github")
    assert text == (home / name).read_text()


def test_server_of_one_project_alone_is_told(sync, home):
    (home / ".claude.json").write_text(json.dumps({"projects": {"/p": {"mcpServers": {"db": ENTRY}}, "/q": 1}}))

    assert ("db is there for the project /p alone, and is not copied",) == sync.home("claude").problems
    with pytest.raises(RequestRefused, match="has the MCP server db for the project /p alone"):
        sync.plan_mcp_sync("claude", "codex", "db")


def test_configuration_may_be_given(sync):
    plan = sync.plan_mcp_sync("claude", "codex", "docs", '{"type": "http", "url": "https://x/mcp"}')

    assert '+url = "https://x/mcp"' in plan.diff.split("\n")
    with pytest.raises(UsageInvalid, match="is not JSON"):
        sync.plan_mcp_sync("claude", "codex", "docs", "{")


def test_unknown_names_are_answered_with_known_ones(sync):
    with pytest.raises(UsageInvalid, match="did you mean 'claude'"):
        sync.plan_mcp_sync("claud", "codex", "github")
    with pytest.raises(RequestRefused, match="claude has no MCP server 'x': it has github"):
        sync.plan_mcp_sync("claude", "codex", "x")
    with pytest.raises(UsageInvalid, match="cannot be the name of a skill"):
        sync.plan_skill_sync("claude", "codex", "../commit")
    with pytest.raises(RequestRefused, match="the same home"):
        sync.plan_skill_sync("claude", "claude", "commit")


def test_skill_is_copied_with_its_modes_and_goes_again(sync, home):
    plan = sync.plan_skill_sync("claude", "codex", "commit")
    sync.apply(plan)

    copy = home / ".codex/skills/commit"
    assert ("Do it." in plan.diff, 0o755) == (True, (copy / "scripts/run.sh").stat().st_mode & 0o777)
    assert ["commit"] == names(copy.parent)
    assert not sync.plan_skill_sync("claude", "codex", "commit").is_needed
    undo_last(home / "data")
    assert not copy.exists()


def test_skill_that_was_replaced_comes_back_unless_it_was_changed_since(sync, home):
    mine = home / ".codex/skills/commit/SKILL.md"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    plan = sync.plan_skill_sync("claude", "codex", "commit")
    assert (True, True) == (plan.replaces, "-mine" in plan.diff)
    sync.apply(plan)

    text = mine.read_text()
    mine.write_text("changed")
    with pytest.raises(RequestRefused, match="commit was changed since, so nothing was undone"):
        undo_last(home / "data")
    mine.write_text(text)
    undo_last(home / "data")

    assert (["SKILL.md"], "mine") == (names(mine.parent), mine.read_text())
    assert [] == names(home / "data/configuration-undo")


def test_links_out_of_a_skill_and_its_versions_are_left_out_and_told(sync, home):
    skill = home / ".claude/skills/commit"
    (skill / "outside").symlink_to(home / ".claude.json")
    (skill / "up").symlink_to("../../../.claude.json")
    (skill / "inside").symlink_to("scripts/run.sh")
    (skill / "round").symlink_to("round")
    (skill / ".git").mkdir()
    (skill / "scripts/.git").write_text("gitdir: /elsewhere\n")

    plan = sync.plan_skill_sync("claude", "codex", "commit")
    sync.apply(plan)

    assert (
        ".git has git's versions of it, so it is left out",
        "outside is a link that leads out of it, so it is left out",
        "scripts/.git has git's versions of it, so it is left out",
        "up is a link that leads out of it, so it is left out",
    ) == plan.notes
    copy = home / ".codex/skills/commit"
    assert ["SKILL.md", "inside", "round", "scripts"] == names(copy)
    assert ["run.sh"] == names(copy / "scripts")
    assert "scripts/run.sh" == str((copy / "inside").readlink())


def test_what_an_undo_could_not_bring_back_is_neither_replaced_nor_taken_away(sync, home):
    mine = home / ".codex/skills/commit"
    (mine / ".git").mkdir(parents=True)
    with pytest.raises(RequestRefused, match=r"is not replaced, .*: \.git has git's versions of it"):
        sync.plan_skill_sync("claude", "codex", "commit")
    (mine / ".git").rmdir()
    sync.apply(sync.plan_skill_sync("claude", "codex", "commit"))
    (mine / ".git").mkdir()
    with pytest.raises(RequestRefused, match="commit was changed since, so nothing was undone"):
        undo_last(home / "data")

    assert [".git", "SKILL.md", "scripts"] == names(mine)


def test_skill_that_is_too_large_or_no_file_is_refused(sync, home):
    skill = home / ".claude/skills/commit"
    os.mkfifo(skill / "pipe")
    with pytest.raises(ConfigInvalid, match="pipe cannot be copied: it is a FIFO"):
        sync.plan_skill_sync("claude", "codex", "commit")
    (skill / "pipe").unlink()
    with (skill / "big").open("wb") as file:
        file.truncate((4 << 20) + 1)
    with pytest.raises(ConfigInvalid, match="big cannot be copied: it has more than 4 MB"):
        sync.plan_skill_sync("claude", "codex", "commit")


def test_skill_that_is_a_link_is_not_replaced(sync, home):
    (home / "mine").mkdir()
    (home / "mine/SKILL.md").write_text("mine")
    (home / ".codex/skills").mkdir()
    (home / ".codex/skills/commit").symlink_to(home / "mine")

    with pytest.raises(RequestRefused, match="is a link to"):
        sync.plan_skill_sync("claude", "codex", "commit")


def test_what_a_killed_copy_left_is_put_right(sync, home):
    left = home / ".codex/skills/.commit.copy-x"
    (left / "old").mkdir(parents=True)
    (left / "old/SKILL.md").write_text("mine")

    assert sync.plan_skill_sync("claude", "codex", "commit").replaces

    assert "mine" == (home / ".codex/skills/commit/SKILL.md").read_text()
    assert ["commit"] == names(home / ".codex/skills")


def test_undo_finds_what_a_killed_copy_had_moved_away(sync, home):
    skills = home / ".codex/skills"
    (skills / "commit").mkdir(parents=True)
    (skills / "commit/SKILL.md").write_text("mine")
    sync.apply(sync.plan_skill_sync("claude", "codex", "commit"))
    (skills / ".commit.copy-x").mkdir()
    (skills / "commit").rename(skills / ".commit.copy-x/old")  # as an undo does that is killed then

    undo_last(home / "data")

    assert "mine" == (skills / "commit/SKILL.md").read_text()


def test_file_may_be_as_large_as_claude_s_history_is(sync, home):
    file = home / ".claude.json"
    file.write_text(json.dumps({"history": "x" * (5 << 20), "a": 1, "b": 2, "c": 3, "mcpServers": {}}, indent=2))
    (home / ".gemini").mkdir()
    (home / ".gemini/settings.json").write_text('{"mcpServers": {"s": {"command": "x"}}}')

    sync.apply(sync.plan_mcp_sync("gemini", "claude", "s"))

    assert ["s"] == list(json.loads(file.read_text())["mcpServers"])
