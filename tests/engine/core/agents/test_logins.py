"""Which logins a host can keep for a CLI, and what the CLI gets in their place."""

import base64
import json
from datetime import UTC, datetime

import pytest

from oulipoly_engine.core.accounts.clis.host_login import STAND_IN, URL, LoginSources, hide_login
from oulipoly_engine.core.accounts.clis.table import CLIS

NOW = datetime(2026, 11, 30, tzinfo=UTC)
LATER = int(NOW.timestamp()) + 86400
SECRET = "s3cret" * 50  # longer than any name


def read(cli, files, env=None):
    return CLIS[cli].host_login.read(LoginSources(env or {}, "/h", files), NOW)


def claude(env=None, **files):
    return read("claude", {name: json.dumps(text) for name, text in files.items()}, env)


def oauth(expires_at_s):
    return {".credentials.json": {"claudeAiOauth": {"accessToken": SECRET, "expiresAt": expires_at_s * 1000}}}


def codex(config="", auth=None, env=None):
    return read("codex", {"config.toml": config, "auth.json": json.dumps(auth)}, env)


def token(expires_at_s):
    claims = base64.urlsafe_b64encode(json.dumps({"exp": expires_at_s, "pad": SECRET}).encode()).decode().rstrip("=")
    return f"e30.{claims}.c2ln"


@pytest.mark.parametrize(
    ("login", "headers", "variable"),
    [
        (claude(**oauth(LATER)), {"authorization": f"Bearer {SECRET}"}, "CLAUDE_CODE_OAUTH_TOKEN"),
        (claude({"CLAUDE_CODE_OAUTH_TOKEN": "t"}), {"authorization": "Bearer t"}, "CLAUDE_CODE_OAUTH_TOKEN"),
        (claude({"ANTHROPIC_API_KEY": "k"}), {"x-api-key": "k"}, "ANTHROPIC_API_KEY"),
        (claude(**{"settings.json": {"env": {"ANTHROPIC_API_KEY": "k"}}}), {"x-api-key": "k"}, "ANTHROPIC_API_KEY"),
        (
            claude({"V": "k"}, **{"settings.json": {"apiKeyHelper": "printenv V"}}),
            {"x-api-key": "k"},
            "ANTHROPIC_API_KEY",
        ),
        (claude({"ANTHROPIC_AUTH_TOKEN": "b"}), {"authorization": "Bearer b"}, "ANTHROPIC_AUTH_TOKEN"),
    ],
)
def test_claude_logs_in_by_a_token_of_the_proxy(login, headers, variable):
    assert headers == login.headers
    assert login.environment[variable] == STAND_IN
    assert login.environment["ANTHROPIC_BASE_URL"] == URL
    assert "https://api.anthropic.com" == login.upstream


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (claude(), "no login"),
        (claude(**oauth(LATER - 90000)), "expired"),
        (claude({"CLAUDE_CODE_USE_BEDROCK": "1"}), "cloud"),
        (claude(**{"settings.json": {"apiKeyHelper": "pass show key"}}), "apiKeyHelper"),
        (claude(**{"settings.json": {"apiKeyHelper": "cat /etc/passwd"}}), "apiKeyHelper"),
        (codex(), "no login"),
        (codex("a = ["), "config.toml"),
        (codex('model_provider = "bedrock"'), "bedrock"),
        (codex('model_provider = "x"\n[model_providers.x]\nenv_key = "K"'), "K"),
        (codex(auth={"tokens": {"access_token": token(LATER - 90000)}}), "expired"),
    ],
)
def test_what_cannot_be_kept_says_why(reason, words):
    assert isinstance(reason, str)
    assert words in reason


def test_codex_asks_what_its_account_asks():
    config = (
        'model = "m"\nmodel_provider = "x"\n[model_providers.x]\nbase_url = "http://a/v1/"\nrequires_openai_auth = true'
    )
    tokens = {"access_token": token(LATER), "account_id": "acct"}

    configured = codex(config, {"tokens": tokens})
    usual = codex(auth={"tokens": tokens})
    key = codex(auth={"OPENAI_API_KEY": "k"})

    assert {"authorization": f"Bearer {token(LATER)}", "chatgpt-account-id": "acct"} == configured.headers
    assert ("http://a/v1", "https://chatgpt.com/backend-api/codex", "https://api.openai.com/v1") == (
        configured.upstream,
        usual.upstream,
        key.upstream,
    )
    assert 'model="m"' in configured.words
    assert not [word for word in configured.words if token(LATER) in word]


def test_no_part_of_the_login_is_left_in_the_environment():
    login = claude({"ANTHROPIC_API_KEY": "k3y"})

    assert {"A": "b"} == hide_login({"ANTHROPIC_API_KEY": "k3y", "OWN": "x-k3y", "A": "b"}, login, ())
