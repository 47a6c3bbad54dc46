"""A session whose context is almost full is compacted where the app shows it, while nobody writes."""

import json

ECHO = '#!/bin/sh\nwhile IFS= read -r line; do echo "heard ${#line}"; echo END; done\n'


def write(path, text):
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


async def test_a_full_context_is_compacted_and_the_next_message_goes_on(live):
    async with live() as one:
        config, root = one.world.config, one.world.root
        echo = write(root / "echo", ECHO)
        summer = write(
            root / "stub" / "claude", f"#!/bin/sh\ncat > /dev/null\necho '{json.dumps({'result': 'so far'})}'\n"
        )
        settings = f"compaction_window = 36\ncompaction_model = 'short'\n{(config / 'config.toml').read_text()}"
        settings += f"\n[runtimes.echoes]\nkind = 'plain'\nprogram = '{echo}'\nmarker = 'END'\n"
        (config / "config.toml").write_text(settings)
        with (config / "providers.toml").open("a") as file:
            file.write(f"[summer]\ncommand = '{summer}'\n")
        (config / "models" / "short.toml").write_text("[[providers]]\nname = 'summer'\n")

        session = await one.begin(None, runtime="echoes")
        for text in ("the first thing there is", "the second thing there is", "the third thing there is"):
            await one.write(text)
            await one.until(lambda: one.pane.talk.turn is None and not one.composer.text)
        await one.write("the fourth thing there is")
        await one.sees("it is compacted before the next message", "compacted here")
        await one.write("and on")
        await one.until(lambda: "and on" in str(one.app.engine.live.turns(session.session_id)[-1].input))
        await one.until(lambda: "completed" == one.app.engine.live.turns(session.session_id)[-1].status)

        tree = one.app.engine.sessions.branches.tree(session.session_id)
        assert ["compaction"] == [entry.kind for entry in tree.entries if entry.kind != "message"]
        assert "heard 25" != tree.entries[-1].preview  # the summary came with it
