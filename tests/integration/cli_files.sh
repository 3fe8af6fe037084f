#!/usr/bin/env bash
# hash, inspect, verify and token on files, with the vectors of the reference clients.
. "$(dirname "$0")/common.sh"

for name in empty one_byte small b8191 b8192 b8193; do
  run 0 "$CAIRN" hash --json --chunks --xorbs "$DATA/files/$name"
  python3 - "$WORK/out" "$DATA/files.json" "$name" <<'PY' || fail "hash $name"
import json, sys
got = json.load(open(sys.argv[1]))["files"][0]
want = next(f for f in json.load(open(sys.argv[2])) if f["name"] == sys.argv[3])
assert got["hash"] == want["file_hash"] and got["sha256"] == want["sha256"] and got["bytes"] == want["size"], got
assert [[c["hash"], c["bytes"]] for c in got["chunks"]] == want["chunks"], got
assert [x["hash"] for x in got["xorbs"]] == [c[0] for c in want["chunks"]], got
PY
done
run 66 "$CAIRN" hash "$DATA/files/small" "$WORK/absent"
out "1f507b2f03f3f15e7f64376c4abf60f1a5a8acafc315056edc81456d7b99aa2b"
err "absent: No such file"
run 66 "$CAIRN" hash "$WORK"
err "is a folder"
printf 'x' >"$WORK/"$'odd\xff"name'
run 0 "$CAIRN" hash --json "$WORK/"$'odd\xff"name'
json 'd["files"][0]["path"]' >/dev/null || fail "a name that is not UTF-8 breaks the JSON"

# --- inspect and verify: what the clients sent is sound
for shard in "$DATA"/shards/*.shard "$DATA"/js/*.shard "$DATA"/dedupe/*.shard; do
  run 0 "$CAIRN" inspect "$shard"
  out "valid"
  run 0 "$CAIRN" inspect --json "$shard"
  is "$(json 'd["type"], d["valid"], d["records"][0]["record"]')" "('shard', True, 'header')" "$shard"
done
mkdir "$WORK/xorbs"
for xorb in "$DATA"/xorbs/* "$DATA"/js/xorbs/*; do
  case $xorb in *.json) continue ;; esac
  cp "$xorb" "$WORK/xorbs/"
  run 0 "$CAIRN" inspect --hash "$(basename "$xorb")" --json "$xorb"
  is "$(json 'd["type"], d["valid"], d["records"][-1]["hash"]')" "('xorb', True, '$(basename "$xorb")')" "$xorb"
done
run 0 "$CAIRN" verify --xorbs "$WORK/xorbs" "$DATA"/shards/*.shard "$DATA"/js/*.shard
no_err
run 66 "$CAIRN" verify "$DATA/shards/dedupe.shard"
err "term.unknown_xorb"
run 65 "$CAIRN" verify --strict "$DATA/shards/skip_sha.shard"
run 0 "$CAIRN" verify --json "$DATA/shards/medium.shard"
is "$(json '[d["shards"][0][k] for k in ("valid", "files", "terms", "xorbs", "chunks")]')" "[True, 7, 8, 1, 72]"

# --- inspect: every field that the reference's dump has
run 0 "$CAIRN" inspect --json "$DATA/shards/medium.shard"
python3 - "$WORK/out" "$DATA/shards/medium.json" <<'PY' || fail "fields of medium.shard"
import json, sys
records, want = json.load(open(sys.argv[1]))["records"], json.load(open(sys.argv[2]))
by_offset = {r["offset"]: r for r in records if r["record"] != "header"}
for f in want["files"]:
    got = by_offset[f["offset"]]
    assert (got["hash"], got["flags"], got["terms"]) == (f["file_hash"], f["file_flags"], f["num_entries"]), got
    for t in f["entries"]:
        got = by_offset[t["offset"]]
        assert (got["xorb"], got["flags"], got["bytes"], got["start"], got["end"]) == (
            t["cas_hash"], t["cas_flags"], t["unpacked_segment_bytes"], t["chunk_index_start"], t["chunk_index_end"]), got
    for v in f["verification"]:
        assert by_offset[v["offset"]]["hash"] == v["range_hash"]
    assert by_offset[f["metadata_ext"]["offset"]]["sha256"] == f["metadata_ext"]["sha256_u64le_hex"]
for x in want["xorbs"]:
    got = by_offset[x["offset"]]
    assert (got["hash"], got["chunks"], got["bytes"], got["bytes_on_disk"]) == (
        x["cas_hash"], x["num_entries"], x["num_bytes_in_cas"], x["num_bytes_on_disk"]), got
    for c in x["chunks"]:
        got = by_offset[c["offset"]]
        assert (got["hash"], got["start"], got["bytes"], got["flags"]) == (
            c["chunk_hash"], c["chunk_byte_range_start"], c["unpacked_segment_bytes"], c["flags"]), got
assert len(by_offset) == sum(1 + 2 * len(f["entries"]) + 1 for f in want["files"]) + sum(
    1 + len(x["chunks"]) for x in want["xorbs"]) + 2
PY

# --- every mutant is refused with a cause, except those that only a server can detect
python3 - "$DATA" <<'PY' >"$WORK/mutants"
import json, sys
data = sys.argv[1]
for line in open(data + "/invalid.jsonl"):
    m = json.loads(line)
    print("shard", m["file"], m["expect"], "-", m["name"])
for line in open(data + "/invalid_xorbs.jsonl"):
    m = json.loads(line)
    print("xorb", m["file"], m["expect"], m["path_hash"], m["name"])
PY
n=0
while read -r kind file expect hash name; do
  n=$((n + 1))
  want=0
  [ "$expect" = 200 ] || want=65
  options=()
  case $name in
  # an offline check cannot judge xorbs that a shard names without describing them
  term_unknown_xorb | cas_phantom_xorb | phantom_file_and_xorb) want=0 ;;
  dedupe_term_verification_wrong) want=0 ;;
  path_hash_nonhex | path_hash_short) continue ;; # faults of the request, not of the body
  esac
  [ "$kind" = shard ] || options=(--hash "$hash")
  run "$want" "$CAIRN" inspect --json "${options[@]}" "$DATA/$file"
  if [ "$want" = 65 ]; then
    grep -qE '"rule":"[a-z]+\.[a-z0-9_]+"' "$WORK/out" || fail "$file: no rule"
    grep -qE '\[[a-z]+\.[a-z0-9_]+' "$WORK/err" || fail "$file: no rule on standard error: $(cat "$WORK/err")"
  fi
done <"$WORK/mutants"
[ "$n" -gt 100 ] || fail "only $n mutants"
run 65 "$CAIRN" verify --xorbs "$WORK/xorbs" "$DATA"/invalid/108_*.shard
run 65 "$CAIRN" inspect "$DATA"/invalid/043_*.shard
out "term @" # records before the fault are printed
err "term.range_hash"
err "expected"

# --- pack: a malformed hash is refused before the file is opened
run 64 "$CAIRN" pack get "$WORK/absent.shard" nothash
err '"nothash" is not a hash'
run 64 "$CAIRN" pack delete "$WORK/absent.shard" nothash
err '"nothash" is not a hash'

# --- names that control a terminal: an escape, its one-byte form, and a change of direction
nasty=$WORK/$(printf 'a\033[31mb\302\233c\342\200\256d')
cp "$WORK/key" "$nasty" 2>/dev/null || echo x >"$nasty"
run 0 "$CAIRN" hash "$nasty"
out '/a\x1b[31mb\u009bc\u202ed'
run 66 "$CAIRN" hash "$nasty.absent"
err '/a\x1b[31mb\u009bc\u202ed.absent'
run 0 "$CAIRN" hash --json "$nasty"
is "$(json 'd["files"][0]["path"]' 2>/dev/null | tail -c 9 | od -An -c | tr -d ' \n')" "$(printf '%s\n' "$nasty" | tail -c 9 | od -An -c | tr -d ' \n')" "a name in JSON"
LC_ALL=C grep -q "$(printf '\302\233')" "$WORK/out" && fail "JSON steers a terminal"

run 0 "$CAIRN" token --new-key "$WORK/key"
no_out
is "$(stat -c %a "$WORK/key")" 600 "mode of a key"
run 73 "$CAIRN" token --new-key "$WORK/key"
err "exists"
run 0 "$CAIRN" token --key "$WORK/key" --scope read,write --repo ns/name --dedupe repository --ttl 2h --sub me
python3 - "$WORK/out" "$WORK/key" <<'PY' || fail "token"
import base64, hashlib, hmac, json, sys, time
b64 = lambda t: base64.urlsafe_b64decode(t + "=" * (-len(t) % 4))
head, claims, signature = open(sys.argv[1]).read().strip().split(".")
key = b64(open(sys.argv[2]).read().strip())
assert hmac.new(key, f"{head}.{claims}".encode(), hashlib.sha256).digest() == b64(signature)
c = json.loads(b64(claims))
assert (c["scope"], c["repo"], c["dedupe"], c["sub"]) == ("read write", "ns/name", "repository", "me"), c
assert 7100 < c["exp"] - time.time() <= 7200 and json.loads(b64(head))["alg"] == "HS256"
PY
CAIRN_TOKEN_AUDIENCE=https://cas.example CAIRN_TOKEN_ISSUER=other run 0 "$CAIRN" token --key "$WORK/key" --issuer hub
claims=$(cut -d . -f 2 "$WORK/out" | tr '_-' '/+' | base64 -d 2>/dev/null)
case $claims in *'"aud":"https://cas.example"'*'"iss":"hub"'*) ;; *) fail "whom a token is for: $claims" ;; esac
CAIRN_TOKEN_AUDIENCE=any run 0 "$CAIRN" token --key "$WORK/key"
cut -d . -f 2 "$WORK/out" | tr '_-' '/+' | base64 -d 2>/dev/null | grep -q aud && fail "any is no name"
run 64 "$CAIRN" token --key "$WORK/key" --repo ''
err "leave it out"
run 64 "$CAIRN" token --key "$WORK/key" --audience "$(printf 'x%.0s' {1..256})"
err "255 bytes"
run 64 "$CAIRN" token --key "$WORK/key" --scope everything
run 64 "$CAIRN" token --key "$WORK/key" --scope read,admin --repo ns/name
err "all repositories"
run 64 "$CAIRN" token --key "$WORK/key" --ttl soon
run 64 "$CAIRN" token --key "$WORK/key" --dedupe repository
run 64 "$CAIRN" token --key "$WORK/absent"
chmod o+r "$WORK/key"
run 64 "$CAIRN" token --key "$WORK/key"
err "chmod"
done_testing
