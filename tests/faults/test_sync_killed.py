"""A sync of skills and MCP servers, killed at any moment, is done whole by the next one, and undone whole."""

CONFIG = '# mine\nmodel = "x"\n'
NEW, OLD = {"SKILL.md": "new", "a/b.md": "new too"}, {"SKILL.md": "mine", "old.md": "mine too"}
SYNC = ("setup", "sync", "--from", "claude", "--to", "codex", "--replace", "--yes")


def write(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def read(folder):
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_killed_syncs(world, kills):
    skills, file = world.home / ".codex/skills", world.home / ".codex/config.toml"
    write(world.home / ".claude/skills/commit", NEW)
    (world.home / ".claude.json").write_text('{"mcpServers": {"s": {"command": "x"}}}')
    write(skills / "commit", OLD)
    file.write_text(CONFIG)

    def undo():
        while (done := world.run("account", "undo", "--yes")).returncode == 0:
            pass
        assert b"nothing to undo" in done.stderr, done.stderr
        return {name.removeprefix("commit/"): text for name, text in read(skills).items()}, file.read_text()

    kills.measure(*SYNC)
    assert (OLD, CONFIG) == undo()
    for number, moment in enumerate(kills):
        kills.kill(moment, *SYNC)
        if number // 2 % 2:  # both kinds of moments
            done = world.run(*SYNC)
            assert 0 == done.returncode, (moment, done.stderr)
            assert (NEW, True) == (read(skills / "commit"), "[mcp_servers.s]" in file.read_text()), moment
            assert ["commit"] == [path.name for path in skills.iterdir()], moment
        assert (OLD, CONFIG) == undo(), moment
