"""The server's own certificates: an authority that is made once, and a leaf for the names that it is reached by."""

from __future__ import annotations

import hashlib
import ipaddress
import os
import socket
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from oulipoly_engine import private_files
from oulipoly_engine.clock import Clock
from oulipoly_engine.records import Record

_AUTHORITY_LIFE = timedelta(days=3650)
_LEAF_LIFE = timedelta(days=397)  # the most that phones take
_RENEWED_BEFORE = timedelta(days=30)
_PEM = serialization.Encoding.PEM
_EARLIER = timedelta(days=1)  # a phone's clock may be behind ours


class Certificate(Record):
    """A leaf, and the fingerprint that people compare."""

    chain: Path  # its key, itself and the authority
    authority: Path
    fingerprint: str  # SHA-256 of the leaf, in hex with colons


def make_certificate(folder: Path, names: Iterable[str], clock: Clock) -> Certificate:
    """Return a certificate for names and addresses, the same as before while it is good.

    The authority in the folder is made where there is none.
    """
    private_files.make_folder(folder)
    now, wanted = clock.now().astimezone(UTC), sorted({*names})
    authority, authority_key = _authority(folder, now)
    mark = hashlib.sha256("\n".join(wanted).encode() + authority.public_bytes(_PEM)).hexdigest()[:16]
    chain = folder / f"leaf-{mark}.pem"
    leaf = _kept(chain, now)
    if leaf is None:
        key = ec.generate_private_key(ec.SECP256R1())
        leaf = (
            _builder("agents on this computer", authority.subject, key.public_key(), now, _LEAF_LIFE)
            .add_extension(x509.SubjectAlternativeName(map(_general_name, wanted)), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .sign(authority_key, hashes.SHA256())
        )
        fresh = folder / f"leaf-{mark}-{os.getpid()}.new"
        private_files.write_private(fresh, leaf.public_bytes(_PEM) + authority.public_bytes(_PEM) + _key_bytes(key))
        fresh.replace(chain)
    fingerprint = leaf.fingerprint(hashes.SHA256()).hex(":").upper()
    return Certificate(chain, folder / "authority.pem", fingerprint)


def _kept(chain: Path, now: datetime) -> x509.Certificate | None:
    """Return a leaf that is good for some time yet."""
    try:
        leaf = x509.load_pem_x509_certificate(chain.read_bytes())
    except (OSError, ValueError):
        return None
    return leaf if now + _RENEWED_BEFORE < leaf.not_valid_after_utc else None


def _authority(folder: Path, now: datetime) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    """Return the authority; key and certificate lie in one file, which appears whole."""
    place = folder / "authority.key"
    if not place.exists():
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"agents on {socket.gethostname()[:40]}")])
        made = (
            _builder(name, name, key.public_key(), now, _AUTHORITY_LIFE)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_USAGE, critical=True)
            .sign(key, hashes.SHA256())
        )
        private_files.keep_first(place, _key_bytes(key) + made.public_bytes(_PEM))
    data = place.read_bytes()
    certificate = x509.load_pem_x509_certificate(data)
    private_files.write_private(folder / "authority.pem", certificate.public_bytes(_PEM))
    loaded = serialization.load_pem_private_key(data, None)
    assert isinstance(loaded, ec.EllipticCurvePrivateKey)  # noqa: S101 - as it was made
    return certificate, loaded


_USAGE = x509.KeyUsage(
    digital_signature=True,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
)


def _builder(
    subject: str | x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime, life: timedelta
) -> x509.CertificateBuilder:
    if isinstance(subject, str):
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)])
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _EARLIER)
        .not_valid_after(now + life)
    )


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _key_bytes(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(_PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
