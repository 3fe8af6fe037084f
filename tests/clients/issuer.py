"""Token keys as an operator keeps them, and tokens signed with them."""

import base64
import os
import time

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa


class Issuer:
    """Keys in a folder, as an operator keeps them, and tokens signed with them."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        self.secret = os.urandom(32)
        self.signers = {"HS256": self.secret}
        self.write("hs256", base64.urlsafe_b64encode(self.secret).rstrip(b"=") + b"\n")
        for name, key in (
            ("RS256", rsa.generate_private_key(public_exponent=65537, key_size=2048)),
            ("ES256", ec.generate_private_key(ec.SECP256R1())),
            ("EdDSA", ed25519.Ed25519PrivateKey.generate()),
        ):
            self.signers[name] = key
            pem = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
            self.write(name.lower() + ".pem", pem)

    def write(self, name, content):
        path = self.folder / name
        path.write_bytes(content)
        path.chmod(0o600)

    def token(self, scope="write", algorithm="HS256", key=None, expires_s=600, **claims):
        body = {"scope": scope, "exp": int(time.time()) + expires_s, "sub": "tester", **claims}
        return jwt.encode(body, self.signers[algorithm] if key is None else key, algorithm=algorithm)
