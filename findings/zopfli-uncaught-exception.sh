#!/bin/sh
# @gfx/zopfli 1.0.15: loading it changes how the whole process ends. Its module from Emscripten listens for `uncaughtException` and throws
# the error again. An error that nobody catches, anywhere in the program, is then shown behind the module's own line of 30,000 characters,
# and the process ends with exit code 7 instead of 1. A build that compresses with it hides its real error in that line.
# Seen with Node 20.19.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts --prefix . @gfx/zopfli@1.0.15
run() {
  code=0
  node -e "$1; setTimeout(() => { throw new Error('mine') }, 10)" 2>err || code=$?
  longest=$(awk '{ if (length > most) most = length } END { print most + 0 }' err)
  echo "exit code $code, longest line above 1000 characters: $([ "$longest" -gt 1000 ] && echo yes || echo no)"
}
plain=$(run '0')
loaded=$(run "require('@gfx/zopfli')")
echo "without it: $plain"
echo "with it:    $loaded"
[ "$plain" = 'exit code 1, longest line above 1000 characters: no' ]
[ "$loaded" = 'exit code 7, longest line above 1000 characters: yes' ]
