#!/usr/bin/env bash
# Commands of an operator: rm, share, gc, stats, key, telemetry against a running daemon, fsck on a stopped one.
. "$(dirname "$0")/common.sh"

python3 - "$WORK" <<'PY'
import random, sys
r = random.Random(13)
put = lambda name, b: open(sys.argv[1] + "/" + name, "wb").write(b)
put("one", r.randbytes(3 << 20))
put("two", r.randbytes(2 << 20))
PY
"$CAIRN" token --new-key "$WORK/key"
printf '\0\0\0\0\0\0\0\0' >"$WORK/clock"
start_server --token-key "$WORK/key" --test-clock "$WORK/clock"
export CAIRN_SERVER=$URL
CAIRN_TOKEN=$("$CAIRN" token --key "$WORK/key" --scope admin --ttl 90d)
WRITE=$("$CAIRN" token --key "$WORK/key" --scope write)
OF_REPO=$("$CAIRN" token --key "$WORK/key" --scope write --repo 'ann/cat')
READ=$("$CAIRN" token --key "$WORK/key" --scope read --repo bob/dog)
export CAIRN_TOKEN
one=$("$CAIRN" hash "$WORK/one" | cut -d ' ' -f 1)
two=$("$CAIRN" hash "$WORK/two" | cut -d ' ' -f 1)
absent=$(printf 'ab%.0s' {1..32})
run 0 "$CAIRN" push "$WORK/one"
run 0 "$CAIRN" push --token "$OF_REPO" "$WORK/two"

# --- who may
for command in "rm $one" "share $one" gc stats "key list" "key add x" "key revoke 1" telemetry; do
  # shellcheck disable=SC2086 # words are wanted
  run 77 "$CAIRN" $command --token "$WRITE"
  no_out
  # shellcheck disable=SC2086
  run 69 "$CAIRN" $command --server http://127.0.0.1:1 --retries 0
done

run 0 "$CAIRN" usage --fresh
out "  (the operator)"

run 0 "$CAIRN" stats --json
is "$(json 'd["files"], d["xorbs"], d["file_bytes"], d["unreferenced_xorbs"]')" "(2, 2, 5242880, 0)" "stats"
run 0 "$CAIRN" stats
out "5.0 MiB"
out "needed by no file"

# --- share: a file of a repository is nobody else's until it is shared
run 66 "$CAIRN" pull "$two" -o - --token "$READ"
run 0 "$CAIRN" share "$two" --repo eve/fox
run 66 "$CAIRN" pull "$two" -o - --token "$READ"
run 65 "$CAIRN" share "$two" --repo nonsense
err "namespace/name"
run 0 "$CAIRN" share "$two"
out "shared"
run 0 "$CAIRN" share "$two" --json
is "$(json 'd["shared"]')" False "shared twice"
"$CAIRN" pull "$two" -o - --token "$READ" | cmp -s - "$WORK/two" || fail "a shared file cannot be read"
run 66 "$CAIRN" share "$absent"
err "does not know it"

run 64 "$CAIRN" key add all --repo ''
err "leave it out"
run 64 "$CAIRN" key add all --scope read,rite
err 'not "read,rite"'
run 64 "$CAIRN" key add ''
run 64 "$CAIRN" key add "$(printf 'k%.0s' {1..256})"
err "1 to 255 bytes"
run 0 "$CAIRN" key list
no_out
run 0 "$CAIRN" key add laptop
key=$(cat "$WORK/out")
[ "${#key}" -gt 30 ] || fail "key: \"$key\""
run 0 "$CAIRN" key add $'b\033[31m"' --repo ann/cat --scope read,write --json
is "$(json 'd["repo"], d["scope"]')" "('models/ann/cat', 'read write')" "key"
run 0 "$CAIRN" key list
out '"laptop"'
out '\u001b'
if grep -qF "$key" "$WORK/out"; then fail "a list shows the key"; fi
if grep -q $'\033' "$WORK/out"; then fail "a name reaches the terminal as it is"; fi
run 0 "$CAIRN" key revoke 1
out "revoked"
run 0 "$CAIRN" key revoke 1
out "was revoked already"
run 0 "$CAIRN" key list --json
is "$(json '[k["revoked"] for k in d["keys"]]')" "[True, False]" "keys"
run 0 "$CAIRN" key add short --expires 90d --json
is "$(json '89 * 86400 < d["expires"] - __import__("time").time() <= 90 * 86400')" "True" "until when"
run 66 "$CAIRN" key revoke 99
run 65 "$CAIRN" key add x --repo nonamespace
err "NAMESPACE/NAME"
for words in "add" "list x" "revoke" "revoke x" "revoke 0" "revoke 1 2" "list --scope read" "list --expires 1h" "add x --expires 0" "nothing"; do
  # shellcheck disable=SC2086
  run 64 "$CAIRN" key $words
done

run 0 "$CAIRN" telemetry
no_out
for event in first second; do
  python3 - "$URL" "$WRITE" "$event" <<'PY'
import json, sys, urllib.request
url, token, event = sys.argv[1:]
body = json.dumps({"event": event, "metrics": {"bytes": 7}}).encode()
urllib.request.urlopen(urllib.request.Request(url + "/v1/telemetry", body, {"Authorization": "Bearer " + token})).read()
PY
done
# The daemon stores the report after answering. Once the following key is made, by the same queue, the report is stored,
# too.
run 0 "$CAIRN" key add barrier
run 0 "$CAIRN" telemetry --limit 1
out '"second"'
run 0 "$CAIRN" telemetry --json
is "$(json '[(t["body"]["event"], t["body"]["metrics"]["bytes"]) for t in d["telemetry"]]')" "[('second', 7), ('first', 7)]"
run 64 "$CAIRN" telemetry --limit 0
run 64 "$CAIRN" telemetry --limit 513

run 66 "$CAIRN" rm "$one" --repo ann/cat # the file is the operator's
run 65 "$CAIRN" rm "$one" --repo '&repo=' # the command must escape it, or the query would be another one
run 0 "$CAIRN" rm "$one"
out "forgotten"
run 66 "$CAIRN" rm "$one"
err "no such file is registered"
run 64 "$CAIRN" rm
run 64 "$CAIRN" rm abc
run 66 "$CAIRN" pull "$one" -o -
run 0 "$CAIRN" stats --json
is "$(json 'd["files"], d["xorbs"], d["unreferenced_xorbs"]')" "(1, 2, 1)" "stats after rm"
after_days() {
  python3 -c 'import struct, sys
open(sys.argv[1], "r+b").write(struct.pack("<q", int(sys.argv[2]) * 86400))' "$WORK/clock" "$1"
}
run 0 "$CAIRN" gc --json
is "$(json 'd["retired"], d["swept"], d["grace_s"]')" "(0, 0, 1209600)" "a collection within the grace time"
after_days 15
run 0 "$CAIRN" gc
out "1 xorbs retired, 0 deleted"
out "14 days from now"
after_days 30
run 0 "$CAIRN" gc
out "0 xorbs retired, 1 deleted, 3.0 MiB freed"
run 64 "$CAIRN" gc now

run 73 "$CAIRN" fsck --data-dir "$WORK/data"
err "stop it first"
stop_server
run 66 "$CAIRN" fsck --data-dir "$WORK/absent"
[ ! -e "$WORK/absent" ] || fail "fsck made a folder"
run 66 "$CAIRN" fsck --data-dir "$WORK"
err "not the data folder"
run 64 "$CAIRN" fsck
run 64 "$CAIRN" fsck --data-dir "$WORK/data" --xorbs elsewhere
run 0 "$CAIRN" fsck --data-dir "$WORK/data"
no_err
out "0 problems, 0 repaired, 0 left"
# A backup has no file "lock" yet.
mkdir -m 0700 "$WORK/copy"
cp -a "$WORK/data/index.sqlite" "$WORK/data/objects" "$WORK/data/secret" "$WORK/copy"
run 0 "$CAIRN" fsck --data-dir "$WORK/copy"
out "1 objects"
run 0 "$CAIRN" fsck --data-dir "$WORK/data" --json
is "$(json 'd["problems"], d["xorbs"], d["files"], d["objects"], d["left"]')" "([], 1, 1, 1, 0)" "sound"
[ "$(json 'd["bytes_read"] > 2 << 20')" = True ] || fail "fsck reads $(json 'd["bytes_read"]') bytes"
on_terminal() { script -qec "$(printf '%q ' "$CAIRN" fsck --data-dir "$WORK/data" "$@")" /dev/null; }
run 0 on_terminal
out " read"
out "[#"

"$CAIRN" hash --json --xorbs "$WORK/two" >"$WORK/out"
xorb=$(json 'd["files"][0]["xorbs"][0]["hash"]')
object=$(find "$WORK/data" -type f -name "*$xorb*")
chmod u+w "$object"
python3 -c 'import sys
with open(sys.argv[1], "r+b") as f:
    f.seek(1000000); b = f.read(1); f.seek(1000000); f.write(bytes([b[0] ^ 1]))' "$object"
run 0 "$CAIRN" fsck --data-dir "$WORK/data" --skip-data
run 65 "$CAIRN" fsck --data-dir "$WORK/data"
out "xorb.damaged $xorb"
run 65 "$CAIRN" fsck --data-dir "$WORK/data" --json --repair
is "$(json 'sorted((p["kind"], p["repaired"]) for p in d["problems"])')" "[('file.lost', False), ('xorb.damaged', True)]" "repair"
start_server --token-key "$WORK/key"
export CAIRN_SERVER=$URL
run 0 "$CAIRN" push --json --token "$OF_REPO" "$WORK/two"
is "$(json 'd["xorbs_sent"]')" 1 "xorbs sent again"
CAIRN_TOKEN=$WRITE
"$CAIRN" pull "$two" -o - | cmp -s - "$WORK/two" || fail "the file is not whole again"
stop_server
run 0 "$CAIRN" fsck --data-dir "$WORK/data" --json
is "$(json 'd["problems"]')" "[]" "after the repair"
# A check that breaks off reports the reason together with what to do.
python3 -c 'import sqlite3, sys
index = sqlite3.connect(sys.argv[1])
index.execute("PRAGMA ignore_check_constraints = 1")
index.execute("UPDATE xorb SET hash = zeroblob(3)")
index.commit()' "$WORK/data/index.sqlite"
run 74 "$CAIRN" fsck --data-dir "$WORK/data"
err "a row of the index is malformed; restore the index of a backup [fsck.unfinished]"
done_testing
