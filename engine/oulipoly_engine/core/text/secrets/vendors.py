"""Secrets without a form of their own, known by the name of the vendor before the sign: `DATADOG_ACCESS=…`. Pure.

A table of facts: a vendor, and of what length and characters its keys are. See `docs/redaction.md`.
"""

from __future__ import annotations

import re

from oulipoly_engine.core.text.secrets.rule import rule, take_out
from oulipoly_engine.core.text.secrets.values import is_random
from oulipoly_engine.late_pattern import LatePattern

# Of what a key is: a letter, and how many. h: hexadecimal, n: letters and digits, w: and `_`, `-`, `=`, `.`, b: base64;
# c: hexadecimal and colons; u: a UUID.
_KEYS = {
    "adafruit": "w32",
    "adobe": "h32",
    "airtable": "n17",
    "algolia": "n32",
    "alibaba": "n30",
    "asana": "n32",
    "atlassian": "n24",
    "beamer": "w46",
    "bitbucket": "n32 w64",
    "bittrex": "n32",
    "cloudant": "h64",
    "cloudflare": "w40 h37",
    "codecov": "n32",
    "cohere": "n40",
    "coinbase": "w64",
    "confluence": "n24",
    "confluent": "n16 n64",
    "contentful": "w43",
    "contribsys": "c17",  # where Sidekiq is sold
    "datadog": "n32 n40",
    "discord": "h64 w32",
    "drone": "n32",
    "dropbox": "n15 w64",
    "etsy": "n24",
    "facebook": "h32",
    "fastly": "w32",
    "finicity": "h32 n20",
    "finnhub": "n20",
    "flickr": "n32",
    "freshbooks": "n64",
    "gitter": "w40",
    "gocardless": "w45",
    "heroku": "u",
    "hubspot": "u",
    "intercom": "w60",
    "jfrog": "n64 n73",
    "jira": "n24",
    "kraken": "b80-90",
    "kucoin": "h24 u",
    "launchdarkly": "w40 u",
    "linear": "h32",
    "linkedin": "n16",
    "lob": "w40",
    "looker": "n24",
    "mailgun": "w50",
    "mattermost": "n26",
    "meraki": "h40",
    "messagebird": "n25",
    "netlify": "w40-46",
    "newrelic": "n64",
    "nytimes": "w32",
    "okta": "w42",
    "plaid": "n30",
    "privateai": "n32",
    "rapidapi": "w50",
    "sendbird": "h40",
    "sentry": "h64",
    "snyk": "u",
    "softlayer": "n64",
    "sidekiq": "c17",
    "sonar": "n40",
    "sourcegraph": "h40",
    "squarespace": "u",
    "sumo": "n64",
    "travis": "n22",
    "twitch": "n30",
    "twitter": "n45 n50 w36-66",
    "yandex": "w40",
    "zendesk": "n40",
}
_CLASSES = {"h": "[0-9a-fA-F]", "n": "[0-9A-Za-z]", "w": "[0-9A-Za-z_=.-]", "b": "[0-9A-Za-z+/=]", "c": "[0-9a-f:]"}
_UUID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
# What follows a vendor's name where the value is none of its secrets.
_NONE = LatePattern(
    r"(?:id|ids|sha[0-9]*|hash|commit|rev|revision|digest|checksum|etag|version|ref|tag|url|host|name|path|file|dir)\Z",
    re.IGNORECASE,
)
# What may be a key is looked for first, and then what stands before it: the names are too many to look for each.
_LONGEST_NAME = 64  # characters
_VALUE = LatePattern(r"[=:>][ \t]{0,4}\\{0,3}[\"'`]?(?P<value>[0-9A-Za-z_-][0-9A-Za-z_=.+/:-]{13,134}[0-9A-Za-z=])")
# Written as one word or with a line between: `new-relic`, `NEW_RELIC`.
_SPELLED = "|".join(re.sub("(relic|bird|in|ai|api|darkly)$", r"[_-]?\1", vendor) for vendor in _KEYS)
_NAME = LatePattern(
    rf"(?P<vendor>{_SPELLED})"
    r"(?P<rest>[\w.-]{0,24})\\{0,3}[\"'`]?\]?[ \t]{0,4}\Z",
    re.IGNORECASE,
)
_DRAWN = LatePattern("[0-9][A-Za-z]")  # in names digits come last
_FORM = LatePattern(r"(?P<letter>[hnwbc])(?P<least>\d+)(?:-(?P<most>\d+))?")


def _key_pattern(vendor: str) -> str:
    """Return the pattern of a vendor's keys."""
    forms = [
        f"{_CLASSES[form['letter']]}{{{form['least']},{form['most'] or form['least']}}}"
        for form in _FORM.finditer(_KEYS[vendor])
    ]
    return "|".join([*forms, _UUID] if "u" in _KEYS[vendor].split() else forms)


def _named(found: re.Match[str]) -> str:
    """Redact what is of the length and the characters of the vendor's keys, and looks drawn."""
    value = found["value"]
    if _DRAWN.search(value) is None and not is_random(value):
        return found[0]
    name = _NAME.search(found.string[max(found.start() - _LONGEST_NAME, 0) : found.start()])
    if name is None or _NONE.search(name["rest"]) is not None:
        return found[0]
    vendor = re.sub("[_-]", "", name["vendor"].lower())
    return found[0] if re.fullmatch(_key_pattern(vendor), value) is None else take_out(found)


VENDORS = rule("name of a vendor", ("=", ":", ">"), _VALUE, _named)
