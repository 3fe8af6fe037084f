#!/usr/bin/env bash
# Garage, an S3 service, as three plain processes on this machine that keep three copies. For tests: its data lies in FOLDER, and it has
# the one bucket "cairn".
#   garage.sh find                    prints the program: CAIRN_GARAGE, or the installed one; without any, says how to get it, and exits with 77
#   garage.sh start FOLDER [PORT]     in some 2 s; the three answer on PORT + 80 (33280 if not given) and the next two
#   garage.sh key FOLDER              prints another key of the bucket, and its secret
#   garage.sh no-key FOLDER ID        removes that key
#   garage.sh stop FOLDER             stops all, and removes the folder
set -euo pipefail
# shellcheck source=tests/engines/wait.sh
. "$(dirname "$0")/wait.sh"

if [ "$1" = stop ]; then
  for file in "$2"/*.pid; do
    [ ! -e "$file" ] || kill -9 "$(cat "$file")" 2>/dev/null || true
  done
  rm -rf "$2"
  exit
fi
if ! garage=$(command -v "${CAIRN_GARAGE:-garage}"); then
  echo "there is no garage: name one by CAIRN_GARAGE, or install it, with Rust for a quarter of an hour:"
  echo "  cargo install garage --locked --version 2.5.0 --no-default-features --features bundled-libs,lmdb"
  exit 77
fi
if [ "$1" = find ]; then
  echo "$garage"
  exit
fi

folder=$2
port=${3:-33200}
export RUST_LOG=garage=warn

of() { # NODE COMMAND...
  local node=$1
  shift
  "$garage" -c "$folder/$node.toml" "$@"
}

start_node() { # I
  cat >"$folder/$1.toml" <<END
metadata_dir = "$folder/$1/meta"
data_dir = "$folder/$1/data"
db_engine = "lmdb"
lmdb_map_size = 4294967296
replication_factor = 3
consistency_mode = "consistent"
rpc_bind_addr = "127.0.0.1:$((port + $1))"
rpc_public_addr = "127.0.0.1:$((port + $1))"
rpc_secret = "$secret"
rpc_ping_timeout_msec = 2000
rpc_timeout_msec = 5000
[s3_api]
s3_region = "us-east-1"
api_bind_addr = "127.0.0.1:$((port + 80 + $1))"
END
  setsid "$garage" -c "$folder/$1.toml" server >"$folder/$1.out" 2>&1 </dev/null &
  echo $! >"$folder/$1.pid"
}

make_cluster() {
  local i id ids=()
  for i in 0 1 2; do
    start_node $i
  done
  for i in 0 1 2; do
    wait_for 60 of $i status
    id=$(of $i node id -q)
    ids+=("${id%@*}")
    [ $i = 0 ] || of 0 node connect "$id"
  done
  for i in 0 1 2; do
    of 0 layout assign -z "zone$i" -c 10G "${ids[$i]}"
  done
  of 0 layout apply --version 1
}

# Prints an id and a secret.
make_key() {
  of 0 key create cairn >"$folder/key"
  credentials
}

# The id and secret of the newest key.
credentials() {
  awk '/^Key ID:/ { id = $3 } /^Secret key:/ { print id, $3 }' "$folder/key"
}

# Looks first, because an attempt that was answered too late may have made the bucket.
bucket_is_there() {
  of 0 bucket info cairn || of 0 bucket create cairn
}

make_bucket() {
  wait_for 30 bucket_is_there
  read -r key key_secret < <(make_key)
  of 0 bucket allow --read --write --owner --key "$key" cairn
}

start_all() {
  make_cluster
  make_bucket
}

case $1 in
start)
  mkdir -p "$folder"
  secret=$(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')
  show_logs_on_failure "$folder"
  begin "$folder" start_all
  read -r key key_secret < <(credentials)
  cat >"$folder/environment" <<END
export CAIRN_S3_SERVICE=garage CAIRN_TEST_S3_FOLDER=$folder CAIRN_GARAGE=$garage
export CAIRN_TEST_S3_NODES=127.0.0.1:$((port + 80)),127.0.0.1:$((port + 81)),127.0.0.1:$((port + 82))
export CAIRN_TEST_S3=http://127.0.0.1:$((port + 80)) AWS_ACCESS_KEY_ID=$key AWS_SECRET_ACCESS_KEY=$key_secret CAIRN_TEST_S3_PID=$(cat "$folder/0.pid")
END
  ;;
key)
  read -r key key_secret < <(make_key)
  of 0 bucket allow --read --write --key "$key" cairn >/dev/null
  echo "$key $key_secret"
  ;;
no-key) of 0 key delete --yes "$3" >/dev/null ;;
esac
