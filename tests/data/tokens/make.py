"""Makes tokens.json: tokens as another implementation (PyJWT, with cryptography) signs them.

    python3 -m venv venv && venv/bin/pip install 'pyjwt[crypto]' && venv/bin/python make.py

Times are fixed so that the tokens stay valid until the year 2100. The keys are for tests only.
"""
import base64, hashlib, hmac, json, secrets
import jwt
from cryptography.hazmat.primitives import serialization as s
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

EXP, NOW = 4102444800, 1700000000
BASE = {"scope": "read write", "exp": EXP, "iat": NOW, "sub": "alice", "repo": "models/ns/name", "dedupe": "repository"}


def pem(key):
    return [key.private_bytes(s.Encoding.PEM, s.PrivateFormat.PKCS8, s.NoEncryption()).decode(),
            key.public_key().public_bytes(s.Encoding.PEM, s.PublicFormat.SubjectPublicKeyInfo).decode()]


def b64(b):
    return base64.urlsafe_b64encode(b).rstrip(b"=").decode()


def raw(header, claims, secret):
    """A token put together by hand, because the library refuses to make it."""
    body = b64(header) + "." + b64(claims)
    return body + "." + b64(hmac.new(secret, body.encode(), hashlib.sha256).digest())


def main():
    secret, other = secrets.token_bytes(32), secrets.token_bytes(32)
    rsa_key, ec_key, ed_key = rsa.generate_private_key(65537, 2048), ec.generate_private_key(ec.SECP256R1()), \
        ed25519.Ed25519PrivateKey.generate()
    keys = {"HS256": [b64(secret)], "HS256-other": [b64(other)], "RS256": pem(rsa_key), "ES256": pem(ec_key),
            "EdDSA": pem(ed_key), "ES384": pem(ec.generate_private_key(ec.SECP384R1())),
            "RSA-1024": pem(rsa.generate_private_key(65537, 1024))}
    cases = []

    def case(name, key, token, rule=None, **want):
        cases.append({"name": name, "key": key, "token": token, "rule": rule, "want": want})

    for alg, key in (("HS256", secret), ("RS256", rsa_key), ("ES256", ec_key), ("EdDSA", ed_key)):
        case(alg, alg, jwt.encode(BASE, key, alg), sub="alice", repo="models/ns/name", dedupe=2, scopes=3, exp=EXP)
    case("wrong key", "HS256", jwt.encode(BASE, other, "HS256"), "token.signature")
    case("wrong ES256 key", "ES256", jwt.encode(BASE, ec.generate_private_key(ec.SECP256R1()), "ES256"), "token.signature")
    case("longer HMAC", "HS256", jwt.encode(BASE, secret, "HS512"), "token.signature")
    case("none", "HS256", jwt.encode(BASE, None, "none") + "AAAA", "token.signature")
    case("none, no signature", "HS256", jwt.encode(BASE, None, "none"), "token.malformed")
    for name, spelling in (("None", b"None"), ("NONE", b"NONE"), ("hs256", b"hs256")):
        case("alg " + name, "HS256", raw(b'{"alg":"' + spelling + b'"}', json.dumps(BASE).encode(), secret), "token.signature")
    public = keys["RS256"][1].encode()
    case("public key as HMAC secret", "RS256", raw(b'{"alg":"HS256","typ":"JWT"}', json.dumps(BASE).encode(), public),
         "token.signature")
    case("public key as HMAC secret, header says RS256", "RS256",
         raw(b'{"alg":"RS256","typ":"JWT"}', json.dumps(BASE).encode(), public), "token.signature")

    def hs(name, claims, rule=None, **want):
        text = claims if isinstance(claims, bytes) else json.dumps(claims).encode()
        case(name, "HS256", raw(b'{"alg":"HS256","typ":"JWT"}', text, secret), rule, **want)

    def but(**change):
        return {k: v for k, v in {**BASE, **change}.items() if v is not None}

    hs("expired", but(exp=NOW - 60), "token.expired")
    hs("within the tolerance", but(exp=NOW - 59), exp=NOW - 59)
    hs("not yet", but(nbf=NOW + 61), "token.not_yet")
    hs("nearly", but(nbf=NOW + 60), exp=EXP)
    hs("exp with a fraction", but(exp=EXP + 0.5), exp=EXP)
    hs("no exp", but(exp=None), "token.malformed")
    hs("exp as text", but(exp=str(EXP)), "token.malformed")
    hs("exp negative", but(exp=-1), "token.malformed")
    hs("exp beyond every integer", b'{"scope":"read","exp":1e300}', "token.malformed")
    hs("exp at the end of the range", but(exp=2**63 - 1), exp=2**63 - 1)
    hs("nbf as text", but(nbf="x"), "token.malformed")
    hs("nbf at the end of the range", but(nbf=2**63 - 1), "token.not_yet")
    hs("scope as an array", but(scope=["read", "admin"]), scopes=7)
    hs("scope write implies read", but(scope="write"), scopes=3)
    hs("unknown scopes beside", but(scope="openid  read profile"), scopes=1)
    hs("only unknown scopes", but(scope="openid reader rea"), "token.scope")
    hs("no scope", but(scope=None), "token.scope")
    hs("scope as a number", but(scope=7), "token.scope")
    hs("scope array of numbers", but(scope=[7]), "token.malformed")
    hs("sub of 127 bytes", but(sub="s" * 127), sub="s" * 127)
    hs("sub of 128 bytes", but(sub="s" * 128), "token.malformed")
    hs("sub as a number", but(sub=1), "token.malformed")
    hs("repo without type", but(repo="ns/name"), repo="ns/name")
    hs("repo of 199 bytes", but(repo="n/" + "r" * 197), repo="n/" + "r" * 197)
    hs("repo of 200 bytes", but(repo="n/" + "r" * 198), "token.malformed")
    for bad in ("name", "/name", "ns/", "ns/..", "a/b/c", "models/a/b/c", "ns/na me", "ns//name", "ns/n\u00e4me"):
        hs("repo " + bad, but(repo=bad), "token.malformed")
    hs("dedupe global", but(dedupe="global", repo=None), dedupe=0)
    hs("dedupe namespace", but(dedupe="namespace"), dedupe=1)
    hs("dedupe unknown", but(dedupe="everyone"), "token.malformed")
    hs("dedupe as a number", but(dedupe=1), "token.malformed")
    hs("dedupe of a repository, but none given", but(repo=None), "token.malformed")
    hs("claims not an object", b'["read"]', "token.malformed")
    # libjwt reads the claims before it looks at the signature.
    hs("claims not JSON", b'{"scope":', "token.signature")
    hs("claim twice", b'{"scope":"read","scope":"admin","exp":%d}' % EXP, "token.malformed")
    hs("zero byte in a text", b'{"scope":"read","sub":"a\\u0000b","exp":%d}' % EXP, "token.signature")
    case("critical extension", "HS256", raw(b'{"alg":"HS256","crit":["b64"],"b64":false}', json.dumps(BASE).encode(), secret),
         "token.malformed")
    for name, bad in (("empty", ""), ("no dots", "abc"), ("one dot", "a.b"), ("three dots", "a.b.c.d"), ("only dots", ".."),
                      ("header not base64", "!!.e30.AAAA"), ("header not JSON", "AAAA.e30.AAAA"), ("header empty", ".e30.AAAA"),
                      ("header without alg", "e30.e30.AAAA")):
        case(name, "HS256", bad, "token.malformed")
    with open("tokens.json", "w") as f:
        json.dump({"now": NOW, "keys": keys, "cases": cases}, f, indent=1)
        f.write("\n")


main()
