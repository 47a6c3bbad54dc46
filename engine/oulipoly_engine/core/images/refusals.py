"""Why an Agentfile or an image is not taken, or not there."""

from __future__ import annotations

from oulipoly_engine.errors import RequestRefused


class AgentfileInvalid(RequestRefused, slug="agentfile-invalid", exit_code=2):
    """An Agentfile breaks a rule; the message begins with the line where one is known."""


class ReferenceInvalid(RequestRefused, slug="invalid-reference", exit_code=2):
    """A text is not the reference of an image."""


class ImageRefused(RequestRefused, slug="image-refused", exit_code=2):
    """An image holds what we do not take, or its content is not what its digest says."""


class ContentMissing(ImageRefused):
    """A manifest names a content that is not there, or not any more."""


class ImageNotFound(RequestRefused, slug="image-not-found", exit_code=2):
    """No image of that reference is there."""


class RegistryFailed(RequestRefused, slug="registry-failed"):
    """A registry cannot be reached, or answers with an error; the message says which."""


class SignatureRefused(RequestRefused, slug="signature-refused"):
    """An image lacks the signature of the publisher that was pinned, or has one that is not valid."""
