"""One canary of each kind of secret, alone and in all that people and programs put around one.

No canary stands in this file: each is made out of its prefix and of characters drawn from its name, so that a scanner
for leaked keys finds none in our own repository.
"""

from __future__ import annotations

import base64
import hashlib
import json
import string

from oulipoly_engine.core.text.redact import redact

_LETTERS_AND_DIGITS = string.ascii_letters + string.digits
_HEX = "0123456789abcdef"


def drawn(name: str, length: int, alphabet: str = _LETTERS_AND_DIGITS) -> str:
    """Return characters that look random and are the same in every run, one of each sort among the first three."""
    seed = hashlib.shake_256(name.encode()).digest(length)
    text = "".join(alphabet[byte % len(alphabet)] for byte in seed)
    head = "".join(sort for sort in ("7", "Q", "x") if sort in alphabet)
    return (head + text)[:length]


def encoded(name: str) -> str:
    return base64.b64encode(f"user:{drawn(name, 18)}".encode()).decode()


_N, _H = drawn, lambda name, length: drawn(name, length, _HEX)
_UUID = "-".join(_H(f"uuid {part}", part) for part in (8, 4, 4, 4, 12))

# name: what is written, and what of it must not be seen (None: everything behind the prefix)
PREFIXED = {
    "anthropic": ("sk-ant-", "api03-" + _N("a", 80)),
    "openai project": ("sk-", "proj-" + _N("b", 60)),
    "openai": ("sk-", _N("c", 48)),
    "openrouter": ("sk-or-", "v1-" + _H("d", 64)),
    "openai session": ("sess-", _N("e", 40)),
    "google": ("AIza", _N("f", 35)),
    "google oauth": ("ya29.", _N("g", 60)),
    "google client": ("GOCSPX-", _N("h", 28)),
    "google refresh": ("1//0", _N("i", 40)),
    "groq": ("gsk_", _N("j", 52)),
    "xai": ("xai-", _N("k", 80)),
    "perplexity": ("pplx-", _N("l", 48)),
    "hugging face": ("hf_", _N("m", 34)),
    "replicate": ("r8_", _N("n", 37)),
    "nvidia": ("nvapi-", _N("o", 64)),
    "elevenlabs": ("sk_", _H("p", 48)),
    "tavily": ("tvly-", _N("q", 32)),
    "langsmith": ("lsv2_pt_", _H("r", 32) + "_" + _H("s", 10)),
    "github": ("ghp_", _N("t", 36)),
    "github app": ("ghs_", _N("u", 36)),
    "github fine-grained": ("github_pat_", _N("v", 22) + "_" + _N("w", 59)),
    "gitlab": ("glpat-", _N("x", 20)),
    "gitlab deploy": ("gldt-", _N("y", 20)),
    "atlassian": ("ATATT", "3xFfGF0" + _N("z", 180)),
    "bitbucket": ("ATBB", _N("aa", 32)),
    "npm": ("npm_", _N("ab", 36)),
    "pypi": ("pypi-", "AgEIcHlwaS5vcmc" + _N("ac", 100)),
    "rubygems": ("rubygems_", _H("ad", 48)),
    "docker": ("dckr_pat_", _N("ae", 27)),
    "docker organization": ("dckr_oat_", _N("af", 32)),
    "sonar": ("sqp_", _H("ag", 40)),
    "sourcegraph": ("sgp_", _H("ah", 40)),
    "aws id": ("AKIA", drawn("ai", 16, string.ascii_uppercase)),
    "aws bedrock": ("ABSK", _N("aj", 120)),
    "alibaba": ("LTAI", _N("ak", 20)),
    "digitalocean": ("dop_v1_", _H("al", 64)),
    "heroku": ("HRKU-", _N("am", 60)),
    "supabase": ("sbp_", _H("an", 40)),
    "planetscale": ("pscale_tkn_", _N("ao", 43)),
    "databricks": ("dapi", _H("ap", 32)),
    "doppler": ("dp.pt.", _N("aq", 43)),
    "vault": ("hvs.", _N("ar", 90)),
    "vault batch": ("hvb.", _N("as", 120)),
    "pulumi": ("pul-", _H("at", 40)),
    "tailscale": ("tskey-", "auth-" + _N("au", 12) + "-" + _N("av", 32)),
    "slack": ("xoxb-", drawn("aw", 12, string.digits) + "-" + _N("ax", 24)),
    "slack app": ("xapp-", "1-A" + _N("ay", 60)),
    "stripe": ("sk_live_", _N("az", 24)),
    "stripe webhook": ("whsec_", _N("ba", 32)),
    "sendgrid": ("SG.", _N("bb", 22) + "." + _N("bc", 43)),
    "square": ("sq0csp-", _N("bd", 43)),
    "square token": ("sq0atp-", _N("be", 22)),
    "shopify": ("shpat_", _H("bf", 32)),
    "twilio": ("SK", _H("bg", 32)),
    "mailgun": ("key-", _H("bh", 32)),
    "brevo": ("xkeysib-", _H("bi", 64) + "-" + _N("bj", 16)),
    "notion": ("ntn_", _N("bk", 46)),
    "esecret": ("esecret_", _N("bl", 24)),
    "linear": ("lin_api_", _N("bm", 40)),
    "figma": ("figd_", _N("bn", 40)),
    "grafana": ("glsa_", _N("bo", 32) + "_" + _H("bp", 8)),
    "grafana cloud": ("glc_", _N("bq", 60)),
    "postman": ("PMAK-", _H("br", 24) + "-" + _H("bs", 34)),
    "new relic": ("NRAK-", drawn("bt", 27, string.ascii_uppercase + string.digits)),
    "sentry user": ("sntryu_", _H("bu", 64)),
    "contentful": ("CFPAT-", _N("bv", 43)),
    "typeform": ("tfp_", _N("bw", 59)),
    "duffel": ("duffel_live_", _N("bx", 43)),
    "plaid": ("access-production-", _UUID),
    "hubspot": ("pat-na1-", _UUID),
    "postHog": ("phx_", _N("by", 43)),
    "age": ("AGE-SECRET-KEY-1", drawn("bz", 58, string.ascii_uppercase + string.digits)),
    "netlify": ("nfp_", _N("ca", 40)),
    "json web token": ("eyJ", _N("cb", 30) + ".eyJ" + _N("cc", 40) + "." + _N("cd", 43)),
    "1password": ("ops_eyJ", _N("ce", 250)),
    "dropbox": ("sl.", _N("cf", 140)),
    "key in base64": ("LS0tLS1CRUdJTi", "BSU0EgUFJJVkFURSBLRVktLS0tLQ" + _N("cg", 80)),
}
IN_CONTEXT = {
    "aws secret beside its id": ("AKIA" + drawn("ai", 16, string.ascii_uppercase) + " {}", _N("da", 40)),
    "terraform": ("{}", _N("db", 14) + ".atlas" + "v1." + _N("dc", 67)),
    "z.ai": ("{}", _H("dd", 32) + "." + _N("de", 16)),
    "telegram": ("{}", drawn("df", 9, string.digits[1:]) + ":" + "AA" + _N("dg", 33)),
    "discord webhook": ("https://discord.com/api/" + "webhooks/123456789/{}", _N("dh", 68)),
    "slack webhook": ("https://hooks.slack.com/" + "services/{}", "T0000/B0000/" + _N("di", 24)),
    "mailchimp": ("{}", _H("dj", 32) + "-us" + "12"),
    "azure client secret": ("{}", _N("dk", 3) + "8Q" + "~" + _N("dl", 34)),
    "sentry dsn": ("https://{}@o123.ingest.sentry.io/456", _H("dm", 32)),
    "token of a URL": ("git clone https://{}@host.example/r.git", _N("dn", 24)),
    "login of a URL": ("https://me:{}@host.example/x", _N("do", 10)),
    "docker login": ("auth: {}", encoded("dp")),
    "apache hash": ("me:$ap" + "r1${}", _N("dq", 8) + "$" + _N("dr", 22)),
    "bcrypt": ("me:$2" + "y$05${}", _N("ds", 53)),
    "shadow": ("root:$" + "6${}:19000:0", _N("dt", 16) + "$" + _N("du", 86)),
    "ldap hash": ("userPassword:: {{SSHA}}{}", _N("dv", 38)),
    "pgpass": ("db.example:5432:main:me:{}", _N("dw", 14)),
    "pgpass of a database db": ("db.example:5432:db:me:{}", _N("dwb", 14)),
    "spanish in letters": ("contrase\u00f1a: {}", drawn("ecl", 10, string.ascii_lowercase)),
    "russian in letters": ("\u041f\u0430\u0440\u043e\u043b\u044c: {}", drawn("ejl", 10, string.ascii_letters)),
    "wifi": ("psk={}", _N("dx", 16)),
    "wpa": ("wpa_psk={}", _H("dy", 64)),
    "german": ("Passwort: {}", _N("dz", 9)),
    "german capitals": ("KENNWORT={}", _N("ea", 9)),
    "french": ("mot de passe : {}", _N("eb", 9)),
    "spanish": ("contrase\u00f1a: {}", _N("ec", 9)),
    "portuguese": ("senha={}", _N("ed", 9)),
    "italian": ("parola d'ordine, parola: {}", _N("ee", 9)),
    "dutch": ("wachtwoord: {}", _N("ef", 9)),
    "swedish": ("l\u00f6senord: {}", _N("eg", 9)),
    "polish": ("has\u0142o: {}", _N("eh", 9)),
    "czech": ("heslo: {}", _N("ei", 9)),
    "russian": ("\u041f\u0430\u0440\u043e\u043b\u044c: {}", _N("ej", 9)),
    "chinese": ("\u5bc6\u7801\uff1a{}", _N("ek", 9)),
    "japanese": ("\u30d1\u30b9\u30ef\u30fc\u30c9: {}", _N("el", 9)),
    "korean": ("\ube44\ubc00\ubc88\ud638: {}", _N("em", 9)),
    "turkish": ("\u015fifre: {}", _N("en", 9)),
    "password": ("password: {}", _N("eo", 9)),
    "variable": ("DB_PASSWORD={}", _N("ep", 9)),
    "flag": ("tool --api-key {} --verbose", _N("eq", 20)),
    "header": ("Authorization: Bearer {}", _N("er", 20)),
    "cookie": ("Cookie: sid={}", _N("es", 20)),
    "query": ("https://host.example/x?key={}&y=1", _N("et", 20)),
    "signature": ("https://host.example/x?X-Amz-Signature={}", _H("eu", 64)),
    "curl": ("curl -u me:{} https://host.example", _N("ev", 12)),
    "mysql": ("mysql -u root -p{} main", _N("ew", 12)),
    "sshpass": ("sshpass -p {} ssh host", _N("ex", 12)),
    "openssl": ("openssl rsa -passin pass:{} -in k", _N("ey", 12)),
    "samba": ("smbclient -U me%{} //host/x", _N("ez", 12)),
    "redis": ("redis-cli -h host -a {} ping", _N("fa", 12)),
    "docker": ("docker login -u me -p {} host", _N("fb", 12)),
    "session cookie": ("PHPSESSID={}", _N("fc", 26)),
    "seed": ("mnemonic: {}", "legal winner thank year wave sausage worth useful legal winner thank yellow"),
    "azure storage": ("AccountName=a;AccountKey={}==;E=x", _N("fd", 86)),
    "kubeconfig": ("client-key-data: {}", "LS0t" + _N("fe", 80)),
    "element": ("<password>{}</password>", _N("ff", 12)),
}
CANARIES = {
    **{kind: ("{}", prefix + rest, rest) for kind, (prefix, rest) in PREFIXED.items()},
    **{kind: (place, secret, secret) for kind, (place, secret) in IN_CONTEXT.items()},
}
QUOTED = {  # what JSON and programs write with quotes about the name
    "docker's file": ({"auths": {"host": {"auth": "{}"}}}, encoded("ga")),
    "subscript": ('os.environ["API_KEY"] = "{}"', _N("gb", 20)),
    "annotation": ('api_key: str = "{}"', _N("gc", 20)),
    "json web key": ({"kty": "RSA", "d": "{}"}, _N("gd", 80)),
    "german in JSON": ({"Passwort": "{}"}, _N("ge", 9)),
    "psk in JSON": ({"psk": "{}"}, _N("gf", 12)),
    "service account": (
        {"private_key": "-----BEGIN " + "PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n"},
        _N("gg", 64),
    ),
}
PLACES = {
    "prose": "it said that {} was no longer good, and went on",
    "line of its own": "before\n{}\nafter",
    "list": "- one\n- {}\n",
    "shell": "export VALUE='{}' && run",
    "terminal": "\x1b[1;32m{}\x1b[0m",
    "url": "see https://host.example/?next=%3D{}&x=1",
}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)  # as the CLIs write it


def _parts(secret: str) -> list[str]:
    """Return the pieces of a secret of which none may be seen."""
    return [
        piece for piece in secret.replace(" ", ".").replace("$", ".").replace("/", ".").split(".") if len(piece) >= 8
    ]


def _shows(secret: str, text: str) -> bool:
    """Tell whether a text, its form in JSON or that form in JSON again is shown with a piece of a secret."""
    written = (text, _json({"text": text}), _json(_json([text])))
    return any(piece in shown for shown in map(redact, written) for piece in (secret, *_parts(secret)))


def test_there_are_enough_kinds():
    assert len(CANARIES) + len(QUOTED) >= 80


def test_each_canary_is_unseen_wherever_it_stands():
    assert [] == [
        (kind, name)
        for kind, (place, secret, unseen) in CANARIES.items()
        for name, around in PLACES.items()
        if (name != "url" or place == "{}") and _shows(unseen, around.format(place.format(secret)))
    ]


def test_each_canary_in_quotes_is_unseen_however_often_they_are_escaped():
    texts = {kind: place if isinstance(place, str) else json.dumps(place) for kind, (place, _) in QUOTED.items()}

    assert [] == [kind for kind, (_, secret) in QUOTED.items() if _shows(secret, texts[kind].replace("{}", secret, 1))]


def test_each_canary_is_unseen_at_every_border_between_stretches():
    """A long text is redacted stretch by stretch, from 2,048 characters on."""
    prose = "a line of prose\n" * 125

    assert [] == [
        (kind, extra)
        for kind, (place, secret, unseen) in CANARIES.items()
        for extra in range(0, 100, 7)
        for shown in [redact(f"{prose}{'x' * extra} {place.format(secret)}\n{prose}")]
        if any(piece in shown for piece in (unseen, *_parts(unseen)))
    ]
