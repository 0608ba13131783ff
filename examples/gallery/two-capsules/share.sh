#!/bin/sh
# Starts both capsules, has the keeper share its report with the reader, carries the handle over, and stops both.
set -eu
keeper=$(svc run --json --manifest keeper/svc.yaml --workdir keeper-desk > keeper.json & echo $!)
reader=$(svc run --json --manifest reader/svc.yaml --workdir reader-desk > reader.json & echo $!)
trap 'kill "$keeper" "$reader" 2> /dev/null || true' EXIT

# The first line of each says where it listens.
address() {
  for _ in $(seq 600); do
    test -s "$1" && { sed 's/.*"url":"\([^"]*\)".*/\1/' "$1"; return; }
    sleep 0.1
  done
  return 1
}
from=$(address keeper.json)
to=$(address reader.json)

mkdir -p keeper-desk/out
echo "Third quarter: 812 kettles." > keeper-desk/out/report.txt
shared=$(svc send "$from" --wait "Share report.txt with $to.")
svc send "$to" --wait "Fetch what $from shares with you: ${shared##* }"
