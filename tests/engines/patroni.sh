#!/usr/bin/env bash
# Starts three PostgreSQL servers under Patroni, with one etcd, as plain processes on this machine, in some 20 s. Patroni makes one
# server the leader, and one standby must confirm each commit. For tests: data lies in FOLDER, nothing is synced; the database is
# "cairn". Patroni has the times that docs/scale.md names. A number N below is 0, 1 or 2.
#   patroni.sh start FOLDER [PORT]      servers on 127.0.0.1, PORT to PORT + 2 (33300 if not given), and others up to PORT + 7
#   patroni.sh leader FOLDER            prints the number of the leader
#   patroni.sh kill FOLDER N            kills the server and its Patroni, as by a loss of power
#   patroni.sh revive FOLDER N          starts both again
#   patroni.sh whole FOLDER             waits until one leads and two follow, one of which must confirm each commit
#   patroni.sh sql FOLDER N STATEMENT   prints the answer, as plain lines
#   patroni.sh probe FOLDER             commits at the leader, and prints how that ended
#   patroni.sh stop FOLDER              stops all, and removes the folder
# Needs the Debian packages postgresql, patroni and etcd-server.
set -euo pipefail
# shellcheck source=tests/engines/wait.sh
. "$(dirname "$0")/wait.sh"

folder=$2
bin=$(find /usr/lib/postgresql -maxdepth 2 -name bin 2>/dev/null | sort -V | tail -n 1)
[ "$1" != start ] || echo "${3:-33300}" >"$(mkdir -p "$folder" && echo "$folder/port")"
[ "$1" != stop ] || [ -e "$folder/port" ] || exit 0
port=$(cat "$folder/port")
case $1 in
start | revive | whole) show_logs_on_failure "$folder" ;;
esac
etcd=127.0.0.1:$((port + 3))

# PostgreSQL refuses to run as root. setpriv becomes the program itself, so its process id stays.
as_server=()
[ "$(id -u)" != 0 ] || as_server=(setpriv --reuid postgres --regid postgres --init-groups)

sql() { # N STATEMENT
  PGCONNECT_TIMEOUT=5 "$bin/psql" -h 127.0.0.1 -p $((port + $1)) -U postgres -At -c "$2" "${3:-cairn}"
}

# Asks Patroni N for its role: primary, replica, sync.
is() { # N ROLE
  curl -sf -m 2 -o /dev/null "http://127.0.0.1:$((port + 5 + $1))/$2"
}

leader() {
  local n
  for n in 0 1 2; do
    ! is $n primary || {
      echo $n
      return
    }
  done
  return 1
}

count() { # ROLE
  local n found=0
  for n in 0 1 2; do
    ! is $n "$1" || found=$((found + 1))
  done
  echo $found
}

is_whole() {
  [ "$(count primary)" = 1 ] && [ "$(count replica)" = 2 ] && [ "$(count sync)" = 1 ]
}

configure() { # N
  cat >"$folder/n$1.yml" <<END
scope: cairn
name: n$1
restapi: {listen: '127.0.0.1:$((port + 5 + $1))', connect_address: '127.0.0.1:$((port + 5 + $1))'}
etcd3: {host: '$etcd'}
bootstrap:
  dcs:
    ttl: 20
    loop_wait: 2
    retry_timeout: 5
    synchronous_mode: true
    synchronous_mode_strict: true
    postgresql:
      use_pg_rewind: true
      parameters: {shared_buffers: 64MB, max_connections: 100, wal_log_hints: 'on', wal_keep_size: 512MB, fsync: 'off'}
  initdb: [{encoding: UTF8}, {locale: C}, no-sync]
postgresql:
  listen: 127.0.0.1:$((port + $1))
  connect_address: 127.0.0.1:$((port + $1))
  data_dir: $folder/n$1
  bin_dir: $bin
  pgpass: $folder/pgpass$1
  parameters: {unix_socket_directories: ''}
  authentication:
    replication: {username: replicator, password: repl}
    superuser: {username: postgres, password: test}
    rewind: {username: rewinder, password: rewind}
  pg_hba:
    - host all all 127.0.0.1/32 trust
    - host replication all 127.0.0.1/32 trust
END
}

run_patroni() { # N
  cd "$folder"
  setsid "${as_server[@]}" patroni "$folder/n$1.yml" >>"$folder/log$1" 2>&1 </dev/null &
  echo $! >"$folder/pid$1"
}

are_gone() { # PID...
  local pid
  for pid; do
    ! grep -q '^State:[[:space:]]*[^ZX]' "/proc/$pid/status" 2>/dev/null || return 1
  done
}

kill_all() { # N
  local all server
  all=$(cat "$folder/pid$1" 2>/dev/null || true)
  server=$(head -n 1 "$folder/n$1/postmaster.pid" 2>/dev/null || true)
  [ -z "$server" ] || all+=" $server $(pgrep -P "$server" || true)"
  # shellcheck disable=SC2086 # numbers
  kill -KILL $all 2>/dev/null || true
  # shellcheck disable=SC2086
  wait_for 60 are_gone $all
  rm -f "$folder/n$1/postmaster.pid" "$folder/pid$1"
}

run_etcd() {
  local peer=http://127.0.0.1:$((port + 4))
  setsid "${as_server[@]}" etcd --name one --data-dir "$folder/etcd" --unsafe-no-fsync --listen-client-urls "http://$etcd" --advertise-client-urls "http://$etcd" \
    --listen-peer-urls "$peer" --initial-advertise-peer-urls "$peer" --initial-cluster "one=$peer" >"$folder/log.etcd" 2>&1 </dev/null &
  echo $! >"$folder/pid.etcd"
  wait_for 60 curl -sf -m 2 -o /dev/null "http://$etcd/health"
}

case $1 in
start)
  chmod 755 "$folder"
  [ "$(id -u)" != 0 ] || chown postgres "$folder"
  cd "$folder"
  run_etcd
  for n in 0 1 2; do
    configure $n
    run_patroni $n
  done
  wait_for 60 is_whole
  "$bin/createdb" -h 127.0.0.1 -p $((port + $(leader))) -U postgres -E UTF8 -T template0 cairn
  cat >"$folder/environment" <<END
export CAIRN_TEST_PATRONI=$folder
export CAIRN_TEST_POSTGRES=postgres://postgres@127.0.0.1:$port,127.0.0.1:$((port + 1)),127.0.0.1:$((port + 2))/cairn
END
  ;;
leader) leader ;;
kill) kill_all "$3" ;;
revive) run_patroni "$3" ;;
whole) wait_for 60 is_whole ;;
sql) sql "$3" "$4" ;;
probe)
  urls=127.0.0.1:$port,127.0.0.1:$((port + 1)),127.0.0.1:$((port + 2))
  exec "$bin/psql" "postgres://postgres@$urls/cairn?target_session_attrs=read-write&connect_timeout=2" -Atc "SELECT pg_logical_emit_message(true, 'probe', '')"
  ;;
stop)
  for n in 0 1 2; do
    kill_all $n
  done
  kill -KILL "$(cat "$folder/pid.etcd")" 2>/dev/null || true
  rm -rf "$folder"
  ;;
esac
