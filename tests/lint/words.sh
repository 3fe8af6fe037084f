#!/usr/bin/env bash
# Refuses more hard-to-read comments and messages than words_allowed permits (words.py counts them).
. "$(dirname "$0")/common.sh"
allowed=tests/lint/words_allowed
[ -f $allowed ] || allowed=/dev/null
while IFS= read -r line; do
  offence "$line"
done < <(c_files lib server cli bench tests | xargs -r python3 "$here/tests/lint/words.py" $allowed)
finish
