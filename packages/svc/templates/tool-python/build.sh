#!/bin/sh
# Builds component.wasm from app.py.
set -e
cd "$(dirname "$0")"

if ! command -v componentize-py > /dev/null; then
  echo 'build.sh: componentize-py is not installed' >&2
  echo 'hint: run: pip install componentize-py==0.25.1' >&2
  exit 1
fi

componentize-py --wit-path wit --world svc:worlds/tool componentize app --output component.wasm > /dev/null
