"""The accounts' homes: how the CLIs are logged in, told to ask nobody but us, and started."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Mapping
from pathlib import Path

from oulipoly_engine.records import Record

_AN_ID = "01a1fcaa-97dc-7cd1-a5a7-0192aad53ee7"
_TEN_YEARS_S = 10 * 365 * 86400

_CLAUDE_CAPTURE = """
[NAME.session_capture]
kind = "forced_flag_verified"
flag = "--session-id"
readback_args = ["--verbose", "--output-format", "stream-json"]
"""
_CODEX_CAPTURE = """
[NAME.session_capture]
kind = "stdout_json_event"
json_flag = "--json"
last_message_flag = "-o"
event_type = "thread.started"
event_id_path = "thread_id"
"""


class Style(Record):
    """How an account's CLI is started."""

    args: tuple[str, ...]
    prompt_mode: str = "stdin"
    capture: str = ""  # the account's session_capture table


CLAUDE_STYLES: Mapping[str, Style] = {
    "text": Style(("-p",)),
    "json": Style(("-p", "--output-format", "json")),
    "capture": Style(("-p",), capture=_CLAUDE_CAPTURE),
    "tools": Style(("-p", "--allowedTools=Bash")),
}
CODEX_STYLES: Mapping[str, Style] = {
    "text": Style(("exec", "-")),
    "json": Style(("exec", "--json", "-")),
    "capture": Style(("exec", "-"), capture=_CODEX_CAPTURE),
    "argument": Style(("exec",), prompt_mode="arg"),
    "tools": Style(("exec", "--dangerously-bypass-approvals-and-sandbox", "-")),
}
STYLES: Mapping[str, Mapping[str, Style]] = {
    "claude": CLAUDE_STYLES,
    "codex": CODEX_STYLES,
    "opencode": {"text": Style(("run",))},
    "gemini": {"text": Style(("-p",), prompt_mode="arg")},
}


class ClaudeHome:
    """The folder of one claude account, logged in."""

    command = "claude"

    def __init__(self, folder: Path, account: str) -> None:
        self._folder = folder
        self._account = account
        self._credentials = folder / ".credentials.json"
        folder.mkdir()
        login = {
            "accessToken": f"sk-ant-oat01-{account}",
            "refreshToken": f"sk-ant-ort01-{account}",
            "expiresAt": int(time.time() + _TEN_YEARS_S) * 1000,
            "scopes": ["user:inference", "user:profile"],
            "subscriptionType": "max",
        }
        self._credentials.write_text(json.dumps({"claudeAiOauth": login}))

    def ask_at(self, url: str) -> dict[str, str]:
        """Return the variables with which claude works in this home and asks the model API at a URL."""
        return {
            "CLAUDE_CONFIG_DIR": str(self._folder),
            "ANTHROPIC_BASE_URL": url,
            "CLAUDE_CODE_MAX_RETRIES": "1",  # the default of ten takes three minutes
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "IS_SANDBOX": "1",  # else it does not start for root where nothing is to be asked
        }

    def log_out(self) -> None:
        self._credentials.unlink()

    def use_key(self) -> None:
        """Work with an API key in place of a login."""
        self.log_out()
        settings = {"env": {"ANTHROPIC_API_KEY": f"sk-ant-api03-{self._account}"}}
        (self._folder / "settings.json").write_text(json.dumps(settings))

    def sessions(self) -> list[str]:
        """List the ids under which claude keeps transcripts."""
        return sorted(path.stem for path in self._folder.glob("projects/*/*.jsonl"))


class CodexHome:
    """The folder of one codex account, logged in."""

    command = "codex"

    def __init__(self, folder: Path, account: str, project: Path) -> None:
        self._folder = folder
        self._project = project
        folder.mkdir()
        token = _identity_token(account)
        tokens = {"id_token": token, "access_token": token, "refresh_token": token, "account_id": account}
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        login = {"auth_mode": "chatgpt", "OPENAI_API_KEY": None, "last_refresh": now, "tokens": tokens}
        (folder / "auth.json").write_text(json.dumps(login))

    def ask_at(self, url: str) -> dict[str, str]:
        """Return the variables with which codex works in this home, having told it to ask the model API at a URL."""
        (self._folder / "config.toml").write_text(_codex_config(self._project, url))
        return {"CODEX_HOME": str(self._folder), "CODEX_REFRESH_TOKEN_URL_OVERRIDE": f"{url}/oauth/token"}

    def sessions(self) -> list[str]:
        """List the ids under which codex keeps transcripts."""
        return sorted(path.stem[-len(_AN_ID) :] for path in self._folder.rglob("rollout-*.jsonl"))


class OpencodeHome:
    """The folder of one opencode account, which has a key for one vendor: us."""

    command = "opencode"

    def __init__(self, folder: Path, account: str) -> None:
        self._folder = folder
        self._account = account
        (folder / "config" / "opencode").mkdir(parents=True)
        (folder / "data" / "opencode").mkdir(parents=True)

    def ask_at(self, url: str) -> dict[str, str]:
        """Return the variables with which opencode works in this home, having told it to ask the model API at a URL."""
        model = {"limit": {"context": 128_000, "output": 8000}, "temperature": True}
        models = {name: {"name": name, **model} for name in ("first", "second")}
        vendor = {
            "npm": "@ai-sdk/openai-compatible",
            "name": "Loopback",
            "options": {"baseURL": f"{url}/v1", "apiKey": self._account},
            "models": models,
        }
        settings = {
            "model": "loopback/first",
            "small_model": "loopback/first",
            "autoupdate": False,
            "share": "disabled",
            "enabled_providers": ["loopback"],
            "provider": {"loopback": vendor},
            "permission": {"bash": "ask", "edit": "ask"},  # by itself it asks for nothing
        }
        (self._folder / "config" / "opencode" / "opencode.json").write_text(json.dumps(settings))
        off = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS")
        places = {f"XDG_{name.upper()}_HOME": str(self._folder / name) for name in ("config", "data", "state", "cache")}
        return places | {f"OPENCODE_DISABLE_{name}": "1" for name in off}

    def sessions(self) -> list[str]:
        """List none: they lie in a database."""
        return []


class GeminiHome:
    """The folder of one gemini account, which has a key."""

    command = "gemini"

    def __init__(self, folder: Path, account: str) -> None:
        self._folder = folder
        self._account = account
        settings = {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False},
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
            "model": {"name": "gemini-2.5-flash"},  # else it asks a model which model to ask
        }
        (folder / ".gemini").mkdir(parents=True)
        (folder / ".gemini" / "settings.json").write_text(json.dumps(settings))

    def ask_at(self, url: str) -> dict[str, str]:
        """Return the variables with which gemini works in this home and asks the model API at a URL."""
        return {
            "GEMINI_CLI_HOME": str(self._folder),
            "GEMINI_API_KEY": self._account,
            "GOOGLE_GEMINI_BASE_URL": url,
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        }

    def sessions(self) -> list[str]:
        """List the ids under which gemini keeps chats."""
        return sorted(path.stem for path in self._folder.rglob("chats/*.json*"))


AnyHome = ClaudeHome | CodexHome | OpencodeHome | GeminiHome


def make_home(command: str, folder: Path, account: str, project: Path) -> AnyHome:
    """Make the home of an account of a CLI."""
    match command:
        case "claude":
            return ClaudeHome(folder, account)
        case "codex":
            return CodexHome(folder, account, project)
        case "opencode":
            return OpencodeHome(folder, account)
        case _:
            return GeminiHome(folder, account)


def _codex_config(project: Path, url: str) -> str:
    """Return the settings with which Codex 0.169 asks nobody but us; each was needed (seen 2026-11)."""
    return f"""
model = "gpt-5.5"
model_provider = "loopback"
chatgpt_base_url = "{url}/backend-api"
check_for_update_on_startup = false

[notice.model_migrations]
"gpt-5.5" = "gpt-6-sol"

[analytics]
enabled = false

[features]
apps = false
plugins = false
daemon_auto_start = false
enable_request_compression = false

[model_providers.loopback]
name = "loopback"
base_url = "{url}/v1"
wire_api = "responses"
requires_openai_auth = true
supports_websockets = false
request_max_retries = 1
stream_max_retries = 1

[projects.{json.dumps(str(project.resolve()))}]
trust_level = "trusted"
"""


def _identity_token(account: str) -> str:
    """Return an unsigned token that Codex accepts as a ChatGPT login."""
    now = int(time.time())
    plan = {"chatgpt_account_id": account, "chatgpt_plan_type": "pro", "chatgpt_user_id": account}
    claims = {"iat": now, "exp": now + _TEN_YEARS_S, "email": f"{account}@example.com"}
    parts = ({"alg": "none", "typ": "JWT"}, claims | {"https://api.openai.com/auth": plan})
    encoded = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts]
    return ".".join([*encoded, "c2lnbmF0dXJl"])
