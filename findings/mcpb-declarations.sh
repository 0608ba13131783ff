#!/bin/sh
# @anthropic-ai/mcpb 2.1.2 packs a folder with a server of MCP into a file, and leaves out what only builds need: every `*.d.ts` and `tsconfig.json`, in
# node_modules too. A server that checks TypeScript for an agent needs them where it runs, since the compiler's own library is in such files:
# unpacked, it finds an error in every program. Here it is typescript 5.9.3. The packing tells a number of ignored files and no names, and a
# line `!*.d.ts` in .mcpbignore brings them back, of which the manual says nothing.
# Seen with Node 20.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export npm_config_cache="$folder/npm"
mkdir tools checker
cd tools
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts @anthropic-ai/mcpb@2.1.2
cd ../checker
echo '{"type":"module"}' >package.json
npm install --silent --no-audit --no-fund --ignore-scripts typescript@5.9.3
cat >check.js <<'JS'
import ts from 'typescript';

const host = ts.createCompilerHost({});
const read = host.getSourceFile;
const source = ts.createSourceFile('roof.ts', 'export const tiles: readonly string[] = ["red"];', ts.ScriptTarget.ES2022);
host.getSourceFile = (name, ...rest) => (name === 'roof.ts' ? source : read(name, ...rest));
const errors = ts.getPreEmitDiagnostics(ts.createProgram(['roof.ts'], { noEmit: true, types: [] }, host));
console.log(`${errors.length} errors`);
JS
cat >manifest.json <<'JSON'
{
  "manifest_version": "0.3",
  "name": "checker",
  "version": "1.0.0",
  "description": "Checks TypeScript",
  "author": { "name": "roofs" },
  "server": {
    "type": "node",
    "entry_point": "check.js",
    "mcp_config": { "command": "node", "args": ["${__dirname}/check.js"] }
  }
}
JSON
cd ..
seen=$(
  echo "before: $(cd checker && node check.js)"
  tools/node_modules/.bin/mcpb pack checker packed.mcpb >/dev/null
  tools/node_modules/.bin/mcpb unpack packed.mcpb packed >/dev/null
  echo "packed: $(cd packed && node check.js)"
  echo '!*.d.ts' >checker/.mcpbignore
  tools/node_modules/.bin/mcpb pack checker again.mcpb >/dev/null
  tools/node_modules/.bin/mcpb unpack again.mcpb again >/dev/null
  echo "with a line of its own: $(cd again && node check.js)"
)
printf '%s\n' "$seen"
[ "$seen" = 'before: 0 errors
packed: 9 errors
with a line of its own: 0 errors' ]
