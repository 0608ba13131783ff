#!/bin/sh
# skills-ref 0.1.1, the reference library for Agent Skills: frontmatter with a list or a mapping in brackets is refused, although it is YAML
# and PyYAML 6.0.3 reads it. The library parses with StrictYAML, which has a part of YAML only: no brackets, no anchors, no tags. A skill with
# `metadata: {author: me}` works in clients that read YAML, and is invalid for the validator.
# Seen with Python 3.11.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check skills-ref==0.1.1 strictyaml==1.7.3 PyYAML==6.0.3
cat >read.py <<'PY'
from pathlib import Path

import yaml
from skills_ref import validate

skills = {
    "block": "metadata:\n  author: me",
    "flow": "metadata: {author: me}",
}
for name, metadata in skills.items():
    folder = Path(name)
    folder.mkdir()
    frontmatter = f"name: {name}\ndescription: Shows how metadata is written.\n{metadata}\n"
    (folder / "SKILL.md").write_text(f"---\n{frontmatter}---\nNothing to do.\n")
    errors = validate(folder)
    print(name, yaml.safe_load(frontmatter)["metadata"], "valid" if errors == [] else errors[0].splitlines()[0])
PY
seen=$(python/bin/python read.py)
echo "$seen"
[ "$seen" = "block {'author': 'me'} valid
flow {'author': 'me'} Invalid YAML in frontmatter: While scanning" ]
