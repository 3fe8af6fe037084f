#!/bin/sh
# Run one file of client tests with the Python that ./dev test made. 77 tells meson that it was skipped.
# CAIRN_TRY_AGAIN=yes: up to three tests that fail are run once more, and named 'unsteady: ...' when they pass then.
cd "$(dirname "$0")/../.." || exit 1
python=${CAIRN_PYTHON:-.venv/bin/python}
if [ ! -x "$python" ]; then
  echo "there is no $python; ./dev test makes it"
  exit 77
fi
run() {
  "$python" -m pytest -q --durations=5 --durations-min=2 -rfEs --rootdir=tests/clients "$@"
}
if [ "${CAIRN_TRY_AGAIN:-}" != yes ]; then
  run -p no:cacheprovider "$@"
  exit
fi

remembered=$(mktemp -d) # by pytest: which failed
trap 'rm -rf "$remembered"' EXIT
run -o cache_dir="$remembered" "$@"
status=$?
failed=$remembered/v/cache/lastfailed
if [ $status = 1 ] && [ -f "$failed" ] && [ "$(grep -c '": true' "$failed")" -le 3 ]; then
  sed -n 's|^ *"\(.*\)": true,*$|\1|p' "$failed" >"$remembered/names"
  if run -o cache_dir="$remembered" --last-failed --last-failed-no-failures=none "$@"; then
    status=0
    sed 's|^|unsteady: |' "$remembered/names"
  fi
fi
exit $status
