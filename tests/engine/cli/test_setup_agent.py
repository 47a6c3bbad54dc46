"""`setup run` as a script drives it: a model that is a real process, events on stdout, answers on stdin."""

import json
import shlex

import pytest

YES = {"type": "confirm", "confirmed": True}
CANCEL = {"type": "cancel"}


class ScriptedModel:
    """An account whose CLI gives one prepared reply a turn, and keeps each prompt that it got."""

    def __init__(self, world, folder):
        self.folder = folder
        folder.mkdir()
        world.account(
            "fake",
            f"cd {shlex.quote(str(folder))}; n=$(($(cat n 2>/dev/null || echo 0)+1)); echo $n >n; cat >prompt-$n; "
            "[ -f reply-$n ] || exec cat last; exec cat reply-$n",
        )
        world.model("fake", "fake")
        self.reply_always("ok")

    def reply(self, *turns):
        """Prepare replies, a turn each: a list of actions, or a text."""
        for number, turn in enumerate(turns, start=1):
            text = turn if isinstance(turn, str) else json.dumps({"actions": turn})
            (self.folder / f"reply-{number}").write_text(text)

    def reply_always(self, text):
        """Prepare what is said in every other turn."""
        (self.folder / "last").write_text(text)

    @property
    def prompts(self):
        """Return what it got."""
        return [
            (self.folder / f"prompt-{number}").read_text()
            for number in range(1, len(list(self.folder.glob("prompt-*"))) + 1)
        ]


@pytest.fixture
def model(world, tmp_path):
    return ScriptedModel(world, tmp_path / "model")


@pytest.fixture
def set_up(agents):
    """Run the command, answer its questions in order, and return (exit code, events)."""

    def set_up(*answers, words=("make", "a", "pool"), env=None):
        lines = []
        for number, answer in enumerate(answers, start=1):
            more = {"confirm_id": f"agreement-{number}"} if answer is YES else {}
            lines.append(json.dumps(answer | more))
        stdin = "".join(f"{line}\n" for line in lines).encode()
        done = agents("setup", "run", "--json", *words, stdin=stdin, env=env)
        assert b"Traceback" not in done.stderr
        return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]

    return set_up


def named(events, name):
    return [event["data"] for event in events if event["event"] == name]


def test_a_model_adds_an_account_that_is_written_checked_and_tested(world, model, set_up, agents):
    providers = (world.config / "providers.toml").read_text()
    model.reply(
        "Here you are:\n```json\n"
        + json.dumps(
            {
                "actions": [
                    {
                        "type": "write_config",
                        "path": "providers.toml",
                        "content": f'{providers}[second]\ncommand = "echo"\nargs = ["ok"]\nprompt_mode = "arg"\n',
                        "description": "the second account",
                    },
                    {
                        "type": "write_config",
                        "path": "~/.config/oulipoly-agent-runner/models/two.toml",
                        "content": "[[providers]]\nname = 'second'\n",
                    },
                    {"type": "write_config", "path": "config.toml", "content": "[[broken"},
                ]
            }
        )
        + "\n```",
        [{"type": "test_integration", "model_name": "two"}],
        [{"type": "complete", "summary": "there are two", "items": ["second", "two"]}],
    )

    code, events = set_up(YES, YES)

    assert code == 0
    assert named(events, "complete") == [{"summary": "there are two", "items_configured": ["second", "two"]}]
    assert (world.config / "models" / "two.toml").stat().st_mode & 0o777 == 0o600
    assert not (world.config / "config.toml").exists()
    assert "write_config: refused: it does not load" in model.prompts[1]
    assert "test_integration two: PASS ok" in model.prompts[2]
    assert {row["model_name"] for row in world.rows("SELECT model_name FROM invocations")} == {"fake~setup", "two"}
    past = json.loads(agents("setup", "history", "--json").stdout)["setups"]
    assert [(one["outcome"], one["turns"], one["summary"]) for one in past] == [("success", 3, "there are two")]
    for _ in range(2):
        assert agents("account", "undo", "--yes").returncode == 0
    assert (world.config / "providers.toml").read_text() == providers
    assert not (world.config / "models" / "two.toml").exists()


def test_commands_run_only_after_a_yes_and_without_keys(world, model, set_up):
    model.reply(
        [
            {"type": "run_command", "command": "bash", "args": ["-c", "echo no >no"], "description": "try"},
            {
                "type": "run_command",
                "command": "bash",
                "args": ["-c", "echo it is $OPENAI_API_KEY.; echo $PWD >&2; exit 3"],
            },
            {"type": "run_command", "command": "/bin/bash", "args": ["-c", "true"]},
            {"type": "run_command", "command": "rm", "args": ["-rf", "/"]},
            {"type": "run_command", "command": "which", "args": ["bash", "nothing-of-that-name"]},
        ],
        [{"type": "complete", "summary": "done"}],
    )

    wrong = {"type": "confirm", "confirm_id": "another", "confirmed": True}
    code, events = set_up(wrong, YES, env={"OPENAI_API_KEY": "sk-1"})

    assert code == 0
    assert not (world.home / "no").exists()
    asked = [data["agreement"] for data in named(events, "need_input")]
    assert [one["text"] for one in asked] == [
        "bash -c 'echo no >no'",
        "bash -c 'echo it is $OPENAI_API_KEY.; echo $PWD >&2; exit 3'",
    ]
    assert all("bash does whatever" in one["warning"] for one in asked)
    told = model.prompts[1]
    assert "run_command bash -c 'echo no >no': the user said no" in told
    assert f"exit 3\nstdout: it is .\n\nstderr: {world.home}\n" in told
    assert "'/bin/bash' is not allowed" in told
    assert "'rm' is not allowed" in told
    assert "run_command which bash nothing-of-that-name: exit 1\nstdout: /" in told


def test_without_leave_nothing_happens(world, model, set_up):
    model.reply([{"type": "write_config", "path": "models/x.toml", "content": "a"}])
    model.reply_always('{"done": true}')
    (world.config / "models" / "x.toml").write_text("[[providers]]\nname = 'fake'\n")
    before = {path: path.read_bytes() for path in world.config.rglob("*") if path.is_file()}

    code, _events = set_up()

    assert code == 0
    assert "write_config: refused" in model.prompts[1]
    assert before == {path: path.read_bytes() for path in world.config.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("reply", "ending"),
    [
        ("I cannot do that.", "3 replies one after the other could not be read"),
        ('{"actions": [{"type": "status", "message": "hm"}]}', "the model has replied the same 3 times"),
        ('{"actions": 5}', "3 replies one after the other could not be read"),
    ],
    ids=["garbage", "loop", "no list"],
)
def test_a_model_that_gets_nowhere_is_stopped(model, set_up, reply, ending):
    model.reply_always(reply)

    code, events = set_up()

    assert code == 1
    assert named(events, "error")[-1] == {"message": ending, "recoverable": False}
    assert len(model.prompts) == 3
