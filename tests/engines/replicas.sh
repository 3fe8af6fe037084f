#!/usr/bin/env bash
# Starts a PostgreSQL with two standbys, one of which must confirm each commit, as plain processes on this machine, in some 8 s. For tests: its
# data lies in FOLDER, is synced only if asked for, and has the one database "cairn", whose owner needs no password. FOLDER/leader names the
# leader; a number N below is 0, 1 or 2. A failover does what an agent such as Patroni does: all standbys stop receiving, the one with most of the
# log is promoted, the others follow it.
#   replicas.sh start FOLDER [PORT [SYNCS]]    on 127.0.0.1, PORT to PORT + 2 (33200 if not given); SYNCS: fsync of all three, off if not given
#   replicas.sh kill FOLDER N           kills it, as by a loss of power
#   replicas.sh pause FOLDER N          stops it: connections are accepted and not answered
#   replicas.sh resume FOLDER N
#   replicas.sh revive FOLDER N         starts it again, in its former role
#   replicas.sh promote FOLDER          makes another server the leader
#   replicas.sh switch FOLDER           the leader steps down, another leads, and the former follows
#   replicas.sh follow FOLDER N         a former leader becomes a standby, with a new copy of the leader's data
#   replicas.sh whole FOLDER            waits until both standbys have what the leader has
#   replicas.sh sql FOLDER N STATEMENT  prints the answer, as plain lines
#   replicas.sh probe FOLDER            commits at the leader, and prints how that ended
#   replicas.sh stop FOLDER             stops all, and removes the folder
# Needs the Debian package postgresql.
set -euo pipefail
# shellcheck source=tests/engines/wait.sh
. "$(dirname "$0")/wait.sh"

folder=$2
bin=$(find /usr/lib/postgresql -maxdepth 2 -name bin 2>/dev/null | sort -V | tail -n 1)
[ "$1" != start ] || echo "${3:-33200}" >"$(mkdir -p "$folder" && echo "$folder/port")"
[ "$1" != stop ] || [ -e "$folder/port" ] || exit 0
port=$(cat "$folder/port")
case $1 in
start | revive | promote | switch | follow | whole) show_logs_on_failure "$folder" ;;
esac

# PostgreSQL refuses to run as root.
as_server() {
  if [ "$(id -u)" = 0 ]; then
    setpriv --reuid postgres --regid postgres --init-groups "$@"
  else
    "$@"
  fi
}

sql() { # N STATEMENT
  PGCONNECT_TIMEOUT=5 "$bin/psql" -h 127.0.0.1 -p $((port + $1)) -U cairn -At -c "$2" cairn
}

set_up() { # N NAME VALUE
  sql "$1" "ALTER SYSTEM SET $2 = '$3'" >/dev/null
  sql "$1" "SELECT pg_reload_conf()" >/dev/null
}

control() { # N ACTION...
  local n=$1
  shift
  (cd "$folder" && as_server "$bin/pg_ctl" -D "$folder/n$n" -w -l "$folder/log$n" "$@") >/dev/null </dev/null
}

# Signals the server and all its child processes at one moment.
signal_all() { # SIGNAL N
  local server
  server=$(head -n 1 "$folder/n$2/postmaster.pid")
  # shellcheck disable=SC2046 # numbers
  kill "-$1" "$server" $(pgrep -P "$server")
}

are_gone() { # PID...
  local pid
  for pid; do
    ! grep -q '^State:[[:space:]]*[^ZX]' "/proc/$pid/status" 2>/dev/null || return 1
  done
}

# Removes the pid file: the process it names may be a zombie, which the next start would take for a running server.
kill_all() { # N
  local all
  all=$(head -n 1 "$folder/n$1/postmaster.pid")
  all+=" $(pgrep -P "$all")"
  # shellcheck disable=SC2086 # numbers
  kill -KILL $all
  # shellcheck disable=SC2086
  wait_for 30 are_gone $all
  rm -f "$folder/n$1/postmaster.pid"
}

others() {
  local n
  for n in 0 1 2; do
    [ "$n" = "$(cat "$folder/leader")" ] || echo $n
  done
}

conninfo() { # LEADER
  echo "host=127.0.0.1 port=$((port + $1)) user=cairn"
}

copy_of() { # LEADER N
  as_server "$bin/pg_basebackup" -h 127.0.0.1 -p $((port + $1)) -U cairn -D "$folder/n$2" -R -c fast --no-sync
  as_server sed -i '/^cluster_name/d;/^port/d' "$folder/n$2/postgresql.conf"
  as_server sed -i '/^primary_conninfo/d' "$folder/n$2/postgresql.auto.conf"
  as_server tee -a "$folder/n$2/postgresql.conf" >/dev/null <<END
cluster_name = 'n$2'
port = $((port + $2))
END
  as_server tee -a "$folder/n$2/postgresql.auto.conf" >/dev/null <<END
primary_conninfo = '$(conninfo "$1")'
END
  control "$2" start
}

is_whole() {
  [ "$(sql "$(cat "$folder/leader")" "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'
    AND sync_state = 'quorum' AND replay_lsn = pg_current_wal_lsn()" 2>/dev/null)" = 2 ]
}

listens_no_more() { # N
  [ -z "$(sql "$1" "SELECT pid FROM pg_stat_wal_receiver")" ]
}

is_alive() { # N
  sql "$1" "SELECT 1" >/dev/null 2>&1
}

# Has the server applied all of its log on disk? A restarted server does not know what it received before.
has_replayed() { # N
  listens_no_more "$1" &&
    [ "$(sql "$1" "SELECT wait_event FROM pg_stat_activity WHERE backend_type = 'startup'")" = RecoveryRetrieveRetryInterval ]
}

promote() {
  local n best="" most=-1 has alive=()
  for n in $(others); do
    ! is_alive "$n" || alive+=("$n")
  done
  # No standby may receive more from the former leader once their logs are compared.
  for n in "${alive[@]}"; do
    set_up "$n" primary_conninfo ""
  done
  for n in "${alive[@]}"; do
    wait_for 30 has_replayed "$n"
    has=$(sql "$n" "SELECT pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')::bigint")
    if [ "$has" -gt "$most" ]; then
      best=$n most=$has
    fi
  done
  control "$best" promote
  echo "$best" >"$folder/leader"
  for n in "${alive[@]}"; do
    [ "$n" = "$best" ] || set_up "$n" primary_conninfo "$(conninfo "$best")"
  done
}

# The promoted server may lack commits that the former leader never acknowledged. Those are discarded.
follow() { # N
  control "$1" -m immediate stop 2>/dev/null || true
  rm -rf "$folder/n$1"
  copy_of "$(cat "$folder/leader")" "$1"
}

start() {
  chmod 755 "$folder"
  [ "$(id -u)" != 0 ] || chown postgres "$folder"
  cd "$folder"
  as_server "$bin/initdb" -D "$folder/n0" -A trust -U cairn -E UTF8 --locale=C --no-sync
  cat >>"$folder/n0/postgresql.conf" <<END
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
fsync = ${syncs}
max_connections = 100
shared_buffers = 64MB
wal_level = replica
wal_keep_size = 512MB
hot_standby = on
wal_receiver_timeout = 5s
wal_sender_timeout = 5s
wal_retrieve_retry_interval = 200ms
cluster_name = 'n0'
port = $port
END
  control 0 start
  echo 0 >"$folder/leader"
  as_server "$bin/createdb" -h 127.0.0.1 -p "$port" -U cairn cairn
  copy_of 0 1
  copy_of 0 2
  # The same setting on all servers, since each may become the leader.
  for n in 0 1 2; do
    set_up $n synchronous_standby_names "ANY 1 (n0, n1, n2)"
  done
  wait_for 30 is_whole
}

case $1 in
start)
  syncs=${4:-off}
  begin "$folder" start
  cat >"$folder/environment" <<END
export CAIRN_TEST_REPLICAS=$folder
export CAIRN_TEST_POSTGRES=postgres://cairn@127.0.0.1:$port,127.0.0.1:$((port + 1)),127.0.0.1:$((port + 2))/cairn
END
  ;;
kill) kill_all "$3" ;;
pause) signal_all STOP "$3" ;;
resume) signal_all CONT "$3" ;;
revive) control "$3" start ;;
promote) promote ;;
switch)
  former=$(cat "$folder/leader")
  control "$former" -m fast stop
  promote
  follow "$former"
  ;;
follow) follow "$3" ;;
whole) wait_for 30 is_whole ;;
sql) sql "$3" "$4" ;;
probe)
  urls=127.0.0.1:$port,127.0.0.1:$((port + 1)),127.0.0.1:$((port + 2))
  exec "$bin/psql" "postgres://cairn@$urls/cairn?target_session_attrs=read-write&connect_timeout=2" -Atc "SELECT pg_logical_emit_message(true, 'probe', '')"
  ;;
stop)
  for n in 0 1 2; do
    if [ -e "$folder/n$n/postmaster.pid" ]; then
      signal_all CONT $n 2>/dev/null || true
      control $n -m immediate stop 2>/dev/null || true
    fi
  done
  rm -rf "$folder"
  ;;
esac
