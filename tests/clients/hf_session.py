"""Runs one upload session in a process with caches of its own: reads as JSON what to upload, prints what hf_xet reports.

in:  {"endpoint": url, "token": text or null, "files": [{"path": p, "sha256": "compute" | "skip" | 64 digits}]}
out: {"files": [{"hash", "size", "sha256"}], "metrics": {...}}"""

import json
import sys
import time

import hf_xet

METRICS = ("total_bytes", "deduped_bytes", "new_bytes", "deduped_bytes_by_global_dedup", "total_bytes_uploaded", "xorb_bytes_uploaded", "shard_bytes_uploaded", "total_chunks", "deduped_chunks")


def main():
    order = json.load(sys.stdin)
    auth = {"token": order["token"], "token_expiry_unix_secs": int(time.time()) + 3600} if order.get("token") else {}
    kinds = {"compute": hf_xet.COMPUTE_SHA256, "skip": hf_xet.SKIP_SHA256}
    handles = []
    commit = hf_xet.XetSession().new_upload_commit(endpoint=order["endpoint"], **auth)
    for f in order["files"]:
        sha256 = f.get("sha256", "compute")
        handles.append(commit.start_upload_file(f["path"], sha256=kinds.get(sha256, sha256)))
    report = commit.wait_to_finish()
    results = [h.result().xet_info for h in handles]
    print(
        json.dumps(
            {
                "files": [{"hash": r.hash, "size": r.file_size, "sha256": r.sha256} for r in results],
                "metrics": {name: getattr(report.dedup_metrics, name) for name in METRICS},
            }
        )
    )


if __name__ == "__main__":
    main()
