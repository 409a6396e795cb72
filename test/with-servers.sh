#!/usr/bin/env bash
# Runs a command with a throw-away MariaDB and Redis:
#
#   test/with-servers.sh go test ./...
#
# The command finds the servers by ROWMILL_TEST_MYSQL_DSN (root, no database) and
# ROWMILL_TEST_REDIS_URL. Both listen on 127.0.0.1 only, and nothing of them is
# left when the command has ended or the script was told to stop. Missing programs
# are installed where that is possible (root, apt-get); else the script says which.
set -euo pipefail

readonly start_tries=300 # of 0.1 s each
readonly stop_tries=200

say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }

has() { command -v "$1" >/dev/null 2>&1; }

# Debian's packages whose programs are not there.
missing_packages() {
	has mariadbd || echo mariadb-server-core
	has mariadb-install-db && has my_print_defaults || echo mariadb-client-core
	has redis-server || echo redis-server
	# soffice alone may be there without the spreadsheets.
	has soffice && [[ -e $(dirname "$(readlink -f "$(command -v soffice)")")/libsclo.so ]] || echo libreoffice-calc
	has gcc && [[ -e /usr/include/stdlib.h ]] || echo gcc libc6-dev
	/usr/bin/python3 -c 'import openpyxl' >/dev/null 2>&1 || echo python3-openpyxl
	has chromium || echo chromium
	has node || echo nodejs
	has npm || echo npm
}

install_packages() {
	local packages=("$@")
	if [[ $EUID -ne 0 ]] || ! has apt-get; then
		say "these programs are missing; install these packages (Debian's names) and try again:"
		say "  ${packages[*]}"
		exit 1
	fi
	say "installing ${packages[*]}"
	# No package may start its service: the tests run servers of their own.
	local policy=/usr/sbin/policy-rc.d made_policy=
	if [[ ! -e $policy ]]; then
		printf '#!/bin/sh\nexit 101\n' >"$policy"
		chmod 755 "$policy"
		made_policy=yes
	fi
	local status=0 log
	log=$(mktemp)
	{
		apt-get -o DPkg::Lock::Timeout=300 update &&
			DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "${packages[@]}"
	} >"$log" 2>&1 || status=$?
	if [[ -n $made_policy ]]; then rm -f "$policy"; fi
	if [[ $status -ne 0 ]]; then
		tail -n 30 "$log" >&2
		say "the packages could not be installed"
	fi
	rm -f "$log"
	return "$status"
}

# Each program runs in a group of its own (setsid): Ctrl-C reaches this script
# alone, which then stops them in order, with all that they started.

# A port that nothing listens on now. Somebody may take it before the server does:
# the caller tries again with another.
free_port() {
	/usr/bin/python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# wait_ready PID COMMAND...: until the command succeeds, or the process is gone, or time is up.
wait_ready() {
	local pid=$1 try
	shift
	for ((try = 0; try < start_tries; try++)); do
		if "$@" >/dev/null 2>&1; then return 0; fi
		if ! kill -0 "$pid" 2>/dev/null; then return 1; fi
		sleep 0.1
	done
	return 1
}

# stop PID: asks the process and all of its group to end and waits for that.
stop() {
	local pid=$1 try
	kill -TERM -- "-$pid" 2>/dev/null || true
	for ((try = 0; try < stop_tries; try++)); do
		if ! kill -0 -- "-$pid" 2>/dev/null; then break; fi
		sleep 0.1
	done
	kill -KILL -- "-$pid" 2>/dev/null || true
	wait "$pid" 2>/dev/null || true
}

# shellcheck disable=SC2317 # wait_ready calls it
mariadb_answers() {
	(exec 3<>"/dev/tcp/127.0.0.1/$mariadb_port") && grep -q 'ready for connections' "$dir/mariadb.log"
}

start_mariadb() {
	local user=()
	if [[ $EUID -eq 0 ]]; then user=(--user=root); fi
	mkdir "$dir/tmp"
	if ! mariadb-install-db --no-defaults --datadir="$dir/data" --auth-root-authentication-method=normal \
		--skip-test-db "${user[@]}" >"$dir/install.log" 2>&1; then
		cat "$dir/install.log" >&2
		say "mariadb-install-db failed"
		return 1
	fi
	local try
	for try in 1 2 3; do
		mariadb_port=$(free_port)
		setsid mariadbd --no-defaults "${user[@]}" --datadir="$dir/data" --tmpdir="$dir/tmp" --port="$mariadb_port" \
			--bind-address=127.0.0.1 --socket="$dir/s" --pid-file="$dir/pid" --skip-name-resolve \
			--character-set-server=utf8mb4 --skip-log-bin --innodb-flush-log-at-trx-commit=0 \
			--innodb-buffer-pool-size=512M --innodb-log-file-size=256M --max-connections=500 \
			>"$dir/mariadb.log" 2>&1 &
		mariadb_pid=$!
		if wait_ready "$mariadb_pid" mariadb_answers; then return 0; fi
		say "MariaDB did not start (try $try)"
		tail -n 20 "$dir/mariadb.log" >&2
		stop "$mariadb_pid"
		mariadb_pid=
	done
	return 1
}

start_redis() {
	local try
	for try in 1 2 3; do
		redis_port=$(free_port)
		setsid redis-server --port "$redis_port" --bind 127.0.0.1 --save '' --appendonly no --dir "$dir" \
			--databases 256 >"$dir/redis.log" 2>&1 &
		redis_pid=$!
		if wait_ready "$redis_pid" grep -q 'Ready to accept connections' "$dir/redis.log"; then return 0; fi
		say "Redis did not start (try $try)"
		tail -n 20 "$dir/redis.log" >&2
		stop "$redis_pid"
		redis_pid=
	done
	return 1
}

# shellcheck disable=SC2317 # the trap calls it
clean_up() {
	local status=$?
	trap '' INT TERM
	if [[ -n $command_pid ]]; then stop "$command_pid"; fi
	if [[ -n $redis_pid ]]; then stop "$redis_pid"; fi
	if [[ -n $mariadb_pid ]]; then stop "$mariadb_pid"; fi
	if [[ -n $dir ]]; then rm -rf "$dir"; fi
	exit "$status"
}

if [[ $# -eq 0 ]]; then
	say "usage: ${0##*/} COMMAND [ARGUMENT...]"
	exit 2
fi

export PATH="$PATH:/usr/sbin:/sbin" # mariadbd lies there
dir='' mariadb_pid='' redis_pid='' command_pid=''
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

mapfile -t packages < <(missing_packages | tr ' ' '\n')
if [[ ${#packages[@]} -gt 0 ]]; then install_packages "${packages[@]}"; fi

dir=$(mktemp -d)
start_mariadb
start_redis
export ROWMILL_TEST_MYSQL_DSN="root@tcp(127.0.0.1:$mariadb_port)/?parseTime=true&loc=UTC&charset=utf8mb4"
export ROWMILL_TEST_REDIS_URL="redis://127.0.0.1:$redis_port/0"

# In the background, for a signal to this script to be seen while it runs.
setsid "$@" <&0 &
command_pid=$!
status=0
wait "$command_pid" || status=$?
command_pid=
exit "$status"
