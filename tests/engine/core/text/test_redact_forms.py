"""Secrets of the field's vendors, by facts: each form in each place where people and programs write it.

The facts (`secret_forms.json`) are a vendor, the name that stands before its key, where it has no form of its own, and
the form: `{n40}` is forty small letters and digits. What fills them is made up, with a seed. See docs/redaction.md.
"""

import json
import random
import re
import string
from pathlib import Path

from oulipoly_engine.core.text.redact import redact

FORMS = json.loads(Path(__file__).with_name("secret_forms.json").read_text(encoding="utf-8"))
ALPHABETS = {
    "N": string.ascii_letters + string.digits,
    "n": string.ascii_lowercase + string.digits,
    "h": "0123456789abcdef",
    "H": "0123456789abcdef",
    "w": string.ascii_letters + string.digits + "_-",
    "a": string.ascii_letters,
    "A": string.ascii_uppercase + string.digits,
    "B": string.ascii_uppercase + "234567",
    "G": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",  # of bech32
    "d": string.digits,
    "b": string.ascii_letters + string.digits + "+/",
    "e": string.ascii_lowercase + string.digits + "_-=",
}
PLACES = {
    "env file": "{upper}={value}\n",
    "YAML": "  {name}: {value}\n",
    "JSON": '{{"{name}": "{value}"}}',
    "shell": "export {upper}='{value}' && make",
    "header": "x-{name}: {value}",
    "URL": "https://h.example/p?{name}={value}&x=1",
}


def fill(form, seed):
    """Return a made-up secret of a form."""
    source = random.Random(seed)

    def draw(found):
        kind, count = found[1], int(found[2] or 32)
        alphabet = ALPHABETS.get(kind, ALPHABETS["h"])
        drawn = "".join(source.choice(alphabet) for _ in range(count - 1))
        drawn += source.choice([character for character in alphabet if character.isalnum()])
        if kind not in "uU":
            return drawn
        uuid = "-".join((drawn[:8], drawn[8:12], drawn[12:16], drawn[16:20], drawn[20:]))
        return uuid.upper() if kind == "U" else uuid

    return re.sub(r"\{(\w)(\d*)\}", draw, form)


def write(text, name, value):
    """Return a text with a secret of that name in it."""
    return text.format(name=name or "thing", upper=f"{name}_access".upper() if name else "THING", value=value)


def test_each_secret_is_removed_wherever_it_stands():
    secrets = [(vendor, name, fill(form, vendor)) for vendor, name, form in FORMS]

    assert [] == [
        (vendor, place)
        for vendor, name, value in secrets
        for place, text in PLACES.items()
        if value[-10:] in redact(write(text, name, value))
    ]
