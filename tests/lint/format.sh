#!/usr/bin/env bash
# Every C file is as clang-format leaves it (./dev format writes them so).
. "$(dirname "$0")/common.sh"
command -v clang-format >/dev/null || { echo "clang-format is not installed"; exit 77; }
mapfile -t files < <(c_files lib server cli tests bench)
for file in ${files[@]+"${files[@]}"}; do
  line=$(clang-format --dry-run --Werror "$file" 2>&1 | grep -m1 'error:' || true)
  if [ -n "$line" ]; then
    offence "${line%%: error*}: not as clang-format leaves it; run ./dev format"
  fi
done
finish
