#!/usr/bin/env bash
# Checks that each header compiles alone, so that the order of includes does not matter.
. "$(dirname "$0")/common.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
read -ra libraries < <(pkg-config --cflags libpq 2>/dev/null || true) || true
for header in $(c_files lib server cli tests); do
  [[ $header == *.h ]] || continue
  if ! ${CC:-cc} -std=c17 -D_GNU_SOURCE -DCAIRN_VERSION='"x"' -Wall -Wextra -Wno-unused-function -Werror -Ilib -I. -Itests ${libraries[@]+"${libraries[@]}"} \
    -fsyntax-only -x c "$header" 2>"$work/err"; then
    offence "$header: does not compile alone: $(grep -m1 error "$work/err" || head -1 "$work/err")"
  fi
done
finish
