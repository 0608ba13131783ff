#!/bin/sh
# Builds component.wasm from src/lib.rs.
set -e
cd "$(dirname "$0")"
target=wasm32-wasip2

missing() {
  echo "build.sh: $1" >&2
  echo "hint: $2" >&2
  exit 1
}

command -v cargo > /dev/null || missing 'cargo is not installed' "install Rust with rustup, then run: rustup target add $target"
[ -d "$(rustc --print target-libdir --target $target)" ] || missing "the installed Rust has no target $target" "run: rustup target add $target"

cargo build --release --quiet --target $target --target-dir target
cp target/$target/release/component.wasm component.wasm
