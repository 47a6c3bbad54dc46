"""Packages: installed, listed, compared, updated, rolled back, uninstalled; and mended where files were changed."""

import errno
import json
import os
import subprocess
import sys

import pytest

from oulipoly_engine.cli.main import main
from oulipoly_engine.config.app_file import read_themes
from oulipoly_engine.core.packages.refusals import PackageMissing, PackageRefused
from oulipoly_engine.errors import RequestRefused, RunnerError
from oulipoly_engine.facade.engine import Engine
from oulipoly_engine.service.packages import packages
from oulipoly_engine.service.packages.contents import delete, delete_unlocked
from oulipoly_engine.service.packages.packages import Packages


def test_package_is_listed_with_what_it_brings_and_lies_in_the_folder_of_its_name(machine, capfd):
    machine.install(machine.kit())
    machine.write({"notes.txt": "nothing"}, "empty")
    machine.install(machine.folder / "empty")

    assert 0 == main(["pkg", "list"])
    rows = [line.split("  ") for line in capfd.readouterr().out.splitlines()]

    brings = {row[0]: [cell.strip() for cell in row if cell.strip()][2] for row in rows[1:]}
    assert {"foo-oxi-tools": "2 ext, 1 skill, 3 theme", "empty": "-"} == brings
    assert (machine.root / "foo-oxi-tools" / "skills" / "review" / "SKILL.md").is_file()


def test_nothing_installed_is_said_and_no_folder_is_made(machine, capfd):
    assert 0 == main(["pkg", "list"])

    assert "no package is installed" in capfd.readouterr().err
    assert not machine.root.exists()


def test_installed_again_it_is_one_package_and_uninstalled_it_is_gone(machine):
    machine.install(machine.kit("1"))
    machine.install(machine.kit("2"))
    assert ["2"] == [each.version for each in machine.packages.lock().packages.values()]

    machine.packages.uninstall("@foo/oxi-tools")

    assert {} == machine.packages.lock().packages
    assert [] == machine.leftovers()
    assert [] == [path for path in (machine.root / "blobs").rglob("*") if path.is_file()]
    with pytest.raises(PackageMissing):
        machine.packages.uninstall("foo-oxi-tools")


def test_no_agent_changes_what_is_installed(machine, monkeypatch, capfd):
    machine.install(machine.kit("1"))
    kit = str(machine.kit("2"))
    monkeypatch.setenv("OULIPOLY_PARENT_INVOCATION", '{"source":"claude1","id":"3b241101-e2bb-4255-8caf-4136c566a962"}')
    name = "foo-oxi-tools"
    for words in (("install", kit), ("update", name), ("rollback", name), ("uninstall", name)):
        assert 0 != main(["pkg", *words, *(["--yes"] if words[0] in ("install", "update") else [])])
        assert "an agent may not change which packages are installed" in "".join(capfd.readouterr()), words

    assert ["1"] == [each.version for each in machine.packages.lock().packages.values()]


def test_files_of_a_package_are_only_read(machine):
    tool = machine.kit() / "tool.sh"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    machine.install(machine.folder / "kit")
    root = machine.root / "foo-oxi-tools"

    modes = {
        path.name: path.stat().st_mode & 0o777 for path in (root / "tool.sh", root / "package.toml", root / "skills")
    }
    assert {"tool.sh": 0o500, "package.toml": 0o400, "skills": 0o500} == modes


def test_update_shows_files_hooks_permissions_and_programs_and_counts_only_then(machine):
    machine.install(machine.kit("1"))
    servers = '[[mcp_servers]]\nname = "s"\ncommand = "run-me"\nargs = ["--all"]\n'
    grown = 'name = "hello"\npermissions = ["network", "file_read"]\nhooks = ["tool_used"]\n' + servers
    (machine.kit("2", extension=grown, **{"new.md": "new"}) / "extensions" / "two.py").unlink()

    with machine.packages.candidate("", 5.0, "foo-oxi-tools") as candidate:
        changes = candidate.changes
        assert "1" == machine.packages.lock().packages["foo-oxi-tools"].version

    assert (("new.md",), ("extensions/two.py",)) == (changes.added, changes.removed)
    assert ("extensions/hello/extension.toml", "package.toml") == changes.changed
    assert (("hello: file_read",), ()) == (changes.permissions.added, changes.permissions.removed)
    assert (("hello: tool_used",), ("hello: message_sent",)) == (changes.hooks.added, changes.hooks.removed)
    assert ("hello: run-me --all",) == changes.programs.added
    assert changes.grows
    assert "1" == machine.packages.lock().packages["foo-oxi-tools"].version
    assert ["unfinished"] == machine.leftovers() or [] == machine.leftovers()


def test_where_more_may_be_done_nobody_is_asked_without_a_terminal_and_yes_is_needed(machine, capfd):
    machine.install(machine.kit("1"))
    machine.kit("2", extension='name = "hello"\npermissions = ["network", "execute_command"]\n')

    assert 2 == main(["pkg", "update", "--json"])
    (document,) = json.loads(capfd.readouterr().out)["packages"]
    assert "--yes says yes" in document["error"]["message"]
    assert "1" == machine.packages.lock().packages["foo-oxi-tools"].version

    assert 0 == main(["pkg", "update", "--yes", "--json"])
    (document,) = json.loads(capfd.readouterr().out)["packages"]
    assert (["hello: execute_command"], True) == (document["changes"]["permissions"]["added"], document["is_changed"])
    assert "2" == machine.packages.lock().packages["foo-oxi-tools"].version


def test_one_that_cannot_be_updated_is_named_and_the_others_are(machine, capfd):
    machine.install(machine.kit("1"))
    other = machine.write({"package.toml": 'name = "other"\nversion = "1"\n'}, "other")
    machine.install(other)
    machine.kit("2")
    (other / "package.toml").unlink()
    other.rmdir()

    assert 2 == main(["pkg", "update", "--json"])

    documents = json.loads(capfd.readouterr().out)["packages"]
    assert {"foo-oxi-tools": True, "other": False} == {each["name"]: "error" not in each for each in documents}
    assert ["2", "1"] == [each.version for each in machine.packages.lock().packages.values()]


def test_rollback_goes_back_without_the_source_and_undoes_itself(machine):
    for version in ("1", "2", "3"):
        machine.install(machine.kit(version))
    (machine.folder / "kit" / "package.toml").unlink()

    assert ["3", "2"] == machine.roll_back("foo-oxi-tools")
    assert ["2", "3"] == machine.roll_back("foo-oxi-tools")
    assert ["3", "1"] == machine.roll_back("foo-oxi-tools", "1")
    assert 'version = "1"' in (machine.root / "foo-oxi-tools" / "package.toml").read_text()
    with pytest.raises(RequestRefused, match="there is: 3, 2"):
        machine.roll_back("foo-oxi-tools", "9")


def test_rollback_shows_what_grows_and_asks_as_an_update_does(machine, capfd):
    machine.install(machine.kit("1"))
    machine.install(machine.kit("2", extension='name = "hello"\nversion = "2"\n'))

    assert 2 == main(["pkg", "rollback", "foo-oxi-tools"])
    assert "would do more than before. Take it? There is no terminal" in capfd.readouterr().err
    assert 0 == main(["pkg", "rollback", "foo-oxi-tools", "--yes"])
    assert ["  + permission  hello: network", "  + hook  hello: message_sent"] == [
        line for line in capfd.readouterr().out.splitlines() if line.startswith("  +")
    ]
    assert 0 == main(["pkg", "rollback", "foo-oxi-tools"])  # back to what may do less
    earlier = machine.packages.earlier("foo-oxi-tools")
    machine.install(machine.kit("3"))
    with pytest.raises(RequestRefused, match="changed by another process"):
        machine.packages.roll_back(earlier)


def test_files_that_were_changed_or_deleted_are_named_and_come_back(machine):
    machine.install(machine.kit("1"))
    root = (machine.root / "foo-oxi-tools").resolve()
    for folder in (root, root / "skills" / "review"):
        folder.chmod(0o700)
    (root / "package.toml").unlink()
    (root / "skills" / "review" / "SKILL.md").chmod(0o600)
    (root / "skills" / "review" / "SKILL.md").write_text("Hijack.\n")
    assert {"package.toml", "skills/review/SKILL.md"} == set(Engine().packages.details("foo-oxi-tools").damaged)

    machine.install(machine.folder / "kit")

    assert () == machine.packages.details("foo-oxi-tools").damaged
    machine.install(machine.kit("2"))
    (root / "package.toml").chmod(0o600)
    (root / "package.toml").write_text("changed\n")
    machine.roll_back("foo-oxi-tools")
    assert 'version = "1"' in (machine.root / "foo-oxi-tools" / "package.toml").read_text()


def test_name_whose_folder_another_package_has_is_refused(machine):
    machine.install(machine.kit(name="@foo/bar"))
    clash = machine.write({"package.toml": 'name = "foo-bar"\n'}, "clash")

    with pytest.raises(PackageRefused, match="has the folder of '@foo/bar': uninstall that one first"):
        machine.install(clash)
    assert ["@foo/bar"] == [each.name for each in machine.packages.lock().packages.values()]


def test_package_that_changes_its_name_is_not_an_update(machine):
    machine.install(machine.kit(name="kit"))
    machine.kit(name="other")

    with pytest.raises(PackageRefused, match="is the package 'other' now"):
        machine.update("kit")


def test_two_that_install_at_once_leave_both(machine, commands, home):
    sources = [machine.write({"package.toml": f'name = "p{number}"\n', "a": "x"}, f"p{number}") for number in range(4)]
    running = [commands.start(["pkg", "install", str(source)]) for source in sources]

    ends = [(process.communicate()[1], process.returncode) for process in running]
    assert [0, 0, 0, 0] == [code for _, code in ends], ends
    assert {"p0", "p1", "p2", "p3"} == set(machine.packages.lock().packages)
    assert [] == machine.leftovers()


def test_what_was_taken_in_is_removed_by_one_process_alone(machine, monkeypatch):
    kept = []

    def remove(path):
        delete_unlocked(path)  # as another process that tidies up does
        kept.append(path.is_dir())
        delete(path)
        delete_unlocked(path)

    monkeypatch.setattr(packages, "delete", remove)
    with machine.packages.candidate(str(machine.kit()), 5.0):
        pass

    assert [True] == kept
    assert [] == machine.leftovers()


def test_changed_meanwhile_by_another_process_it_is_refused(machine):
    machine.install(machine.kit("1"))
    machine.kit("2")
    with machine.packages.candidate("", 5.0, "foo-oxi-tools") as candidate:
        machine.packages.uninstall("foo-oxi-tools")
        with pytest.raises(RequestRefused, match="meanwhile"):
            machine.packages.install(candidate)

    assert {} == machine.packages.lock().packages


def test_prompts_become_slash_commands_unless_they_are_switched_off(machine, home):
    engine = Engine()
    prompts = engine.paths.prompts
    prompts.mkdir(parents=True)
    (prompts / "fix.md").write_text("Mine.")
    machine.install(machine.write({"prompts/fix.md": "Theirs: $1", "prompts/plan.md": "Plan."}, "kit"))

    def names():
        return {(prompt.prefix, prompt.name) for prompt in Engine().slash.read_own().prompts}

    assert {("prompt", "fix"), ("kit", "fix"), ("kit", "plan")} == names()
    for entry, left in (
        ("!plan", {("prompt", "fix"), ("kit", "fix")}),
        ("!kit", {("prompt", "fix")}),
        ("!kit:fix", {("prompt", "fix"), ("kit", "plan")}),
    ):
        engine.paths.settings.write_text(f'prompts = ["{entry}"]\n')
        assert left == names()


def test_of_two_packages_the_first_has_the_short_name(machine):
    for name in ("b-kit", "a-kit"):
        machine.install(machine.write({"skills/review/SKILL.md": "x"}, name))

    skills = machine.packages.enabled("skills")
    assert [("a-kit:review", True), ("b-kit:review", False)] == [
        (each.full_name, each.has_short_name) for each in skills
    ]
    assert all((each.path / "SKILL.md").is_file() for each in skills)


def test_without_packages_nothing_of_them_is_loaded(home):
    code = "import sys; from oulipoly_engine.cli.main import main; main(['--version']); "
    code += "assert not [name for name in sys.modules if 'packages' in name and 'oulipoly' in name]"

    assert 0 == subprocess.run([sys.executable, "-c", code], env=dict(os.environ), check=False).returncode


def test_theme_of_a_package_is_one_of_the_app_unless_it_is_switched_off(machine):
    theme = "dark = true\nprimary = '#112233'\n"
    sea = '{"name": "sea", "vars": {"deep": "#001122"}, "colors": {"accent": "deep", "text": "", "error": "#ff0000"}}'
    files = {"dusk.toml": theme, "dawn.json": '{"primary": "#445566"}', "sea.json": sea, "other.json": "{}"}
    machine.install(machine.write({f"themes/{name}": text for name, text in files.items()}, "kit"))
    paths = Engine().paths

    looks = read_themes(paths)
    colours = {each.name: each.colours for each in looks.value}
    assert {"dusk": "#112233", "dawn": "#445566", "sea": "#001122"} == {
        name: each["primary"] for name, each in colours.items()
    }
    assert "#ff0000" == colours["sea"]["error"]
    assert ["`primary` is missing"] == [problem.message for problem in looks.problems]
    assert 0 == main(["config", "set", "theme", "sea"])
    paths.settings.parent.mkdir(parents=True, exist_ok=True)
    paths.settings.write_text('themes = ["!kit"]\n')
    assert () == read_themes(paths).value


def test_lock_file_that_is_broken_is_named_and_hinders_nothing_else(machine, capfd):
    machine.install(machine.kit())
    (machine.root / "packages-lock.json").write_text("{")
    engine = Engine()

    assert ((), (), ()) == (
        engine.packages.enabled("skills"),
        engine.slash.read_own().prompts,
        read_themes(engine.paths).value,
    )
    for words in (
        ["pkg", "list"],
        ["pkg", "install", str(machine.folder / "kit")],
        ["pkg", "uninstall", "foo-oxi-tools"],
    ):
        assert 2 == main(words)
        assert "packages-lock.json cannot be read" in capfd.readouterr().err
    main(["config", "check"])
    assert "packages-lock.json" in capfd.readouterr().out
    assert (machine.root / "foo-oxi-tools" / "package.toml").is_file()


def test_what_two_packages_bring_under_one_name_is_told_and_nothing_aborts(machine, capfd):
    for name in ("b-kit", "a-kit"):
        machine.install(machine.write({"skills/review/SKILL.md": "x"}, name))

    assert 0 == main(["pkg", "list"])
    assert "skill review is that of a-kit; the long name reaches b-kit:review" in capfd.readouterr().err
    assert 0 == main(["pkg", "list", "--json"])
    clashes = json.loads(capfd.readouterr().out)["clashes"]
    assert [{"kind": "skills", "name": "review", "packages": ["a-kit", "b-kit"]}] == clashes
    main(["config", "check"])
    assert "use b-kit:review" in capfd.readouterr().out


def test_file_that_came_from_elsewhere_is_named_and_goes_when_the_package_is_installed_again(machine):
    machine.install(machine.kit())
    root = (machine.root / "foo-oxi-tools").resolve()
    root.chmod(0o700)
    (root / "planted.py").write_text("x")
    assert ("planted.py",) == machine.packages.details("foo-oxi-tools").damaged

    machine.install(machine.folder / "kit")

    assert () == machine.packages.details("foo-oxi-tools").damaged
    assert [] == machine.leftovers()


def test_too_large_an_extension_is_listed_and_not_used(machine):
    root = machine.kit()
    (root / "extensions" / "two.py").write_text("#" * (5 << 20))
    machine.install(root)

    assert ["hello"] == [each.name for each in machine.packages.enabled("extensions")]


def test_what_is_installed_already_stays_as_it_is(machine):
    machine.install(machine.kit())
    lock = (machine.root / "packages-lock.json").read_bytes()

    assert machine.update("foo-oxi-tools").is_same

    assert lock == (machine.root / "packages-lock.json").read_bytes()


@pytest.mark.parametrize("step", ["keep", "put_in_place", "restore", "_tidy"])
def test_step_that_fails_leaves_the_old_package_or_the_new_one_and_nothing_to_settle(machine, monkeypatch, step):
    for version in "12":
        machine.install(machine.kit(version))
    earlier = machine.packages.lock().packages["foo-oxi-tools"].previous[0]
    delete(machine.root / earlier.digest)
    machine.kit("3")
    with monkeypatch.context() as patched:
        patched.setattr(Packages, step, fail)
        change = machine.roll_back if step == "restore" else machine.update
        with pytest.raises(RunnerError, match="No space"):
            change("foo-oxi-tools")

    expected = "3" if step == "_tidy" else "2"
    assert expected == machine.packages.lock().packages["foo-oxi-tools"].version
    assert () == machine.packages.details("foo-oxi-tools").damaged
    settled = machine.packages.settle()
    assert (["finished"] if step == "_tidy" else []) == [sentence.split()[-1] for sentence in settled]
    assert [] == machine.leftovers()


def fail(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_package_for_a_project_counts_there_alone_and_stays_so_with_an_update(machine, monkeypatch, capfd, tmp_path):
    source = machine.write({"prompts/p.md": "x"})
    inside = tmp_path / "project" / "deep"
    inside.mkdir(parents=True)
    monkeypatch.chdir(inside)
    assert 2 == main(["pkg", "install", str(source), "--project"])
    assert "there is no folder .agent-runner here or above" in capfd.readouterr().err
    (tmp_path / "project" / ".agent-runner").mkdir()
    assert 0 == main(["pkg", "install", str(source), "--project"])
    machine.write({"prompts/q.md": "x"})
    assert 0 == main(["pkg", "update", "kit"])

    assert ["p", "q"] == [each.name for each in Engine().packages.enabled("prompts")]
    monkeypatch.chdir(tmp_path)
    assert [] == [*Engine().packages.enabled("prompts")]
    installed = machine.packages.lock().packages["kit"]
    assert ("project", str(tmp_path / "project")) == (installed.scope, installed.project)
    assert 0 == main(["pkg", "install", str(source)])
    assert ["p", "q"] == [each.name for each in Engine().packages.enabled("prompts")]
