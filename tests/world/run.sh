#!/bin/sh
# A short world for the tests: all seeds that ever found something (seeds.txt), then seeds that nobody chose, one life at a time.
#   run.sh MINUTES    of the latter; CAIRN_WORLD_MINUTES=M: so many instead
# Prints how to repeat what broke. 77: there is no Python of the tests.
cd "$(dirname "$0")/../.." || exit 1
if [ ! -x .venv/bin/python ]; then
  echo "there is no .venv/bin/python; ./dev test makes it"
  exit 77
fi
sed 's/ *#.*//; /^$/d' tests/world/seeds.txt | while read -r seed; do
  tests/world/world --seed "$seed" --minutes 0 || exit 1
done || exit 1
exec tests/world/world --minutes "${CAIRN_WORLD_MINUTES:-$1}"
