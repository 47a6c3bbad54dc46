"""The categories of a failure, apart from the patterns that find them: a run that succeeds needs only the names."""

from __future__ import annotations

from enum import StrEnum


class Category(StrEnum):
    """Why a run failed. Only QUOTA_EXHAUSTED parks an account: it lasts, while RATE_LIMIT passes by itself."""

    RATE_LIMIT = "rate_limit"
    QUOTA_EXHAUSTED = "quota_exhausted"
    AUTH_EXPIRED = "auth_expired"
    CLI_VERSION_MISMATCH = "cli_version_mismatch"
    NETWORK_ERROR = "network_error"  # includes the server's own passing trouble: 5xx, overloaded, high demand
    UNKNOWN = "unknown"
    RESUME_SESSION_MISMATCH = "resume_session_mismatch"
    HUNG_SUBPROCESS = "hung_subprocess"


# No CLI's failure, so no diagnosis finds it: what a run has returned is not what its receipts say, or cannot be kept.
RETURNED_ARTIFACTS = "returned_artifacts"
NOT_KEPT = "returned_artifacts_persist_failed"  # the terminal reason that goes with it
