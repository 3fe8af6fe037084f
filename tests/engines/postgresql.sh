#!/usr/bin/env bash
# Starts a PostgreSQL server as a plain process on this machine, in some 3 s. For tests: its data lies in FOLDER, nothing
# of it is synced, and it has the one database "cairn", whose owner needs no password. The user "locked" needs the
# password "s3cret" over TCP.
#   postgresql.sh find                   exits with 77 if the server's package is missing
#   postgresql.sh start FOLDER [PORT]    on 127.0.0.1 (33100 if not given), and on a socket in FOLDER
#   postgresql.sh pause FOLDER           stops all its processes: connections are accepted and not answered
#   postgresql.sh resume FOLDER
#   postgresql.sh kill FOLDER            kills it, as by a crash
#   postgresql.sh revive FOLDER          starts it again
#   postgresql.sh sql FOLDER STATEMENT   prints the answer, as plain lines
#   postgresql.sh stop FOLDER            stops it, and removes the folder
# Needs the Debian package postgresql.
set -euo pipefail
# shellcheck source=tests/engines/wait.sh
. "$(dirname "$0")/wait.sh"

if [ "$1" = find ]; then
  if ! compgen -G "/usr/lib/postgresql/*/bin/postgres" >/dev/null; then
    echo "there is no PostgreSQL: install postgresql"
    exit 77
  fi
  exit
fi

folder=$2
bin=$(find /usr/lib/postgresql -maxdepth 2 -name bin 2>/dev/null | sort -V | tail -n 1)
data=$folder/data

# PostgreSQL refuses to run as root.
as_server() {
  if [ "$(id -u)" = 0 ]; then
    setpriv --reuid postgres --regid postgres --init-groups "$@"
  else
    "$@"
  fi
}

# @param a signal for the server and all its child processes
signal_all() {
  local server
  server=$(head -n 1 "$data/postmaster.pid")
  # shellcheck disable=SC2046 # numbers
  kill "-$1" "$server" $(pgrep -P "$server")
}

make_server() {
  as_server "$bin/initdb" -D "$data" -A trust -U cairn -E UTF8 --locale=C --no-sync
  cat >>"$data/postgresql.conf" <<END
listen_addresses = '127.0.0.1'
port = $port
unix_socket_directories = '$folder'
fsync = off
max_connections = 100
shared_buffers = 64MB
END
  as_server "$bin/pg_ctl" -D "$data" -w -l "$folder/log" start
  as_server "$bin/createdb" -h 127.0.0.1 -p "$port" -U cairn cairn
  as_server "$bin/psql" -h 127.0.0.1 -p "$port" -U cairn -c "CREATE ROLE locked SUPERUSER LOGIN PASSWORD 's3cret'"
  as_server sed -i '1i host all locked all scram-sha-256' "$data/pg_hba.conf"
  as_server "$bin/pg_ctl" -D "$data" reload
}

case $1 in
start)
  port=${3:-33100}
  mkdir -p "$folder"
  chmod 755 "$folder"
  [ "$(id -u)" != 0 ] || chown postgres "$folder"
  cd "$folder"
  show_logs_on_failure "$folder"
  begin "$folder" make_server
  cat >"$folder/environment" <<END
export CAIRN_TEST_POSTGRES_FOLDER=$folder
export CAIRN_TEST_POSTGRES=postgres://cairn@127.0.0.1:$port/cairn CAIRN_TEST_POSTGRES_PID=$(head -n 1 "$data/postmaster.pid")
END
  ;;
pause) signal_all STOP ;;
resume) signal_all CONT ;;
kill) (cd / && as_server "$bin/pg_ctl" -D "$data" -w -m immediate stop) >/dev/null ;;
revive) (cd / && as_server "$bin/pg_ctl" -D "$data" -w -l "$folder/log" start) >/dev/null </dev/null ;;
sql) "$bin/psql" -h "$folder" -p "$(sed -n 4p "$data/postmaster.pid")" -U cairn -At -c "$3" cairn ;;
stop)
  if [ -e "$data/postmaster.pid" ]; then
    signal_all CONT 2>/dev/null || true
    (cd / && as_server "$bin/pg_ctl" -D "$data" -w -m immediate stop) >/dev/null 2>&1 || true
  fi
  rm -rf "$folder"
  ;;
esac
