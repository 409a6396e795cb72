#!/usr/bin/env bash
# Holds Rowmill against join.c on the 119,390 sample bookings, in pairs, on one
# MariaDB: wall time and CPU seconds of each. Needs gcc, libxlsxwriter-dev,
# libmariadb-dev and GNU time (Debian's names).
#
#   test/with-servers.sh test/compare/run.sh [PAIRS]
set -euo pipefail
cd "$(dirname "$0")/../.."

pairs=${1:-5}
dir=$(mktemp -d)
pids=()
# shellcheck disable=SC2317 # the trap calls it
clean_up() {
	for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
	wait
	rm -rf "$dir"
}
trap clean_up EXIT

# shellcheck disable=SC2046 # the flags are words
gcc -O2 test/compare/join.c $(mariadb_config --include --libs) -lxlsxwriter -o "$dir/join"
go build -o "$dir/rowmill" ./cmd/rowmill

port=${ROWMILL_TEST_MYSQL_DSN#*127.0.0.1:} port=${port%%)*}
mariadb --no-defaults -h127.0.0.1 -P"$port" -uroot -e 'CREATE DATABASE compare CHARACTER SET utf8mb4'
export ROWMILL_MYSQL_DSN="root@tcp(127.0.0.1:$port)/compare" ROWMILL_REDIS_URL=$ROWMILL_TEST_REDIS_URL
export ROWMILL_BLOB_URL="file://$dir/files" ROWMILL_TOKEN=compare-public-token ROWMILL_SERVICE_TOKEN=compare-service-token
export ROWMILL_LOG_LEVEL=warn ROWMILL_RESERVATIONS_URL=http://127.0.0.1:18081 ROWMILL_GATEWAY_URL=http://127.0.0.1:18080
"$dir/rowmill" import hotel-bookings sample/hotel_bookings.csv.gz 2>/dev/null
"$dir/rowmill" serve --roles reservations --reservations-addr 127.0.0.1:18081 --admin-addr 127.0.0.1:19091 &
pids+=($!)
"$dir/rowmill" serve --roles gateway --gateway-addr 127.0.0.1:18080 --admin-addr 127.0.0.1:19092 &
pids+=($!)
"$dir/rowmill" serve --roles worker --admin-addr 127.0.0.1:19093 &
pids+=($!)
for admin in 19091 19092 19093; do
	until "$dir/rowmill" health --admin-addr "127.0.0.1:$admin" >/dev/null 2>&1; do sleep 0.1; done
done

# CPU seconds so far of MariaDB and the three roles.
ticks=$(getconf CLK_TCK)
database=$(pgrep -f "mariadbd.*--port=$port" | head -n 1)
cpu() { for pid in "$@"; do awk -v t="$ticks" '{ print ($14 + $15) / t }' "/proc/$pid/stat"; done | awk '{ s += $1 } END { printf "%.2f", s }'; }

# measure NAME COMMAND...: wall, the command's CPU, what the servers took beside it.
measure() {
	local name=$1 db0 roles0
	shift
	db0=$(cpu "$database") roles0=$(cpu "${pids[@]}")
	/usr/bin/time -o "$dir/time" -f '%e %U %S' "$@" >/dev/null 2>&1
	awk -v name="$name" -v db="$db0 $(cpu "$database")" -v roles="$roles0 $(cpu "${pids[@]}")" '{
		split(db, d, " "); split(roles, r, " ")
		printf "%-8s wall %.2f s, CPU: program %.2f s, roles %.2f s, MariaDB %.2f s\n", name, $1, $2 + $3, r[2] - r[1], d[2] - d[1]
	}' "$dir/time"
}
for ((i = 0; i < pairs; i++)); do
	measure join.c "$dir/join" 127.0.0.1 "$port" root '' compare "$dir/join.xlsx"
	measure rowmill "$dir/rowmill" export --personal --reason "comparison with join.c" --out "$dir/rowmill.xlsx"
done
