#!/bin/sh
# standardwebhooks 1.1.0 for Python: `sign` takes a time, and signs another one if its zone is not UTC: it keeps the digits of the clock and calls
# them UTC. The header has the seconds of the real time, so no receiver takes the message, the one of this library included. The library for
# JavaScript of the same project signs the moment, whatever zone it was written in. A time without a zone counts as UTC too, which Python reads as
# local time elsewhere.
# Seen with Python 3.11 and Node 20.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export npm_config_cache="$folder/npm"
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check standardwebhooks==1.1.0
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund standardwebhooks@1.1.1
cat >send.py <<'PY'
import json
from datetime import datetime, timedelta, timezone

from standardwebhooks import Webhook

hook = Webhook("whsec_c2VjcmV0IG9mIHRoaXMgdHJpYWw=")
body = '{"id":"tsk_1"}'
now = datetime.now(timezone.utc)
for name, moment in {"UTC": now, "+02:00": now.astimezone(timezone(timedelta(hours=2)))}.items():
    headers = {
        "webhook-id": "msg_1",
        "webhook-timestamp": str(int(moment.timestamp())),
        "webhook-signature": hook.sign("msg_1", moment, body),
    }
    try:
        hook.verify(body, headers)
        seen = "taken"
    except Exception as error:
        seen = str(error)
    print(json.dumps({"zone": name, "python": seen, "headers": headers, "body": body}))
PY
cat >receive.mjs <<'JS'
import { readFileSync } from 'node:fs';
import { Webhook } from 'standardwebhooks';

const hook = new Webhook('whsec_c2VjcmV0IG9mIHRoaXMgdHJpYWw=');
const read = (headers, body) => {
  try {
    hook.verify(body, headers);
    return 'taken';
  } catch (error) {
    return error.message;
  }
};
for (const line of readFileSync(0, 'utf8').trim().split('\n')) {
  const { zone, python, headers, body } = JSON.parse(line);
  console.log(zone, 'python:', python, 'javascript:', read(headers, body));
}
const moment = new Date(new Date().toISOString().replace('Z', '+00:00'));
const headers = { 'webhook-id': 'msg_2', 'webhook-timestamp': String(Math.floor(moment / 1000)), 'webhook-signature': hook.sign('msg_2', moment, '{}') };
console.log('signed by javascript:', read(headers, '{}'));
JS
seen=$(python/bin/python send.py | node receive.mjs)
printf '%s\n' "$seen"
[ "$seen" = 'UTC python: taken javascript: taken
+02:00 python: No matching signature found javascript: No matching signature found
signed by javascript: taken' ]
