r"""Tokens that are known by their form alone: one row for each kind. Pure data.

A row is the kind, the characters that have to be in a text for it, and the pattern. The forms are those that vendors
document or that scanners of leaked keys look for (`docs/redaction.md`). `\b` would not do as their beginning: see
`_start`.
"""

from __future__ import annotations

from typing import NamedTuple

from oulipoly_engine.late_pattern import LatePattern


class Shape(NamedTuple):
    """One kind of token."""

    kind: str
    needs: tuple[str, ...]  # one of them is in every such token, in this case of letters
    pattern: LatePattern
    is_prefix: bool  # whether the token begins with it


def _start(prefix: str) -> str:
    r"""Return the pattern of a prefix where a word begins.

    prefix: of fixed width. A word begins behind what is not a part of a token, behind an escape of JSON such as `\n`,
    behind a terminal's colour, and behind `%3D`. The prefix comes first, so that the search goes by its characters.
    """
    return (
        rf"{prefix}(?:(?<![A-Za-z0-9_-]{prefix})|(?<=\\[bfnrtv]{prefix})|(?<=[\[;0-9]m{prefix})"
        rf"|(?<=%[0-9A-Fa-f]{{2}}{prefix}))"
    )


def _shape(kind: str, needs: str, rest: str, *, prefix: str | None = None) -> Shape:
    """Make a row. needs: blank between several; prefix: a pattern for it, if it is not the one of `needs`."""
    begin = _start(needs.replace(".", r"\.").replace("$", r"\$") if prefix is None else prefix)
    return Shape(kind, tuple(needs.split()), LatePattern(begin + rest), is_prefix=True)


def _anywhere(kind: str, needs: str, pattern: str) -> Shape:
    return Shape(kind, tuple(needs.split()), LatePattern(pattern), is_prefix=False)


_BEGIN = _start("")
_W = "[A-Za-z0-9_-]"
_N = "[A-Za-z0-9]"
_HEX = "[0-9a-f]"
_UUID = rf"{_HEX}{{8}}-(?:{_HEX}{{4}}-){{3}}{_HEX}{{12}}"
_END = r"(?![A-Za-z0-9_-])"
_ROUTED = r"(?:(?:\.[0-9a-z]{2})?\.[0-9a-z]{7,9}(?![A-Za-z0-9_-]))?"  # where GitLab has several cells

SHAPES = (
    # Models and their tools
    _shape("Anthropic, OpenAI, OpenRouter", "sk-", rf"(?:ant|proj|or|svcacct|admin|None|lf)-{_W}{{4,}}"),
    _shape("OpenAI and those like it", "sk-", rf"(?:(?={_W}{{0,60}}[0-9]){_W}{{8,}}|{_N}{_W}{{15,}})"),
    _shape("OpenAI session", "sess-", rf"{_N}{{32,}}"),
    _shape("Google API", "AIza", rf"{_W}{{30,}}"),
    _shape("Google OAuth", "ya29.", rf"{_W}{{20,}}"),
    _shape("Google OAuth client", "GOCSPX-", rf"{_W}{{16,}}"),
    _shape("Google refresh", "1//0", rf"{_W}{{20,}}"),
    _shape("Groq", "gsk_", rf"{_N}{{20,}}"),
    _shape("xAI", "xai-", rf"{_N}{{20,}}"),
    _shape("Perplexity", "pplx-", rf"{_N}{{20,}}"),
    _shape("Hugging Face", "hf_", rf"{_N}{{30,}}"),
    _shape("Hugging Face organization", "api_org_", rf"{_N}{{30,}}"),
    _shape("Replicate", "r8_", rf"{_N}{{30,}}"),
    _shape("NVIDIA", "nvapi-", rf"{_W}{{40,}}"),
    _shape("Fireworks", "fw_", rf"{_N}{{22,}}{_END}"),
    _shape("Together", "tgp_v1_", rf"{_W}{{30,}}"),
    _shape("Cerebras", "csk-", rf"{_N}{{32,}}"),
    _shape("ElevenLabs", "sk_", rf"{_HEX}{{32,}}{_END}"),
    _shape("Jina", "jina_", rf"{_N}{{32,}}"),
    _shape("Tavily", "tvly-", rf"{_W}{{16,}}"),
    _shape("Firecrawl", "fc-", rf"{_HEX}{{32}}{_END}"),
    _shape("LangSmith", "lsv2_pt_ lsv2_sk_", rf"{_HEX}{{32}}_{_HEX}{{10}}", prefix="lsv2_(?:pt|sk)_"),
    _shape("Pinecone", "pcsk_", rf"{_W}{{30,}}"),
    _shape("E2B", "e2b_", rf"{_HEX}{{40}}"),
    _shape("Codex refresh", "rt_", rf"{_W}{{24,}}"),
    # Code and packages
    _shape("GitHub", "ghp_ gho_ ghu_ ghs_ ghr_", rf"{_N}{{16,}}", prefix="gh[pousr]_"),
    _shape("GitHub fine-grained", "github_pat_", r"[A-Za-z0-9_]{16,}"),
    _shape("GitLab", "glpat-", rf"{_W}{{16,}}{_ROUTED}"),
    *(
        _shape(f"GitLab {prefix}", prefix, rf"{_W}{{16,}}{_ROUTED}")
        for prefix in (
            "glrt-",
            "gldt-",
            "glptt-",
            "glcbt-",
            "glft-",
            "glsoat-",
            "gloas-",
            "glagent-",
            "glimt-",
            "glffct-",
            "GR1348941",
        )
    ),
    _shape("Atlassian", "ATATT ATCTT ATSTT", r"[A-Za-z0-9_=-]{16,}", prefix="AT[ACS]TT"),
    _shape("Bitbucket", "ATBB", rf"{_N}{{24,}}"),
    _shape("npm", "npm_", rf"{_N}{{30,}}"),
    _shape("PyPI", "pypi-", rf"{_W}{{40,}}"),
    _shape("RubyGems", "rubygems_", rf"{_HEX}{{40,}}"),
    _shape("Clojars", "CLOJARS_", rf"{_N}{{40,}}"),
    _shape("crates.io", "cio", rf"(?={_N}{{0,31}}[0-9]){_N}{{32}}{_END}"),
    _shape("NuGet", "oy2", rf"[a-z0-9]{{43}}{_END}"),
    _shape("Docker Hub", "dckr_pat_ dckr_oat_", rf"{_W}{{16,}}", prefix="dckr_[po]at_"),
    _shape("JFrog", "AKCp", rf"{_N}{{40,}}"),
    _shape("JFrog reference", "cmVmd", rf"{_N}{{59}}{_END}"),
    _shape("Sonar", "sqa_ sqp_ squ_", rf"{_HEX}{{40}}", prefix="sq[apu]_"),
    _shape("Sourcegraph", "sgp_", rf"(?:{_N}{{1,16}}_)?{_HEX}{{40}}"),
    _shape("CircleCI", "CCIPAT_", rf"{_N}{{16,}}_{_HEX}{{40}}"),
    _shape("Buildkite", "bkua_", rf"{_HEX}{{40}}"),
    _shape("Octopus Deploy", "API-", rf"[A-Z0-9]{{26}}{_END}"),
    _shape("Harness", "pat. sat.", rf"{_W}{{22}}\.{_N}{{24}}\.{_N}{{20}}", prefix=r"[ps]at\."),
    # Clouds and infrastructure
    _shape("AWS key id", "AKIA ASIA ABIA ACCA", r"[0-9A-Z]{16}(?![0-9A-Za-z])", prefix="A(?:KI|SI|BI|CC)A"),
    _shape("AWS key id before", "A3T", r"[A-Z0-9]{17}(?![0-9A-Za-z])"),
    _shape("AWS Bedrock for a day", "bedrock-api-key-", r"[A-Za-z0-9+/]{40,}={0,2}"),
    _shape("AWS Bedrock", "ABSK", r"[A-Za-z0-9+/]{80,}={0,2}"),
    _anywhere("Azure client secret", "Q~", rf"{_BEGIN}[A-Za-z0-9_~.-]{{3}}[0-9]Q~[A-Za-z0-9_~.-]{{31,34}}(?![\w~.-])"),
    _anywhere("Azure DevOps", "AZDO", rf"{_BEGIN}{_N}{{76}}AZDO{_N}{{4}}(?!{_N})"),
    _shape("Alibaba", "LTAI", rf"{_N}{{16,20}}{_END}"),
    _shape("DigitalOcean", "dop_v1_ doo_v1_ dor_v1_", r"[a-f0-9]{32,}", prefix="do[opr]_v1_"),
    _shape("Heroku", "HRKU-", rf"{_W}{{36,}}"),
    _shape("Fly.io", "fo1_", rf"{_W}{{43}}"),
    _shape("Fly.io macaroon", "fm1r_ fm1a_ fm2_", r"(?:[ar]_|_)[A-Za-z0-9+/]{60,}={0,3}", prefix="fm[12]"),
    _shape("Supabase", "sbp_", rf"{_HEX}{{32,}}"),
    _shape("Supabase secret", "sb_secret_", rf"{_W}{{20,}}"),
    _shape("PlanetScale", "pscale_", r"(?:tkn|oauth|pw)_[A-Za-z0-9_.=-]{32,}"),
    _shape("Databricks", "dapi", rf"{_HEX}{{32}}(?:-[0-9])?{_END}"),
    _shape("Dynatrace", "dt0", r"[a-z][0-9]{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    _shape("Doppler", "dp.", rf"(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{{2,35}}\.)?{_N}{{40,}}"),
    _anywhere("Terraform", ".atlasv1.", rf"{_BEGIN}{_N}{{14}}\.atlasv1\.{_W}{{30,}}"),
    _shape("Vault", "hvs. hvb. hvr.", rf"{_W}{{20,}}", prefix=r"hv[sbr]\."),
    _shape("Pulumi", "pul-", rf"{_HEX}{{40}}"),
    _shape("Tailscale", "tskey-", rf"(?:[a-z]{{2,12}}-)?{_N}{{6,}}(?:-{_N}{{16,}})?"),
    _shape("1Password service account", "ops_eyJ", r"[A-Za-z0-9+/_-]{40,}={0,3}"),
    _shape(
        "1Password secret key",
        "A3-",
        r"[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})-(?:[A-Z0-9]{5}-){2}[A-Z0-9]{5}",
    ),
    _shape("Adobe", "p8e-", rf"{_N}{{32}}{_END}"),
    _shape("42", "s-s4t2ud- s-s4t2af-", rf"{_HEX}{{64}}", prefix="s-s4t2(?:ud|af)-"),
    _shape("Scalingo", "tk-us-", rf"{_W}{{48}}"),
    _shape("SettleMint", "sm_pat_ sm_aat_ sm_sat_", rf"{_N}{{16}}{_END}", prefix="sm_[pas]at_"),
    _shape("Sourcegraph Cody", "slk_", rf"{_HEX}{{64}}"),
    _shape("Infracost", "ico-", rf"{_N}{{32}}"),
    _shape("OpenShift", "sha256~", rf"{_W}{{43}}{_END}"),
    _shape("Cloudflare origin", "v1.0-", rf"{_HEX}{{24}}-{_HEX}{{140,}}"),
    _shape("ClickHouse Cloud", "4b1d", rf"{_N}{{38}}{_END}"),
    _shape("Defined Networking", "dnkey-", r"[A-Za-z0-9=_-]{26}-[A-Za-z0-9=_-]{52}"),
    _shape("LaunchDarkly", "sdk- mob-", rf"{_UUID}{_END}", prefix="(?:sdk|mob)-"),
    _anywhere(
        "Authress",
        ".acc_ .acc-",
        rf"{_BEGIN}(?:sc|ext|scauth|authress)_{_N}{{5,30}}\.{_N}{{4,6}}\.acc[_-][a-z0-9-]{{10,32}}\.[A-Za-z0-9+/_=-]{{30,}}",
    ),
    _shape("Prefect", "pnu_ pnb_", rf"{_N}{{36}}{_END}", prefix="pn[ub]_"),
    _shape("Netlify", "nfp_", rf"{_N}{{36,}}"),
    _shape("Render", "rnd_", rf"{_N}{{28,}}"),
    _shape("Deno", "ddp_ ddo_", rf"{_N}{{36,}}", prefix="dd[op]_"),
    _shape("Yandex", "t1.", rf"{_W}{{8,}}={{0,2}}\.{_W}{{60,}}={{0,2}}"),
    _shape("Yandex API", "AQVN", rf"{_W}{{35,38}}{_END}"),
    # Services
    _shape("Slack", "xox", r"[a-z][.-](?:xox[a-z]-)?[A-Za-z0-9%-]{8,}"),
    _shape("Slack app", "xapp-", r"[A-Za-z0-9-]{8,}"),
    _shape(
        "Stripe",
        "sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_",
        rf"{_N}{{8,}}",
        prefix="[sr]k_(?:live|test|prod)_",
    ),
    _shape("Stripe webhook", "whsec_", r"[A-Za-z0-9+/]{24,}"),
    _shape("SendGrid", "SG.", rf"{_W}{{16,64}}\.{_W}{{16,}}"),
    _shape("Square", "sq0csp- sq0atp- sq0idp- sq0acp-", rf"{_W}{{20,}}", prefix="sq0(?:cs|at|id|ac)p-"),
    _shape("Square access", "EAAA", rf"{_W}{{60}}{_END}"),
    _shape("Facebook", "EAAM EAAC EAAB EAAG", rf"{_N}{{60,}}", prefix="EAA[MCBG]"),
    _anywhere("Facebook app", "|", rf"\|(?<=[0-9]{{15}}\|)(?P<value>{_W}{{27,40}}){_END}"),
    _shape("Shopify", "shpat_ shpca_ shppa_ shpss_", r"[A-Fa-f0-9]{24,}", prefix="shp(?:at|ca|pa|ss)_"),
    _anywhere("Twilio", "SK", rf"{_start('SK')}{_HEX}{{32}}{_END}"),
    _shape("Mailgun", "key-", rf"{_HEX}{{32}}(?![0-9A-Za-z])"),
    _anywhere("Mailchimp", "-us", rf"{_BEGIN}{_HEX}{{32}}-us[0-9]{{1,2}}{_END}"),
    _shape("Brevo", "xkeysib-", rf"{_HEX}{{40,}}-{_N}{{16}}"),
    _shape("Brevo SMTP", "xsmtpsib-", rf"{_HEX}{{40,}}-{_N}{{16}}"),
    _shape("Resend", "re_", rf"{_N}{{8}}_{_N}{{20,}}"),
    _anywhere("Telegram", ":AA", rf"{_BEGIN}(?:bot)?[0-9]{{8,10}}:AA{_W}{{33}}{_END}"),
    _anywhere("Discord webhook", "/api/webhooks/", rf"/api/webhooks/[0-9]{{1,25}}/(?P<value>{_W}{{20,}})"),
    _anywhere(
        "Slack webhook",
        "hooks.slack.com/",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<value>[A-Za-z0-9_/-]{8,})",
    ),
    _anywhere(
        "Teams webhook", ".webhook.office.com/", r"\.webhook\.office\.com/[a-z0-9]{1,20}/(?P<value>[A-Za-z0-9@/-]{16,})"
    ),
    _shape("Notion", "ntn_", rf"{_N}{{32,}}"),
    _shape("Notion before", "secret_", rf"{_N}{{43}}{_END}"),
    _shape("esecret", "esecret_", rf"{_W}{{12,}}"),
    _shape("Linear", "lin_", rf"(?:api|oauth|wh)_{_N}{{24,}}"),
    _shape("Figma", "figd_ figu_ figo_", rf"{_W}{{24,}}", prefix="fig[duo]_"),
    _shape("Grafana", "glsa_", rf"{_N}{{24,}}(?:_[A-Fa-f0-9]{{8}})?"),
    _shape("Grafana Cloud", "glc_", r"[A-Za-z0-9+/]{32,}={0,2}"),
    _shape("Grafana before", "eyJrIjoi", r"[A-Za-z0-9+/]{40,}={0,2}"),
    _shape("Airtable", "pat", rf"{_N}{{14}}\.{_HEX}{{64}}"),
    _shape("HubSpot", "pat-", rf"[a-z]{{2}}[0-9]-{_UUID}"),
    _shape("Postman", "PMAK-", rf"{_HEX}{{24}}-{_HEX}{{34}}"),
    _shape("New Relic", "NRAK- NRII- NRJS- NRRA- NRAL-", rf"{_W}{{19,}}", prefix="NR(?:AK|II|JS|RA|AL)-"),
    _shape("Sentry", "sntrys_ sntryu_", r"[A-Za-z0-9_+/=-]{40,}", prefix="sntry[su]_"),
    _shape("Contentful", "CFPAT-", rf"{_W}{{40,}}"),
    _shape("Typeform", "tfp_", r"[A-Za-z0-9_.=-]{40,}"),
    _shape("ReadMe", "rdme_", rf"{_N}{{40,}}"),
    _shape("Frame.io", "fio-u-", r"[A-Za-z0-9_=-]{40,}"),
    _shape("Duffel", "duffel_test_ duffel_live_", r"[A-Za-z0-9_=-]{40,}", prefix="duffel_(?:test|live)_"),
    _shape("EasyPost", "EZAK EZTK", rf"{_N}{{54}}{_END}", prefix="EZ[AT]K"),
    _shape("Shippo", "shippo_live_ shippo_test_", rf"{_HEX}{{40}}", prefix="shippo_(?:live|test)_"),
    _shape("Plaid", "access-", rf"(?:sandbox|development|production)-{_UUID}"),
    _shape("Flutterwave", "FLWSECK", rf"(?:_TEST)?-{_N}{{12,}}(?:-X)?"),
    _shape("PostHog", "phx_", rf"{_N}{{32,}}"),
    _shape("Intercom", "dG9r", r"Og?[A-Za-z0-9+/=]{40,}"),
    _shape("Adafruit", "aio_", rf"{_N}{{28}}{_END}"),
    _anywhere("MaxMind", "_mmk", rf"{_BEGIN}{_N}{{6}}_{_N}{{29}}_mmk{_END}"),
    _shape("Twitter", "AAAAAAAAAAAAAAAAAAAA", r"[A-Za-z0-9%]{60,}"),
    _shape("Dropbox", "sl.", r"(?:u\.)?[A-Za-z0-9_=-]{100,}"),
    _shape("RFC 8959", "secret-token:", r"[A-Za-z0-9_.~%!$&'()*+,;=:@-]{6,}"),
    # Keys and hashes of passwords
    _shape("JSON web token", "eyJ", rf"{_W}{{5,}}\.{_W}{{4,}}(?:\.{_W}*){{0,3}}"),
    _shape("JSON web token in base64", "ZXlK", r"[A-Za-z0-9+/]{60,}={0,2}"),
    _shape("age", "AGE-SECRET-KEY-1", r"[0-9A-Z]{20,}"),
    _shape("extended private key", "xprv", rf"{_N}{{100,}}"),
    _shape("Nostr", "nsec1", rf"[a-z0-9]{{58}}{_END}"),
    _anywhere("PEM in base64", "LS0tLS1CRUdJTi", r"LS0tLS1CRUdJTi(?!BDRVJU|BQVUJM)[A-Za-z0-9+/]{20,}={0,2}"),
    _anywhere("hash of Apache's htpasswd", "$apr1$", r"\$apr1\$[A-Za-z0-9./]{1,8}\$[A-Za-z0-9./]{22}"),
    _anywhere("bcrypt", "$2", r"\$2[abxy]\$[0-9]{2}\$[A-Za-z0-9./]{53}"),
    _anywhere(
        "hash of crypt", "$1$ $5$ $6$ $y$", r"\$[156y]\$(?:[a-z]+=[0-9]+\$)?[A-Za-z0-9./]{1,32}\$[A-Za-z0-9./]{22,86}"
    ),
    _anywhere("Argon2", "$argon2", r"\$argon2(?:id?|d)\$[A-Za-z0-9$=,+/]{30,}"),
    _anywhere("hash of LDAP", "{SHA} {SSHA}", r"\{S{1,2}HA\}(?P<value>[A-Za-z0-9+/]{27,40}={0,2})"),
)

# Tokens that begin with nothing of their own, and what costs less to look for in a text.
DOTTED = (
    _anywhere("Vault before", "s.", rf"{_BEGIN}s\.(?={_N}{{0,23}}[0-9]){_N}{{24}}{_END}"),
    _anywhere("Z.ai", ".", rf"{_BEGIN}{_HEX}{{32}}\.{_N}{{12,24}}(?!{_N})"),
    _anywhere(
        "Discord",
        ".",
        rf"{_BEGIN}[MNO][DTjz][AEIMQUYcgk][w-z0-5]{_N}{{18,26}}\.{_W}{{6}}\.{_W}{{27,40}}{_END}",
    ),
)
ANY_DOTTED = LatePattern(rf"\.(?:(?<={_HEX}{{32}}\.){_N}{{12}}|{_W}{{6}}\.{_W}{{27}}|(?<=s\.){_N}{{24}})")
