"""Downloads with hf_xet in a process of its own: hf_get.py ENDPOINT. Reads a line HASH SIZE PATH for each file from standard input. Prints the seconds that
the downloads took, and their processor time."""

import sys
import time

import hf_xet

files = [line.rstrip("\n").split(" ", 2) for line in sys.stdin]
began, began_cpu = time.monotonic(), time.process_time()
group = hf_xet.XetSession().new_file_download_group(endpoint=sys.argv[1])
for name, size, path in files:
    group.start_download_file(hf_xet.XetFileInfo(name, int(size)), path)
group.wait_to_finish()
print(time.monotonic() - began, time.process_time() - began_cpu)
