#!/usr/bin/env bash
# pull of files, ranges and folders against a running daemon, with faults on the way.
. "$(dirname "$0")/common.sh"
HERE=$(cd "$(dirname "$0")" && pwd)

python3 - "$WORK" <<'PY'
import random, sys
r = random.Random(11)
put = lambda name, b: open(sys.argv[1] + "/" + name, "wb").write(b)
a = r.randbytes(5 << 20)
put("random", a)
put("mixed", a + r.randbytes(5 << 20))
text = " ".join(r.choice(["alpha", "beta", "gamma", "delta"]) for _ in range(400000)).encode()
put("text", text)
put("again", text[: 1 << 20] * 3)
put("tiny", b"x")
put("empty", b"")
PY
truncate -s 300M "$WORK/zeros" # the same chunk over and over; more than two windows of one connection
printf 'end' >>"$WORK/zeros"
names=(random text again tiny empty zeros mixed)

"$CAIRN" token --new-key "$WORK/key"
start_server --token-key "$WORK/key"
export CAIRN_SERVER=$URL
CAIRN_TOKEN=$("$CAIRN" token --key "$WORK/key" --scope write)
export CAIRN_TOKEN
declare -A HASH
for name in "${names[@]}"; do
  run 0 "$CAIRN" push --quiet --json "$WORK/$name"
  HASH[$name]=$(json 'd["files"][0]["hash"]')
done
CAIRN_TOKEN=$("$CAIRN" token --key "$WORK/key" --scope read)

mkdir "$WORK/got"
cd "$WORK/got" || exit 1
same() { cmp -s "$1" "$2" || fail "${3:-$2}: is not what was pushed"; }
no_rest() { [ -z "$(find "$WORK" -name '*.part*')" ] || fail "$1: left $(find "$WORK" -name '*.part*')"; }

for name in "${names[@]}"; do
  run 0 "$CAIRN" pull "${HASH[$name]}" -o "$name" --json
  no_err
  is "$(json 'd["bytes"], d["resumed_bytes"]')" "($(stat -c %s "$WORK/$name"), 0)" "$name"
  same "$WORK/$name" "$name"
done
[ "$(json 'd["fetched_bytes"] > 10 << 20')" = True ] || fail "mixed: only $(json 'd["fetched_bytes"]') bytes fetched"
for jobs in 1 16; do
  rm zeros
  run 0 "$CAIRN" pull "${HASH[zeros]}" --output zeros --jobs "$jobs" --json
  [ "$(json 'd["fetched_bytes"] < 100000')" = True ] || fail "zeros: $(json 'd["fetched_bytes"]') bytes fetched"
  same "$WORK/zeros" zeros "zeros with $jobs connections"
done
rm tiny
run 0 "$CAIRN" pull "${HASH[tiny]}" -o tiny -v -j 2
err "cairn: GET /v1/fetch/"
if grep -qF "?" "$WORK/err"; then fail "-v shows what signs a URL: $(cat "$WORK/err")"; fi
# An existing file is not fetched again. A file of other content is kept, unless --force is given.
run 0 "$CAIRN" pull "${HASH[random]}" -o random --json
no_err
is "$(json 'd["kept"], d["bytes"], d["fetched_bytes"]')" "(True, 5242880, 0)" "an identical file"
run 0 "$CAIRN" pull "${HASH[random]}" -o random
out "there already with this hash, nothing fetched"
run 73 "$CAIRN" pull "${HASH[mixed]}" -o "$WORK/got/random" --json
err "random exists and has another content"
is "$(json 'd["error"]["rule"], d["exit_code"]')" "('file.exists', 73)" "another's file, as JSON"
same "$WORK/random" random
printf 'x' | dd of=random bs=1 seek=5242879 conv=notrunc status=none # of the right length
run 73 "$CAIRN" pull "${HASH[random]}" -o random
no_rest "refused targets"
run 0 "$CAIRN" pull "${HASH[mixed]}" -o "$WORK/got/random" --force # by a whole path
out "10.0 MiB"
same "$WORK/mixed" random
no_rest "whole files"
"$CAIRN" pull "${HASH[mixed]}" -o - --jobs 2 | cmp -s - "$WORK/mixed" || fail "standard output"
"$CAIRN" pull "${HASH[empty]}" -o - | cmp -s - "$WORK/empty" || fail "nothing to standard output"
got=0
"$CAIRN" pull "${HASH[mixed]}" -o - >/dev/full 2>"$WORK/err" || got=$?
is "$got" 73 "standard output on a full disk"

size=$(stat -c %s "$WORK/mixed")
for range in 0-0 0-8191 1-70000 5242870-5242890 100000- "$((size - 1))-" "0-$((size - 1))" "9999999-99999999999"; do
  run 0 "$CAIRN" pull "${HASH[mixed]}" -o part --range "$range" --force
  python3 - "$WORK/mixed" part "$range" <<'PY' || fail "range $range"
import sys
whole, got = open(sys.argv[1], "rb").read(), open(sys.argv[2], "rb").read()
a, _, b = sys.argv[3].partition("-")
assert got == whole[int(a) : int(b) + 1 if b else None]
PY
done
run 73 "$CAIRN" pull "${HASH[mixed]}" -o part --range 1-2 # a range has no hash to compare
err "file.exists"
"$CAIRN" pull "${HASH[zeros]}" -o - --range 314572799-314572801 | cmp -s - <(printf '\0en') || fail "range of zeros"
run 64 "$CAIRN" pull "${HASH[mixed]}" -o part --range "$size-" --force
err "past the end"
for range in 5-4 x -5 1 1-2-3 99999999999999999999-; do
  run 64 "$CAIRN" pull "${HASH[mixed]}" -o part "--range=$range"
  err "--range takes"
done
no_rest "ranges"

# --- pulls that are refused
run 64 "$CAIRN" pull "${HASH[mixed]}"
err "-o"
run 64 "$CAIRN" pull "${HASH[mixed]}" -o x --jobs 17
run 64 "$CAIRN" pull "${HASH[mixed]}" -o x --jobs 0
run 66 "$CAIRN" pull "$(printf 'ab%.0s' {1..32})" -o x
err "does not know it"
err "no file that you may read has this hash"
run 66 "$CAIRN" pull ffff -o x --server http://127.0.0.1:1 # refused without asking the server
err "ffff: a hash has 64 hexadecimal digits, and this has 4: give all of it"
run 66 "$CAIRN" pull absent.json -o x --json
err "absent.json: there is no such file, and it is no hash"
is "$(json 'd["error"]["rule"], d["exit_code"]')" "('file.open', 66)" "neither a hash nor a file, as JSON"
run 77 "$CAIRN" pull "${HASH[mixed]}" -o x --token nonsense
run 73 "$CAIRN" pull "${HASH[mixed]}" -o "$WORK/absent/x"
mkdir folder
run 73 "$CAIRN" pull "${HASH[mixed]}" -o folder
for target in folder/ "$WORK/absent/"; do # refused before the server is asked
  run 64 "$CAIRN" pull "${HASH[mixed]}" -o "$target" --server http://127.0.0.1:1
  err "the target is a folder; name the file in it: ${target}NAME [file.target]"
done
ln -s "$WORK/random" link
run 73 "$CAIRN" pull "${HASH[tiny]}" -o link
same "$WORK/random" link
rm -f folder.part* link.part*
echo precious >x.part
run 73 "$CAIRN" pull "${HASH[mixed]}" -o x
err "was not made by a pull"
is "$(cat x.part)" precious
rm x.part
[ ! -e x ] || fail "a failed pull made its target"
no_rest "failures"

# --- faults on the way
start_proxy() {
  mkfifo "$WORK/proxy-out"
  python3 "$HERE/proxy.py" "$URL" "$1" >"$WORK/proxy-out" &
  PROXY_PID=$!
  exec 5<"$WORK/proxy-out"
  rm "$WORK/proxy-out"
  read -r port <&5 || fail "the proxy does not start"
  PROXY=http://127.0.0.1:$port
}
stop_proxy() {
  exec 5<&-
  kill "$PROXY_PID"
  wait "$PROXY_PID" 2>/dev/null
}

start_proxy expire=2
run 0 "$CAIRN" pull "${HASH[mixed]}" -o expired --server "$PROXY" --jobs 1
same "$WORK/mixed" expired
stop_proxy
start_proxy expire=1000
run 77 "$CAIRN" pull "${HASH[mixed]}" -o never --server "$PROXY" --jobs 1
err "has expired"
rm -f never.*
stop_proxy
start_proxy cut=2
run 0 "$CAIRN" pull "${HASH[mixed]}" -o cut --server "$PROXY" --jobs 1 --json
same "$WORK/mixed" cut
[ "$(json 'd["fetched_bytes"] < 11 << 20')" = True ] || fail "a cut fetch begins anew: $(json 'd["fetched_bytes"]')"
stop_proxy
start_proxy whole
run 65 "$CAIRN" pull "${HASH[mixed]}" -o never --server "$PROXY"
err "fetch.range"
rm -f never.*
stop_proxy

# pull_that_stalls NAME: begins a pull, PULL, and waits until the proxy holds back its second fetch
pull_that_stalls() {
  local line=
  start_proxy stall=2
  "$CAIRN" pull "${HASH[mixed]}" -o "$1" --server "$PROXY" --jobs 1 2>"$WORK/err" &
  PULL=$!
  until read -r -t 1 line <&5; do
    kill -0 "$PULL" 2>/dev/null || break
  done
  is "$line" stalled "proxy"
}
# Killed during the second fetch: the first one is kept, and is hashed again before it is used.
interrupt() {
  pull_that_stalls resumed
  run 73 "$CAIRN" pull "${HASH[mixed]}" -o resumed # two at once
  err "another pull"
  kill -9 "$PULL"
  wait "$PULL" 2>/dev/null
  stop_proxy
  [ -s resumed.part ] && [ ! -e resumed ] || fail "an interrupted pull has no part, or its target"
}
# A pull does not overwrite a file that somebody creates under its name meanwhile.
pull_that_stalls taken
echo precious >taken
kill -9 "$PULL"
wait "$PULL" 2>/dev/null
stop_proxy
run 73 "$CAIRN" pull "${HASH[mixed]}" -o taken
err "file.exists"
is "$(cat taken)" precious
run 0 "$CAIRN" pull "${HASH[mixed]}" -o taken --force --json
[ "$(json 'd["resumed_bytes"] > 1 << 20')" = True ] || fail "nothing resumed with --force"
same "$WORK/mixed" taken
interrupt
run 0 "$CAIRN" pull "${HASH[mixed]}" -o resumed --json
same "$WORK/mixed" resumed
[ "$(json 'd["resumed_bytes"] > 1 << 20 and d["resumed_bytes"] + d["fetched_bytes"] < 11 << 20')" = True ] ||
  fail "resumed $(json 'd["resumed_bytes"], d["fetched_bytes"]')"
rm resumed
interrupt
python3 - resumed.part <<'PY'
import sys
with open(sys.argv[1], "r+b") as f:
    whole = f.read()
    at = [i for i in range(0, len(whole), 65536) if any(whole[i : i + 64])]
    for i in at:  # changes single bytes all over the existing part
        f.seek(i)
        f.write(bytes([whole[i] ^ 1]))
PY
run 0 "$CAIRN" pull "${HASH[mixed]}" -o resumed --json
same "$WORK/mixed" resumed "resumed on a damaged part"
is "$(json 'd["resumed_bytes"]')" 0 "bytes taken over from a damaged part"
rm resumed
interrupt
truncate -s -20 resumed.part.state # a torn record
run 0 "$CAIRN" pull "${HASH[mixed]}" -o resumed
same "$WORK/mixed" resumed "resumed on a torn state"
rm resumed
interrupt
run 0 "$CAIRN" pull "${HASH[text]}" -o resumed # another file: from the beginning
out "0 bytes resumed"
same "$WORK/text" resumed
no_rest "interruptions"

# --- on a terminal there is a bar
on_terminal() { script -qec "$(printf '%q ' "$CAIRN" pull "${HASH[mixed]}" -o bar "$@")" /dev/null; }
run 0 on_terminal
out "fetched"
out " of 10.0 MiB, "
rm bar
run 0 on_terminal --quiet
if grep -qF "[" "$WORK/out"; then fail "--quiet shows a bar"; fi

CAIRN_TOKEN=$("$CAIRN" token --key "$WORK/key" --scope write)
mkdir -p "$WORK/tree/sub/deep" "$WORK/tree/nothing"
cp "$WORK/text" "$WORK/tree/text"
cp "$WORK/random" "$WORK/tree/sub/random"
printf 'two\nlines' >"$WORK/tree/sub/deep/ä \"quoted\""
: >"$WORK/tree/sub/empty"
printf '#!/bin/sh\n' >"$WORK/tree/sub.sh"
chmod 755 "$WORK/tree/sub.sh"
chmod 640 "$WORK/tree/text"
ln -s /etc/passwd "$WORK/tree/link"
run 0 "$CAIRN" push "$WORK/tree" --manifest "$WORK/manifest" --quiet
err "link is left out"
out "5 files"
cp "$WORK/manifest" "$WORK/out"
is "$(json '[f["path"] for f in d["files"]]')" \
  "['sub.sh', 'sub/deep/ä \"quoted\"', 'sub/empty', 'sub/random', 'text']" "paths"
is "$(json '[d["version"], d["files"][0]["mode"], d["files"][4]["mode"], d["files"][2]["size"]]')" "[1, '0755', '0640', 0]"
is "$(json 'd["files"][3]["hash"]')" "${HASH[random]}" "hash in the manifest"
is "$(json 'd["files"][3]["sha256"]')" "$(sha256sum "$WORK/random" | cut -d ' ' -f 1)" "SHA-256 in the manifest"
run 0 "$CAIRN" push "$WORK/tree"
cmp -s "$WORK/out" "$WORK/manifest" || fail "the manifest on standard output is another one"
run 64 "$CAIRN" push "$WORK/tree" "$WORK/text"
run 64 "$CAIRN" push "$WORK/text" --manifest "$WORK/m"
# A manifest never replaces something that is not a file, and this is checked before anything is sent.
mkfifo "$WORK/pipe"
ln -s "$WORK/text" "$WORK/to_text"
for target in "$WORK/pipe" "$WORK/to_text" "$WORK/absent/manifest" "$WORK/text/manifest"; do
  run 73 "$CAIRN" push "$WORK/tree" --manifest "$target" --server http://127.0.0.1:1
done
[ -p "$WORK/pipe" ] && [ -L "$WORK/to_text" ] || fail "a manifest took the place of a pipe or a link"
mkdir "$WORK/latin"
printf x >"$WORK/latin/"$'\xe4'
run 65 "$CAIRN" push "$WORK/latin"
err "UTF-8"

run 0 "$CAIRN" pull "$WORK/manifest" -o tree --json
is "$(json 'd["files"], d["fetched_files"], d["kept_files"]')" "(5, 5, 0)" "first pull of a folder"
rm "$WORK/tree/link"
rmdir "$WORK/tree/nothing"
diff -r "$WORK/tree" tree || fail "the folder is another one"
is "$(stat -c %a tree/sub.sh tree/text)" "$(printf '755\n640')" "modes"
run 0 "$CAIRN" pull "$WORK/manifest" -o tree --json
is "$(json 'd["fetched_files"], d["kept_files"], d["fetched_bytes"]')" "(0, 5, 0)" "second pull of a folder"
printf 'y' | dd of=tree/sub/random bs=1 seek=4000000 conv=notrunc status=none
rm tree/sub/empty
chmod 600 tree/text
run 73 "$CAIRN" pull "$WORK/manifest" -o tree --json
err "sub/random: random exists and has another content"
is "$(json 'd["fetched_files"], d["kept_files"], d["other_files"]')" "(1, 3, 1)" "a folder with another's file"
[ -e tree/sub/empty ] || fail "another's file stops the pull of a folder"
rm tree/sub/empty
run 0 "$CAIRN" pull "$WORK/manifest" -o tree --force
out "2 files fetched"
diff -r "$WORK/tree" tree || fail "the mended folder is another one"
is "$(stat -c %a tree/text)" 640 "mode put right"
no_rest "folders"
# The longest names of a file system leave no room for the ending .part.
long=$(printf 'n%.0s' {1..255})
mkdir "$WORK/names"
printf 'first' >"$WORK/names/$long"
printf 'second' >"$WORK/names/${long:0:244}"
printf 'first' >"$WORK/names/m${long:0:250}"
run 0 "$CAIRN" push "$WORK/names" --manifest "$WORK/names.json" --quiet
run 0 "$CAIRN" pull "$WORK/names.json" -o names --quiet
diff -r "$WORK/names" names || fail "long names"
is "$(find names -type f | wc -l)" 3 "no part is left of long names"

# A manifest is not trusted.
mkdir "$WORK/outside"
hostile() { # EXPRESSION on d, the manifest's files f
  python3 -c 'import json, sys
d = json.load(open(sys.argv[1])); f = d["files"]
exec(sys.argv[2])
json.dump(d, open(sys.argv[3], "w"))' "$WORK/manifest" "$1" "$WORK/hostile"
}
for path in ../up /etc/x a/../../b a//b a/ . "" ./a "$(printf 'n%.0s' {1..256})" "$(printf 'nn/%.0s' {1..1400})n"; do
  hostile "f[:] = [f[0]]; f[0]['path'] = '$path'"
  run 65 "$CAIRN" pull "$WORK/hostile" -o evil
  err "manifest.path"
done
for change in "f.reverse()" "f.append(f[-1])" "f[0]['hash'] = 'x'" "f[0]['size'] = -1" "f[0]['mode'] = '4755'" \
  "f[0]['mode'] = 493" "del f[0]['sha256']" "d['version'] = 2" "d['files'] = {}" "f[0]['path'] = 'a\\0b'"; do
  hostile "$change"
  run 65 "$CAIRN" pull "$WORK/hostile" -o evil
  err "manifest."
done
[ -z "$(ls evil 2>/dev/null)" ] || fail "a refused manifest made $(ls evil)"
mkdir evil
ln -s "$WORK/outside" evil/sub
run 73 "$CAIRN" pull "$WORK/manifest" -o evil
err "sub"
[ -z "$(ls "$WORK/outside")" ] || fail "a symbolic link led out of the folder"
rm -r evil
mkdir evil
ln -s "$WORK/outside/new" evil/text
run 73 "$CAIRN" pull "$WORK/manifest" -o evil
[ -z "$(ls "$WORK/outside")" ] || fail "a symbolic link at a file's place was followed"
hostile "f[3]['size'] -= 1"
run 65 "$CAIRN" pull "$WORK/hostile" -o wrong-size
hostile "f[3]['hash'] = f[4]['hash']"
run 65 "$CAIRN" pull "$WORK/hostile" -o wrong-hash
run 66 "$CAIRN" pull "$WORK/absent" -o x

# An object rots on the disk. The daemon refuses to send it, and the command names the xorb. Where the daemon does not
# check, the command does, and names the chunk.
object_of() { find "$WORK/data" -type f -name "*$1*" | head -n 1; }
flip() { # FILE OFFSET
  python3 -c 'import sys
with open(sys.argv[1], "r+b") as f:
    f.seek(int(sys.argv[2])); b = f.read(1); f.seek(int(sys.argv[2])); f.write(bytes([b[0] ^ 0x40]))' "$1" "$2"
}
rot() { # NAME CODE WORD: a pull of NAME with a flipped bit exits with CODE, and says the xorb and WORD; one without succeeds
  local xorb object half
  "$CAIRN" hash --json --chunks --xorbs "$WORK/$1" >"$WORK/out"
  xorb=$(json 'd["files"][0]["xorbs"][0]["hash"]')
  object=$(object_of "$xorb")
  [ -n "$object" ] || fail "no object of $1"
  chmod u+w "$object"
  half=$(($(stat -c %s "$object") / 2))
  flip "$object" "$half"
  run "$2" "$CAIRN" pull "${HASH[$1]}" -o rotten
  err "xorb $xorb"
  err "$3"
  [ ! -e rotten ] || fail "a rotten $1 got its name"
  rm -f rotten.*
  "$CAIRN" pull "${HASH[$1]}" -o - >/dev/null 2>"$WORK/err"
  is "$?" "$2" "exit code of a rotten file on standard output"
  flip "$object" "$half"
  run 0 "$CAIRN" pull "${HASH[$1]}" -o rotten
  rm rotten
}
stop_server
start_server --token-key "$WORK/key" --no-prove-reads
export CAIRN_SERVER=$URL
for name in random text; do
  rot $name 65 "chunk "
done
stop_server
start_server --token-key "$WORK/key"
export CAIRN_SERVER=$URL
for name in random text; do
  rot $name 66 "410 object.damaged"
done
stop_server
run 69 "$CAIRN" pull "${HASH[tiny]}" -o x --retries 0
cd / || exit 1
done_testing
