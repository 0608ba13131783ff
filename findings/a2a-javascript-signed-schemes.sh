#!/bin/sh
# @a2a-js/sdk 1.3.0: `verifyAgentCardSignature` wants an AgentCard by its type. With `securitySchemes`, which each agent behind a login has, it takes the card only as
# the JSON that was fetched: an AgentCard, as the resolver of the same package returns, is read a second time as if it were JSON, and
# the schemes are in a form that does not survive that. A card that a2a-sdk 1.3.0 for Python signed and verifies is refused, and one that was signed here
# as an AgentCard is refused there. Without schemes all of it works.
# Seen with Node 20 and Python 3.11.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export npm_config_cache="$folder/npm"
echo '{"type":"module"}' >package.json
npm install --silent --no-audit --no-fund --ignore-scripts @a2a-js/sdk@1.3.0
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check 'a2a-sdk[signing]==1.3.0'
cat >card.py <<'PY'
import json
import sys

from a2a.types import AgentCard
from a2a.utils.signing import create_agent_card_signer, create_signature_verifier
from google.protobuf.json_format import MessageToDict, ParseDict

key = b"thirty-two bytes for this trial."
card = ParseDict(json.load(sys.stdin), AgentCard())
if sys.argv[1] == "sign":
    signed = create_agent_card_signer(key, {"alg": "HS256", "kid": "k", "typ": "JOSE", "jku": None})(card)
    print(json.dumps(MessageToDict(signed)))
else:
    try:
        create_signature_verifier(lambda kid, jku: key, ["HS256"])(card)
        print("taken")
    except Exception as error:
        print(error)
PY
cat >card.js <<'JS'
import { createSecretKey } from 'node:crypto';
import { readFileSync } from 'node:fs';

import { AgentCard, generateAgentCardSignature, verifyAgentCardSignature } from '@a2a-js/sdk';
import { DefaultAgentCardResolver } from '@a2a-js/sdk/client';

console.debug = () => {};
const key = createSecretKey('thirty-two bytes for this trial.', 'utf8');
const json = JSON.parse(readFileSync(0, 'utf8'));
if (process.argv[2] === 'sign') {
  const signed = await generateAgentCardSignature(key, { alg: 'HS256', kid: 'k', typ: 'JOSE' })(AgentCard.fromJSON(json));
  console.log(JSON.stringify(AgentCard.toJSON(signed)));
} else {
  const resolver = new DefaultAgentCardResolver({ fetchImpl: async () => Response.json(json) });
  const cards = { json, resolved: await resolver.resolve('http://127.0.0.1') };
  const seen = [];
  for (const [name, card] of Object.entries(cards))
    await verifyAgentCardSignature(async () => key)(card).then(
      () => seen.push(`${name} taken`),
      (error) => seen.push(`${name} ${error.message}`),
    );
  console.log(seen.join(', '));
}
JS
cat >open.json <<'JSON'
{
  "name": "roofs",
  "description": "Repairs roofs",
  "version": "1.0.0",
  "supportedInterfaces": [{ "url": "https://roofs.example/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0" }],
  "capabilities": { "streaming": true },
  "defaultInputModes": ["text/plain"],
  "defaultOutputModes": ["text/plain"],
  "skills": [{ "id": "repair", "name": "Repair", "description": "Repairs a roof", "tags": ["roof"] }]
}
JSON
sed 's|"capabilities"|"securitySchemes": { "bearer": { "httpAuthSecurityScheme": { "scheme": "Bearer" } } },\n  "capabilities"|' open.json >closed.json
seen=$(for card in open closed; do
  for signer in 'python/bin/python card.py' 'node card.js'; do
    $signer sign <$card.json >signed.json
    echo "$card by ${signer%% *}: Python $(python/bin/python card.py verify <signed.json); Node $(node card.js verify <signed.json)"
  done
done)
printf '%s\n' "$seen"
[ "$seen" = 'open by python/bin/python: Python taken; Node json taken, resolved taken
open by node: Python taken; Node json taken, resolved taken
closed by python/bin/python: Python taken; Node json taken, resolved No valid signatures found on agent card.
closed by node: Python No valid signature found; Node json No valid signatures found on agent card., resolved taken' ]
