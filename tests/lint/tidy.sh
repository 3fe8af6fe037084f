#!/usr/bin/env bash
# clang-tidy with the checks of .clang-tidy, on every C file that a build folder compiles (not bench/, which is not shipped, nor
# what stands in for calls of the C library under their own names).
#   tests/lint/tidy.sh BUILD_FOLDER [PATTERN]
set -euo pipefail
build=$1
pattern=${2:-}
cd "$(dirname "$0")/../.."
command -v clang-tidy >/dev/null || { echo "clang-tidy is not installed"; exit 77; }
# Each version has findings of its own; Debian 12's are those that .clang-tidy was made for.
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
print("\n".join(sorted(seen)))
PY
)
# gcc's options that clang does not know are no offence of the code. One file a run: several share state in the analyzer.
status=0
printf '%s\0' "${files[@]}" | xargs -0 -n 1 -P "$(nproc)" \
  clang-tidy -quiet -p "$build" --extra-arg=-Wno-unknown-warning-option --warnings-as-errors='*' >"$build/tidy.log" 2>&1 || status=$?
grep -E '(error|warning):' "$build/tidy.log" | sort -u | cut -c1-300 || true
[ "$status" = 0 ] || { echo "tidy.sh: clang-tidy found offences; all it said is in $build/tidy.log" >&2; exit 1; }
echo "${#files[@]} files are tidy"
