"""What extensions may do: declared, asked for once, shown, withdrawn, and refused at the next call."""

import os

import pytest

from oulipoly_engine.cli.main import main
from oulipoly_engine.errors import ExtensionRefused
from oulipoly_engine.extension_api import Session

HERE = Session("s1", "/w", "r", "a", "m", "t")
BASE = "def on_load(self, context): self.context = context\n"
ALL = ["file_read", "file_write", "network", "execute_command", "read_environment"]


def write(extending, code, permissions=ALL):
    lines = "\n".join(f"    {line}" for line in code.splitlines())
    extending.write(
        "asker",
        f"{BASE}def __init__(self): self.commands = {{'go': self.go}}\ndef go(self, words):\n{lines}",
        permissions=permissions,
        commands=["go"],
    )
    extending.allow("asker")


def go(extending, words=""):
    return extending.set.running.run_command("asker", "go", words, HERE).text


def test_it_is_asked_once_in_the_inbox_and_a_yes_there_counts(extending):
    extending.write("asker", "pass", permissions=["network"])
    for _ in range(2):
        (status,) = extending.engine.extensions.questions()
        assert ("run", "network") == status.missing
    (request,) = extending.engine.live.requests()
    assert ("extension", "extension:asker") == (request.origin, request.asker)

    extending.engine.live.answer(request.request_id, "approve")
    assert ((), ()) == (extending.engine.extensions.questions(), extending.engine.live.requests())
    assert "active" == extending.status("asker").state
    rights = {grant.right for grant in extending.engine.grants.list() if grant.kind == "extension"}
    assert 2 == len(rights)
    assert "use the network" in rights


@pytest.mark.parametrize("words", [("ext", "enable", "asker", "--allow"), ("requests", "approve", "REQUEST")])
def test_no_agent_says_yes(extending, monkeypatch, capfd, words):
    extending.write("asker", "pass", permissions=["network"])
    extending.engine.extensions.questions()
    (request,) = extending.engine.live.requests()
    monkeypatch.setenv("OULIPOLY_PARENT_INVOCATION", '{"source":"claude1","id":"3b241101-e2bb-4255-8caf-4136c566a962"}')

    assert 1 == main([request.request_id if word == "REQUEST" else word for word in words])
    assert "an agent may not" in capfd.readouterr().err
    assert "pending" == extending.status("asker").state


@pytest.mark.parametrize("words", [("ext", "disable", "asker"), ("config", "disable", "extensions", "asker")])
def test_no_agent_switches_an_extension_off(extending, monkeypatch, capfd, words):
    write(extending, "pass")
    monkeypatch.setenv("OULIPOLY_PARENT_INVOCATION", '{"source":"claude1","id":"3b241101-e2bb-4255-8caf-4136c566a962"}')

    assert 1 == main(list(words))
    assert "an agent may not switch an extension off" in capfd.readouterr().err
    assert not extending.status("asker").standing.is_off


def test_a_no_is_kept_until_its_files_change(extending):
    place = extending.write("asker", "pass")
    (status,) = extending.engine.extensions.questions()
    extending.engine.extensions.refuse(status)

    assert () == extending.engine.extensions.questions()
    (place / "extension.py").write_text("")
    assert 1 == len(extending.engine.extensions.questions())


@pytest.mark.parametrize(
    ("permission", "code"),
    [
        ("file_read", "return self.context.fs.read_text('/etc/passwd')"),
        ("file_read", "return str(self.context.fs.list('/'))"),
        ("file_write", "self.context.fs.write(words, 'x')"),
        ("file_write", "self.context.fs.remove(words)"),
        ("network", "self.context.net.request('http://127.0.0.1:9')"),
        ("execute_command", "return self.context.exec.run('true').problem or 'ran'"),
        ("read_environment", "return self.context.env.get('HOME')"),
    ],
)
def test_each_right_is_refused_without_a_grant_and_the_extension_stays_active(extending, permission, code, tmp_path):
    write(extending, code, permissions=[each for each in ALL if each != permission])

    with pytest.raises(ExtensionRefused, match="'asker' refuses it: asker is not allowed to"):
        go(extending, str(tmp_path / "file"))
    assert ("active", 0) == (extending.status("asker").state, extending.status("asker").standing.failures)


def test_a_right_that_is_revoked_counts_at_the_next_call(extending):
    write(extending, "return self.context.env.get('HOME')")
    assert os.environ["HOME"] == go(extending)

    (grant,) = [each for each in extending.engine.grants.list() if "environment" in each.right]
    extending.engine.grants.revoke(grant.grant_id)
    with pytest.raises(ExtensionRefused, match="not allowed to read environment variables"):
        go(extending)
    assert ("read_environment",) == extending.status("asker").missing


@pytest.mark.parametrize("way", ["state.db", "link", ".."])
def test_no_broker_writes_or_reads_what_is_ours(extending, tmp_path, way):
    link = tmp_path / "link"
    link.symlink_to(extending.paths.data)
    place = {
        "state.db": extending.paths.state_db,
        "link": link / "state.db",
        "..": extending.paths.data / "x" / ".." / "state.db",
    }
    write(extending, "return self.context.fs.read_text(words)")

    with pytest.raises(ExtensionRefused, match="this program's own"):
        go(extending, str(place[way]))


def test_a_command_gets_little_of_the_environment_without_that_right(extending, monkeypatch):
    monkeypatch.setenv("SECRET_OF_TEST", "x")
    write(extending, "return self.context.exec.run('env').stdout.decode()", permissions=["execute_command"])

    assert "SECRET_OF_TEST" not in go(extending)
    assert "PATH=" in go(extending)


@pytest.mark.parametrize("address", ["file:///etc/passwd", "ftp://x/y", "/etc/passwd"])
def test_the_network_is_http(extending, address):
    write(extending, "self.context.net.request(words)")

    with pytest.raises(ExtensionRefused, match="is not an address of http"):
        go(extending, address)


def test_who_is_named_for_one_start_may_run_and_nothing_else(extending, tmp_path):
    place = extending.write(
        "once",
        f"{BASE}def __init__(self): self.commands = {{'go': lambda w: self.context.env.get('HOME')}}",
        tmp_path,
        permissions=["read_environment"],
        commands=["go"],
    )
    extending.open(place)
    (status,) = extending.engine.extensions.list()

    assert ("active", ("read_environment",)) == (status.state, status.missing)
    with pytest.raises(ExtensionRefused, match="not allowed"):
        extending.set.running.run_command("once", "go", "", HERE)
    extending.engine.extensions.allow(status)
    assert os.environ["HOME"] == extending.set.running.run_command("once", "go", "", HERE).text


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("loud = true\n", "True 3"),
        ("", "no such: the setting `loud` is missing"),
        ("loud = 1\n", "the setting `loud` is not of the type boolean"),
        ("loud = \n", "not valid TOML"),
    ],
)
def test_its_settings_are_held_to_its_schema(extending, text, says):
    place = extending.write(
        "asker",
        f"{BASE}def __init__(self): self.commands = {{'go': self.go}}\n"
        "def go(self, w): return '{loud} {times}'.format(**self.context.settings)",
        commands=["go"],
    )
    with (place / "extension.toml").open("a") as file:
        file.write(
            '[config_schema]\nrequired = ["loud"]\n[config_schema.properties]\nloud = {type = "boolean"}\n'
            'times = {type = "integer", default = 3}\n'
        )
    extending.paths.extension_settings.mkdir(parents=True)
    (extending.paths.extension_settings / "asker.toml").write_text(text)
    extending.allow("asker")

    try:
        shown = go(extending)
    except ExtensionRefused as error:
        shown = f"no such: {error.message}"
    assert says.removeprefix("no such: ") in shown
