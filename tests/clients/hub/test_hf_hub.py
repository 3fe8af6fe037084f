"""Tokens for the stock clients from Cairn's hub endpoints: huggingface_hub asks for them, hf_xet renews them. Of huggingface_hub's requests, only those for
Xet tokens are tested here."""

import json
import random
import time

import cairn
import hf_client
import hf_xet
import pytest
from between import Between
from huggingface_hub import file_download
from huggingface_hub.errors import HfHubHTTPError
from huggingface_hub.utils import _xet as hub_xet

CONTENT = random.Random(3).randbytes(300_000)
LONG_AGO = 1_000_000_000


@pytest.fixture(autouse=True)
def own_caches(tmp_path, monkeypatch):
    for name, value in hf_client.environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    hub_xet.XET_CONNECTION_INFO_CACHE.clear()


@pytest.fixture
def make_key(guarded, issuer):
    def make(repo="alice/one", scope="read write"):
        body = json.dumps({"name": "test", "repo": repo, "scope": scope}).encode()
        return guarded.post("/v1/keys", body, token=issuer.token("admin")).json()["key"]

    return make


def bearer(key):
    return {"authorization": f"Bearer {key}"}


def route(url, kind, repo="alice/one", repo_type="model", revision="main"):
    """The address from which huggingface_hub requests a token."""
    return hub_xet.xet_connection_info_refresh_url(
        token_type=hub_xet.XetTokenType(kind), repo_id=repo, repo_type=repo_type, revision=revision, endpoint=url
    )


def refresh(url, key):
    return hub_xet.refresh_xet_connection_info(file_data=hub_xet.XetFileData("", url), headers=bearer(key))


def upload(content, **auth):
    with hf_xet.XetSession().new_upload_commit(**auth) as commit:
        handle = commit.start_upload_bytes(content, sha256=hf_xet.SKIP_SHA256)
    return handle.result().xet_info


@pytest.mark.parametrize("repo_type, revision", [("model", "main"), ("dataset", "refs%2Fpr%2F1"), ("space", None)])
def test_hub_library_gets_tokens(guarded, make_key, repo_type, revision):
    key = make_key(f"{repo_type}s/alice/one")
    for kind in ("read", "write"):
        info = refresh(route(guarded.url, kind, repo_type=repo_type, revision=revision), key)
        assert info.endpoint == guarded.url
        assert 60 < info.expiration_unix_epoch - time.time() <= 3600
        shards = guarded.post("/v1/shards", b"x", token=info.access_token)
        cairn.is_error(shards, 403 if kind == "read" else 400)


def test_hub_library_is_refused(guarded, make_key):
    key = make_key(scope="read")
    for url, asked_with, status in (
        (route(guarded.url, "write"), key, 403),
        (route(guarded.url, "read", repo="alice/two"), key, 403),
        (route(guarded.url, "read"), "cairn_" + "A" * 43, 401),
    ):
        with pytest.raises(HfHubHTTPError) as refused:
            refresh(url, asked_with)
        assert refused.value.response.status_code == status


def test_upload_and_download_with_the_hubs_token(guarded, make_key, tmp_path):
    """The requests of huggingface_hub: it asks where the store is, and opens a session that could renew its token."""
    key = make_key()
    write, read = (refresh(route(guarded.url, kind), key) for kind in ("write", "read"))
    info = upload(CONTENT, endpoint=write.endpoint, token=write.access_token, token_expiry_unix_secs=write.expiration_unix_epoch)
    metadata = hub_xet.XetFileData(info.hash, route(guarded.url, "read"))
    file_download.xet_get(
        incomplete_path=tmp_path / "got", xet_file_data=metadata, headers=bearer(key), expected_size=len(CONTENT), displayed_filename="got"
    )
    assert (tmp_path / "got").read_bytes() == CONTENT
    assert read.access_token != write.access_token


def test_no_endpoint_given(guarded, make_key):
    """No address is configured, as when huggingface_hub uploads: the address of the store comes with the token."""
    auth = {"token_refresh_url": route(guarded.url, "write"), "token_refresh_headers": bearer(make_key())}
    info = upload(CONTENT, **auth)
    group = hf_xet.XetSession().new_download_stream_group(**(auth | {"token_refresh_url": route(guarded.url, "read")}))
    assert b"".join(group.download_stream(info)) == CONTENT


def test_expired_token_is_renewed(guarded, make_key):
    with Between(guarded) as between:
        stale = {"endpoint": between.url, "token": "stale", "token_expiry_unix_secs": LONG_AGO, "token_refresh_headers": bearer(make_key())}
        info = upload(b"renewed" + CONTENT, **stale, token_refresh_url=route(between.url, "write"))
        group = hf_xet.XetSession().new_download_stream_group(**stale, token_refresh_url=route(between.url, "read"))
        assert b"".join(group.download_stream(info)) == b"renewed" + CONTENT
        assert between.statuses("/api/models") == [200, 200], "one token for writing and one for reading"
        for request in between.requests:
            if request.route == "/v1/fetch":
                assert "authorization" not in request.headers
            elif request.route != "/api/models":
                assert request.headers["authorization"].startswith("Bearer ey"), request


def test_token_that_cannot_be_renewed(guarded, make_key):
    for key, status in ((make_key(scope="read"), "403 Forbidden"), ("wrong", "401 Unauthorized")):
        with pytest.raises(ConnectionError, match=status + ".*/xet-write-token/"):
            upload(CONTENT, endpoint=guarded.url, token_refresh_url=route(guarded.url, "write"), token_refresh_headers=bearer(key))
    with pytest.raises(ConnectionError, match=r"401 Unauthorized.*/v1/"):
        upload(CONTENT, endpoint=guarded.url, token="nonsense", token_expiry_unix_secs=int(time.time()) + 600)


def test_read_token_uploads_nothing(guarded, make_key):
    read = refresh(route(guarded.url, "read"), make_key())
    auth = {"endpoint": guarded.url, "token": read.access_token, "token_expiry_unix_secs": read.expiration_unix_epoch}
    with pytest.raises(ConnectionError, match=r"403 Forbidden.*/v1/"):
        upload(CONTENT, **auth)
    assert guarded.metrics()["cairn_index_xorbs"] == 0


def test_another_repository_reads_nothing(guarded, make_key):
    """Knowing the hash of a file does not give the right to read it."""
    info = upload(CONTENT, token_refresh_url=route(guarded.url, "write"), token_refresh_headers=bearer(make_key()))
    key = make_key("bob/two")
    token = refresh(route(guarded.url, "read", repo="bob/two"), key).access_token
    for form in ("v1", "v2"):
        cairn.is_error(guarded.get(f"/{form}/reconstructions/{info.hash}", token=token), 404, "file.unknown")
    other = {"token_refresh_url": route(guarded.url, "read", repo="bob/two"), "token_refresh_headers": bearer(key)}
    got = b""
    try:
        got = b"".join(hf_xet.XetSession().new_download_stream_group(**other).download_stream(info))
    except (ConnectionError, hf_xet.XetObjectNotFoundError):
        pass
    assert got == b""
