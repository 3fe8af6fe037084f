#!/bin/sh
# Run one file of client tests with the Python that ./dev test made. 77 tells meson that it was skipped.
cd "$(dirname "$0")/../.." || exit 1
python=${CAIRN_PYTHON:-.venv/bin/python}
if [ ! -x "$python" ]; then
  echo "there is no $python; ./dev test makes it"
  exit 77
fi
exec "$python" -m pytest -q --durations=5 --durations-min=2 -p no:cacheprovider -rfEs --rootdir=tests/clients "$@"
