#!/bin/sh
# Builds component.wasm from tool.c.
set -e
cd "$(dirname "$0")"
clang=${CLANG:-clang-19}

missing() {
  echo "build.sh: $1" >&2
  echo "hint: $2" >&2
  exit 1
}

command -v "$clang" > /dev/null ||
  missing "$clang is not installed" 'on Debian: apt-get install clang-19 lld-19 libclang-rt-19-dev-wasm32 wasi-libc; elsewhere, CLANG=<program> names one with these'
command -v wit-bindgen > /dev/null ||
  missing 'wit-bindgen is not installed' 'run: cargo install wit-bindgen-cli --locked --version 0.57.1'
linker=$(command -v wasm-component-ld) || linker=$(rustc --print target-libdir 2> /dev/null)/../bin/wasm-component-ld
[ -x "$linker" ] || missing 'wasm-component-ld is not installed' 'run: cargo install wasm-component-ld --locked; Rust from rustup brings it along'
echo 'int main(void) { return 0; }' | "$clang" --target=wasm32-wasi -include stdio.h -x c -o /dev/null - ||
  missing "$clang cannot build for wasm32-wasi" 'on Debian: apt-get install lld-19 libclang-rt-19-dev-wasm32 wasi-libc'

wit-bindgen c wit --world svc:worlds/tool --out-dir bindings > /dev/null
"$clang" --target=wasm32-wasi -D_GNU_SOURCE -Os -Wall -c tool.c -o bindings/source.o
"$clang" --target=wasm32-wasi -Os -c bindings/tool.c -o bindings/tool.o
# Without -O: with it, clang runs a wasm-opt that is on PATH, which reads no components.
"$clang" --target=wasm32-wasi -mexec-model=reactor -s "-fuse-ld=$linker" \
  bindings/source.o bindings/tool.o bindings/tool_component_type.o -o component.wasm
