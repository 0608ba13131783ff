#!/bin/sh
# Publishes the three into the store of this user, starts the referee that decides who may start whom, gives the editor its task and shows the
# page once both of its children are done.
set -eu
for capsule in editor fact-finder headline-writer; do
  svc publish "$capsule" --registry local --json > published.txt
done

: > referee.txt
svc-referee --port 0 --spawn-allow editor >> referee.txt &
referee=$!
trap 'kill "$referee" 2> /dev/null || true' EXIT
for _ in $(seq 600); do
  grep -q 127.0.0.1 referee.txt && break
  sleep 0.1
done
SVC_REFEREE_URL="http://$(grep -o '127\.0\.0\.1:[0-9]*' referee.txt)"
export SVC_REFEREE_URL

svc run --json --capsule editor --capsule-version 1.0.0 --workdir desk --task "Write about kettles." > editor.json &
editor=$!
trap 'kill "$editor" "$referee" 2> /dev/null || true' EXIT
for _ in $(seq 600); do
  test -e desk/page.txt && test "$(wc -l < desk/page.txt)" -eq 2 && break
  sleep 0.1
done
cat desk/page.txt
