"""Packages of npm: what `npm pack` gives is taken, without its scripts; and what hinders is said."""

import pytest

from oulipoly_engine.core.packages.refusals import PackageRefused

PACKAGE_JSON = b"""{"name": "@me/kit", "version": "1.2.3", "scripts": {"prepack": "exit 1"},
"pi": {"skills": ["./skills"], "prompts": ["./prompts/*.md"]}, "dependencies": {"left-pad": "^1"}}"""


@pytest.fixture
def npm(tmp_path, monkeypatch):
    """Return a function that puts an npm of some lines before the real one."""

    def put(*lines):
        program = tmp_path / "bin" / "npm"
        program.parent.mkdir(exist_ok=True)
        program.write_text("#!/bin/sh\n" + "\n".join(lines))
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")

    return put


def test_package_is_downloaded_by_npm_and_its_scripts_are_not_run(machine, pack, npm, tmp_path):
    members = [
        ("package/package.json", PACKAGE_JSON),
        ("package/skills/a/SKILL.md", b"x"),
        ("package/prompts/p.md", b"y"),
    ]
    archive = pack(*members, name="made.tgz")
    npm(f'echo "$npm_config_ignore_scripts $@" > {tmp_path}/words', f'cp {archive} "$4/me-kit-1.2.3.tgz"')

    machine.install("npm:@me/kit@1.2.3")

    words = (tmp_path / "words").read_text().split()
    assert ["true", "pack", "--ignore-scripts", "--pack-destination"] == words[:4]
    assert ["--", "@me/kit@1.2.3"] == words[5:]
    installed = machine.packages.lock().packages["me-kit"]
    assert ("1.2.3", "npm", {"left-pad": "^1"}) == (installed.version, installed.source_type, installed.dependencies)
    assert [("skills", "a"), ("prompts", "p")] == [(part.kind, part.name) for part in installed.parts]
    assert [] == machine.leftovers()


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (["echo 'npm error code E404' >&2", "exit 1"], "npm could not get kit: npm error code E404: check the name"),
        (["echo 'npm error network ENOTFOUND' >&2", "exit 1"], "ENOTFOUND"),
        (["exit 0"], "npm could not get kit"),
        (["sleep 30"], "timed out"),
    ],
    ids=["no such package", "no network", "nothing came", "slow"],
)
def test_what_hinders_npm_is_said(machine, npm, lines, reason):
    npm(*lines)

    with pytest.raises(PackageRefused, match=reason), machine.packages.candidate("npm:kit", 0.5):
        pass
    assert [] == machine.leftovers()


def test_without_npm_it_is_said_what_to_do(machine, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(PackageRefused, match="npm is not installed"):
        machine.install("npm:kit")
