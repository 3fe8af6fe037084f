#!/bin/sh
# Run one file of client tests with the Python that ./dev test made. 77 tells meson that it was skipped.
# TESTS_TRY_AGAIN=yes: files of which at most three tests fail are run once more, and those tests are named 'unsteady: ...' when they pass
# then. What a sanitizer, an assertion or the end of a test complains of is no matter of the machine's pace, and fails at once.
cd "$(dirname "$0")/../.." || exit 1
python=${CAIRN_PYTHON:-.venv/bin/python}
export PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 # schemathesis and hypothesis bring some, which take two seconds to load, and no test uses
if [ ! -x "$python" ]; then
  echo "there is no $python; ./dev test makes it"
  exit 77
fi
# Hundreds of interpreters are started, and an import takes three times as long without compiled modules. Some containers forbid to write these.
unset PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX="$PWD/.venv/pycache"
run() {
  "$python" -m pytest -q -o empty_parameter_set_mark=fail_at_collect --durations=5 --durations-min=2 --rootdir=tests/clients "$@"
}
if [ "${TESTS_TRY_AGAIN:-}" != yes ]; then
  run -p no:cacheprovider -rfEs "$@"
  exit
fi

kept=$(mktemp -d)
trap 'rm -rf "$kept"' EXIT
{
  run -o cache_dir="$kept/pytest" -rfEs "$@" 2>&1
  echo $? >"$kept/status"
} | tee "$kept/out"
read -r status <"$kept/status"
# The names of those that failed: file::test, and one a line.
sed -n 's|^ *"\(.*\)": true,*$|\1|p' "$kept/pytest/v/cache/lastfailed" >"$kept/failed" 2>/dev/null
if [ "$status" != 1 ] || [ "$(wc -l <"$kept/failed")" -gt 3 ] ||
  grep -aqE '^ERROR |Sanitizer|runtime error: |Assertion .* failed|SIGSEGV|SIGABRT' "$kept/out"; then
  exit "$status"
fi

# Whole files, for a test may hang on those before it.
files=0
for arg; do
  shift
  case $arg in
  *.py)
    grep -qE "(^|/)$(basename "$arg")::|^::" "$kept/failed" || continue
    files=1
    ;;
  esac
  set -- "$@" "$arg"
done
[ $files = 1 ] || exit "$status"
run -p no:cacheprovider -rp "$@" >"$kept/again" 2>&1
again=$?
sed 's|^|again: |' "$kept/again"
while read -r name; do
  awk -v n="$name" '/^PASSED / && substr($0, length($0) - length(n) + 1) == n { found = 1 } END { exit !found }' "$kept/again" || again=1
done <"$kept/failed"
[ $again = 0 ] || exit "$status"
sed 's|^|unsteady: |' "$kept/failed"
