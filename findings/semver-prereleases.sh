#!/bin/sh
# Ranges of npm and versions before a release. semver 7.8.6, npm's own library: `|| *` takes a choice away. `2.0.0-rc.1` fits `^2.0.0-rc.1` and does not
# fit `^2.0.0-rc.1 || *`, since the library drops all choices beside `*`, which has no pre-releases. semantic-version 2.10.0 for Python, with NpmSpec,
# and node-semver 0.9.1 for Python take it. The former takes 2.0.0-rc.1 for `<2.0.0` too, but not for `>=1.0.0 <2.0.0`; npm's library and
# node-semver take it for neither.
# Seen with Node 20 and Python 3.11.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export npm_config_cache="$folder/npm"
echo '{"type":"module"}' >package.json
npm install --silent --no-audit --no-fund --ignore-scripts semver@7.8.6
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check semantic-version==2.10.0 node-semver==0.9.1
cat >check.js <<'JS'
import semver from 'semver';

for (const range of process.argv.slice(2)) console.log(`${range}: semver ${semver.satisfies('2.0.0-rc.1', range)}`);
JS
cat >check.py <<'PY'
import sys

import nodesemver
from semantic_version import NpmSpec, Version

for range in sys.argv[1:]:
    first = Version("2.0.0-rc.1") in NpmSpec(range)
    print(f"{range}: semantic-version {first} node-semver {nodesemver.satisfies('2.0.0-rc.1', range)}")
PY
set -- '^2.0.0-rc.1' '^2.0.0-rc.1 || *' '^2.0.0-rc.1 || ^1.0.0' '<2.0.0' '<=2.0.0' '>=1.0.0 <2.0.0'
seen=$(node check.js "$@" && python/bin/python check.py "$@")
printf '%s\n' "$seen"
[ "$seen" = '^2.0.0-rc.1: semver true
^2.0.0-rc.1 || *: semver false
^2.0.0-rc.1 || ^1.0.0: semver true
<2.0.0: semver false
<=2.0.0: semver false
>=1.0.0 <2.0.0: semver false
^2.0.0-rc.1: semantic-version True node-semver True
^2.0.0-rc.1 || *: semantic-version True node-semver True
^2.0.0-rc.1 || ^1.0.0: semantic-version True node-semver True
<2.0.0: semantic-version True node-semver False
<=2.0.0: semantic-version True node-semver False
>=1.0.0 <2.0.0: semantic-version False node-semver False' ]
