from pathlib import Path

import pytest

from oulipoly_engine.config.load import load_accounts
from oulipoly_engine.core.accounts.accounts import CaptureKind, PromptMode, StorageType
from oulipoly_engine.errors import ConfigInvalid
from oulipoly_engine.paths import Paths

FULL = r"""
[claude2]
quota_script = "anthropic-usage ~/.claude2/.credentials.json"
auth_refresh_command = " "
command = "~/bin/env"
args = ["-u", "CLAUDECODE", "claude2"]
interactive_args = []
prompt_mode = "arg"
environment = { CLAUDE_CONFIG_DIR = "/c" }
unset_environment = ["CLAUDECODE"]
timeout_seconds = 90
[claude2.resume]
kind = "flag"
flag = "--resume"
[claude2.session_capture]
kind = "forced_flag_verified"
flag = "--session-id"
readback_args = ["--verbose"]
[claude2.session_storage]
kind = "script"
cwd_script = "claude-code-cwd ~/.claude2/projects"
transcript_script = "claude-code-locate-transcript ~/.claude2/projects"
storage_type = "claude_code"
[claude2.resume_acceptance]
accepted_output_patterns = ["\"session_id\":\"{session_id}\""]
rejected_output_patterns = ["No conversation found", ""]
"""


@pytest.fixture
def paths(tmp_path):
    (tmp_path / "c").mkdir()
    return Paths(tmp_path / "c", tmp_path / "d", Path("/home/me"))


def account(paths, body, name="a"):
    paths.providers.write_text(f"[{name}]\n{body}\n")
    return load_accounts(paths).value[name]


def refusal(paths, body):
    with pytest.raises(ConfigInvalid) as caught:
        account(paths, body)
    return caught.value.message


def test_missing_file_has_no_accounts(paths):
    assert {} == load_accounts(paths).value


def test_every_field_is_read(paths):
    paths.providers.write_text(FULL)

    found = load_accounts(paths).value["claude2"]

    assert ("/home/me/bin/env", ("-u", "CLAUDECODE", "claude2"), ()) == (
        found.command,
        found.args,
        found.interactive_args,
    )
    assert (PromptMode.ARG, None, 90.0) == (found.prompt_mode, found.auth_refresh_command, found.timeout_s)
    assert ("--resume", "id") == found.resume.compose("id")
    assert (CaptureKind.FORCED_FLAG_VERIFIED, "--session-id", ("--verbose",)) == (
        found.capture.kind,
        found.capture.flag,
        found.capture.readback_args,
    )
    assert StorageType.CLAUDE_CODE is found.storage.storage_type
    assert ("No conversation found",) == found.acceptance.rejected
    assert ({"CLAUDE_CONFIG_DIR": "/c"}, ("CLAUDECODE",)) == (found.environment, found.unset_environment)
    assert paths.providers == found.path


def test_defaults_are_the_contracts(paths):
    found = account(paths, "")

    assert (None, (), None, PromptMode.STDIN) == (found.command, found.args, found.interactive_args, found.prompt_mode)
    assert (None, None, CaptureKind.NONE) == (found.resume, found.storage, found.capture.kind)


@pytest.mark.parametrize(
    ("body", "cwd", "locate", "root"),
    [
        (
            'kind = "claude_code"\nprojects_dir = "~/.claude2/projects"',
            "claude-code-cwd ~/.claude2/projects",
            "claude-code-locate-transcript ~/.claude2/projects",
            "/home/me/.claude2/projects",
        ),
        (
            'kind = "codex"\nsessions_dir = "/a b/it\'s"',
            r"codex-cwd '/a b/it'\''s'",
            r"codex-locate-transcript '/a b/it'\''s'",
            "/a b/it's",
        ),
        (
            'kind = "codex"\nsessions_dir = "~/my codex"',
            "codex-cwd '/home/me/my codex'",
            "codex-locate-transcript '/home/me/my codex'",
            "/home/me/my codex",
        ),
    ],
    ids=["bare", "quoted", "home-in-quotes"],
)
def test_legacy_storage_becomes_scripts(paths, body, cwd, locate, root):
    storage = account(paths, f"[a.session_storage]\n{body}").storage

    assert (cwd, locate, Path(root)) == (storage.cwd_script, storage.transcript_script, storage.root)


def test_event_capture_takes_one_flag_or_several(paths):
    rest = 'kind = "stdout_json_event"\nlast_message_flag = "-o"\nevent_type = "t"\nevent_id_path = "a.b"\n'

    one = account(paths, f'[a.session_capture]\n{rest}json_flag = "--json"').capture
    several = account(paths, f'[a.session_capture]\n{rest}json_args = ["--format", "json"]').capture

    assert (("--json",), ("a", "b")) == (one.json_args, one.event_id_path)
    assert ("--format", "json") == several.json_args


@pytest.mark.rows_share_fixtures
@pytest.mark.parametrize(
    ("body", "line", "words"),
    [
        ("command = 5", 2, "[a].command: it must be a text in quotes, not the number 5"),
        ('args = "-p"', 2, "[a].args: it must be a list in brackets, not the text '-p'"),
        ('args = ["-p",\n 7]', 3, "[a].args#2: it must be a text in quotes, not the number 7"),
        ('args = ["a\\u0000"]', 2, "NUL"),
        ("timeout_seconds = 0", 2, "[a].timeout_seconds: the number 0 is wrong"),
        ("timeout_seconds = nan", 2, "finite"),
        ('environment = { "A=B" = "x" }', 2, "'A=B' cannot be the name of a variable"),
        ('[a.resume]\nkind = "flag"', 2, '[a].resume.flag: kind = "flag" needs a non-empty `flag`'),
        ('[a.resume]\nkind = "flag"\nflag = "-r"\nsubcommand = []', 5, "does not take `subcommand`"),
        ('[a.resume]\nkind = "subcommand"\nsubcommand = []', 4, "needs a non-empty `subcommand`"),
        ('[a.resume]\nkind = "subcommand"\nsubcommand = ["r"]\nflag = "-r"', 5, "does not take `flag`"),
        ('[a.resume]\nkind = "flags"', 3, "the text 'flags' is not one of flag, subcommand. Fix: write \"flag\""),
        ('[a.resume]\nflag = "x"', 2, "`kind` is missing"),
        ('[a.session_capture]\nkind = "forced_flag_verified"', 2, "needs `flag`"),
        ('[a.session_capture]\nkind = "stdout_json_event"', 2, "needs `json_flag`"),
        ('[a.session_storage]\nkind = "script"\ncwd_script = " "', 4, "needs a non-blank `cwd_script`"),
        ('[a.session_storage]\nkind = "script"\ncwd_script = "x"\nstorage_type = "codex_session"', 2, "come together"),
        ('[a.session_storage]\nkind = "codex"', 2, "needs `sessions_dir`"),
    ],
)
def test_error_names_file_line_key_and_way_out(paths, body, line, words):
    message = refusal(paths, body)

    assert message.startswith(f"{paths.providers}:{line}: [a]")
    assert words in message
    assert " Fix: " in message


def test_account_that_is_no_table_is_refused(paths):
    paths.providers.write_text('claude = "x"\n')

    with pytest.raises(ConfigInvalid, match=r":1: \[claude\]: it must be a table, not the text 'x'"):
        load_accounts(paths)


@pytest.mark.parametrize("name", ['"a/b"', '".."', '""', '"a\\nb"'])
def test_account_name_that_could_leave_its_folder_is_refused(paths, name):
    paths.providers.write_text(f"[{name}]\n")

    with pytest.raises(ConfigInvalid, match="cannot be an account's name"):
        load_accounts(paths)


def test_unknown_key_is_a_warning_with_the_nearest_known_one(paths):
    paths.providers.write_text('[a]\ncomand = "x"\n[a.resume]\nkind = "flag"\nflag = "-r"\nflagg = "y"\n')

    problems = load_accounts(paths).problems

    assert [
        ("warning", 2, "[a].comand", "rename it to `command`"),
        ("warning", 6, "[a].resume.flagg", "rename it to `flag`"),
    ] == [(problem.level, problem.line, problem.key, problem.fix) for problem in problems]


def test_newer_keys_are_a_warning_without_a_guess(paths):
    paths.providers.write_text('[a]\ninvocation_mode = "proxy"\n')

    assert "has no effect in this version" in load_accounts(paths).problems[0].message


def test_unknown_prompt_mode_counts_as_stdin_with_a_warning(paths):
    paths.providers.write_text('[a]\nprompt_mode = "args"\n')
    loaded = load_accounts(paths)

    assert PromptMode.STDIN is loaded.value["a"].prompt_mode
    assert 'write "arg"' == loaded.problems[0].fix


def test_further_errors_are_counted(paths):
    assert "(and 1 more: run `agents config check`)" in refusal(paths, "command = 1\nargs = 2")
