#!/usr/bin/env bash
# Profiles an export of 300,000 rows from MariaDB and keeps the profile where the
# Go compiler looks for it. Run by test/with-servers.sh; $1 is the go command.
set -euo pipefail
cd "$(dirname "$0")/.."

port=${ROWMILL_TEST_MYSQL_DSN#*127.0.0.1:} port=${port%%)*}
mariadb --no-defaults -h127.0.0.1 -P"$port" -uroot -e 'CREATE DATABASE rowmill_pgo CHARACTER SET utf8mb4'
profile=$(mktemp)
trap 'rm -f "$profile"' EXIT
"$1" run ./cmd/rowmill bench export --rows 300000 --no-ladder --no-stages --repeat 2 \
	--mysql-dsn "root@tcp(127.0.0.1:$port)/rowmill_pgo" --cpuprofile "$profile"
cp "$profile" cmd/rowmill/default.pgo
