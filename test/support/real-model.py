# Serves a model of 135 million parameters with llama.cpp: python real-model.py <model file>. It prints its address, and ends with its input.
# xllamacpp and the model are installed from PyPI under their own licences; neither is part of this repository.
import sys

import xllamacpp

params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.n_ctx = 2048
params.n_parallel = 1
params.cpuparams.n_threads = 1
params.cpuparams_batch.n_threads = 1
params.hostnames = ["127.0.0.1"]
params.port = 0
params.use_jinja = True
params.warmup = False
params.endpoint_slots = True
# Where a request says nothing else: short answers, the same each time.
params.n_predict = 64
params.sampling.temp = 0.0
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
