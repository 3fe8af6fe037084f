#!/bin/sh
# Runs a short world for the tests: all plans that ever found something (found/), then random seeds, one life at a time.
#   run.sh MINUTES    minutes of seeds; WORLD_MINUTES=M overrides it. WORLD_SEED=N: seeds from N on, instead of random ones
# Prints how to repeat what broke. 77: there is no Python of the tests.
cd "$(dirname "$0")/../.." || exit 1
if [ ! -x .venv/bin/python ]; then
  echo "there is no .venv/bin/python; ./dev test makes it"
  exit 77
fi
PYTHONPATH=$PWD/tests .venv/bin/python -m pytest -q -p no:cacheprovider tests/world/test_histories.py || exit 1
for plan in tests/world/found/*.json; do
  tests/world/world --replay "$plan" || exit 1
done
exec tests/world/world --minutes "${WORLD_MINUTES:-$1}" ${WORLD_SEED:+--seed "$WORLD_SEED"}
