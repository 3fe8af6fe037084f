"""Downloads in one client session, in a process with caches of its own: reads as JSON what to get, and prints as JSON what came.

in:  {"endpoint": url, "token": text or null, "gets": [{"hash", "size" or null, "how": "file" | "stream" | "unordered",
      "start" and "end" for a range, "path": where to keep it while it is hashed}]}
out: [{"bytes": how many, "sha256"}, or {"error": text}], one for each get"""

import hashlib
import json
import os
import sys
import time

import hf_xet


def hash_of(path):
    digest, n = hashlib.sha256(), 0
    with open(path, "rb") as f:
        while piece := f.read(1 << 20):
            digest.update(piece)
            n += len(piece)
    return {"bytes": n, "sha256": digest.hexdigest()}


def get_file(session, auth, info, get):
    group = session.new_file_download_group(**auth)
    handle = group.start_download_file(info, get["path"])
    group.wait_to_finish()
    assert os.path.samefile(handle.result().path, get["path"]), handle.result().path
    return hash_of(get["path"])


def get_stream(group, info, get):
    digest, n = hashlib.sha256(), 0
    for piece in group.download_stream(info, get.get("start"), get.get("end")):
        digest.update(piece)
        n += len(piece)
    return {"bytes": n, "sha256": digest.hexdigest()}


def get_unordered(group, info, get):
    """Writes each piece to its place. Together the pieces must leave no gap and not overlap."""
    places = []
    with open(get["path"], "wb") as f:
        for offset, piece in group.download_unordered_stream(info, get.get("start"), get.get("end")):
            os.pwrite(f.fileno(), piece, offset)
            places.append((offset, len(piece)))
    at = 0
    for offset, n in sorted(places):
        assert offset == at, f"a piece of {n} bytes at {offset} follows the bytes up to {at}"
        at += n
    return hash_of(get["path"])


def get_one(session, auth, get):
    info = hf_xet.XetFileInfo(get["hash"], get.get("size"))
    try:
        if get["how"] == "file":
            return get_file(session, auth, info, get)
        group = session.new_download_stream_group(**auth)
        return (get_stream if get["how"] == "stream" else get_unordered)(group, info, get)
    except Exception as error:  # reported to the test # noqa: BLE001
        return {"error": f"{type(error).__name__}: {error}"}
    finally:
        if os.path.exists(get["path"]):
            os.unlink(get["path"])


def main():
    order = json.load(sys.stdin)
    auth = {"endpoint": order["endpoint"]}
    if order.get("token"):
        auth |= {"token": order["token"], "token_expiry_unix_secs": int(time.time()) + 3600}
    session = hf_xet.XetSession()
    print(json.dumps([get_one(session, auth, get) for get in order["gets"]]))


if __name__ == "__main__":
    main()
