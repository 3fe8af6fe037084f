"""The library that moves the clock of PostgreSQL."""

import os
from pathlib import Path

import cairn

LIBRARY = Path(os.environ.get("SHIFT_CLOCK_LIBRARY", cairn.ROOT / "build-asan/tests/support/libshift_clock.so"))
