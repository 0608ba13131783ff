#!/bin/sh
# a2a-sdk 1.3.0 for Python and @a2a-js/sdk 1.3.0: the data of a part that a peer reads and sends on is not what it was. The types for Python
# are made from protocol buffers, in which each whole number is a float: 3 is 3.0 for the agent and for all behind it. The types for JavaScript
# keep the number, and lose the data of a part when it is null, which those for Python keep. A hash over such data, or a reader that wants an
# integer, works at one end alone.
# Seen with Node 20.19 and Python 3.11.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' >package.json
npm install --silent --no-audit --no-fund --ignore-scripts @a2a-js/sdk@1.3.0
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check a2a-sdk==1.3.0
echo '{"messageId":"m","role":"ROLE_AGENT","parts":[{"data":{"count":3}},{"data":9007199254740991},{"data":null}]}' >message.json
cat >read.py <<'PY'
import json
from a2a.types import Message
from google.protobuf.json_format import MessageToDict, ParseDict

with open("message.json") as file:
    message = ParseDict(json.load(file), Message())
print(json.dumps(MessageToDict(message)["parts"]))
PY
cat >read.js <<'JS'
import { readFileSync } from 'node:fs';

import { Message } from '@a2a-js/sdk';

const message = Message.fromJSON(JSON.parse(readFileSync('message.json', 'utf8')));
console.log(JSON.stringify(Message.toJSON(message).parts));
JS
python=$(python/bin/python read.py)
node=$(node read.js)
echo "Python: $python"
echo "Node:   $node"
[ "$python" = '[{"data": {"count": 3.0}}, {"data": 9007199254740991.0}, {"data": null}]' ]
[ "$node" = '[{"data":{"count":3}},{"data":9007199254740991},{}]' ]
