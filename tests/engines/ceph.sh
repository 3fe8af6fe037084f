#!/usr/bin/env bash
# A Ceph cluster with radosgw, an S3 service, as plain processes on this machine: one monitor, one manager, three stores of
# objects. For tests: its data lies in FOLDER, and it has the one bucket "cairn".
#   ceph.sh find                    prints the missing packages, and exits with 77 if there are any
#   ceph.sh start FOLDER [PORT [GRACE_S]]    returns after the first answer, some 30 s; radosgw is on PORT + 80 (33080 if not given);
#                                   a store that is silent for GRACE_S (20) counts as lost
#   ceph.sh again FOLDER            starts the ended processes again
#   ceph.sh kill FOLDER NAME        kills osd0, osd1, osd2, mon, mgr or rgw, as by a loss of power
#   ceph.sh pause FOLDER NAME       stops it (SIGSTOP)
#   ceph.sh resume FOLDER NAME
#   ceph.sh revive FOLDER osdN      starts it again
#   ceph.sh whole FOLDER            waits until all copies of all objects are there
#   ceph.sh key FOLDER              prints another key of the bucket, and its secret
#   ceph.sh no-key FOLDER ID        removes that key
#   ceph.sh stop FOLDER             stops all, and removes the folder
# Needs the Debian packages ceph-mon, ceph-mgr, ceph-osd, ceph-common, radosgw and curl.
set -euo pipefail
# shellcheck source=tests/engines/wait.sh
. "$(dirname "$0")/wait.sh"

if [ "$1" = find ]; then
  for program in ceph-mon ceph-mgr ceph-osd ceph radosgw curl; do
    if ! command -v "$program" >/dev/null; then
      echo "there is no $program: install ceph-mon, ceph-mgr, ceph-osd, ceph-common and radosgw"
      exit 77
    fi
  done
  exit
fi

folder=$2
if [ "$1" = start ]; then
  mkdir -p "$folder"
  echo "${3:-33000}" >"$folder/port"
fi
port=$(cat "$folder/port" 2>/dev/null || true)
export CEPH_CONF=$folder/ceph.conf
endpoint=http://127.0.0.1:$((port + 80))
case $1 in
start | again | revive | whole) show_logs_on_failure "$folder" ;;
esac
key=${CEPH_KEY:-cairntest} secret=${CEPH_SECRET:-cairntestsecret0123456789}

admin() {
  ceph --connect-timeout 30 "$@"
}

run() { # NAME COMMAND...
  local name=$1
  shift
  setsid "$@" >"$folder/$name.out" 2>&1 </dev/null &
  echo $! >"$folder/$name.pid"
}

# The folder of the object classes. Debian 13 names it relative to /usr, and a store that runs elsewhere finds no class: radosgw then cannot start.
class_folder() {
  local named
  named=$(ceph-conf -c /dev/null --show-config-value osd_class_dir)
  case $named in
  /*) echo "$named" ;;
  *) echo "/usr/$named" ;;
  esac
}

configure() {
  mkdir -p "$folder"/{mgr,rgw,crash,osd0,osd1,osd2}
  cat >"$CEPH_CONF" <<END
[global]
fsid = $fsid
mon_initial_members = a
mon_host = 127.0.0.1:$port
public_network = 127.0.0.0/8
ms_bind_ipv6 = false
keyring = $folder/keyring.\$name
run_dir = $folder
admin_socket = $folder/\$name.asok
log_file = $folder/\$name.log
mon_data = $folder/mon
mgr_data = $folder/mgr
osd_data = $folder/osd\$id
osd_class_dir = $(class_folder)
rgw_data = $folder/rgw
crash_dir = $folder/crash
osd_pool_default_size = 3
osd_pool_default_min_size = 2
osd_pool_default_pg_num = 8
osd_pool_default_pg_autoscale_mode = off
osd_crush_chooseleaf_type = 0
osd_heartbeat_interval = $(((grace + 3) / 4))
osd_heartbeat_grace = $grace
mon_osd_min_down_reporters = 1
rgw_s3_auth_use_sts = true
rgw_sts_key = cairnsessionkey0
mon_data_avail_crit = 1
mon_data_avail_warn = 2
auth_allow_insecure_global_id_reclaim = false
bluestore_block_size = 6442450944
osd_memory_target = 939524096
END
}

start_monitor() {
  local client=$folder/keyring.client.admin monitor=$folder/keyring.mon.
  ceph-authtool -C "$monitor" --gen-key -n mon. --cap mon 'allow *'
  ceph-authtool -C "$client" --gen-key -n client.admin --cap mon 'allow *' --cap osd 'allow *' --cap mgr 'allow *'
  ceph-authtool "$monitor" --import-keyring "$client"
  ceph-mon -i a --mkfs --fsid "$fsid" --keyring "$monitor" --public-addr "127.0.0.1:$port"
  run mon ceph-mon -i a -f
  wait_for 30 admin -s
  admin auth get-or-create mgr.x mon 'allow profile mgr' osd 'allow *' >"$folder/keyring.mgr.x"
  run mgr ceph-mgr -i x -f
}

start_osds() {
  local i uuid made=()
  for i in 0 1 2; do
    uuid=$(cat /proc/sys/kernel/random/uuid)
    admin osd new "$uuid" $i
    admin auth get-or-create osd.$i mon 'allow profile osd' mgr 'allow profile osd' osd 'allow *' >"$folder/keyring.osd.$i"
    ceph-osd -i $i --mkfs --osd-uuid "$uuid" &
    made+=($!)
  done
  for i in "${made[@]}"; do
    wait "$i"
  done
  for i in 0 1 2; do
    run osd$i ceph-osd -i $i -f
  done
  osds_are_up() { admin osd stat | grep -q ' 3 up'; }
  wait_for 60 osds_are_up
}

run_radosgw() {
  # Without tcp_nodelay a small read waits for a delayed acknowledgement.
  run rgw radosgw -n client.rgw.a -f "--rgw-frontends=beast endpoint=127.0.0.1:$((port + 80)) tcp_nodelay=1"
  wait_for 120 curl -sf -o "$folder/first-answer" $endpoint/
}

start_radosgw() {
  admin auth get-or-create client.rgw.a mon 'allow rw' osd 'allow rwx' >"$folder/keyring.client.rgw.a"
  run_radosgw
  radosgw-admin user create --uid=cairn --display-name=cairn --access-key=$key --secret-key=$secret --caps='user-policy=*'
  curl -sf -X PUT --aws-sigv4 aws:amz:us-east-1:s3 -u $key:$secret -H "x-amz-content-sha256: $(printf '' | sha256sum | cut -d' ' -f1)" \
    $endpoint/cairn
}

start_all() {
  start_monitor
  start_osds
  start_radosgw
}

case $1 in
start)
  grace=${4:-20}
  fsid=$(cat /proc/sys/kernel/random/uuid)
  configure
  begin "$folder" start_all
  cat >"$folder/environment" <<END
export CAIRN_TEST_CEPH=$folder CAIRN_S3_SERVICE=ceph CAIRN_TEST_S3_FOLDER=$folder
export CAIRN_TEST_S3=$endpoint AWS_ACCESS_KEY_ID=$key AWS_SECRET_ACCESS_KEY=$secret CAIRN_TEST_S3_PID=$(cat "$folder/rgw.pid")
END
  ;;
again)
  run mon ceph-mon -i a -f
  wait_for 30 admin -s
  run mgr ceph-mgr -i x -f
  for i in 0 1 2; do
    run osd$i ceph-osd -i $i -f
  done
  run_radosgw
  ;;
kill) kill -9 "$(cat "$folder/$3.pid")" ;;
pause) kill -STOP "$(cat "$folder/$3.pid")" ;;
resume) kill -CONT "$(cat "$folder/$3.pid")" ;;
revive) run "$3" ceph-osd -i "${3#osd}" -f ;;
whole)
  is_whole() { admin pg stat | grep -qE ': ([0-9]+) active\+clean; '; }
  wait_for 120 is_whole
  ;;
key)
  more=$(od -An -N8 -tx1 /dev/urandom | tr -d ' \n')
  radosgw-admin key create --uid=cairn --key-type=s3 "--access-key=$more" "--secret-key=secretof$more" >/dev/null
  echo "$more secretof$more"
  ;;
no-key) radosgw-admin key rm --uid=cairn --key-type=s3 "--access-key=$3" >/dev/null ;;
stop)
  for file in "$folder"/*.pid; do
    [ ! -e "$file" ] || kill -9 "$(cat "$file")" 2>/dev/null || true
  done
  rm -rf "$folder"
  ;;
esac
