"""Extensions in process: nothing is imported before a yes, each failure is contained and named, names never clash."""

import subprocess
import sys
import time
from queue import Queue
from threading import Event
from types import SimpleNamespace

import pytest

from oulipoly_engine.clock import SystemClock
from oulipoly_engine.config.origins import read_origins
from oulipoly_engine.errors import ExtensionNotFound, ExtensionRefused
from oulipoly_engine.extension_api import Handled, Session, Transform
from oulipoly_engine.service.extensions.session_hooks import SessionHooks, reader_of
from oulipoly_engine.store.outbox import events
from oulipoly_tui import split_settings

FORK = ["before_fork"]
HERE = Session("s1", "/w", "r", "a", "m", "t")


def take(extending, text):
    return extending.set.running.take_input(text, HERE)


def test_nothing_is_imported_before_a_person_says_yes(extending):
    extending.write("quiet", "raise SystemExit('imported')", hooks=FORK)

    extending.guard()
    (status,) = extending.engine.extensions.list()
    assert ("pending", ("run",), None) == (status.state, status.missing, status.standing.load_ms)
    assert not [name for name in sys.modules if name.startswith("agent_runner_extension_")]


def test_a_guard_says_no_and_stays_active(extending):
    extending.write(
        "keeper", "def before_fork(self, session, entry): raise Refused(f'{session.id} {entry}')", hooks=FORK
    )
    extending.allow("keeper")

    with pytest.raises(ExtensionRefused, match="'keeper' refuses it: s1 e1"):
        extending.guard()
    assert ("active", 0) == (extending.status("keeper").state, extending.status("keeper").standing.failures)
    assert extending.status("keeper").standing.load_ms > 0


def test_the_first_that_refuses_ends_the_chain(extending):
    for name in "ab":
        extending.write(name, "def before_fork(self): print('asked'); raise Refused('no')", hooks=FORK)
    extending.allow("a", "b")

    with pytest.raises(ExtensionRefused, match="'a' refuses"):
        extending.guard()
    assert "asked" in extending.log("a")
    assert not (extending.paths.extension_logs / "b.log").exists()


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        pytest.param("def before_fork(self): raise ValueError('broken')", "ValueError: broken", id="raises"),
        pytest.param("def before_fork(self): sys.exit(3)", "SystemExit: 3", id="exits"),
        pytest.param("def before_fork(self): raise KeyboardInterrupt", "KeyboardInterrupt", id="interrupts"),
        pytest.param("def before_fork(self): raise MemoryError", "MemoryError", id="memory"),
        pytest.param("def before_fork(self): bytearray(1 << 62)", "MemoryError", id="takes memory"),
        pytest.param("def before_fork(self): time.sleep(60)", "longer than 0.5 s", id="hangs"),
        pytest.param("def before_fork(self, strange): pass", "cannot be loaded", id="strange arguments"),
        pytest.param("pass", "declares the hook `before_fork`", id="no such method"),
        pytest.param("def __init__(self): raise OSError('no')", "OSError: no", id="cannot be made"),
        pytest.param("time.sleep(60)", "longer than 0.5 s", id="imports slowly"),
        pytest.param("sys.exit()", "SystemExit", id="exits at import"),
        pytest.param("def on_load(self, context): raise ValueError", "ValueError", id="cannot begin"),
        pytest.param("exec('def f(:')", "SyntaxError", id="no Python"),
    ],
)
def test_a_failing_guard_refuses_is_named_and_is_switched_off_at_the_third_time(extending, code, reason):
    if "longer" in reason:  # the others have all the time they need
        extending.settings = ["extension_timeout_seconds=0.5"]
        extending.open()
    extending.write("bad", code, hooks=FORK)
    extending.write("good", "def before_fork(self): pass", hooks=FORK)
    extending.allow("bad", "good")

    for _ in range(3):
        with pytest.raises(ExtensionRefused, match=r"'bad' has failed, .*ext disable bad"):
            extending.guard()
    extending.guard()
    status = extending.status("bad")
    assert ("disabled", 3) == (status.state, status.standing.failures)
    assert reason in status.reason
    assert [note for note in extending.notes if "'bad' is switched off" in note]
    assert "active" == extending.status("good").state


def test_extensions_have_a_time_together_and_who_is_asked_last_has_not_failed(extending):
    extending.write("first", "def before_fork(self, entry): pass", hooks=FORK)
    extending.write("last", "def before_fork(self, entry): time.sleep(60 if entry == 'slow' else 0)", hooks=FORK)
    extending.allow("first", "last")
    extending.guard()

    with (
        extending.set.running.within(time.monotonic() + 1),
        pytest.raises(ExtensionRefused, match="'last' has not answered, and extensions have taken too long together"),
    ):
        extending.set.guard("before_fork", HERE, entry="slow")
    assert 0 == extending.status("last").standing.failures


def test_what_was_switched_off_is_tried_again_once_it_is_switched_on(extending):
    extending.write("bad", "def before_fork(self): raise ValueError", hooks=FORK)
    extending.allow("bad")
    for _ in range(3):
        with pytest.raises(ExtensionRefused):
            extending.guard()

    assert "active" == extending.engine.extensions.enable("bad").state
    with pytest.raises(ExtensionRefused):
        extending.guard()


def test_what_it_prints_goes_to_its_log_without_secrets(extending, capfd):
    key = "sk-proj-" + "aB3dE5gH7jK9mN1pQ3sT5vX7"
    extending.write("loud", f"def before_fork(self): print('{key}'); print('err', file=sys.stderr)", hooks=FORK)
    extending.allow("loud")

    extending.guard()
    sys.stdout.write("ours\n")
    assert ("ours\n", "") == capfd.readouterr()
    assert "err" in extending.log("loud")
    assert key not in extending.log("loud")


def test_a_file_that_changes_after_the_yes_asks_again(extending):
    place = extending.write("shifty", "def before_fork(self): pass", hooks=FORK)
    extending.allow("shifty")
    extending.guard()

    with (place / "extension.py").open("a") as file:
        file.write("raise SystemExit('another')\n")
    extending.open()
    extending.guard()
    status = extending.status("shifty")
    assert ("pending", frozenset()) == (status.state, status.standing.granted)
    assert [status.installed.name] == [each.installed.name for each in extending.engine.extensions.questions()]


def test_what_is_allowed_anew_is_asked_at_once_whichever_file_has_changed(extending):
    place = extending.write("keeper", "def before_fork(self): raise Refused('no')", hooks=FORK)
    (place / "more.py").write_text("# one\n")
    extending.allow("keeper")
    with pytest.raises(ExtensionRefused, match="no"):
        extending.guard()

    (place / "more.py").write_text("# two\n")
    extending.allow("keeper")
    with pytest.raises(ExtensionRefused, match="refuses it: no"):
        extending.guard()


def test_a_session_goes_on_after_any_answer(extending):
    code = """
class Broken:
    def __str__(self): return self.text
def input(self, text):
    if text == 'half': raise Refused('caf\\udce9')
    return Transform(It.Broken())
"""
    extending.write("odd", code, hooks=["input"])
    extending.allow("odd")
    session = SimpleNamespace(session_id="s1", workspace="/", runtime_id="r", account="", model_name="", title="")
    answers = Queue()
    with extending.engine._home.lend_store() as store:
        hooks = SessionHooks(extending.set.order, store, SystemClock(), session)
        answered = Event()
        hooks.wake = answered.set
        for text in ("half", "whole", "half"):
            hooks.ask("input", {"text": text}, answers.put)
            assert answered.wait(60)
            answered.clear()
            hooks.settle()
        hooks.close()

    messages = [answers.get_nowait().error["message"] for _ in range(3)]
    assert ("caf?" in messages[0], messages[0]) == (True, messages[2])
    assert "AttributeError" in messages[1]


def test_nothing_more_is_written_for_a_session_whose_host_was_killed(extending):
    with extending.engine._home.lend_store() as store:
        for reader in (reader_of("s1"), "telemetry"):
            events.register(store, reader)
        extending.settings.append("telemetry=true")
        extending.open().recovery.settle_at_start()

        assert ("telemetry",) == events.list_readers(store)


def test_code_that_is_compiled_beside_it_counts_as_a_file_of_it(extending):
    place = extending.write("shifty", "pass")
    before = extending.status("shifty").installed.digest
    (place / "__pycache__").mkdir()
    (place / "__pycache__" / "extension.cpython-311.pyc").write_bytes(b"x")

    assert before != extending.status("shifty").installed.digest


def test_importing_it_changes_nothing_of_what_was_allowed(extending):
    place = extending.write("split", "from agent_runner_extension_split.part import before_fork", hooks=FORK)
    (place / "part.py").write_text(
        "def before_fork(self): raise __import__('oulipoly_engine').extension_api.Refused('x')"
    )
    extending.allow("split")
    before = extending.status("split").installed.digest

    with pytest.raises(ExtensionRefused, match="'split' refuses it: x"):
        extending.guard()
    assert before == extending.status("split").installed.digest


def test_one_that_comes_later_with_the_name_of_another_takes_nothing_from_it(extending):
    extending.write("good", "def before_fork(self): raise Refused('no')", hooks=FORK)
    extending.allow("good")
    place = extending.write("aaa", "def before_fork(self): pass", hooks=FORK)
    (place / "extension.toml").write_text((place / "extension.toml").read_text().replace('"aaa"', '"good"'))

    with pytest.raises(ExtensionRefused, match="'good' refuses it"):
        extending.guard()
    assert "pending" == extending.status("user-good").state


def test_two_of_one_name_are_both_usable(extending, tmp_path):
    extending.write("same", "def before_fork(self): pass", hooks=FORK, commands=["go"])
    other = extending.write(
        "same", "def before_fork(self): raise Refused('mine')", tmp_path, hooks=FORK, commands=["go"]
    )
    extending.open(other)
    statuses = extending.engine.extensions.list()

    assert ["same", "user-same"] == [each.installed.name for each in statuses]
    first, second = extending.engine.extensions.clashes(statuses)
    assert "'user-same'" in first
    assert "user-same:go" in second
    with pytest.raises(ExtensionRefused, match="'same' refuses it: mine"):
        extending.guard()


def test_messages_are_changed_one_after_the_other_or_taken(extending):
    extending.write(
        "a", "def input(self, text): return Transform(text + 'a') if text != 'stop' else Handled('ok')", hooks=["input"]
    )
    extending.write("b", "def input(self, text, session): return Transform(text + session.id)", hooks=["input"])
    extending.allow("a", "b")

    assert ("xas1", "", "") == take(extending, "x")
    assert ("stop", "a", "ok") == take(extending, "stop")


def test_a_message_that_becomes_nothing_sensible_is_not_sent(extending):
    extending.write("odd", "def input(self): return 7", hooks=["input"])
    extending.allow("odd")

    with pytest.raises(ExtensionRefused, match=r"'odd' has failed.*returned a int"):
        take(extending, "x")


def test_pluggy_s_markers_order_and_observers_fail_open(extending):
    marked = "import pluggy\nmark = pluggy.HookimplMarker('oulipoly_agent_runner')\n@mark(tryfirst=True)\n"
    extending.write("z", f"{marked}def before_fork(self): raise Refused('first')", hooks=FORK)
    extending.write(
        "a",
        "def before_fork(self): raise Refused('second')\ndef error(self, event): raise ValueError",
        hooks=["before_fork", "error"],
    )
    extending.allow("a", "z")

    extending.set.running.observe("error", HERE, {})
    with pytest.raises(ExtensionRefused, match="'z' refuses it: first"):
        extending.guard()
    assert 1 == extending.status("a").standing.failures


def test_a_slash_command_shows_a_text_or_sends_one(extending):
    does = "{'say': lambda w: f'said {w}', 'send': lambda w: Transform(w), 'no': lambda w: 1 / 0}"
    code = f"def __init__(self): self.commands = {does}"
    extending.write("talk", code, commands=["say", "send", "no"])
    extending.allow("talk")
    run = extending.set.running.run_command

    assert Handled("said x") == run("talk", "say", "x", HERE)
    assert Transform("x") == run("talk", "send", "x", HERE)
    with pytest.raises(ExtensionRefused, match="ZeroDivisionError"):
        run("talk", "no", "", HERE)


def test_without_extensions_none_is_discovered(extending):
    extending.write("keeper", "def before_fork(self): raise Refused('no')", hooks=FORK)
    extending.allow("keeper")
    extending.open(has_none=True)

    extending.guard()
    assert () == extending.set.list_on()
    assert "disabled" == extending.status("keeper").state


def test_what_is_switched_off_is_not_asked_and_keeps_its_rights(extending):
    extending.write("keeper", "def before_fork(self): raise Refused('no')", hooks=FORK)
    extending.allow("keeper")
    with pytest.raises(ExtensionRefused):
        extending.guard()

    assert "disabled" == extending.engine.extensions.disable("keeper").state
    extending.guard()
    assert "active" == extending.engine.extensions.enable("keeper").state
    with pytest.raises(ExtensionRefused):
        extending.guard()


def test_it_is_ended_once_where_it_is_switched_off_and_begins_anew_where_it_is_switched_on(extending):  # vector 44
    code = "def on_load(self): print('hello')\ndef on_unload(self): print('bye')\ndef before_fork(self): pass"
    extending.write("lives", code, hooks=[*FORK, "on_load", "on_unload"])
    extending.allow("lives")
    extending.guard()
    extending.engine.extensions.disable("lives")
    extending.guard()
    said = [line.split()[-1] for line in extending.log("lives").splitlines()]
    extending.engine.extensions.enable("lives")
    extending.guard()

    assert ["hello", "bye"] == said
    assert ["hello", "bye", "hello"] == [line.split()[-1] for line in extending.log("lives").splitlines()]


@pytest.mark.parametrize(
    "text",
    [
        "name = 'A'",
        "name = 'a'\nversion = '1 asks for nothing'",
        "name = 'a'\nhooks = ['nope']",
        "name = 'a'\npermissions = ['all']",
        "= 3",
        "\xff",
        "",
    ],
)
def test_a_broken_manifest_is_named_and_costs_the_others_nothing(extending, text):
    extending.write("keeper", "def before_fork(self): raise Refused('no')", hooks=FORK)
    place = extending.write("a", "pass")
    (place / "extension.toml").write_bytes(text.encode("latin-1"))
    extending.allow("keeper")

    broken = extending.status("a")
    assert "failed" == broken.state
    assert "extension.toml" in broken.reason
    assert "String should" not in broken.reason
    with pytest.raises(ExtensionRefused, match="'keeper'"):
        extending.guard()


def test_a_file_of_its_own_declares_itself_in_a_block(extending):
    extending.paths.extensions.mkdir(parents=True)
    block = "# /// extension\n# name = 'single'\n# hooks = ['before_fork']\n# ///\n"
    text = f"{block}class extension:\n    def before_fork(self): 1 / 0\n"
    (extending.paths.extensions / "single.py").write_text(text)
    extending.allow("single")

    with pytest.raises(ExtensionRefused, match="ZeroDivisionError"):
        extending.guard()


def test_a_name_that_nothing_has_says_the_near_one(extending):
    extending.write("keeper", "pass")

    with pytest.raises(ExtensionNotFound, match="did you mean 'keeper'"):
        extending.status("keper")


def test_what_a_package_of_python_declares_is_read_without_importing_it(extending, tmp_path, monkeypatch):
    (tmp_path / "their_ext.py").write_text("class extension:\n    def before_fork(self): 1 / 0\n")
    about = tmp_path / "their_ext-2.1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: their-ext\nVersion: 2.1\nSummary: theirs\n")
    (about / "entry_points.txt").write_text("[oulipoly_agent_runner.extensions]\ntheirs = their_ext:extension\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    status = extending.status("theirs")
    assert ("installed", "2.1", "theirs", "pending") == (
        *(status.installed.source, status.installed.manifest.version, status.installed.manifest.description),
        status.state,
    )
    assert "their_ext" not in sys.modules
    extending.allow("theirs")
    assert "active" == extending.set.running.load(extending.status("theirs").installed)
    monkeypatch.delitem(sys.modules, "their_ext")


def test_those_of_a_project_count_once_a_person_trusts_it(extending, home, monkeypatch):
    project = home / "project" / ".agent-runner"
    extending.write("theirs", "def before_fork(self): raise Refused('no')", project / "extensions", hooks=FORK)
    monkeypatch.chdir(project.parent)
    extending.open()
    assert () == extending.engine.extensions.list()
    ignored = [each.key for each in read_origins(extending.paths).ignored]
    assert ["extensions/theirs"] == ignored

    configuration = extending.engine.configuration
    configuration.trust(configuration.project(project.parent))
    extending.open()
    assert "pending" == extending.status("theirs").state
    extending.allow("theirs")
    with pytest.raises(ExtensionRefused):
        extending.guard()
    extending.write("more", "pass", project / "extensions")
    assert () == extending.engine.extensions.list()


def test_an_end_is_told_and_one_that_hangs_holds_up_nothing(extending):
    extending.write(
        "leaver", "def before_fork(self): pass\ndef on_unload(self): print('bye')", hooks=[*FORK, "on_unload"]
    )
    extending.write("stayer", "def before_fork(self): pass\ndef on_unload(self): time.sleep(60)", hooks=FORK)
    extending.allow("leaver", "stayer")
    extending.guard()

    extending.engine.extensions.close()
    assert "bye" in extending.log("leaver")
    extending.guard()


@pytest.mark.parametrize("end", ["os._exit(0)", "os.kill(os.getpid(), 9)"], ids=["exits", "is killed"])
def test_one_that_ends_its_process_is_named_by_the_next_and_switched_off(extending, end):
    extending.write("ender", f"def before_fork(self): {end}", hooks=FORK)
    extending.allow("ender")
    code = (
        "from oulipoly_engine.facade.engine import Engine; from oulipoly_engine.extension_api import Session\n"
        "from oulipoly_engine.errors import ExtensionRefused\n"
        "try: Engine()._home.extensions.guard('before_fork', Session(), entry='')\n"
        "except ExtensionRefused as error: print(error.message)\n"
    )
    said = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, text=True).stdout
        for _ in range(6)
    ]

    assert "the process ended while it was called" in "".join(said)
    assert ("disabled", 3) == (extending.status("ender").state, extending.status("ender").standing.failures)
    assert [] == [*extending.paths.extension_logs.glob("*.call")]


def test_a_process_that_stays_calls_the_files_as_they_are_once_they_are_allowed(extending):
    place = extending.write("shifty", "def before_fork(self): raise Refused('one')", hooks=FORK)
    extending.allow("shifty")
    with pytest.raises(ExtensionRefused, match="one"):
        extending.guard()

    text = (place / "extension.py").read_text().replace("one", "another")
    (place / "extension.py").write_text(text)
    extending.guard()
    extending.allow("shifty")
    with pytest.raises(ExtensionRefused, match="another"):
        extending.guard()


def test_what_lies_behind_a_link_to_a_folder_is_not_run(extending, tmp_path):
    place = extending.write("linked", "def before_fork(self): pass", hooks=FORK)
    (tmp_path / "elsewhere").mkdir()
    (place / "part").symlink_to(tmp_path / "elsewhere")

    status = extending.status("linked")
    assert ("failed", True) == (status.state, "part is a link to a folder" in status.reason)


def test_extensions_of_a_package_are_found(extending, tmp_path):
    source = tmp_path / "bundle"
    extending.write("inside", "def before_fork(self): raise Refused('packed')", source / "extensions", hooks=FORK)
    (source / "package.toml").write_text("name = 'bundle'\nversion = '1.0.0'\nextensions = ['extensions/inside']\n")
    packages = extending.engine.packages
    with packages.candidate(str(source), 10.0) as candidate:
        packages.install(candidate)
    extending.open()

    assert "package" == extending.status("inside").installed.source
    extending.allow("inside")
    with pytest.raises(ExtensionRefused, match="packed"):
        extending.guard()


@pytest.mark.parametrize("words", [[], ["--linear"]])
def test_the_app_takes_no_extensions_as_a_word_of_its_own(words):
    assert (words, ["extensions_enabled=false"]) == split_settings(["--no-extensions", *words])
