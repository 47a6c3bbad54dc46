import json
import os
import shlex
from datetime import UTC, datetime

import pytest

from oulipoly_engine.core.accounts.accounts import Account, ResumeSpec, SessionScripts, StorageSpec, StorageType
from oulipoly_engine.core.sessions.resolve import ResolvedSession
from oulipoly_engine.errors import SessionIdInvalid, SessionNotFound, StorageUnsupported
from oulipoly_engine.records import replace
from oulipoly_engine.service.sessions.locate import Locator, document, find_session, find_typed
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.runs import invocations
from oulipoly_engine.store.sessions import chains

SESSION = "5169694d-de0f-40d1-890c-6e28e55bab27"
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
RESUME = ResumeSpec("--resume")
FOUND = ResolvedSession("c1", "m", "acc", SESSION, NOW)


class Place:
    """A transcript and a workspace, and an account whose scripts lead there unless told otherwise."""

    def __init__(self, folder):
        self.folder = folder
        self.transcript = folder / f"{SESSION}.jsonl"
        self.transcript.write_text("{}\n")
        self.workspace = folder / "work"
        self.workspace.mkdir()
        self.finds = f"echo {shlex.quote(str(self.transcript))}"
        self.lives = self.says({"found": True, "cwd": str(self.workspace)})

    def says(self, answer):
        return f"echo {shlex.quote(json.dumps(answer))}"

    def locator(self, *, finds="", lives="", kind=StorageType.CLAUDE_CODE, resume=RESUME, scripts=()):
        storage = StorageSpec(lives or self.lives, self.finds if finds == "" else finds, kind)
        account = Account("acc", resume=resume, storage=storage)
        return Locator({"acc": account}, dict(scripts), self.folder / "sessions", self.folder, dict(os.environ))


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


def problem(locator):
    with pytest.raises(StorageUnsupported) as caught:
        locator.locate(FOUND)
    assert {"provider_name": "acc"} == caught.value.extra
    return caught.value.message


def test_session_that_its_cli_never_named_says_that_it_has_no_transcript(place):
    with pytest.raises(StorageUnsupported, match="failed before its CLI named it"):
        place.locator().locate(replace(FOUND, session_id=""))


def test_location_has_eight_keys_in_order(place):
    expected = {
        "session_id": SESSION,
        "chain_id": "c1",
        "provider_name": "acc",
        "storage_type": "claude_code",
        "jsonl_path": str(place.transcript),
        "workspace_root": str(place.workspace),
        "transcript_state": "available",
        "mutable": True,
    }

    shown = document(place.locator().locate(FOUND))

    assert list(expected.items()) == list(shown.items())


def test_symlinks_are_resolved(place):
    link = place.folder / "link"
    link.symlink_to(place.folder)
    finds = f"echo {shlex.quote(str(link / place.transcript.name))}"
    lives = place.says({"found": True, "cwd": str(link / "work" / ".." / "work")})

    location = place.locator(finds=finds, lives=lives).locate(FOUND)

    assert (place.transcript, place.workspace) == (location.transcript, location.workspace)


def test_scripts_get_the_session_as_variable_and_argument(place):
    finds = f'[ "$SESSION_ID$STATE_DIR" = {SESSION}{place.folder}/sessions/acc ] && {place.finds}'
    lives = f'[ "$SESSION_ID" = "$1" ] && [ "$1" = {SESSION} ] && {place.lives}'

    assert place.transcript == place.locator(finds=finds, lives=lives).locate(FOUND).transcript


def test_account_that_cannot_resume_is_not_mutable(place):
    assert not place.locator(resume=None).locate(FOUND).is_mutable


def test_storage_without_a_transcript_script_uses_the_locator_of_sessions_toml(place):
    scripts = {"acc": SessionScripts("true", place.finds)}

    location = place.locator(finds=None, kind=StorageType.OTHER, scripts=scripts).locate(FOUND)

    assert ("other", False) == (location.storage_type.value, location.is_mutable)


@pytest.mark.rows_share_fixtures
@pytest.mark.parametrize(
    ("finds", "words"),
    [
        pytest.param(None, "no transcript_script", id="none"),
        pytest.param("exit 3", "locator 'exit 3' ended with exit code 3", id="fails"),
        pytest.param("kill -9 $$", "ended with exit code -9", id="killed"),
        pytest.param("true", "exactly one line", id="says nothing"),
        pytest.param("echo; echo ' '", "exactly one line", id="says blanks"),
        pytest.param("echo /a; echo /b", "exactly one line", id="says two"),
        pytest.param("printf '/\\377\\n'", "UTF-8", id="no text"),
        pytest.param("echo relative.jsonl", "not absolute", id="relative"),
        pytest.param("echo /nowhere/x.jsonl", "cannot be reached", id="missing"),
        pytest.param("echo /", "it is a folder, not a regular file", id="a folder"),
        pytest.param("printf '/a\\000b\\n'", "cannot be reached", id="NUL"),
    ],
)
def test_transcript_that_cannot_be_had_is_explained(place, finds, words):
    assert words in problem(place.locator(finds=finds))


def test_script_that_hangs_is_stopped(place):
    assert "timed out after 0.2 s" in problem(replace(place.locator(finds="sleep 20"), timeout_s=0.2))
    assert "cwd_script_timed_out" in problem(replace(place.locator(lives="sleep 20"), timeout_s=2.0))


def test_pipe_is_no_transcript(place):
    os.mkfifo(place.folder / "pipe")

    assert "it is a FIFO, not a regular file" in problem(place.locator(finds=f"echo {place.folder}/pipe"))


@pytest.mark.rows_share_fixtures
@pytest.mark.parametrize(
    ("lives", "reason"),
    [
        pytest.param("   ", "no_workspace_root_for_other_storage", id="no script"),
        pytest.param("true", "cwd_script_empty_stdout", id="empty"),
        pytest.param("echo '{}'; echo '{}'", "cwd_script_stdout_not_single_line", id="two lines"),
        pytest.param("echo no", "cwd_script_malformed_json", id="no JSON"),
        pytest.param("echo '[]'", "cwd_script_malformed_json", id="no object"),
        pytest.param("echo '{}'", "cwd_script_malformed_json", id="no answer"),
        pytest.param("printf '\\377\\n'", "cwd_script_malformed_json", id="no text"),
        pytest.param("""echo '{"found":false,"error":"e_1"}'""", "cwd_script_error: e_1", id="error"),
        pytest.param("""echo '{"found":false,"error":"e_1"}'; exit 1""", "cwd_script_error: e_1", id="error and exit"),
        pytest.param("""echo '{"found":false}'""", "cwd_script_not_found", id="not found"),
        pytest.param("""echo '{"found":true}'""", "cwd_script_missing_cwd", id="no cwd"),
        pytest.param("""echo '{"found":true,"cwd":7}'""", "cwd_script_missing_cwd", id="cwd of another type"),
        pytest.param("""echo '{"found":true,"cwd":"w"}'""", "cwd_script_cwd_not_absolute", id="relative"),
        pytest.param(
            """echo '{"found":true,"cwd":"/nowhere"}'""", "the folder /nowhere cannot be reached", id="missing"
        ),
        pytest.param("""echo '{"found":true,"cwd":"/dev/null"}'""", "/dev/null is not a folder", id="no folder"),
        pytest.param("exit 4", "cwd_script_exit_4", id="fails"),
    ],
)
def test_workspace_that_cannot_be_had_is_explained(place, lives, reason):
    assert f"its workspace is not known: {reason}" in problem(place.locator(lives=lives))


def test_bundled_scripts_run_without_being_installed(place):
    project = place.folder / "projects" / str(place.workspace).replace("/", "-").replace("_", "-")
    project.mkdir(parents=True)
    record = {"type": "user", "sessionId": SESSION, "cwd": str(place.workspace)}
    (project / f"{SESSION}.jsonl").write_text(json.dumps(record) + "\n")
    root = place.folder / "projects"

    locator = place.locator(finds=f"claude-code-locate-transcript {root}", lives=f"claude-code-cwd '{root}'")
    location = replace(locator, environ={"PATH": "/nowhere"}).locate(FOUND)

    assert (project / f"{SESSION}.jsonl", place.workspace) == (location.transcript, location.workspace)


@pytest.mark.parametrize("accounts", [{}, {"acc": Account("acc")}], ids=["no account", "no storage"])
def test_account_without_storage_is_explained(place, accounts):
    locator = Locator(accounts, {}, place.folder, place.folder, {})

    assert "cannot be located" in problem(locator)


@pytest.fixture
def store(tmp_path):
    opened = open_store(tmp_path / "state.db")
    yield opened
    opened.close()


def _chain(store, account="acc", session=SESSION, used="2026-11-20T11:00:00.000000Z"):
    with store.write():
        return chains.insert(store, account, session, "m", started_at=used, last_used_at=used, reason="initial")


def test_session_is_found_by_its_id_and_by_its_chain_s(store):
    chain = _chain(store)

    assert [("acc", SESSION)] * 2 == [
        (found.account, found.session_id) for found in (find_session(store, one, NOW) for one in (SESSION, chain))
    ]


def test_moved_session_is_found_on_the_account_that_has_it_now(store):
    chain = _chain(store)
    with store.write():
        store.execute("UPDATE session_chain_segments SET ended_at = '2026-11-20T11:30:00.000000Z'")
        store.insert(
            "session_chain_segments",
            chain_id=chain,
            provider_name="acc2",
            session_id=SESSION,
            started_at="2026-11-20T11:30:00.000000Z",
            transition_reason="manual",
        )

    assert "acc2" == find_session(store, SESSION, NOW).account


def test_invocation_s_id_is_named_as_such(store):
    invocations.begin(store, invocations.NewInvocation(SESSION, "m", "acc", 0, NOW))

    with pytest.raises(SessionNotFound, match="id of an invocation"):
        find_session(store, SESSION, NOW)


@pytest.mark.parametrize("text", ["5169", "5169694D-DE", SESSION])
def test_person_finds_a_session_by_the_beginning_of_its_id(store, text):
    _chain(store)
    _chain(store, session="9169694d-de0f-40d1-890c-6e28e55bab27")

    assert SESSION == find_typed(store, text, NOW).session_id


@pytest.mark.rows_share_fixtures
@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", SessionNotFound),
        ("%", SessionIdInvalid),
        ("____", SessionNotFound),
        ("5169%", SessionIdInvalid),
        ("f" * 9, SessionNotFound),
        ("5169\udcff", SessionIdInvalid),
    ],
)
def test_wildcards_find_nothing(store, text, error):
    _chain(store)

    with pytest.raises(error):
        find_typed(store, text, NOW)


def test_person_finds_an_id_that_is_no_uuid(store):
    _chain(store, session="ses_1a2b3c")

    assert "ses_1a2b3c" == find_typed(store, "ses_", NOW).session_id
