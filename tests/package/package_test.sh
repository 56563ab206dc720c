#!/usr/bin/env bash
# Installs a build into a throw-away prefix and uses it as a stranger would: no header may need CAF
# or OpenSSL, and a program built by find_package or by pkg-config serves HTTPS.
# Usage: package_test.sh BUILD_FOLDER CXX
set -euo pipefail

build=$1
cxx=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
server=
clean_up() {
  if [[ -n $server ]]; then kill -KILL "$server" 2>/dev/null || true; fi
  rm -rf "$work"
}
trap clean_up EXIT
prefix=$work/prefix

say() { printf '== %s\n' "$*"; }
fail() { printf 'package: %s\n' "$*" >&2; exit 1; }

say "install"
cmake --install "$build" --prefix "$prefix" >"$work/install.log" || { cat "$work/install.log"; exit 1; }
[[ -s $prefix/include/bulkhead/bulkhead.hpp ]] || fail "bulkhead.hpp was not installed"

say "no installed header needs another library's"
if grep -rnE '#[[:space:]]*include[[:space:]]*[<"](caf/|openssl/|llhttp|spdlog/|fmt/)' \
  "$prefix/include"; then
  fail "these headers would make an embedder install headers of what Bulkhead is built on"
fi

say "every installed header compiles by itself"
(cd "$prefix/include" && find bulkhead -name '*.hpp' | sort | sed 's/.*/#include <&>/') \
  >"$work/every_header.cpp"
"$cxx" -std=c++20 -Wall -Wextra -Werror -fsyntax-only -I"$prefix/include" "$work/every_header.cpp"

# A certificate for both consumers.
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=localhost \
  -addext subjectAltName=DNS:localhost -keyout "$work/key.pem" -out "$work/cert.pem" 2>/dev/null

free_port() {
  python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# serves PROGRAM: it answers over HTTPS and stops cleanly when told.
serves() {
  local port answer status=0
  port=$(free_port)
  "$1" "127.0.0.1:$port" "$work/cert.pem" "$work/key.pem" &
  server=$!
  answer=$(curl -sS --retry 50 --retry-delay 1 --retry-connrefused --retry-max-time 30 --max-time 10 \
    --cacert "$work/cert.pem" "https://localhost:$port/hello/world") || fail "$1 does not answer"
  [[ $answer == 'hello world' ]] || fail "$1 answers: $answer"
  kill -TERM "$server"
  wait "$server" || status=$?
  server=
  ((status == 0)) || fail "$1 ended with status $status"
}

say "find_package"
cmake -S "$here/consumer" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$prefix" \
  -DCMAKE_CXX_COMPILER="$cxx" >"$work/cmake.log" || { cat "$work/cmake.log"; exit 1; }
cmake --build "$work/cmake" >"$work/cmake.log" 2>&1 || { cat "$work/cmake.log"; exit 1; }
serves "$work/cmake/consumer"

say "pkg-config"
pc=$(find "$prefix" -name bulkhead.pc)
[[ -n $pc ]] || fail "bulkhead.pc was not installed"
export PKG_CONFIG_PATH=${pc%/*}
# shellcheck disable=SC2046 # flags are words
"$cxx" -std=c++20 "$here/consumer/main.cpp" -o "$work/consumer" \
  $(pkg-config --static --cflags --libs bulkhead)
serves "$work/consumer"

say "done"
