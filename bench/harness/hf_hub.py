"""Runs huggingface_hub in a process of its own: hf_hub.py snapshot|upload|download|put ENDPOINT REPOSITORY PATH. Prints the seconds that it took and its
processor time, without loading its modules. "put" uploads with hf_xet alone, which knows no repository."""

import os
import sys
import time

what, endpoint, repository, path = sys.argv[1:]
os.environ |= {"HF_ENDPOINT": endpoint, "HF_HUB_DISABLE_PROGRESS_BARS": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}

import hf_xet  # noqa: E402
import huggingface_hub  # the library reads the address when it is loaded # noqa: E402

# The library loads a module when one of its names is first used. Load them here, because loading is not a part of a call.
_ = huggingface_hub.snapshot_download, huggingface_hub.HfApi, huggingface_hub.hf_hub_download

began, began_cpu = time.monotonic(), time.process_time()
if what == "snapshot":
    huggingface_hub.snapshot_download(repository, local_dir=path)
elif what == "upload":
    huggingface_hub.HfApi().upload_file(path_or_fileobj=path, path_in_repo="file", repo_id=repository)
elif what == "download":
    huggingface_hub.hf_hub_download(repository, "file", local_dir=path)
else:
    commit = hf_xet.XetSession().new_upload_commit(endpoint=endpoint)
    commit.start_upload_file(path)
    commit.wait_to_finish()
print(time.monotonic() - began, time.process_time() - began_cpu)
