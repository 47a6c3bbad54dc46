"""What a chat asks of its CLI: in that CLI's own words, or refused by name."""

import pytest

from oulipoly_engine.core.accounts.accounts import Account
from oulipoly_engine.core.accounts.clis.table import CLIS
from oulipoly_engine.core.live.launch.arguments import refuse_reserved
from oulipoly_engine.core.live.launch.catalogue import derive_runtimes
from oulipoly_engine.core.live.launch.cli_options import (
    CliOptions,
    check_system_prompt,
    choose_thinking,
    find_refusal,
    parse_thinking,
    words_for,
)
from oulipoly_engine.core.live.runtimes import Runtime
from oulipoly_engine.errors import UsageInvalid


def asked_of(name, **options):
    cli = CLIS[name]
    return words_for(Runtime("r", cli.live.driver, "", name), cli, CliOptions(**options))


@pytest.mark.parametrize(
    ("text", "level"), [("none", "none"), ("MINIMAL", "minimal"), ("Standard", "standard"), ("thorough", "thorough")]
)
def test_levels_of_thinking_are_read_in_any_case(text, level):  # vector 9
    assert level == parse_thinking(text)


def test_a_setting_asks_for_a_level_only_of_a_cli_that_has_it():
    levels = [choose_thinking(CLIS[name], "none") for name in ("claude", "codex", "gemini")]

    assert ["none", None, None, None] == [*levels, choose_thinking(None, "none")]
    assert choose_thinking(CLIS["claude"], None) is None


def test_another_level_is_refused_with_those_that_there_are():
    with pytest.raises(UsageInvalid, match="'invalid': choose from none, minimal, standard, thorough"):
        parse_thinking("invalid")


@pytest.mark.parametrize("cli", ["claude", "codex"])
@pytest.mark.parametrize(("level", "effort"), [("minimal", "low"), ("standard", "medium"), ("thorough", "high")])
def test_a_level_is_an_effort_of_the_cli(cli, level, effort):
    words, own_args = asked_of(cli, thinking=level)

    assert (effort, (), ()) == (words.effort, words.args, own_args)


def test_claude_is_told_what_no_other_option_of_the_user_may_say():
    words, own_args = asked_of(
        "claude", thinking="none", system_prompt="Be\nbrief.", tools=("Bash", "Read"), is_unkept=True
    )

    assert ("", ("--thinking", "disabled", "--append-system-prompt", "Be\nbrief.")) == (words.effort, words.args)
    assert ("--tools", "Bash,Read", "--no-session-persistence") == own_args


def test_codex_is_told_a_text_in_toml():
    words, _ = asked_of("codex", system_prompt='Say "é"\n')
    refuse_reserved("r", "codex", words.args)

    assert ("-c", 'developer_instructions="Say \\"é\\"\\n"') == words.args


@pytest.mark.parametrize(
    ("cli", "options", "said"),
    [
        ("codex", {"thinking": "none"}, "it has minimal, standard, thorough"),
        ("gemini", {"thinking": "standard"}, "leave out --thinking"),
        ("opencode", {"thinking": "none"}, "leave out --thinking"),
        ("gemini", {"system_prompt": "x"}, "leave out --append-system-prompt"),
        ("codex", {"tools": ("shell",)}, "leave out --tools"),
    ],
)
def test_what_a_cli_cannot_do_is_refused_by_its_name(cli, options, said):
    with pytest.raises(UsageInvalid, match=said) as refused:
        asked_of(cli, **options)

    assert CLIS[cli].title in refused.value.message


def test_a_program_that_nobody_knows_takes_nothing():
    runtime = Runtime("mine", "plain", "", "mine")

    assert "" == find_refusal(runtime, None, CliOptions(is_unkept=True))
    assert "mine" in find_refusal(runtime, None, CliOptions(thinking="standard"))


@pytest.mark.parametrize("text", ["", " \n", "a\0b", "a\udcff", "x" * 100_001, "key: sk-ant-api03-" + "a1B2" * 12])
def test_a_text_that_no_argument_carries_is_refused(text):
    with pytest.raises(UsageInvalid, match="system prompt"):
        check_system_prompt(text)


@pytest.mark.parametrize(
    ("name", "ids"),
    [("c1", ["c1"]), ("claude", ["c1", "c2"]), ("Anthropic", ["c1", "c2"]), ("openai", ["x1"]), ("nobody", [])],
)
def test_a_provider_is_an_account_or_a_cli_or_its_vendor(name, ids, tmp_path):
    accounts = {
        name: Account(name, command=command) for name, command in (("c1", "claude"), ("c2", "claude"), ("x1", "codex"))
    }
    catalogue = derive_runtimes(accounts, (), tmp_path)

    assert ids == [runtime.id for runtime in catalogue.find_all(name)]
