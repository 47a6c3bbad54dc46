"""Folders in folders, deeper than Python calls itself, end no command."""

import pytest

DEEP = 1200  # Python calls itself 1,000 times; a path has 4,096 bytes


@pytest.fixture
def homes(world):
    """The folders of a Claude and a Codex account, each with a transcript's folder and a very deep one."""
    folders = {"claude-code": world.home / "c", "codex": world.home / "x"}
    made = []
    for name, folder in folders.items():
        world.account(folder.name, "echo ran")
        with (world.config / "sessions.toml").open("a") as file:
            file.write(f"[{folder.name}]\nturn_script = '{name}-turns {folder}'\n")
            file.write(f"transcript_locator = '{name}-transcript {folder}'\n")
        for _ in range(DEEP):
            folder.mkdir()
            made.append(folder)
            folder = folder / "d"
    world.model("m", "c")
    yield folders
    for folder in reversed(made):  # shutil.rmtree, which pytest takes, calls itself too
        folder.rmdir()


@pytest.mark.usefixtures("homes")
@pytest.mark.parametrize(
    "arguments", [("session-scan",), ("report",), ("-m", "m", "hello")], ids=lambda words: words[0]
)
def test_command_goes_no_deeper_than_any_cli(world, arguments):
    done = world.run(*arguments)

    assert (0, False) == (done.returncode, b"Traceback" in done.stderr), done.stderr
