"""A certificate authority for a test, and the certificates that it issues."""

import datetime
import ipaddress

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

DAY = datetime.timedelta(days=1)
KEY_SIGNS = x509.KeyUsage(
    digital_signature=False, content_commitment=False, key_encipherment=False, data_encipherment=False, key_agreement=False,
    key_cert_sign=True, crl_sign=True, encipher_only=False, decipher_only=False,
)


def _name(text):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


class Authority:
    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = _name("test authority")
        self.certificate = self._sign(self.name, self.key, x509.BasicConstraints(ca=True, path_length=0))
        self.path = folder / "authority.pem"
        self.path.write_bytes(self.certificate.public_bytes(serialization.Encoding.PEM))

    def _sign(self, name, key, constraints):
        now = datetime.datetime.now(datetime.timezone.utc)
        builder = x509.CertificateBuilder().subject_name(name).issuer_name(self.name).public_key(key.public_key())
        builder = builder.serial_number(x509.random_serial_number()).not_valid_before(now - DAY).not_valid_after(now + 30 * DAY)
        builder = builder.add_extension(constraints, critical=True)
        hosts = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        builder = builder.add_extension(x509.SubjectAlternativeName(hosts), critical=False)
        # Python 3.13 requires the extensions of RFC 5280: key identifiers, and the key usage of an authority.
        builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
        builder = builder.add_extension(issuer, critical=False)
        if constraints.ca:
            builder = builder.add_extension(KEY_SIGNS, critical=True)
        return builder.sign(self.key, hashes.SHA256())

    def issue(self, name):
        """Issues a certificate and its key, NAME.pem and NAME.key."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._sign(_name(name), key, x509.BasicConstraints(ca=False, path_length=None))
        paths = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        pkcs8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        paths[1].write_bytes(key.private_bytes(*pkcs8))
        paths[1].chmod(0o600)
        return paths
