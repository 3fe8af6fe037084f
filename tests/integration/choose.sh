# shellcheck shell=bash
# How ./dev chooses tests by words, and how .ci/run counts skips and unsteady tests.
# shellcheck source=tests/integration/common.sh
. "$(dirname "$0")/common.sh"
here=$(cd "$(dirname "$0")/../.." && pwd)

# chosen LINE TEXT WORD...: checks that choose.py prints TEXT in line LINE for these words
chosen() {
  local line=$1 text=$2 said
  shift 2
  run 0 python3 "$here/tests/support/choose.py" "$WORK/build" "$@"
  said=$(sed -n "${line}p" "$WORK/out")
  [ "$said" = "$text" ] || fail "$*: line $line is '$said', not '$text'"
}

mkdir -p "$WORK/build/meson-info"
cat >"$WORK/build/meson-info/intro-tests.json" <<'JSON'
[{"name": "fetch", "suite": ["cairn:unit"], "depends": ["a@exe"], "cmd": ["/x/build/tests/unit/test_fetch"]},
 {"name": "fetch", "suite": ["cairn:integration", "cairn:both"], "depends": ["d@exe"], "cmd": ["/x/run.sh", "/x/build/../tests/clients/xet/test_fetch.py"]},
 {"name": "tidy", "suite": ["cairn:lint", "cairn:tools", "cairn:aside"], "depends": [], "cmd": ["/x/tests/lint/tidy.sh"]},
 {"name": "names", "suite": ["cairn:lint"], "depends": [], "cmd": ["/x/tests/lint/names.sh"]}]
JSON
cat >"$WORK/build/meson-info/intro-targets.json" <<JSON
[{"id": "a@exe", "filename": ["$WORK/build/tests/unit/test_fetch"]}, {"id": "d@exe", "filename": ["$WORK/build/server/cairnd"]},
 {"id": "other@exe", "filename": ["$WORK/build/tests/unit/test_other"]}]
JSON
chosen 1 "fetch" fetch
chosen 3 "both integration unit" fetch
chosen 4 "server/cairnd tests/unit/test_fetch" fetch
chosen 4 "tests/unit/test_fetch" unit
chosen 4 "tests/unit/test_fetch" tests/unit/cas/test_fetch.c
chosen 4 "server/cairnd" tests/clients/xet/test_fetch.py
chosen 1 "names" lint -tools
chosen 1 "names" tests/lint/names.sh
chosen 2 "tidy" lint
chosen 4 "" lint
chosen 5 "unknown: nothing tests/clients/test_none.py" fetch nothing tests/clients/test_none.py

# judged KIND EXPECTED LINE: checks what .ci/judge.py prints for the line
judged() {
  local said
  said=$(printf '%s\n' "$3" | python3 "$WORK/ci/judge.py" "$1")
  [ "$said" = "$2" ] || fail "judge.py $1: '$3' gives '$said'"
}
mkdir "$WORK/ci"
cp "$here/.ci/judge.py" "$WORK/ci/"
printf '# a comment\n2 ^one: .*there is no disk\n' >"$WORK/ci/skips"
printf '# a comment\ntest_a.py::test_b 2026-11-28 it hung\n' >"$WORK/ci/unsteady"
judged skips "" "skipped: one: 2: tests/clients/test_one.py:3: there is no disk"
judged skips "skipped: one: 3: x: there is no disk" "skipped: one: 3: x: there is no disk"
judged skips "skipped: two: 1: there is no disk" "skipped: two: 1: there is no disk"
judged unsteady "" "unsteady: test_a.py::test_c"
judged unsteady "unsteady: test_a.py::test_b" "unsteady: test_a.py::test_b"
judged unsteady "" "unsteady: a: FAILED test_a.py::test_b - assert 0"

# judge.py can read the lines that count.py prints, and the last of these is the sum.
printf '{"name": "cairn:clients+both / one", "result": "OK", "stdout": "SKIPPED [2] tests/clients/test_one.py:3: there is no disk\\n1 passed, 2 skipped in 0.1s\\n"}\n' >"$WORK/log"
run 0 python3 "$here/tests/support/count.py" --more "more tests" "$WORK/log"
[ "$(cat "$WORK/out")" = "skipped: one: 2: tests/clients/test_one.py:3: there is no disk
more tests
1 passed, 0 failed, 2 skipped" ] || fail "count.py says: $(cat "$WORK/out")"
# A script says on standard error why it cannot run here.
printf '{"name": "cairn:systems / two", "result": "SKIP", "stdout": "", "stderr": "first\\nno system is booted: why\\n"}\n' >>"$WORK/log"
run 0 python3 "$here/tests/support/count.py" "$WORK/log"
grep -qx 'skipped: two: 1: no system is booted: why' "$WORK/out" || fail "count.py says: $(cat "$WORK/out")"
done_testing
