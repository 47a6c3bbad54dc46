"""What the CLI of a run hands back reaches its caller: in the result, the trace and on stderr; or the run fails."""

import json
import sys

import pytest

MESSENGER = f"{sys.executable} -c 'from oulipoly_engine.cli.artifacts.messenger import main; raise SystemExit(main())'"
RETURN = f"{MESSENGER} return"
AGENTS = f"{sys.executable} -m oulipoly_tui"


def channels(world):
    return sorted(path.name for path in (world.data / "invocations").glob("*.returns"))


def returned(world):
    return [row["name"] for row in world.rows("SELECT name FROM invocation_returned_artifacts ORDER BY returned_at")]


def test_what_a_run_returns_is_in_its_result_its_file_its_trace_and_on_stderr(world, markers):
    secret = "sk-ant-api03-" + "aB3" * 30
    world.account(
        "a",
        f"stat -c %a $OULIPOLY_RETURN_CHANNEL; echo text | {RETURN} --name n --content-stdin --verdict-line '{secret}'",
    )
    world.model("m", "a")

    done = world.run("-m", "m", "x")

    result = markers("OULIPOLY_RESULT", done.stdout)[0]
    (one,) = result["returned_artifacts"]
    traced = json.loads(world.run("trace", result["id"], "--json").stdout)["root"]["invocation"]
    waited = world.run("wait", result["id"]).stdout
    assert done.stdout.startswith(b"600\n")
    assert (f"store://return/{result['id']}/n/1", 5, "[redacted]") == (
        one["version_id"],
        one["content_len"],
        one["verdict_line"],
    )
    assert [one] == traced["returned_artifacts"]
    assert waited == (world.data / "invocations" / f"{result['id']}.result").read_bytes()
    assert [result] == markers("OULIPOLY_RESULT", waited)
    assert f"[returned] n v1 {one['sha256'][:12]} 5 B  [redacted]\n".encode() in done.stderr
    assert [] == channels(world)


def test_a_resumed_session_returns_as_well(world, markers):
    world.account("a", f"{RETURN} --name n --body text", "[a.resume]\nkind = 'flag'\nflag = '--resume'\n")
    world.model("m", "a")
    session = "9e69e8cc-616d-4640-bf1d-96f5391b1a2e"
    world.run("migrate-db")
    at = "2026-01-01T00:00:00.000000Z"
    world.change(
        "INSERT INTO session_chains(chain_id, created_at, last_used_at, model_name) VALUES ('c', ?, ?, 'm')", at, at
    )
    world.change(
        "INSERT INTO session_chain_segments (chain_id, provider_name, session_id, started_at, transition_reason)"
        " VALUES ('c', 'a', ?, ?, 'initial')",
        session,
        at,
    )

    done = world.run("--resume", session, "go on")

    assert ["n"] == [one["name"] for one in markers("OULIPOLY_RESULT", done.stdout)[0]["returned_artifacts"]]
    assert ["n"] == returned(world)


def test_a_run_hands_on_what_a_run_that_it_started_has_returned(world, markers):
    world.account("inner", f"echo inner | {RETURN} --name part --content-stdin --verdict-line 'READY: \x1b[2J'")
    world.model("one", "inner")
    find = 'sed -n \'s/^OULIPOLY_RESULT=.*version_id":"\\([^"]*\\)".*/\\1/p\''
    world.account(
        "outer",
        f"part=$({AGENTS} -m one go | {find}); {MESSENGER} show --version-id $part | tr a-z A-Z >whole; "
        f"{RETURN} --name whole --content-file whole; {MESSENGER} list-returned",
    )
    world.model("two", "outer")

    done = world.run("-m", "two", "go")

    result = markers("OULIPOLY_RESULT", done.stdout)[0]
    shown = world.run("trace", result["id"]).stdout.decode()
    below = [line.split() for line in shown.splitlines() if "returned:" in line]
    assert ["whole"] == [one["name"] for one in result["returned_artifacts"]]
    assert "INNER\n" == (world.home / "whole").read_text()
    assert [["returned:", "whole", "v1"], ["returned:", "part", "v1"]] == [words[:3] for words in below]
    assert ["part", "whole"] == returned(world)  # the inner one first: each has a channel of its own
    assert "\x1b" not in shown


def test_a_bad_receipt_fails_the_run_with_its_reason_and_keeps_none(world, markers):
    world.account("a", f"{RETURN} --name n --body x >&2; echo nonsense >>$OULIPOLY_RETURN_CHANNEL; echo answer")
    world.model("m", "a")

    done = world.run("-m", "m", "x")

    result = markers("OULIPOLY_RESULT", done.stdout)[0]
    assert done.stdout.startswith(b"OULIPOLY_RESULT=")
    assert (1, 1, "returned_artifacts", "returned_artifacts_persist_failed") == (
        done.returncode,
        result["exit_code"],
        result["error_category"],
        result["terminal_reason"],
    )
    assert b"[diagnostics] returned_artifacts: line 2 of the return channel is not a receipt" in done.stderr
    assert b"answer\n" in done.stderr
    assert "returned_artifacts" not in result
    assert ([], [], "failed") == (
        returned(world),
        channels(world),
        world.rows("SELECT * FROM invocations")[0]["status"],
    )


def test_a_run_that_fails_anyway_keeps_its_category_and_good_receipts(world, markers):
    world.account("good", f"{RETURN} --name n --body x; exit 3")
    world.account("bad", "echo nonsense >>$OULIPOLY_RETURN_CHANNEL; exit 4")
    world.model("one", "good")
    world.model("two", "bad")

    good, bad = world.run("-m", "one", "x"), world.run("-m", "two", "x")

    kept, lost = (markers("OULIPOLY_RESULT", done.stdout)[0] for done in (good, bad))
    assert (3, "unknown", "n") == (good.returncode, kept["error_category"], kept["returned_artifacts"][0]["name"])
    assert (4, "unknown", False) == (bad.returncode, lost["error_category"], "returned_artifacts" in lost)
    assert b"Warning: nothing of what this run has returned is kept: line 1" in bad.stderr
    assert ["n"] == returned(world)


def test_what_the_state_file_does_not_take_fails_the_run(world, markers):
    world.account("a", f"if [ $(cat) = go ]; then {RETURN} --name n --body x; fi")
    world.model("m", "a")
    world.run("-m", "m", "nothing")
    world.change(
        "CREATE TRIGGER full BEFORE INSERT ON invocation_returned_artifacts BEGIN SELECT RAISE(ABORT, 'full'); END"
    )

    done = world.run("-m", "m", "go")

    result = markers("OULIPOLY_RESULT", done.stdout)[0]
    assert (1, "returned_artifacts", "returned_artifacts_persist_failed") == (
        done.returncode,
        result["error_category"],
        result["terminal_reason"],
    )
    assert b"could not be recorded in the state file" in done.stderr
    assert ["succeeded", "failed"] == [row["status"] for row in world.rows("SELECT * FROM invocations ORDER BY id")]


@pytest.mark.parametrize(
    ("script", "options", "code"),
    [("exit 7", (), 7), ("sleep 300", ("--timeout", "0.1"), 124), ("kill -9 $$", (), 137)],
)
def test_the_channel_goes_with_the_run(world, script, options, code):
    world.account("a", f"ls {world.data}/invocations >seen; {script}")
    world.model("m", "a")

    done = world.run("-m", "m", *options, "x")

    assert (code, []) == (done.returncode, channels(world))
    assert ".returns\n" in (world.home / "seen").read_text()


def test_the_channel_of_a_cli_that_cannot_be_started_goes(world):
    (world.config / "providers.toml").write_text("[a]\ncommand = '/nowhere/cli'\n")
    world.model("m", "a")

    world.run("-m", "m", "x")

    assert [] == channels(world)


def test_a_channel_that_was_removed_is_told_and_the_answer_counts(world):
    world.account("a", f'{RETURN} --name n --body x >/dev/null; rm "$OULIPOLY_RETURN_CHANNEL"; echo answer')
    world.model("m", "a")

    done = world.run("-m", "m", "x")

    assert 0 == done.returncode
    assert b"answer\n" in done.stdout
    assert b"Warning: nothing of what this run has returned is kept: the return channel was removed" in done.stderr
    assert [] == returned(world)


def test_a_run_without_a_place_for_its_channel_says_so_and_goes_on(world):
    world.account("a", "cat")
    world.model("m", "a")
    world.data.mkdir(parents=True)
    (world.data / "invocations").touch()

    done = world.run("-m", "m", "hi")

    assert (0, True) == (done.returncode, done.stdout.startswith(b"hi\n"))
    assert b"Warning: this run can return nothing: cannot make " in done.stderr


def test_a_cli_that_talks_to_a_person_has_no_channel_and_the_store_of_its_run(world, talk):
    world.account("a", "exit 9", "interactive_args = ['-c', 'env']")
    world.model("m", "a")
    outer = {"OULIPOLY_RETURN_CHANNEL": "/outer/channel", "OULIPOLY_ARTIFACT_STORE": "/outer/store"}

    code, shown = talk([], "repl", "m", **outer)

    assert (0, False, False) == (code, "OULIPOLY_RETURN_CHANNEL" in shown, "/outer" in shown)
    assert f"OULIPOLY_ARTIFACT_STORE={world.data}/artifacts.db" in shown
    assert "OULIPOLY_PARENT_INVOCATION=" in shown
