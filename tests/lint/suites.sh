#!/usr/bin/env bash
# Refuses a client test that no suite runs: tests/clients/meson.build or a script in tests/engines must name it.
. "$(dirname "$0")/common.sh"
meson=$(cat tests/clients/meson.build 2>/dev/null || true)
scripts=$(cat tests/engines/*.sh 2>/dev/null || true)
for file in tests/clients/*/test_*.py; do
  [ -e "$file" ] || continue
  room=$(basename "$(dirname "$file")")
  name=$(basename "$file" .py)
  name=${name#test_}
  [[ $meson == *"'$room/$name'"* ]] || grep -qE "test_$name\.py|test_\{([a-z0-9_]+,)*$name[,}]" <<<"$scripts" ||
    offence "$file: no suite runs it; name it in tests/clients/meson.build"
done
finish
