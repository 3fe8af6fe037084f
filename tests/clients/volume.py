"""Small file systems that tests fill. They need root with the right to mount."""

import errno
import os
import subprocess

import pytest


class Volume:
    """A file system mounted at a folder. options: of the mount, or of mkfs.ext4."""

    def __init__(self, folder, kind, n_bytes, options=()):
        self.folder = folder
        self.filler = folder / "filler"
        folder.mkdir(parents=True)
        if kind == "tmpfs":
            command = ["mount", "-t", "tmpfs", "-o", ",".join([f"size={n_bytes}", "mode=0700", *options]), "none"]
        else:
            image = folder.with_suffix(".ext4")
            with open(image, "wb") as f:
                f.truncate(n_bytes)
            subprocess.run(["mkfs.ext4", "-q", "-m", "0", *options, str(image)], check=True)
            command = ["mount", "-o", "loop", str(image)]
        done = subprocess.run([*command, str(folder)], capture_output=True, text=True)
        if done.returncode != 0:
            pytest.skip(f"a file system cannot be mounted here: {done.stderr.strip().rsplit(': ', 1)[-1]}")

    def close(self):
        subprocess.run(["umount", "-l", str(self.folder)], check=True)

    def free(self):
        st = os.statvfs(self.folder)
        return st.f_bavail * st.f_frsize

    def fill(self):
        """Fills the file system to the last byte, as another program would."""
        with open(self.filler, "ab", buffering=0) as f:
            n = 1 << 20
            while n:
                try:
                    f.write(bytes(n))
                except OSError as e:
                    assert e.errno == errno.ENOSPC
                    n //= 2
            os.fsync(f.fileno())

    def empty(self):
        self.filler.unlink()
