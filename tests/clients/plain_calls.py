"""Uploads and look-ups of files in the store, without a client."""

import hashlib

import plans
import xet


def upload(server, xorb, token=None):
    """Uploads a xorb, and a file of all of it with its SHA-256. The shard holds the SHA-256 in the byte order of hashes."""
    file = xet.File([(xorb, 0, len(xorb.nodes))], xet.raw(hashlib.sha256(b"".join(xorb.data)).hexdigest()))
    assert server.put_xorb(xorb, token=token).status == 200
    reply = server.post("/v1/shards", xet.shard([file], [xorb]), token=token)
    assert reply.status == 200, reply
    return file


def paths(file):
    """Returns every path whose answer depends on a file's hash."""
    name = xet.text(file.hash())
    return [
        ("HEAD", f"/v1/files/{name}"),
        ("GET", f"/v1/reconstructions/{name}"),
        ("GET", f"/v2/reconstructions/{name}"),
        ("GET", f"/v2/file-chunk-hashes/{name}"),
    ]


def seen(server, file, token=None):
    """Returns the status of the file. All of these paths must agree on it."""
    replies = {path: server.request(method, path, token=token, headers={"X-Range-Dirty": "bytes=0-1"}) for method, path in paths(file)}
    said = {reply.status for reply in replies.values()}
    assert len(said) == 1, replies
    listed = server.get(f"/v1/reconstructions?file_id={xet.text(file.hash())}", token=token)
    assert (len(listed.json()["files"]) > 0 if listed.status == 200 else False) == (said == {200})
    return said.pop()


def read(server, file, token=None):
    return plans.download(server, server.get(f"/v2/reconstructions/{xet.text(file.hash())}", token=token).json())
