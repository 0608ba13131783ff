#!/bin/sh
# ruamel.yaml 0.19.1 and yaml 2.9.1 both read YAML 1.2, and differ about texts without quotes. The library for JavaScript follows the core schema
# of YAML 1.2, in which 1_000, 0b11 and 2024-01-01 are texts, and writes such texts without quotes. The library for Python reads a number, a
# number and a date there, though it takes `yes`, 014 and 22:30 as YAML 1.2 does. A version that one writes as a text is a number for the other.
# Seen with Node 20.19 and Python 3.11.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' >package.json
npm install --silent --no-audit --no-fund --ignore-scripts yaml@2.9.1
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check ruamel.yaml==0.19.1
cat >write.js <<'JS'
import { stringify } from 'yaml';

process.stdout.write(stringify(['1_000', '0b11', '2024-01-01', 'yes', '22:30']));
JS
node write.js >list.yaml
cat list.yaml
cat >read.py <<'PY'
from ruamel.yaml import YAML

with open("list.yaml") as file:
    print([f"{type(each).__name__} {each}" for each in YAML(typ="safe", pure=True).load(file)])
PY
seen=$(python/bin/python read.py)
echo "$seen"
[ "$(tr '\n' ' ' <list.yaml)" = '- 1_000 - 0b11 - 2024-01-01 - yes - 22:30 ' ]
[ "$seen" = "['int 1000', 'int 3', 'date 2024-01-01', 'str yes', 'str 22:30']" ]
