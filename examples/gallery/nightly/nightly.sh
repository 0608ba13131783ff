#!/bin/sh
# Runs the capsule over a checkout, with limits, and leaves its answer as JSON. Fails when there is no answer.
set -eu
checkout=$1
here=$(dirname "$0")
svc run -p --manifest "$here/svc.yaml" --project "$checkout" --no-env-file --offline \
  --timeout 10m --max-tokens 100000 --output json \
  --task "What was left for later?" > nightly.json
