#!/usr/bin/env bash
# Runs rowmill bench home on one MariaDB and one Redis:
#
#   test/with-servers.sh test/compare/home.sh [FLAGS OF rowmill bench home]
set -euo pipefail
cd "$(dirname "$0")/../.."

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
go build -o "$dir/rowmill" ./cmd/rowmill
port=${ROWMILL_TEST_MYSQL_DSN#*127.0.0.1:} port=${port%%)*}
mariadb --no-defaults -h127.0.0.1 -P"$port" -uroot -e 'CREATE DATABASE home CHARACTER SET utf8mb4'
"$dir/rowmill" bench home --mysql-dsn "root@tcp(127.0.0.1:$port)/home" --redis-url "$ROWMILL_TEST_REDIS_URL" "$@"
