#!/usr/bin/env bash
# push and query against a running daemon.
. "$(dirname "$0")/common.sh"

python3 - "$WORK" <<'PY'
import random, struct, sys
r = random.Random(7)
a = r.randbytes(6 << 20)
put = lambda name, b: open(sys.argv[1] + "/" + name, "wb").write(b)
put("random", a)
put("shared", a[: 5 << 20] + r.randbytes(1 << 20))
put("text", " ".join(r.choice(["alpha", "beta", "gamma", "delta"]) for _ in range(300000)).encode())
put("floats", b"".join(struct.pack("<f", 1 + i * 1e-6 + r.random() * 1e-7) for i in range(300000)))
put("empty", b"")
PY
files=("$WORK/random" "$WORK/text" "$WORK/floats" "$WORK/empty")

"$CAIRN" token --new-key "$WORK/key"
"$CAIRN" token --new-key "$WORK/other-key"
start_server --token-key "$WORK/key"
export CAIRN_SERVER=$URL
"$CAIRN" token --key "$WORK/key" --scope write >"$WORK/token"
CAIRN_TOKEN=$("$CAIRN" token --key "$WORK/key" --scope read)
export CAIRN_TOKEN

# --- who may
run 77 "$CAIRN" push "${files[@]}"
no_out
err "does not permit"
run 77 "$CAIRN" push --token "$("$CAIRN" token --key "$WORK/other-key" --scope write)" "${files[@]}"
err "wants a valid token by --token, --token-file or CAIRN_TOKEN (401 "
run 77 env -u CAIRN_TOKEN "$CAIRN" push "${files[@]}"
run 66 "$CAIRN" push --token-file "$WORK/absent" "${files[@]}"
run 64 "$CAIRN" push --token-file "$WORK/token" --token x "${files[@]}"

# --- the first push sends everything, the second nothing, the third a fifth
run 0 "$CAIRN" push --json --token-file "$WORK/token" "${files[@]}"
no_err # the bar is for terminals only
is "$(json 'len(d["files"]), d["new_bytes"] == d["bytes"], d["query_hits"], d["shards_new"]')" "(4, True, 0, 1)" "first push"
[ "$(json 'd["sent_bytes"] < d["bytes"]')" = True ] || fail "text and floats were not packed"
for i in 0 1 2 3; do
  is "$(json "d['files'][$i]['hash']")" "$("$CAIRN" hash "${files[$i]}" | cut -d ' ' -f 1)" "hash of ${files[$i]}"
done
run 0 "$CAIRN" push --json --token-file "$WORK/token" "${files[@]}"
is "$(json 'd["new_bytes"], d["xorbs_sent"], d["shards_new"]')" "(0, 0, 0)" "second push"
[ "$(json 'd["sent_bytes"] < 2000')" = True ] || fail "the second push sends $(json 'd["sent_bytes"]') bytes"
run 0 "$CAIRN" push --token-file "$WORK/token" "${files[@]}"
out "4 files,"
out "0 bytes new"
run 0 "$CAIRN" push --json --token-file "$WORK/token" "$WORK/shared"
[ "$(json '1 << 20 <= d["new_bytes"] < 1.3 * (1 << 20)')" = True ] || fail "of the shared file $(json 'd["new_bytes"]') are new"
# Without chunk queries everything is packed, but a xorb of the same chunks is not sent twice.
run 0 "$CAIRN" push --json --no-dedupe --token-file "$WORK/token" "${files[@]}"
is "$(json 'd["queries"], d["new_bytes"] == d["bytes"], d["xorbs_sent"]')" "(0, True, 0)" "push without questions"
# A bar is shown on a terminal, and leaves nothing on the screen. There is none elsewhere, or with --quiet.
on_terminal() { script -qec "$(printf '%q ' "$CAIRN" push --token-file "$WORK/token" "$@" "${files[@]}")" /dev/null; }
run 0 on_terminal --no-dedupe
out " of 8.8 MiB, "
run 0 on_terminal --quiet
if grep -qF "[" "$WORK/out"; then fail "--quiet shows a bar"; fi

# -v tells of each request, and of no secret.
run 0 "$CAIRN" push -v --token-file "$WORK/token" "$WORK/text"
grep -qE '^cairn: GET /v1/chunks/default/[0-9a-f]{64}: 200, 0 bytes sent, [0-9]+ received, [0-9]+ ms$' "$WORK/err" || fail "-v: $(cat "$WORK/err")"
grep -qE '^cairn: POST /v1/shards: 200, [0-9]+ bytes sent' "$WORK/err" || fail "-v: no shard"
if grep -qF "$(cat "$WORK/token")" "$WORK/err"; then fail "-v shows the token"; fi
# hash has a bar, too.
hash_on_terminal() { script -qec "$(printf '%q ' "$CAIRN" hash "$@" "${files[@]}")" /dev/null; }
run 0 hash_on_terminal
out "iB of 8.8 MiB"
out "$WORK/empty"
run 0 hash_on_terminal -q
if grep -qF "[" "$WORK/out"; then fail "hash -q shows a bar"; fi

run 0 "$CAIRN" push --json --token-file "$WORK/token" - --name words <"$WORK/text"
is "$(json 'd["files"][0]["path"], d["new_bytes"]')" "('words', 0)" "standard input under a name"
is "$(json 'd["files"][0]["hash"]')" "$("$CAIRN" hash "$WORK/text" | cut -d ' ' -f 1)" "hash of standard input"
head -c 3000000 /dev/urandom >"$WORK/piped"
run 0 "$CAIRN" push --token-file "$WORK/token" "$WORK/empty" - < <(cat "$WORK/piped")
out "$("$CAIRN" hash "$WORK/piped" | cut -d ' ' -f 1) 3000000 -"
out "2 files,"
run 64 "$CAIRN" push --token-file "$WORK/token" - - <"$WORK/text"
err "read once"
run 64 "$CAIRN" push --token-file "$WORK/token" --name x "$WORK/text"
err "--name goes with -"
run 66 "$CAIRN" push --token-file "$WORK/token" - <&-
err "standard input"

# --- files that cannot be read are left out, and the others are pushed
head -c 100000 /dev/urandom >"$WORK/one"
head -c 100000 /dev/urandom >"$WORK/two"
run 66 "$CAIRN" push --token-file "$WORK/token" "$WORK/one" "$WORK/absent" "$WORK/two"
err "$WORK/absent: No such file"
out "2 files,"
run 66 "$CAIRN" push --json --token-file "$WORK/token" "$WORK/absent" "$WORK/one" "$WORK/two"
is "$(json '[f.get("error", {}).get("rule") for f in d["files"]], d["new_bytes"]')" "(['file.open', None, None], 0)" "a name that is absent"
run 66 "$CAIRN" push --json --token-file "$WORK/token" --server http://127.0.0.1:1 "$WORK/absent" # nothing to send, so the server is not asked
is "$(json 'len(d["files"]), d["sent_bytes"]')" "(1, 0)" "no name is there"
run 74 "$CAIRN" push --token-file "$WORK/token" /proc/self/mem "$WORK/one" # opens, and cannot be read
err "file.read"
out "1 file,"
run 77 "$CAIRN" push --json "$WORK/absent" "$WORK/one" # the server's refusal ends the push, and is the JSON object
is "$(json 'd["exit_code"], d["error"]["rule"], d["error"]["status"]')" "(77, 'server.answer', 'denied')" "a refusal as JSON"

# --- several xorbs, sent at once
head -c 150000000 /dev/urandom >"$WORK/large"
run 0 "$CAIRN" push -j 2 --json --no-dedupe --token-file "$WORK/token" "$WORK/large" "$WORK/text"
is "$(json 'd["xorbs_sent"], d["shards_new"], d["sent_bytes"] > 150000000')" "(3, 1, True)" "a push of three xorbs"
is "$(json 'd["files"][0]["hash"]')" "$("$CAIRN" hash "$WORK/large" | cut -d ' ' -f 1)" "hash of what went up in parts"
"$CAIRN" pull "$(json 'd["files"][0]["hash"]')" -o - | cmp -s - "$WORK/large" || fail "what went up in parts comes back as something else"
run 0 "$CAIRN" push -j 16 --json --no-dedupe --token-file "$WORK/token" "$WORK/large" "$WORK/text"
is "$(json 'd["xorbs_sent"]')" 0 "xorbs that the server has"
head -c 150000000 /dev/urandom >"$WORK/large"
run 77 "$CAIRN" push --no-dedupe --json "$WORK/large" # refused while others are filled
is "$(json 'd["error"]["rule"]')" server.answer "a refusal in mid-push"
for jobs in 0 17 x; do run 64 "$CAIRN" push -j "$jobs" "$WORK/text"; done
rm "$WORK/large"

first=$("$CAIRN" hash --chunks "$WORK/random" | awk '$1 == "chunk" { print $2; exit }')
run 0 "$CAIRN" query "$first"
out "key"
out "xorb"
expires=$(sed -n 's/^expires *//p' "$WORK/out")
run 0 "$CAIRN" query --json "$first"
is "$(date -u -d "$expires" +%s) ${#expires}" "$(json 'd["expires_unix_s"]') 20" "expiry for people"
run 0 "$CAIRN" query --json --chunks --file "$WORK/shared" "$first"
is "$(json 'd["found"], d["fresh"], d["matches"][0]["index"], d["file_bytes"]')" "(True, True, 0, 6291456)" "query"
[ "$(json '0.75 < d["matched_bytes"] / d["file_bytes"] < 0.86')" = True ] || fail "matches $(json 'd["matched_bytes"]')"
[ "$(json 'd["matches"][0]["hash"] != d["xorbs"][0]["chunks"][0]["hash"]')" = True ] || fail "chunk hashes are not keyed"
run 66 "$CAIRN" query --json "$(printf 'ab%.0s' {1..32})"
is "$(json 'd["found"]')" False "unknown chunk"
run 77 "$CAIRN" query --token nonsense "$first"
stop_server

# --- no server, a busy server, and a server that is not Cairn
run 69 "$CAIRN" push --token x "$WORK/text"
err "cannot reach"
err "is it running, and is that its address (--server)?"
run 69 "$CAIRN" query "$first"
cat >"$WORK/fake.py" <<'PY'
"""Answers 503 twice to each path, then 200 with an empty object."""
import http.server, sys
seen = {}
class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        seen[self.path] = seen.get(self.path, 0) + 1
        code = 503 if seen[self.path] <= 2 else 200
        self.send_response(code)
        self.send_header("Retry-After", "1")
        self.send_header("Content-Length", "2" if self.command != "HEAD" else "0")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(b"{}")
    do_GET = do_POST = do_HEAD = answer
    def log_message(self, *args):
        print(self.command, seen[self.path], file=sys.stderr, flush=True)
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
PY
mkfifo "$WORK/port"
python3 "$WORK/fake.py" >"$WORK/port" 2>"$WORK/fake.log" &
fake=$!
read -r port <"$WORK/port"
run 69 "$CAIRN" push --server "http://127.0.0.1:$port" --retries 1 --no-dedupe "$WORK/empty"
err "cannot do it now (503)"
is "$(grep -c POST "$WORK/fake.log")" 2 "tries with --retries 1"
run 69 "$CAIRN" push --server "http://127.0.0.1:$port" --retries 0 --no-dedupe "$WORK/empty"
err 'no "result"' # 200 now, but no store
kill "$fake"
wait "$fake" 2>/dev/null
done_testing
