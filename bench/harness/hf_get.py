"""One download by hf_xet in a process of its own: hf_get.py ENDPOINT HASH SIZE PATH. Prints the seconds it took."""

import sys
import time

import hf_xet

endpoint, name, size, path = sys.argv[1:]
began = time.monotonic()
group = hf_xet.XetSession().new_file_download_group(endpoint=endpoint)
group.start_download_file(hf_xet.XetFileInfo(name, int(size)), path)
group.wait_to_finish()
print(time.monotonic() - began)
