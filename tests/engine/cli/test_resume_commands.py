"""`resume` and `--resume` with a prompt: CLIs that are small shell scripts, sessions that are rows."""

import json
import os
import subprocess
import sys
import uuid

import pytest

SESSION = "9e69e8cc-616d-4640-bf1d-96f5391b1a2e"
OTHER = "9e69ffff-616d-4640-bf1d-96f5391b1a2e"
RESUME = "[NAME.resume]\nkind = 'flag'\nflag = '--resume'\n"


@pytest.fixture
def known(world):
    """A world with a session of the account `a`, made with the model `m`; more can be added."""
    world.run("migrate-db")

    def add(account="a", session=SESSION, model="m", used="2026-01-01T00:00:00.000000Z"):
        chain = str(uuid.uuid4())
        world.change(
            "INSERT INTO session_chains(chain_id, created_at, last_used_at, model_name) VALUES (?, ?, ?, ?)",
            chain,
            used,
            used,
            model,
        )
        world.change(
            "INSERT INTO session_chain_segments (chain_id, provider_name, session_id, started_at, transition_reason)"
            " VALUES (?, ?, ?, ?, 'initial')",
            chain,
            account,
            session,
            used,
        )
        return chain

    world.add_session = add
    return world


def account(world, name, script, extra="", resume=RESUME):
    world.account(name, script, extra + "\n" + resume.replace("NAME", name))


def last_row(world):
    return world.rows("SELECT * FROM invocations ORDER BY id DESC LIMIT 1")[0]


@pytest.mark.parametrize(
    "command", [("--resume", SESSION, "go", "on"), ("resume", "--session-id", SESSION, "--prompt", "go on")]
)
def test_answer_reaches_the_session_and_the_row_says_so(known, markers, command):
    account(known, "a", 'cat; echo; echo "$@"')
    known.model("m", "a")
    chain = known.add_session()

    done = known.run(*command)

    row = last_row(known)
    result = markers("OULIPOLY_RESULT", done.stdout)[0]
    assert (0, True) == (done.returncode, result["success"])
    assert done.stdout.startswith(f"go on\n--resume {SESSION}\n".encode())
    assert b"[resume] -> a\n" in done.stderr
    assert (SESSION, "resumed", SESSION, "m", "unconfirmed") == (
        row["session_id"],
        row["session_capture_method"],
        row["resume_input_id"],
        row["model_name"],
        row["resume_acceptance_status"],
    )
    assert [chain] == [link["agent_runner_chain_id"] for link in markers("OULIPOLY_SESSION", done.stderr)]


def test_row_stands_before_the_spawn_and_a_refused_id_is_kept_in_it(known, markers):
    account(
        known,
        "a",
        "echo 'No conversation found with session ID: x' >&2; exit 1",
        "[a.resume_acceptance]\nrejected_output_patterns = ['No conversation found']",
    )
    known.model("m", "a")
    known.add_session()

    done = known.run("--resume", SESSION, "x")

    result = markers("OULIPOLY_RESULT", done.stdout)[0]
    traced = json.loads(known.run("trace", result["id"], "--json").stdout)["root"]
    assert 1 == done.returncode
    assert ("resume_session_mismatch", SESSION) == (result["error_category"], result["provider_session_id"])
    assert ("rejected", SESSION) == (traced["session"]["resume_acceptance"], traced["session"]["id"])
    assert f"Resume target: {SESSION}".encode() in known.run("trace", result["id"]).stdout


@pytest.mark.parametrize(
    "says",
    [
        "printf 'OpenAI Codex\\nsession id: 01a1fc4c-d561-70c0-a484-ac38dc374bba\\n' >&2",
        'echo \'{"type":"thread.started","thread_id":"01a1fc4c-d561-70c0-a484-ac38dc374bba"}\'',
    ],
    ids=["banner", "event"],
)
def test_silent_new_session_is_stopped_and_is_no_success(known, markers, says):
    account(known, "a", f"{says}; sleep 60; echo answer")
    known.model("m", "a")
    known.add_session()

    done = known.run("--resume", SESSION, "x")

    result = markers("OULIPOLY_RESULT", done.stdout)[0]
    assert (1, "resume_session_mismatch") == (done.returncode, result["error_category"])
    assert b"answer" not in done.stdout
    assert b"began another one, 01a1fc4c-d561-70c0-a484-ac38dc374bba" in done.stderr
    assert "rejected" == last_row(known)["resume_acceptance_status"]


def test_accepting_pattern_makes_it_accepted(known):
    pattern = "[a.resume_acceptance]\naccepted_output_patterns = ['session id: {session_id}']"
    account(known, "a", 'echo "session id: $2" >&2', pattern)
    known.model("m", "a")
    known.add_session()

    known.run("--resume", SESSION, "x")

    assert "accepted" == last_row(known)["resume_acceptance_status"]


def test_beginning_of_an_id_is_enough_unless_it_means_several(known):
    account(known, "a", "cat")
    known.model("m", "a")
    known.add_session()
    known.add_session(session=OTHER)

    good = known.run("--resume", "9e69e", "x")
    bad = known.run("--resume", "9e69", "x")
    short = known.run("--resume", "9e6", "x")

    assert [0, 1, 1] == [good.returncode, bad.returncode, short.returncode]
    assert b"2 sessions have the id 9e69" in bad.stderr
    assert b"too short" in short.stderr


@pytest.mark.parametrize("given", ["9e69e8cc", SESSION[:-1], SESSION.replace("-", ""), "", "nope"])
def test_session_id_of_a_script_is_never_the_beginning_of_one(known, given):
    account(known, "a", "cat")
    known.model("m", "a")
    known.add_session()

    done = known.run("resume", "--session-id", given, "--prompt", "x")

    assert (2, b"") == (done.returncode, done.stdout)
    assert f"Invalid session UUID '{given}' (no prefix matching)".encode() in done.stderr
    assert [] == known.rows("SELECT * FROM invocations")


def test_session_id_of_a_script_is_found_by_all_of_it(known):
    account(known, "a", "cat")
    known.model("m", "a")
    known.add_session(session="ses_e03b6b4cbffeMCq4uCbKk1rWZt")

    whole = known.run("resume", "--session-id", "ses_e03b6b4cbffeMCq4uCbKk1rWZt", "--prompt", "x")
    beginning = known.run("resume", "--session-id", "ses_e03b6b4cb", "--prompt", "x")
    upper = known.run("resume", "--session-id", SESSION.upper(), "--prompt", "x")

    assert [0, 1, 1] == [whole.returncode, beginning.returncode, upper.returncode]
    assert f"no session has the id {SESSION}".encode() in upper.stderr


def test_several_recent_chains_of_one_id_are_refused_with_their_ids(known):
    account(known, "a", "cat")
    known.model("m", "a")
    chains = [known.add_session(used="2999-01-01T00:00:00.000000Z") for _ in range(2)]

    refused = known.run("--resume", SESSION, "x")
    chosen = known.run("--resume", chains[0], "x")

    assert (1, 0) == (refused.returncode, chosen.returncode)
    assert all(chain.encode() in refused.stderr for chain in chains)
    assert chains[0] == last_row(known)["resume_input_id"]


def test_id_on_several_accounts_names_them_all_for_scripts(known):
    account(known, "a", "cat")
    account(known, "b", "cat")
    known.model("m", "a", "b")
    known.add_session()
    known.add_session(account="b", used="2026-02-01T00:00:00.000000Z")

    done = known.run("--resume", SESSION, "x")

    assert b"matched a, b; selected b" in done.stderr
    assert b"[resume] -> b" in done.stderr


FAILURES = {
    "unknown": (("--resume", "ffffffff-616d-4640-bf1d-96f5391b1a2e", "x"), "no session has the id"),
    "foreign pool": (("resume", "-m", "other", "--session-id", SESSION, "--prompt", "x"), "models that have it: m"),
    "unknown model": (("resume", "-m", "nope", "--session-id", SESSION, "--prompt", "x"), "Unknown model 'nope'"),
    "no answer": (("resume", "--session-id", SESSION), "no answer payload"),
    "blank answer": (("resume", "--session-id", SESSION, "--prompt", " "), "the answer is empty"),
    "no such file": (("resume", "--session-id", SESSION, "-f", "/nope"), "cannot be read"),
}


@pytest.mark.parametrize(("command", "text"), FAILURES.values(), ids=FAILURES)
def test_failure_before_the_run_is_one_sentence_and_exit_1(known, command, text):
    account(known, "a", "cat")
    known.account("b", "cat")
    known.model("m", "a")
    known.model("other", "b")
    known.add_session()

    done = known.run(*command)

    assert (1, b"") == (done.returncode, done.stdout)
    assert text.encode() in done.stderr
    assert [] == known.rows("SELECT * FROM invocations")


@pytest.mark.parametrize(
    ("resume", "owner", "text"),
    [("", "a", "[a.resume] table"), (RESUME, "gone", "which is not in providers.toml")],
    ids=["no resume block", "no such account"],
)
def test_account_that_cannot_resume_is_named(known, resume, owner, text):
    account(known, "a", "cat", resume=resume)
    known.model("m", "a", owner)
    known.add_session(account=owner)

    done = known.run("--resume", SESSION, "x")

    assert 1 == done.returncode
    assert text.encode() in done.stderr


def test_invocation_id_is_told_from_a_session_id(known, markers):
    account(known, "a", "cat")
    known.model("m", "a")
    identity = markers("OULIPOLY_INVOCATION", known.run("-m", "m", "x").stderr)[0]["id"]

    done = known.run("--resume", identity, "x")

    assert 1 == done.returncode
    assert b"is the id of an invocation, not of a session" in done.stderr


def test_session_whose_model_is_gone_goes_on_with_the_account_alone(known):
    account(known, "a", 'echo "$@"')
    known.add_session(model="gone")

    done = known.run("--resume", SESSION, "x")

    assert 0 == done.returncode
    assert b"'gone' is not configured any more" in done.stderr
    assert f"--resume {SESSION}\n".encode() in done.stdout


@pytest.mark.parametrize(("project", "expected"), [(True, "named"), (False, "own")])
def test_folder_is_the_named_one_then_the_sessions_own(known, tmp_path, project, expected):
    for name in ("named", "own"):
        (tmp_path / name).mkdir()
    cwd = json.dumps({"found": True, "cwd": str(tmp_path / "own")})
    account(known, "a", "pwd", f"[a.session_storage]\nkind = 'script'\ncwd_script = '''echo '{cwd}' #'''")
    known.model("m", "a")
    known.add_session()

    done = known.run("--resume", SESSION, *(("-p", tmp_path / "named") if project else ()), "x")

    assert done.stdout.startswith(str(tmp_path / expected).encode())


def test_folder_that_cannot_be_told_is_warned_of_and_ours_is_taken(known):
    account(known, "a", "pwd", "[a.session_storage]\nkind = 'script'\ncwd_script = 'exit 3'")
    known.model("m", "a")
    known.add_session()

    done = known.run("--resume", SESSION, "x")

    assert b"[resume] warning: " in done.stderr
    assert b"cwd_script_exit_3" in done.stderr
    assert done.stdout.startswith(str(known.home).encode())


def test_session_of_another_program_is_found_by_scanning(known):
    line = {"session_id": SESSION, "turn_id": "t", "timestamp": "2026-01-01T00:00:00Z", "role": "user"}
    account(known, "a", "cat")
    known.model("m", "a")
    (known.config / "sessions.toml").write_text(f"[a]\nturn_script = '''echo '{json.dumps(line)}' '''\n")

    done = known.run("--resume", "9e69e8cc", "x")

    assert 0 == done.returncode
    assert b"[resume] -> a" in done.stderr


@pytest.mark.parametrize("options", [("-i", "a=b"), ("-a", "x.md")])
def test_what_does_not_go_with_resume_is_refused(known, options):
    done = known.run("--resume", SESSION, *options, "x")

    assert (2, b"") == (done.returncode, done.stdout)


def test_list_tells_about_the_chain(known):
    account(known, "a", "cat")
    chain = known.add_session()

    done = known.run("resume", "--list", SESSION)

    assert f"chain_id={chain} last_used_at=2026-01-01T00:00:00.000000Z active_provider=a".encode() in done.stdout
    assert done.stdout.endswith(b"turn_count=0 recent_turns_count=0\n")


def test_spent_account_of_no_pool_ends_with_its_failure(known, markers):
    account(known, "a", 'echo "You\'ve hit your usage limit" >&2; exit 1')
    known.model("m", "a")
    known.add_session()

    done = known.run("--resume", SESSION, "x")

    assert "quota_exhausted" == markers("OULIPOLY_RESULT", done.stdout)[0]["error_category"]
    assert 1 == len(known.rows("SELECT * FROM invocations"))


def test_killed_runner_is_closed_by_the_next_run(known, tmp_path):
    account(known, "a", f"echo $$ > {tmp_path}/pid; sleep 60")
    account(known, "b", "cat")
    known.model("m", "a")
    known.model("n", "b")
    ours = subprocess.Popen(
        [sys.executable, "-m", "oulipoly_tui", "-m", "m", "x"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=known.home,
    )
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        assert ours.poll() is None
    ours.kill()
    ours.wait()
    os.killpg(int((tmp_path / "pid").read_text()), 9)

    known.run("-m", "n", "x")

    lost, fine = known.rows("SELECT * FROM invocations ORDER BY id")
    assert ("failed", 0, -1, "guard_drop") == (
        lost["status"],
        lost["success"],
        lost["exit_code"],
        lost["terminal_reason"],
    )
    assert "succeeded" == fine["status"]


def test_row_of_a_runner_that_lives_is_left_alone(known):
    account(known, "a", "cat")
    known.model("m", "a")
    known.change(
        "INSERT INTO invocations (invocation_uuid, model_name, provider_name, status, owner_pid, created_at)"
        " VALUES ('u', 'm', 'a', 'running', ?, strftime('%Y-%m-%dT%H:%M:%f000Z'))",
        os.getpid(),
    )

    known.run("-m", "m", "x")

    assert "running" == known.rows("SELECT status FROM invocations WHERE invocation_uuid = 'u'")[0]["status"]
