"""Drivers of the diagnosis: key words, the diagnostics model's answer, and one whole run."""

import json
import os
import shlex
import sqlite3
from contextlib import closing

from oulipoly_engine.core.runs.diagnose import heuristic, parse_answer

COMMANDS = None  # what runs our command


def drive_heuristic(vector, tmp_path):
    assert vector["expected"] == heuristic(vector["input"]["text"])


def drive_parse(vector, tmp_path):
    given, expected = vector["input"], vector["expected"]

    answer = parse_answer(given["stdout"], given.get("text", ""))

    assert expected["category"] == answer.category
    assert expected.get("summary", answer.summary) == answer.summary


def drive_e2e(vector, tmp_path):
    given, expected = vector["input"], vector["expected"]
    home = tmp_path / "home"
    configure(home / ".config" / "oulipoly-agent-runner", given)
    env = {key: value for key, value in os.environ.items() if not key.startswith(("XDG_", "OULIPOLY_"))}

    done = COMMANDS.run(["-m", "failing", "hello"], b"", env | {"HOME": str(home)}, home, 60)

    stderr = done.stderr.decode()
    assert expected["exit"] == done.returncode
    assert given["stderr"] in stderr
    assert [] == [text for text in expected["stderr_contains"] if text not in stderr]
    database = home / ".local" / "share" / "oulipoly-agent-runner" / "state.db"
    columns = ", ".join(expected["row"])
    with closing(sqlite3.connect(database)) as connection:
        rows = connection.execute(f"SELECT {columns} FROM invocations WHERE model_name = 'failing'").fetchall()
    assert [tuple(expected["row"].values())] == rows


def configure(config, given):
    """Write one account that fails and one that answers what the diagnostics model is to say."""
    (config / "models").mkdir(parents=True)
    failing = f"printf '%s\\n' {shlex.quote(given['stderr'])} >&2; exit {given['exit']}"
    answering = f"cat > /dev/null; printf '%s\\n' {shlex.quote(given['diagnostics_answer'])}"
    text = ""
    for name, script in (("failing", failing), ("naming", answering)):
        text += f"[{name}]\ncommand = 'sh'\nargs = {json.dumps(['-c', script])}\n"
        (config / "models" / f"{name}.toml").write_text(f"[[providers]]\nname = '{name}'\n")
    (config / "providers.toml").write_text(text)
    (config / "config.toml").write_text('diagnostics_model = "naming"\n')


DRIVERS = {
    "diagnostics.e2e": drive_e2e,
    "diagnostics.heuristic": drive_heuristic,
    "diagnostics.parse": drive_parse,
}
