# shellcheck shell=bash
# What CI does with client tests that fail: up to three are run once more; what passes then is counted as passed, and named.
# shellcheck source=tests/integration/common.sh
. "$(dirname "$0")/common.sh"
here=$(cd "$(dirname "$0")/.." && pwd)
if [ ! -x "$here/../.venv/bin/python" ]; then
  echo "there is no .venv/bin/python; ./dev test makes it"
  exit 77
fi

# write NAME BODY...: a file of one test for each body; "second" passes when it is run for the second time
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

# count CODE RESULT: what is said of the last run, had meson made that of it
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

TESTS_TRY_AGAIN=yes run 1 "$here/clients/run.sh" "$WORK/test_skipped.py" # that is not passed
TESTS_TRY_AGAIN=yes run 1 "$here/clients/run.sh" "$WORK/test_sanitized.py" # whatever becomes of it the second time
TESTS_TRY_AGAIN=yes run 0 "$here/clients/run.sh" "$WORK/test_before.py" # a file is run whole
count 0 OK
out "2 passed, 0 failed"

TESTS_TRY_AGAIN=yes run 1 "$here/clients/run.sh" "$WORK/test_many.py" # too many to be a machine's moment
run 0 "$here/clients/run.sh" "$WORK/test_many.py"                     # which is the second time

rm "$WORK/mark_a"
run 1 "$here/clients/run.sh" "$WORK/test_unsteady.py" # nothing is tried again where it was not asked for
done_testing
