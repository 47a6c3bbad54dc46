"""What an agent is made of, and the box around it."""

import pytest

from oulipoly_engine.core.agents.agents import Overrides
from oulipoly_engine.core.agents.boxes import agent_box, list_program_folders
from oulipoly_engine.core.agents.mounts import Mount
from oulipoly_engine.core.agents.names import check_name, choose_name
from oulipoly_engine.core.agents.plan import make_plan, parse_pairs
from oulipoly_engine.core.boxes.box import Access, protect_worktree
from oulipoly_engine.core.images.parser import parse_agentfile
from oulipoly_engine.core.images.refusals import AgentfileInvalid
from oulipoly_engine.errors import UsageInvalid

FILE = parse_agentfile(
    b"""FROM scratch
NAME meteo
MODEL anthropic/x
CONTEXT SOUL <<END
You tell the weather.
END
CONFIG max-tokens=1024
CONFIG strict=true
CONFIG api-base! "where"
ENV MODE=slow
BIN jq example.com/jq
CAPABILITY notes
"""
)


def test_what_the_user_says_stands_above_the_image():
    overrides = Overrides(
        "openai/y",
        configs={"api-base": "u", "max-tokens": "9"},
        variables=(("MODE", "fast"), ("NEW", "1")),
        tools={"jq": "/j"},
    )
    plan = make_plan(FILE, {}, {}, overrides)

    assert plan.model == "openai/y"
    assert plan.configs == {"max-tokens": "9", "strict": "true", "api-base": "u"}
    assert [(each.name, each.value) for each in plan.variables] == [("MODE", "fast"), ("NEW", "1")]
    assert plan.tools[0].program == "/j"
    assert plan.runtime == "builtin:runner"
    assert plan.contexts[0].text == "You tell the weather."
    assert plan.capabilities == ()


def test_required_setting_without_a_value_is_named():
    with pytest.raises(AgentfileInvalid, match="api-base"):
        make_plan(FILE, {}, {}, Overrides())


def test_program_of_a_tool_that_is_not_declared_is_refused():
    with pytest.raises(UsageInvalid, match="declares: jq"):
        make_plan(FILE, {}, {}, Overrides(configs={"api-base": ""}, tools={"curl": "/c"}))


def test_pairs_are_split_at_their_first_equals_sign():
    assert parse_pairs(["A=b=c", "D="], "--env") == (("A", "b=c"), ("D", ""))
    with pytest.raises(UsageInvalid, match="expected key=value"):
        parse_pairs(["noequals"], "--env")


def test_box_shows_the_tree_and_what_was_declared_and_no_more():
    box = agent_box(
        "sealed", "/a", [Mount("/", "/x"), Mount("/n", "/n", "", True)], reads=("/opt/cli",), writes=("/h/.cli",)
    )
    shown = {mount.path: mount.access for mount in box.mounts}

    assert shown["/a"] == shown["/n"] == shown["/opt/cli"] == Access.READ
    assert [path for path, access in shown.items() if access is Access.WRITE] == [
        *("/", "/a/workspace", "/a/tmp", "/a/home", "/a/var", "/h/.cli")
    ]
    assert list(shown).index("/a") > list(shown).index("/")
    assert agent_box("none", "/a", []) is None


def test_box_keeps_from_a_work_tree_what_runs_later():
    box = agent_box("sealed", "/a", [Mount("/w", "/w")], trees={"/w": protect_worktree("/w")})
    access = {mount.path: mount.access for mount in box.mounts}

    assert (access["/w"], access["/w/.git/hooks"], access["/w/.envrc"]) == (Access.WRITE, Access.READ, Access.READ)


def test_folders_of_the_system_are_there_anyway():
    folders = list_program_folders(["/usr/bin/x", "/h/.local/bin/cli", "/h/lib/cli/main.js"])

    assert ("/h/.local/bin", "/h/.local/lib", "/h/.local/lib64", "/h/.local/libexec", "/h/lib/cli") == folders


def test_program_of_node_has_the_whole_of_its_outermost_package():
    paths = ["/n/lib/node_modules/@openai/codex/node_modules/x/bin/x.js", "/n/lib/node_modules/cli/main.js"]

    assert list_program_folders(paths) == ("/n/lib/node_modules/@openai/codex", "/n/lib/node_modules/cli")


def test_names_are_two_words_or_the_users():
    assert choose_name(0) == "amber-ant"
    assert len({choose_name(number) for number in range(48 * 48)}) == 48 * 48
    assert check_name(choose_name(123_456)) == choose_name(123_456)
    for name in ("", "../x", ".x", "a b", "x" * 64):
        with pytest.raises(UsageInvalid):
            check_name(name)
