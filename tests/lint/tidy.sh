#!/usr/bin/env bash
# Runs clang-tidy with the checks of .clang-tidy on every C file that a build folder compiles (not bench/, which is not shipped, nor
# replacements for calls of the C library).
#   tests/lint/tidy.sh BUILD_FOLDER [PATTERN]
set -euo pipefail
build=$1
pattern=${2:-}
cd "$(dirname "$0")/../.."
command -v clang-tidy >/dev/null || { echo "clang-tidy is not installed"; exit 77; }
# Versions have different findings; .clang-tidy is for that of Debian 12.
clang-tidy --version | grep -q 'version 14\.' || { echo "clang-tidy is not of version 14, others have other findings"; exit 77; }
root=$PWD
mapfile -t files < <(python3 - "$build" "$root" "$pattern" <<'PY'
import json, os, sys
build, root, pattern = sys.argv[1:]
seen = set()
for entry in json.load(open(os.path.join(build, "compile_commands.json"))):
    path = os.path.realpath(os.path.join(entry["directory"], entry["file"]))
    inside = os.path.relpath(path, root)
    if path.endswith(".c") and not inside.startswith("..") and not inside.startswith(("build", "bench", "tests/support/faults")) and pattern in inside:
        seen.add(path)
for path in sorted(seen):
    print(path)
PY
)
[ ${#files[@]} -gt 0 ] || { echo "tidy.sh: no file of $build has \"$pattern\" in its name" >&2; exit 1; }
# Ignores options of gcc that clang does not know. Runs once for each file: several files would share state in the analyzer, which
# takes most of the time and checks only shipped code; sanitizers run the rest. Two thirds of its time went to the few
# functions with too many paths for any number of states, so it gives up each after 30,000, not 225,000.
tidy() { # CHECKS FILE...
  local checks=$1
  shift
  [ $# = 0 ] || printf '%s\0' "$@" | xargs -0 -n 1 -P "$(nproc)" \
    clang-tidy -quiet -p "$build" --checks="$checks" --extra-arg=-Wno-unknown-warning-option --warnings-as-errors='*' \
    --extra-arg=-Xclang --extra-arg=-analyzer-config --extra-arg=-Xclang --extra-arg=max-nodes=30000
}
shipped=() tests=()
for file in "${files[@]}"; do
  if [[ $file == "$root"/tests/* ]]; then tests+=("$file"); else shipped+=("$file"); fi
done
status=0
{
  tidy "" ${shipped[@]+"${shipped[@]}"} || status=$?
  tidy "-clang-analyzer-*" ${tests[@]+"${tests[@]}"} || status=$?
} >"$build/tidy.log" 2>&1
grep -E '(error|warning):' "$build/tidy.log" | sort -u | cut -c1-300 || true
[ "$status" = 0 ] || { echo "tidy.sh: clang-tidy found offences; all it said is in $build/tidy.log" >&2; exit 1; }
echo "${#files[@]} files are tidy"
