"""The stock library in a process of its own: hf_hub.py snapshot|upload|download|put ENDPOINT REPOSITORY PATH. Prints the
seconds it took and its processor time, without those for loading its modules. "put" is hf_xet's own upload, which knows no repository."""

import os
import sys
import time

what, endpoint, repository, path = sys.argv[1:]
os.environ |= {"HF_ENDPOINT": endpoint, "HF_HUB_DISABLE_PROGRESS_BARS": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}

import hf_xet  # noqa: E402
import huggingface_hub  # noqa: E402  it reads the address when it is loaded

# Its modules are loaded when a name of it is first asked for: that is no part of what a call takes.
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
