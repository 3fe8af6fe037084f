"""Runs one session of an older client in a process with caches of its own, through functions that all releases have.

in:  {"version": "1.1.3", "endpoint": url, "token": text or null, "files": [path], "gets": [{"hash", "size", "path"}]}
out: {"hashes": [of each of the files]}; the downloads are at their paths"""

import json
import sys
import time
from pathlib import Path


def main():
    order = json.load(sys.stdin)
    sys.path.insert(0, str(Path(sys.prefix) / "older" / order["version"]))
    import hf_xet

    token = (order["token"], int(time.time()) + 3600) if order["token"] else None
    uploads = hf_xet.upload_files(order["files"], order["endpoint"], token, None, None, "model") if order["files"] else []
    info = hf_xet.PyXetDownloadInfo if hasattr(hf_xet, "PyXetDownloadInfo") else hf_xet.PyPointerFile  # the name in 1.0
    gets = [info(get["path"], get["hash"], get["size"]) for get in order["gets"]]
    if gets:
        hf_xet.download_files(gets, order["endpoint"], token, None, None)
    json.dump({"hashes": [upload.hash for upload in uploads]}, sys.stdout)


if __name__ == "__main__":
    main()
