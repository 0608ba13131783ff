"""Prints what the reference implementation of Agent Skills makes of the folders below a folder: a line of JSON for each."""

import json
import sys
from pathlib import Path

from skills_ref import read_properties, validate

for file in sorted(Path(sys.argv[1]).rglob("SKILL.md")):
    folder = file.parent
    try:
        read = read_properties(folder).to_dict()
    except Exception:
        read = None
    try:
        faults = validate(folder)
    except Exception as error:
        faults = [str(error)]
    print(json.dumps({"folder": str(folder), "is_valid": faults == [], "read": read}))
