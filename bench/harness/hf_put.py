"""One upload by hf_xet: hf_put.py ENDPOINT PATH. Prints the file's hash."""

import sys

import hf_xet

commit = hf_xet.XetSession().new_upload_commit(endpoint=sys.argv[1])
handle = commit.start_upload_file(sys.argv[2])
commit.wait_to_finish()
print(handle.result().xet_info.hash)
