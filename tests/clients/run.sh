#!/bin/sh
# Runs one file of client tests with the Python that ./dev test made. Exit status 77 tells meson that the tests were skipped.
# TESTS_TRY_AGAIN=yes: if at most three tests of a file fail, they run once more, and those that then pass are named 'unsteady: ...'. Faults
# that do not depend on the machine's speed fail at once: reports of sanitizers, failed assertions, errors at the end of a test.
cd "$(dirname "$0")/../.." || exit 1
python=${CAIRN_PYTHON:-.venv/bin/python}
export PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 # schemathesis and hypothesis have plugins that take two seconds to load, and no test uses them
if [ ! -x "$python" ]; then
  echo "there is no $python; ./dev test makes it"
  exit 77
fi
# Compiled modules are written, although some containers forbid it: hundreds of interpreters start, and an import without them takes three
# times as long.
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
# The names of the failed tests, one a line: file::test.
sed -n 's|^ *"\(.*\)": true,*$|\1|p' "$kept/pytest/v/cache/lastfailed" >"$kept/failed" 2>/dev/null
if [ "$status" != 1 ] || [ "$(wc -l <"$kept/failed")" -gt 3 ] ||
  grep -aqE '^ERROR |Sanitizer|runtime error: |Assertion .* failed|SIGSEGV|SIGABRT' "$kept/out"; then
  exit "$status"
fi

# Runs whole files, since a test may depend on those before it.
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
