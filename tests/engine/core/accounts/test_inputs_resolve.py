import pytest
from hypothesis import given, strategies

from oulipoly_engine.core.accounts.accounts import InputSpec, InputType
from oulipoly_engine.core.accounts.inputs import collect, parse_pair, resolve
from oulipoly_engine.errors import InputInvalid

DURATION = InputSpec("duration", InputType.INTEGER, flag="--duration", minimum=4, maximum=12, default="8")
IMAGES = InputSpec("images", InputType.ARRAY, flag="--image", min_items=2, max_items=3)
PROMPT = InputSpec("prompt", required=True, default_input=True)


def refusal(specs, given):
    with pytest.raises(InputInvalid) as caught:
        resolve(specs, given)
    return caught.value.message


def test_refused_value_of_a_secret_s_name_is_not_repeated():
    assert "hunter2hunter2" not in refusal(
        [InputSpec("api_token", InputType.INTEGER)], {"api_token": ["hunter2hunter2"]}
    )


def test_pair_splits_at_the_first_equals_sign():
    assert ("a", "b=c") == parse_pair("a=b=c")
    assert ("a", "") == parse_pair("a=")


@pytest.mark.parametrize("text", ["ab", "", "=x"])
def test_pair_without_key_or_equals_sign_is_refused(text):
    with pytest.raises(InputInvalid, match="key=value"):
        parse_pair(text)


def test_repeated_keys_collect_in_order_of_first_appearance():
    assert {"b": ("1", "3"), "a": ("2",)} == collect(["b=1", "a=2", "b=3"])
    assert ["b", "a"] == list(collect(["b=1", "a=2", "b=3"]))


def test_user_values_come_first_and_defaults_after():
    quality = InputSpec("quality", flag="-q")

    assert ("--seed", "7", "-q", "hd", "--duration", "8") == resolve(
        [DURATION, quality], {"seed": ["7"], "quality": ["hd"]}
    )


def test_given_value_replaces_the_default():
    assert ("--duration", "5") == resolve([DURATION], {"duration": ["5"]})


def test_default_without_flag_is_not_emitted():
    assert () == resolve([InputSpec("size", default="big")], {})


def test_known_input_without_flag_uses_its_name():
    assert ("--size", "big") == resolve([InputSpec("size")], {"size": ["big"]})


def test_array_values_and_array_defaults_repeat_the_flag():
    spec = InputSpec("tags", InputType.ARRAY, flag="-t", default=("x", "y"))

    assert ("-t", "x", "-t", "y") == resolve([spec], {})
    assert ("-t", "a", "-t", "b") == resolve([spec], {"tags": ["a", "b"]})


def test_missing_required_input_is_refused_by_name():
    assert "the required input 'image' is missing: give it with -i image=VALUE" == refusal(
        [PROMPT, InputSpec("image", required=True)], {}
    )


def test_default_input_or_default_satisfies_required():
    assert () == resolve([PROMPT, InputSpec("size", required=True, default="big")], {})


def test_prompt_replaces_the_default_inputs_default():
    spec = InputSpec("prompt", flag="--prompt", default_input=True, default="a cat")

    assert ("--prompt", "a cat") == resolve([spec], {})
    assert () == resolve([spec], {}, "a dog")


@pytest.mark.parametrize(
    ("spec", "values", "rule"),
    [
        (DURATION, ["3"], "'3' is below minimum 4"),
        (DURATION, ["13"], "'13' is above maximum 12"),
        (DURATION, ["5.0"], "'5.0' is not an integer"),
        (InputSpec("x", InputType.ENUM, options=("a", "b")), ["c"], "'c' is not one of its options: a, b"),
        (IMAGES, ["a"], "too few items: 1 given ('a'), at least 2"),
        (IMAGES, ["a"] * 4, "too many items: 4 given"),
        (InputSpec("n", InputType.ARRAY, item_type=InputType.INTEGER), ["1", "x"], "'x' is not an integer"),
        (InputSpec("n", InputType.NUMBER, minimum=0.5), ["0.25"], "'0.25' is below minimum 0.5"),
        (InputSpec("n", InputType.NUMBER, maximum=1e300), ["2e300"], "is above maximum 1e+300"),
    ],
)
def test_refusal_names_input_value_and_rule(spec, values, rule):
    message = refusal([spec], {spec.name: values})

    assert message.startswith(f"input {spec.name!r}: ")
    assert rule in message


@pytest.mark.parametrize(
    "value", ["", " 5", "5 ", "1_0", "0x10", "\uff11\uff12", "9223372036854775808", "five", "5e0", "+"]
)
def test_texts_that_only_python_takes_for_integers_are_refused(value):
    assert "not an integer" in refusal([InputSpec("n", InputType.INTEGER)], {"n": [value]})


@pytest.mark.parametrize("value", ["nan", "inf", "-Infinity", "1e400", "\uff11", "1_0", "", ".", "1e", "0x1p3", "1,5"])
def test_texts_that_are_no_finite_numbers_are_refused(value):
    assert "not a number" in refusal([InputSpec("n", InputType.NUMBER)], {"n": [value]})


@pytest.mark.parametrize("value", ["1", "-1.5", "+.5", "3.", "1e3", "1E-3"])
def test_numbers_pass_as_they_were_typed(value):
    assert ("--n", value) == resolve([InputSpec("n", InputType.NUMBER)], {"n": [value]})


def test_texts_are_not_checked():
    assert ("--n", "maybe") == resolve([InputSpec("n", InputType.STRING, minimum=5)], {"n": ["maybe"]})


@pytest.mark.parametrize("value", ["true", "false"])
def test_booleans_pass_as_they_were_typed(value):
    assert ("--n", value) == resolve([InputSpec("n", InputType.BOOLEAN)], {"n": [value]})


@pytest.mark.parametrize("value", ["maybe", "True", "1", "yes", "", " true"])
def test_what_is_no_boolean_is_refused_with_what_is(value):
    lists = InputSpec("n", InputType.ARRAY, item_type=InputType.BOOLEAN)

    for spec in (InputSpec("n", InputType.BOOLEAN), lists):
        assert f"{value!r} is not a boolean: true or false" in refusal([spec], {"n": [value]})


def test_values_are_checked_before_required_inputs():
    assert "below minimum" in refusal([DURATION, InputSpec("image", required=True)], {"duration": ["1"]})


@given(strategies.integers(-(2**63), 2**63 - 1))
def test_every_64_bit_integer_passes(number):
    assert ("--n", str(number)) == resolve([InputSpec("n", InputType.INTEGER)], {"n": [str(number)]})


@given(strategies.dictionaries(strategies.text(min_size=1).filter(lambda key: "=" not in key), strategies.text()))
def test_unknown_inputs_pass_through_unchanged(values):
    pairs = [f"{key}={value}" for key, value in values.items()]

    assert [part for key, value in values.items() for part in (f"--{key}", value)] == list(resolve([], collect(pairs)))
