# shellcheck shell=bash
# How CI retries failed client tests: up to three of a file are run once more. Those that pass then count as passed, and are
# named.
# shellcheck source=tests/integration/common.sh
. "$(dirname "$0")/common.sh"
here=$(cd "$(dirname "$0")/.." && pwd)
if [ ! -x "$here/../.venv/bin/python" ]; then
  echo "there is no .venv/bin/python; ./dev test makes it"
  exit 77
fi

# write NAME BODY...: writes a file with one test for each body; "second" passes when it is run for the second time
write() {
  local file=$WORK/test_$1.py n=0 body
  shift
  printf 'from pathlib import Path\n\n\ndef second(mark):\n    was = mark.exists()\n    mark.touch()\n    assert was\n' >"$file"
  for body; do
    n=$((n + 1))
    printf '\n\ndef test_%d():\n    %s\n' $n "$body" >>"$file"
  done
}
second() { printf 'second(Path("%s"))' "$WORK/mark_$1"; }

# count CODE RESULT: runs count.py on the output of the last run, with RESULT as meson's result
count() {
  python3 -c 'import json, sys; print(json.dumps({"name": "one", "result": sys.argv[1], "stdout": open(sys.argv[2]).read()}))' \
    "$2" "$WORK/out" >"$WORK/log.json"
  run "$1" python3 "$here/support/count.py" "$WORK/log.json"
}

write steady pass pass
write unsteady pass "$(second a)"
write bad "assert False" pass
write skipped 'import pytest; mark = Path("'"$WORK/mark_s"'"); mark.exists() and pytest.skip(); mark.touch(); assert False'
write sanitized 'print("ERROR: AddressSanitizer: leak"); '"$(second g)"
write before 'global first; first = True' "assert first; $(second h)"
write many "$(second b)" "$(second c)" "$(second d)" "$(second e)"

TESTS_TRY_AGAIN=yes run 0 "$here/clients/run.sh" "$WORK/test_steady.py"
count 0 OK
out "2 passed, 0 failed"

TESTS_TRY_AGAIN=yes run 0 "$here/clients/run.sh" "$WORK/test_unsteady.py"
out "unsteady: "
count 0 OK
out "::test_2"
out "2 passed, 0 failed"

TESTS_TRY_AGAIN=yes run 1 "$here/clients/run.sh" "$WORK/test_bad.py"
count 1 FAIL
grep -q "unsteady" "$WORK/out" && fail "what failed twice is named as unsteady"

TESTS_TRY_AGAIN=yes run 1 "$here/clients/run.sh" "$WORK/test_skipped.py" # a skipped test is not a passed one
TESTS_TRY_AGAIN=yes run 1 "$here/clients/run.sh" "$WORK/test_sanitized.py" # even if it passes the second time
TESTS_TRY_AGAIN=yes run 0 "$here/clients/run.sh" "$WORK/test_before.py" # the whole file is run again
count 0 OK
out "2 passed, 0 failed"

TESTS_TRY_AGAIN=yes run 1 "$here/clients/run.sh" "$WORK/test_many.py" # too many failures for a slow moment of the machine
run 0 "$here/clients/run.sh" "$WORK/test_many.py"                     # this was the second run

rm "$WORK/mark_a"
run 1 "$here/clients/run.sh" "$WORK/test_unsteady.py" # without TESTS_TRY_AGAIN nothing is retried
done_testing
