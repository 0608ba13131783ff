#!/bin/sh
# whatthepatch 1.0.7 splits a patch as Python splits text, so a line with a form feed, as GNU's sources have between pages, is only what stands
# before it. `apply_diff` then gives another text without an error: a line that was added is empty, and one that was changed is as it was.
# unidiff 1.0.1 reads the same patches whole.
# Seen with Python 3.11 and git 2.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check whatthepatch==1.0.7 unidiff==1.0.1
cat >apply.py <<'PY'
import sys

import unidiff
import whatthepatch

text = sys.stdin.read()
old = open("old", newline="").read()
[patch] = whatthepatch.parse_patch(text)
print(whatthepatch.apply_diff(patch, old))
[file] = unidiff.PatchSet(text)
print([str(line) for hunk in file for line in hunk])
PY
changed() {
  printf "$1" >old
  printf "$2" >new
  git diff --no-index old new | python/bin/python apply.py
}
seen=$(
  changed 'int a;\n' 'int a;\n\fint b;\n'
  changed 'int a;\n\fint b;\n' 'int a;\n\fint c;\n'
)
printf '%s\n' "$seen"
[ "$seen" = "['int a;', '']
[' int a;\\n', '+\\x0cint b;\\n']
['int a;', '', 'int b;']
[' int a;\\n', '-\\x0cint b;\\n', '+\\x0cint c;\\n']" ]
