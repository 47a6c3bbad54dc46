from pathlib import Path

import pytest

from oulipoly_engine.core.accounts.accounts import Account, StorageSpec, StorageType
from oulipoly_engine.core.accounts.storage_root import storage_root
from oulipoly_engine.core.runs.capture import ResumedIdReader, read_last_words

WANTED = "01a1fc4c-d561-70c0-a484-ac38dc374bba"
OTHER = "01a1fc4c-0000-70c0-a484-ac38dc374bba"


def event(kind, key, name):
    return f'{{"type":"{kind}","subtype":"init","{key}":"{name}"}}\n'.encode()


@pytest.mark.parametrize(
    ("stream", "line"),
    [
        ("stdout", event("thread.started", "thread_id", "ID")),
        ("stdout", event("system", "session_id", "ID")),
        ("stdout", event("result", "session_id", "ID")),
        ("stderr", b"OpenAI Codex v0.169.0\n--------\nsession id: ID\n"),
    ],
    ids=["codex event", "claude opening", "claude result", "codex banner"],
)
def test_other_session_is_noticed_and_the_wanted_one_is_not(stream, line):
    other, same = ResumedIdReader(WANTED), ResumedIdReader(WANTED.upper())
    for place in range(len(line.replace(b"ID", OTHER.encode()))):
        other.feed(stream, line.replace(b"ID", OTHER.encode())[place : place + 1])
    same.feed(stream, line.replace(b"ID", WANTED.encode()))

    assert (OTHER, None) == (other.other, same.other)


@pytest.mark.parametrize("text", [b"session id: see above\n", b'{"type":"assistant","session_id":"x"}\n', b"{broken\n"])
def test_prose_names_no_session(text):
    reader = ResumedIdReader(WANTED)
    reader.feed("stderr", text)

    assert reader.feed("stdout", text) is None


def test_only_the_beginning_counts():
    reader = ResumedIdReader(WANTED)
    reader.feed("stdout", b"x\n" * 40_000)

    assert reader.feed("stdout", event("result", "session_id", OTHER)) is None


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (f"Resume this session with:\r\n\x1b[1mclaude --resume {WANTED}\x1b[0m\r\n", WANTED),
        (f"To continue this session, run:\n  codex resume {WANTED}\n", WANTED),
        ("Continue  opencode -s ses_4f2a9bcdeffe\n", "ses_4f2a9bcdeffe"),
        (f"claude --resume {OTHER}\nclaude --resume {WANTED}\n", WANTED),
        ("resume it with care\n", None),
    ],
)
def test_last_words_name_the_session(words, name):
    assert name == read_last_words(words.encode())


HOME = Path("/home/u")


@pytest.mark.parametrize(
    ("script", "root"),
    [
        ("claude-code-cwd ~/.claude2/projects", HOME / ".claude2/projects"),
        ("/opt/bin/claude-code-cwd '/a b/projects'", Path("/a b/projects")),
        ("claude-code-cwd $HOME/projects", None),
        ("claude-code-cwd relative", None),
        ("my-own-cwd /a/projects", None),
        ("claude-code-cwd 'open", None),
    ],
)
def test_root_is_what_the_script_names(script, root):
    account = Account("a", storage=StorageSpec(script, storage_type=StorageType.CLAUDE_CODE))

    assert root == storage_root(account, HOME)


def test_account_without_storage_has_no_root():
    assert storage_root(Account("a"), HOME) is None
