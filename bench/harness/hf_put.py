"""Uploads with hf_xet: hf_put.py ENDPOINT PATH, where PATH is a file or a folder of files. Prints the files' hashes in the order of their names, and on
standard error the seconds that the upload took."""

import sys
import time
from pathlib import Path

import hf_xet

endpoint, path = sys.argv[1], Path(sys.argv[2])
began = time.monotonic()
commit = hf_xet.XetSession().new_upload_commit(endpoint=endpoint)
handles = [commit.start_upload_file(str(p)) for p in (sorted(path.iterdir()) if path.is_dir() else [path])]
commit.wait_to_finish()
for handle in handles:
    print(handle.result().xet_info.hash)
print(time.monotonic() - began, file=sys.stderr)
