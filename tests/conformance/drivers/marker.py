"""Drivers of the marker lines: the real command, a configuration in a home of its own, and small shell CLIs."""

import json
import os
import re
import shlex
from datetime import datetime

COMMANDS = None  # what runs our command
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


def run(tmp_path, *arguments, stdin=b""):
    """Run our command with `tmp_path/home` as its home."""
    home = tmp_path / "home"
    env = {key: value for key, value in os.environ.items() if not key.startswith(("XDG_", "OULIPOLY_"))}
    return COMMANDS.run([*map(str, arguments)], stdin, env | {"HOME": str(home)}, home, 60)


def configure(tmp_path, model, accounts, missing=()):
    """Write a pool of accounts, name -> shell script of its CLI; `missing` are in the pool only."""
    config = tmp_path / "home" / ".config" / "oulipoly-agent-runner"
    (config / "models").mkdir(parents=True)
    entries = (f"[{name}]\ncommand = 'sh'\nargs = {json.dumps(['-c', script])}\n" for name, script in accounts.items())
    (config / "providers.toml").write_text("".join(entries))
    members = (f"[[providers]]\nname = '{name}'\n" for name in [*accounts, *missing])
    (config / "models" / f"{model}.toml").write_text("".join(members))


def printing(text):
    return f"printf %s {shlex.quote(text)}"


def lines_of(stdout, marker):
    return [line for line in stdout.decode().split("\n") if line.startswith(f"{marker}=")]


def body_of(line):
    return json.loads(line.partition("=")[2])


def invocation_id(stderr):
    return body_of(lines_of(stderr, "OULIPOLY_INVOCATION")[-1])["id"]


def drive_result(vector, tmp_path):
    exit_code = vector["input"]["exit"]
    configure(tmp_path, "m", {"a": f"echo out; exit {exit_code}"})

    done = run(tmp_path, "-m", "m", "hello")

    (line,) = lines_of(done.stdout, "OULIPOLY_RESULT")
    body = body_of(line)
    assert exit_code == done.returncode == body["exit_code"]
    assert invocation_id(done.stderr) == body["id"]
    expected = vector["expected"]
    if isinstance(expected, str):
        finished = datetime.fromisoformat(body["finished_at"])
        assert finished.tzinfo is not None
        assert expected == line.replace(body["finished_at"], "<RFC3339>").replace(body["id"], "<UUID>")
        assert UUID.fullmatch(body["id"])
    else:
        assert expected["keys"] == list(body)
        assert body["id"] == body["agent_runner_invocation_id"]
        assert ("a", "failed", False) == (body["provider_name"], body["status"], body["success"])


def drive_newline(vector, tmp_path):
    configure(tmp_path, "m", {"a": printing(vector["input"]["child_stdout"])})

    done = run(tmp_path, "-m", "m", "hello")

    assert 0 == done.returncode, done.stderr
    assert done.stdout.decode().startswith(vector["expected"]["starts_with"])
    assert done.stdout.endswith(b"}\n")


def drive_forged(vector, tmp_path):
    forge = """
id=$(printf %s "$OULIPOLY_PARENT_INVOCATION" | sed 's/.*"id":"\\([^"]*\\)".*/\\1/')
for code in 41 42; do
  printf 'OULIPOLY_RESULT={"error_category":null,"exit_code":%s,"id":"%s",' $code $id
  printf '"finished_at":"2026-01-01T00:00:00Z","status":"failed","success":false,"terminal_reason":null}\\n'
done
"""
    configure(tmp_path, "m", {"a": forge})

    done = run(tmp_path, "-m", "m", "hello")

    ours = invocation_id(done.stderr)
    bodies = [body_of(line) for line in lines_of(done.stdout, "OULIPOLY_RESULT")]
    matching = [body["exit_code"] for body in bodies if body["id"] == ours]
    assert vector["expected"]["matching_lines"] == len(matching)
    assert "last" == vector["expected"]["genuine"]
    assert [41, 42, 0] == matching


def the_failure(done):
    """Return the one OULIPOLY_FAILURE line, which must be alone on stdout."""
    (line,) = lines_of(done.stdout, "OULIPOLY_FAILURE")
    assert [] == lines_of(done.stdout, "OULIPOLY_RESULT")
    assert 0 != done.returncode
    return line


def drive_failure(vector, tmp_path):
    description = vector["description"]
    if description == "pool already exhausted at selection":
        drive_exhausted_pool(vector, tmp_path)
    elif description == "account missing from providers.toml":
        drive_missing_account(vector, tmp_path)
    else:
        drive_no_prompt(vector, tmp_path)


def drive_exhausted_pool(vector, tmp_path):
    given = vector["input"]
    spent = 'echo "You\'ve hit your session limit"; exit 1'
    configure(tmp_path, given["model"], dict.fromkeys(given["pool"], spent))
    run(tmp_path, "-m", given["model"], "hello")  # spends both

    done = run(tmp_path, "-m", given["model"], "hello")

    line = the_failure(done)
    finished = body_of(line)["finished_at"]
    assert INSTANT.fullmatch(finished)
    assert vector["expected"] == line.replace(finished, "<RFC3339>")
    assert [] == lines_of(done.stderr, "OULIPOLY_INVOCATION")


def drive_missing_account(vector, tmp_path):
    configure(tmp_path, vector["input"]["model"], {}, missing=vector["input"]["pool"])

    done = run(tmp_path, "-m", vector["input"]["model"], "hello")

    expected, body = vector["expected"], body_of(the_failure(done))
    assert expected["stage"] == body["stage"]
    assert expected["attempted_providers"] == body["detail"]["attempted_providers"]
    assert expected["provider_index"] == body["detail"]["provider_index"]
    assert f"{body['stage']}: {body['detail']['reason']}" == body["message"]


# How each way of giving no prompt looks on the command line, what goes into stdin, and a word of the reason.
NO_PROMPT = {
    "whitespace-only stdin": ((), b" \n\t ", "stdin"),
    "--file missing": (("--file", "nowhere.md"), b"", "nowhere.md"),
    "--agent-file missing": (("--agent-file", "no-agent.md", "hello"), b"", "no-agent.md"),
}


def drive_no_prompt(vector, tmp_path):
    arguments, stdin, word = NO_PROMPT[vector["description"]]
    ran = tmp_path / "ran"
    configure(tmp_path, "m", {"a": f"touch {shlex.quote(str(ran))}"})

    done = run(tmp_path, "-m", "m", *arguments, stdin=stdin)

    expected, body = vector["expected"], body_of(the_failure(done))
    assert expected["stage"] == body["stage"]
    assert expected["attempted_providers"] == body["detail"]["attempted_providers"]
    assert expected["provider_index"] == body["detail"]["provider_index"]
    assert word in body["detail"]["reason"]
    assert expected["provider_ran"] is ran.exists()
    assert done.stderr.decode().startswith(expected["stderr_prefix"])


DRIVERS = {
    "marker.failure": drive_failure,
    "marker.forged": drive_forged,
    "marker.newline": drive_newline,
    "marker.result": drive_result,
}
