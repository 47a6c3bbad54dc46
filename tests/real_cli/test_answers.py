"""A prompt goes through us to a real CLI, and its answer comes back as it is."""

import json

import pytest

pytestmark = [pytest.mark.real_cli, pytest.mark.timeout(120)]

BOTH = pytest.mark.parametrize("cli", ["claude", "codex"])


@BOTH
def test_answer_reaches_stdout_followed_by_one_result_line(world, cli):
    ran = world.run("-m", cli, "Grüße, ", "世界")

    assert ran.exit_code == 0
    assert f"{cli}-one heard: Grüße,  世界\n" == ran.answer
    assert ran.result["success"] is True
    assert ran.stdout.count("OULIPOLY_") == 1
    assert ran.invocations == [{"source": f"{cli}-one", "id": ran.result["id"]}]


@BOTH
def test_stdout_is_what_the_cli_prints_without_us(world, cli):
    prompt = "two lines,\n\n\ttabs and “quotes”\n"

    ran = world.run("-m", cli, stdin=prompt.encode())

    assert world.run_bare(f"{cli}-one", prompt.encode()) == ran.answer.encode()


@BOTH
def test_prompt_and_answer_of_200_kilobytes_pass_whole(world, api, cli):
    prompt = "".join(f"{number:07d} " for number in range(25_000)).strip()

    ran = world.run("-m", cli, stdin=prompt.encode())

    assert [prompt] == [call.prompt for call in api.calls]
    assert f"{cli}-one heard: {prompt}\n" == ran.answer


def test_prompt_too_long_for_an_argument_is_left_in_a_file_of_the_project(world, api):
    world.configure(api.url, codex="argument")
    prompt = "x" * 200_000

    ran = world.run("-m", "codex", stdin=prompt.encode())

    (call,) = api.calls
    assert ran.exit_code == 0
    assert str(world.project) in call.prompt
    assert prompt not in call.prompt
    assert [".git"] == [path.name for path in world.project.iterdir()]


def test_claude_json_output_is_one_object_before_our_line(world, api):
    world.configure(api.url, claude="json")

    ran = world.run("-m", "claude", "hello")

    assert "claude-one heard: hello" == json.loads(ran.answer)["result"]
    assert ran.result["success"] is True


def test_codex_json_output_is_its_events_before_our_line(world, api):
    world.configure(api.url, codex="json")

    ran = world.run("-m", "codex", "hello")

    events = [json.loads(line) for line in ran.answer.splitlines()]
    assert ["codex-one heard: hello"] == [event["item"]["text"] for event in events if "item" in event]
    assert "turn.completed" == events[-1]["type"]
    assert ran.result["success"] is True


@BOTH
def test_accounts_of_a_pool_take_turns(world, api, cli):
    for _ in range(4):
        assert world.run("-m", cli, "hello").exit_code == 0

    assert [f"{cli}-one", f"{cli}-two"] * 2 == api.asked()


@pytest.mark.parametrize(
    ("cli", "args", "model"),
    [("claude", ["--model", "claude-haiku-4-5"], "claude-haiku-4-5"), ("codex", ["-m", "gpt-5.4"], "gpt-5.4")],
)
def test_arguments_of_a_model_choose_the_clis_model(world, api, cli, args, model):
    world.add_model("chosen", [f"{cli}-one"], args)

    ran = world.run("-m", "chosen", "hello")

    assert ran.exit_code == 0
    assert {model} == {call.model for call in api.calls}


@BOTH
def test_instructions_of_an_agent_come_before_its_prompt(world, api, cli):
    world.add_agent("reviewer", cli, "Review with care.")

    ran = world.run("reviewer", "this", "function")

    (call,) = api.calls
    assert ran.exit_code == 0
    assert call.prompt.startswith("Review with care.")
    assert call.prompt.endswith("this function")


def test_codex_refuses_a_folder_that_it_was_not_told_to_trust(world, api):
    ran = world.run("-m", "codex-one", "hello", cwd=world.home)

    assert ran.exit_code == 1
    assert "Not inside a trusted directory" in ran.stderr
    assert "unknown" == ran.result["error_category"]
    assert api.asked() == []


def test_project_option_is_the_folder_in_which_the_cli_works(world, api):
    ran = world.run("-m", "codex-one", "-p", world.project, "hello", cwd=world.home)

    assert ran.exit_code == 0
    assert ["codex-one"] == api.asked()
