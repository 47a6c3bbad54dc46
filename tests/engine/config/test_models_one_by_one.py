import pytest

from oulipoly_engine.config.load import list_models, load_model, load_models
from oulipoly_engine.core.accounts.accounts import InputType, PoolMember
from oulipoly_engine.errors import ConfigInvalid, ModelUnknown
from oulipoly_engine.paths import Paths

POOL = '[[providers]]\nname = "claude"\nargs = ["--model", "opus"]\n'


@pytest.fixture
def paths(tmp_path):
    (tmp_path / "c" / "models").mkdir(parents=True)
    return Paths(tmp_path / "c", tmp_path / "d", tmp_path)


def model(paths, text, name="m"):
    (paths.models / f"{name}.toml").write_text(text)
    return load_model(paths, name)


def refusal(paths, text):
    with pytest.raises(ConfigInvalid) as caught:
        model(paths, text)
    return caught.value.message


def test_pool_is_read_in_order(paths):
    found = model(paths, POOL + '[[providers]]\nname = "claude2"\ninteractive_args = ["-m"]\n').value

    assert (PoolMember(0, "claude", ("--model", "opus")), PoolMember(1, "claude2", (), ("-m",))) == found.members
    assert ("m", False) == (found.name, found.sticky)


def test_inputs_are_read_with_defaults_as_texts(paths):
    found = model(
        paths,
        "sticky = true\n" + POOL + '[[inputs]]\nname = "n"\ntype = "integer"\nmin = 4.0\nmax = 12\ndefault = 8.0\n'
        '[[inputs]]\nname = "b"\ntype = "boolean"\ndefault = true\n'
        '[[inputs]]\nname = "l"\ntype = "array"\nitem_type = "integer"\ndefault = [1, 2]\n',
    ).value

    assert ["8", "true", ("1", "2")] == [spec.default for spec in found.inputs]
    assert (4.0, 12.0, InputType.INTEGER) == (found.inputs[0].minimum, found.inputs[0].maximum, found.inputs[0].type)
    assert found.sticky


def test_broken_neighbour_stops_nobody(paths):
    (paths.models / "broken.toml").write_text("= nonsense")

    assert "m" == model(paths, POOL).value.name
    assert ("broken", "m") == list_models(paths)
    with pytest.raises(ConfigInvalid, match="not valid TOML"):
        load_models(paths)


def test_missing_folder_has_no_models(tmp_path):
    paths = Paths(tmp_path / "none", tmp_path, tmp_path)

    assert () == list_models(paths)
    with pytest.raises(ModelUnknown, match="holds none"):
        load_model(paths, "m")


def test_unknown_model_names_the_nearest_and_the_folder(paths):
    model(paths, POOL, "claude-opus")

    with pytest.raises(ModelUnknown) as caught:
        load_model(paths, "claude-opsu", agent="reviewer")

    assert caught.value.message.startswith("Unknown model 'claude-opsu' referenced by agent 'reviewer': ")
    assert caught.value.message.endswith(f"did you mean claude-opus? (looked in {paths.models})")


@pytest.mark.parametrize("name", ["../m", "a/b", ".hidden", "", "a\0b", "x" * 5000, "/etc/passwd"])
def test_name_that_is_no_file_of_ours_is_unknown(paths, name):
    with pytest.raises(ModelUnknown) as caught:
        load_model(paths, name)

    assert 300 > len(caught.value.message) - len(str(paths.models))


@pytest.mark.rows_share_fixtures
@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", None, "the model 'm' has no [[providers]]"),
        ("providers = []", 1, "the list of [[providers]] of the model 'm' is empty"),
        ('[[providers]]\nname = "a"\n[[providers]]\nargs = []', 3, "entry 2 of the model 'm' has no `name`"),
        (POOL + "interactive_args = []", 4, "the list `interactive_args` is empty"),
        ("providers = 3", 1, "it must be a list in brackets"),
        ('command = "claude"', 1, "old per-provider config: `command`"),
        ('args = ["-p"]\n' + POOL, 1, "old per-provider config: `args`"),
        (POOL + '[providers.resume]\nkind = "flag"', 4, "Fix: run `agents migrate-config`"),
        (POOL + 'prompt_mode = "arg"', 4, "old per-provider config: `prompt_mode`"),
        (POOL + '[[inputs]]\nname = "x"\ntype = "text"', 6, "is not one of string, integer"),
        (POOL + '[[inputs]]\nname = "x"\ntype = "enum"', 4, "the enum input 'x' has no options"),
        (POOL + '[[inputs]]\nname = "x"', 4, "`type` is missing"),
        (POOL + '[[inputs]]\nname = "x"\ntype = "integer"\nmin = inf', 7, "finite"),
        (POOL + '[[inputs]]\nname = "x"\ntype = "integer"\nmin = "4"', 7, "it must be a number"),
        (POOL + '[[inputs]]\nname = "x"\ntype = "integer"\nrequired = 1', 7, "true or false"),
        (POOL + '[[inputs]]\nname = "x"\ntype = "string"\ndefault = { a = 1 }', 7, "not a table"),
        (POOL + '[provider]\npath = "x"\nbinary = "y"', 4, "exactly one of path, crate, binary and script"),
        (POOL + '[provider]\nversion = "1"\npath = "x"', 5, "`version` goes only with `crate`"),
        (POOL + '[provider]\npathh = "x"', 5, "`pathh` is not a known key (did you mean `path`?)"),
    ],
)
def test_error_names_line_and_way_out(paths, text, line, words):
    message = refusal(paths, text)

    place = f"{paths.models / 'm.toml'}:" + (f"{line}:" if line else " ")
    assert message.startswith(place)
    assert words in message


def test_two_default_inputs_are_refused_by_name(paths):
    entry = '[[inputs]]\nname = "{}"\ntype = "string"\ndefault_input = true\n'

    assert "2 inputs are the default input: a, b" in refusal(paths, POOL + entry.format("a") + entry.format("b"))


@pytest.mark.parametrize("text", ['provider = { crate = "x", version = "1" }', 'provider = { script = "x" }'])
def test_implementation_reference_is_taken_and_not_acted_on(paths, text):
    assert () == model(paths, f"{text}\n{POOL}").problems


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ('type = "integer"\nmax = 5\ndefault = 8', "the default breaks the input's own rule: input 'x': '8' is above"),
        ('type = "enum"\noptions = ["a"]\ndefault = "b"', "is not one of its options"),
        ('type = "number"\nmin = 2\nmax = 1', "`min` is above `max`"),
        ('type = "string"\nflagg = "--x"', "did you mean `flag`?"),
    ],
)
def test_doubtful_input_is_a_warning(paths, entry, words):
    (problem,) = model(paths, f'{POOL}[[inputs]]\nname = "x"\n{entry}\n').problems

    assert "warning" == problem.level
    assert words in problem.message
    assert problem.key.startswith("[[inputs]]#1.")


def test_codex_argument_in_both_places_is_refused(paths):
    paths.providers.write_text('[codex]\ncommand = "codex"\nargs = ["exec", "--json"]\n')

    message = refusal(paths, '[[providers]]\nname = "codex"\nargs = ["-m", "x", "--json"]\n')

    assert ":3: [[providers]]#1.args: '--json' is already in `args` of the account 'codex'" in message


def test_models_dir_replaces_the_usual_folder(paths, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "x.toml").write_text(POOL)

    assert ("x",) == list_models(paths, other)
    assert "x" == load_model(paths, "x", other).value.name
