#!/bin/sh
# Two libraries by which agents in Python read what a terminal program wrote. pyte 0.8.2 shows the rest of a colour or an underline whose parts stand
# behind colons (ITU-T T.416, 13.1.8) as text, and takes `CSI > 4 ; 2 m`, by which editors ask xterm for keys, for an underline. rich 15.0.0,
# `Text.from_ansi`, takes it for dim text, shows the parts of a link that ends with BEL as text, and an underline with a colour of its own is bold and italic
# here and in pyte.
# Seen with Python 3.11.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check pyte==0.8.2 rich==15.0.0
cat >read.py <<'PY'
import pyte
from rich.text import Text

sequences = {
    "colour with colons": "\x1b[38:2::255:0:0mred\x1b[m",
    "curly underline": "\x1b[4:3mred\x1b[m",
    "colour of the underline": "\x1b[4;58;2;1;2;3mred\x1b[m",
    "keys": "\x1b[>4;2mred",
    "link": "\x1b]8;;http://example.com\x07red\x1b]8;;\x07",
}
for name, text in sequences.items():
    screen = pyte.Screen(30, 1)
    pyte.Stream(screen).feed(text)
    first = screen.buffer[0][0]
    look = [key for key in ("bold", "italics", "underscore") if getattr(first, key)]
    rich = Text.from_ansi(text)
    print(name, "| pyte", screen.display[0].rstrip(), look, "| rich", rich.plain, [str(span.style) for span in rich.spans])
PY
seen=$(python/bin/python read.py)
printf '%s\n' "$seen"
[ "$seen" = "colour with colons | pyte 2::255:0:0mred [] | rich red []
curly underline | pyte 3mred [] | rich red []
colour of the underline | pyte red ['bold', 'italics', 'underscore'] | rich red ['bold dim italic underline']
keys | pyte red ['underscore'] | rich red ['dim']
link | pyte red [] | rich 8;;http://example.comred8;; []" ]
