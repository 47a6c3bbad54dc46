"""One-shots at the same time, of a CLI that tells no session: each gets the one that it wrote."""

import sys

# Writes a Claude transcript: what it was asked, and answers while the other runs do the same. Prints its session.
CLI = """
import datetime, json, sys, time, uuid
asked, session = sys.stdin.read(), str(uuid.uuid4())
def add(kind, content):
    record = {{"type": kind, "sessionId": session, "uuid": str(uuid.uuid4()), "cwd": "/work"}}
    record["timestamp"] = datetime.datetime.now(datetime.timezone.utc).isoformat()
    record["message"] = {{"content": content}}
    with open("{root}/" + session + ".jsonl", "a") as file:
        file.write(json.dumps(record) + "\\n")
add("user", asked)
for number in range(int(asked[-1]) + 1):
    add("assistant", "did " + str(number))
    time.sleep(0.05)
print(session)
"""


def test_each_gets_its_own(world, tmp_path, markers, commands):
    root = world.home / ".claude" / "projects" / "-work"
    root.mkdir(parents=True)
    (tmp_path / "cli.py").write_text(CLI.format(root=root))
    world.account("a", f"exec {sys.executable} {tmp_path}/cli.py")
    world.model("m", "a")
    (world.config / "sessions.toml").write_text(f"[a]\nturn_script = 'claude-code-turns {root.parent}'\n")
    runs = [commands.start(["-m", "m", f"prompt {number}"], cwd=world.home) for number in range(6)]

    said = [run.communicate(timeout=120) for run in runs]

    wrote = {markers("OULIPOLY_INVOCATION", err)[0]["id"]: out.split(b"\n")[0].decode() for out, err in said}
    stored = world.rows("SELECT invocation_uuid, session_id FROM invocations")
    assert wrote == {row["invocation_uuid"]: row["session_id"] for row in stored}
