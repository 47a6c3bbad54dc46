"""`setup run` as a script drives it: a model that is a real process, events on stdout, answers on stdin."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time

import pytest

from oulipoly_engine.process.liveness import is_alive

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
            "[ -e reply-$n ] || exec cat last; exec cat reply-$n",
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
    assert f"exit 3\nstdout: it is .\nstderr: {world.home}\n" in told
    assert "'/bin/bash' is not allowed" in told
    assert "'rm' is not allowed" in told
    assert "run_command which bash nothing-of-that-name: exit 1\nstdout: /" in told


def test_without_an_answer_nothing_happens(world, model, set_up):
    model.reply([{"type": "write_config", "path": "models/x.toml", "content": "a"}])
    model.reply_always('{"done": true}')
    (world.config / "models" / "x.toml").write_text("[[providers]]\nname = 'fake'\n")
    before = {path: path.read_bytes() for path in world.config.rglob("*") if path.is_file()}

    code, _events = set_up()

    assert code == 0
    assert "write_config: refused" in model.prompts[1]
    assert before == {path: path.read_bytes() for path in world.config.rglob("*") if path.is_file()}


def test_an_answer_that_does_not_fit_asks_again(model, set_up):
    form = {"title": "t", "form_id": "f", "fields": [{"name": "n", "field_type": "number", "required": True}]}
    steps = [{"label": "one", "form": form}, {"label": "two", "form": form}]
    model.reply(
        [
            {"type": "ask_user", "action": {"type": "form", **form}},
            {"type": "ask_user", "action": {"type": "wizard", "title": "w", "wizard_id": "w", "steps": steps}},
            {"type": "ask_user", "action": {"type": "cli_selection", "available": [{"name": "codex"}]}},
            {"type": "ask_user", "action": {"type": "confirm", "title": "t", "message": "m", "confirm_id": "c"}},
        ],
        [{"type": "complete", "summary": "done"}],
    )
    code, events = set_up(
        {"type": "confirm", "confirm_id": "f", "confirmed": True},
        {"type": "form_submit", "form_id": "f", "values": {"n": "many"}},
        {"type": "form_submit", "form_id": "f", "values": {"n": 7}},
        {"type": "wizard_step", "wizard_id": "w", "step": 1, "values": {"n": 1}},
        {"type": "wizard_step", "wizard_id": "w", "step": 0, "values": {"n": 1}},
        {"type": "wizard_step", "wizard_id": "w", "step": 0, "values": {"n": 2}},
        {"type": "wizard_step", "wizard_id": "w", "step": 1, "values": {"n": 3}},
        {"type": "cli_selection", "selected": ["vim"]},
        {"type": "skip"},
        {"type": "cancel"},
    )
    assert code == 1
    assert [one["message"].partition(":")[0] for one in named(events, "error")] == [
        "this is not an answer to the question"
    ] * 4
    assert [one["action"].get("current_step") for one in named(events, "need_input")] == [None, 0, 1, 1, None, None]
    assert len(model.prompts) == 1


def test_ctrl_c_ends_the_turn_that_runs_and_the_set_up(world, model, agents):
    model.reply("")
    (model.folder / "reply-1").unlink()
    os.mkfifo(model.folder / "reply-1")  # nobody writes: the CLI waits
    process = subprocess.Popen(
        [sys.executable, "-m", "oulipoly_tui", "setup", "run", "--json", "x"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    for line in process.stdout:
        if b'"progress"' in line:
            break
    wait_for(lambda: (model.folder / "prompt-1").exists())
    process.send_signal(signal.SIGINT)
    _out, err = process.communicate(timeout=60)

    assert process.returncode == 130, err
    assert [row["outcome"] for row in world.rows("SELECT outcome FROM setup_runs")] == ["cancelled"]
    assert [row["exit_code"] for row in world.rows("SELECT exit_code FROM invocations")] == [130]


def test_a_kill_while_a_change_is_asked_for_leaves_nothing_of_it(world, model, agents):
    model.reply([{"type": "write_config", "path": "models/fake.toml", "content": "[[providers]]\nname = 'fake'\n\n\n"}])
    before = {path: path.read_bytes() for path in world.config.rglob("*") if path.is_file()}
    process = subprocess.Popen(
        [sys.executable, "-m", "oulipoly_tui", "setup", "run", "--json", "x"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    for line in process.stdout:
        if b'"need_input"' in line:
            break
    process.kill()
    process.communicate(timeout=60)

    assert before == {path: path.read_bytes() for path in world.config.rglob("*") if path.is_file()}
    past = json.loads(agents("setup", "history", "--json").stdout)["setups"]
    assert [one["outcome"] for one in past] == [None]
    assert b"not ended" in agents("setup", "history").stdout


def test_a_kill_while_an_agreed_command_runs_ends_the_command_and_its_children(model, tmp_path):
    pids = tmp_path / "pids"
    model.reply([{"type": "run_command", "command": "bash", "args": ["-c", f"sleep 60 & echo $$ $! >{pids}; wait"]}])
    process = subprocess.Popen(
        [sys.executable, "-m", "oulipoly_tui", "setup", "run", "--json", "x"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )
    process.stdin.write(json.dumps({**YES, "confirm_id": "agreement-1"}).encode() + b"\n")
    process.stdin.flush()
    wait_for(lambda: pids.exists() and pids.read_text().endswith("\n"))
    process.kill()
    process.communicate(timeout=60)

    wait_for(lambda: not any(is_alive(int(pid)) for pid in pids.read_text().split()))


def wait_for(is_so):
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_without_any_stdin_the_first_question_ends_it(world, model, home):
    model.reply([{"type": "ask_user", "action": {"type": "confirm", "title": "t", "message": "m"}}])
    command = [sys.executable, "-m", "oulipoly_tui", "setup", "run", "--json", "x"]
    done = subprocess.run(["sh", "-c", 'exec "$@" <&-', "sh", *command], capture_output=True, cwd=home, timeout=60)

    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.parametrize(
    ("action", "options"),
    [
        ({"type": "run_command", "command": "bash", "args": ["-c", "echo >no"]}, ["--yes"]),
        ({"type": "ask_user", "action": {"type": "confirm", "title": "t", "message": "m"}}, ["--yes"]),
        ({"type": "write_config", "path": "models/x.toml", "content": "[[providers]]\nname = 'fake'\n"}, []),
    ],
    ids=["a command", "a question", "a file without --yes"],
)
def test_what_nobody_can_answer_ends_it_at_once(world, model, agents, action, options):
    model.reply([action])
    done = agents("setup", "run", *options, "x")

    assert (done.returncode, len(model.prompts)) == (2, 1)
    assert b"has to be answered, and nobody can be asked here" in done.stderr
    assert [row["outcome"] for row in world.rows("SELECT outcome FROM setup_runs")] == ["cancelled"]


def test_the_end_of_stdin_at_an_agreement_ends_it(model, set_up):
    model.reply([{"type": "run_command", "command": "bash", "args": ["-c", "echo >no"]}])

    assert set_up()[0] == 1
    assert len(model.prompts) == 1


def test_a_configuration_that_does_not_load_ends_it_before_the_first_turn(world, model, set_up):
    (world.config / "models" / "fake.toml").write_text("[[broken")

    code, events = set_up()

    assert (code, model.prompts) == (1, [])
    assert "fake.toml:1: the file is not valid TOML" in named(events, "error")[-1]["message"]
    assert [row["outcome"] for row in world.rows("SELECT outcome FROM setup_runs")] == ["failed_bootstrap"]
