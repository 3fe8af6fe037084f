#!/usr/bin/env bash
# Comments and messages that are hard to read do not become more (words.py; how many there may be: words_allowed).
. "$(dirname "$0")/common.sh"
allowed=tests/lint/words_allowed
[ -f $allowed ] || allowed=/dev/null
while IFS= read -r line; do
  offence "$line"
done < <(c_files lib server cli bench tests | xargs -r python3 "$here/tests/lint/words.py" $allowed)
finish
