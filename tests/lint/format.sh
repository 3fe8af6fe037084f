#!/usr/bin/env bash
# Checks that clang-format would change no C file (./dev format runs it).
. "$(dirname "$0")/common.sh"
command -v clang-format >/dev/null || { echo "clang-format is not installed"; exit 77; }
# Versions format some lines differently; that of Debian 12 counts.
clang-format --version | grep -q 'version 14\.' || { echo "clang-format is not of version 14, others format some lines otherwise"; exit 77; }
mapfile -t files < <(c_files lib server cli tests bench)
if [ ${#files[@]} -gt 0 ]; then
  while IFS= read -r file; do
    offence "$file: not as clang-format leaves it; run ./dev format"
  done < <(clang-format --dry-run --Werror "${files[@]}" 2>&1 | sed -nE 's/^([^:]+):[0-9]+:[0-9]+: error:.*/\1/p' | sort -u)
fi
finish
