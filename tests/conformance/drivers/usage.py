"""Driver of `--usage`: the table of one account, through the command itself."""

import fcntl
import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

COMMANDS = None  # what runs our command
HOUR_FROM_EPOCH = "2030-01-01T00:00:00Z"
COLUMNS = ("account", "vendor", "window", "used", "remaining")


def folders():
    home = Path(os.environ["HOME"])
    config, data = home / ".config" / "oulipoly-agent-runner", home / ".local/share/oulipoly-agent-runner"
    (config / "models").mkdir(parents=True, exist_ok=True)
    data.mkdir(parents=True, exist_ok=True)
    return config, data


def configure(given):
    """Write one account `a` and a model `fixture` that uses it, as a vector describes them; return the data folder."""
    config, data = folders()
    script = script_of(given)
    quota = "" if script is None else f"quota_script = {json.dumps(script)}\n"
    command = json.dumps(given.get("command", "claude"))
    (config / "providers.toml").write_text(f"[a]\ncommand = {command}\n{quota}")
    names = ["a", given["missing"]] if "missing" in given else ["a"]
    members = "".join(f"[[providers]]\nname = '{name}'\n" for name in names)
    (config / "models" / f"{given.get('model', 'fixture')}.toml").write_text(members)
    return data


def script_of(given):
    """Return the shell line that the vector's account is read with; None for none."""
    if "quota_script" in given:
        return given["quota_script"]
    if given.get("script", "").startswith("stderr"):
        return "echo 'provider exploded' >&2; exit 42"
    if "stdout" in given:
        return f"echo '{given['stdout']}'"
    window = {"used_percent": given.get("used_percent", given.get("script_used_percent", 5))}
    window |= {"resets_at": HOUR_FROM_EPOCH} | ({"label": given["label"]} if "label" in given else {})
    before = [{"used_percent": 1, "resets_at": HOUR_FROM_EPOCH}] * given.get("index", 0)
    return f"echo '{json.dumps({'windows': [*before, window]})}'"


def usage():
    """Run the command; its streams are text."""
    done = COMMANDS.run(["--usage"], b"", dict(os.environ), Path.cwd(), 60)
    return SimpleNamespace(returncode=done.returncode, stdout=done.stdout.decode(), stderr=done.stderr.decode())


def rows_of(stdout):
    """Return the table's rows by column, cut where the headings begin."""
    heading, *lines = stdout.splitlines()
    starts = [heading.index(name) for name in ("Account", "Vendor", "Window", "Used / Limit", "Remaining")]
    ends = [*starts[1:], None]
    cut = [[line[start:end].strip() for start, end in zip(starts, ends, strict=True)] for line in lines]
    return [dict(zip(COLUMNS, cells, strict=True)) for cells in cut]


def stored(data):
    with closing(sqlite3.connect(data / "state.db")) as connection:
        return [row[0] for row in connection.execute("SELECT used FROM quota_windows ORDER BY position")]


def seed(data, used):
    """Store a reading of just now, by reading it."""
    configure({"used_percent": 100 * used})
    assert 0 == usage().returncode
    assert [used] == stored(data)


def drive_table(vector, tmp_path):
    given, expected = vector["input"], vector["expected"]
    data = folders()[1]
    if "cached" in given:
        seed(data, given["cached"])
    configure(given)
    if "state_db" in given:
        (data / "state.db").write_text(given["state_db"])
    if given.get("lock") == "held":
        (data / "usage-refresh-locks").mkdir()
        with (data / "usage-refresh-locks" / "a.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            done = usage()
    else:
        done = usage()
    check(expected, given, done, data)


def check(expected, given, done, data):
    if expected.get("exit_nonzero"):
        assert done.returncode != 0
        assert (expected["stdout"], True) == (done.stdout, bool(done.stderr))
        return
    rows = rows_of(done.stdout)
    last = rows[-1]

    assert expected.get("exit", 0) == done.returncode
    assert {"a"} == {row["account"] for row in rows}
    assert {key: expected[key] for key in COLUMNS if key in expected} == {
        key: last[key] for key in COLUMNS if key in expected
    }
    assert [] == [part for part in expected.get("row_contains", ()) if part not in done.stdout.splitlines()[-1]]
    if "cache_rows" in expected:
        assert expected["cache_rows"] == len(stored(data))
    if "shown" in expected:
        assert (True, [expected["stored"]]) == (last["used"].startswith(expected["shown"]), stored(data))
    if "missing" in given:
        assert [] == [name for name in (given["missing"], given["model"]) if name not in done.stderr]


DRIVERS = {"usage.table": drive_table}
