#!/bin/sh
# picomatch 4.0.7 and micromatch 4.0.8, by which many tools for Node compare names with patterns: `[!_]*.md` is every file whose name does not begin with an
# underline for bash and minimatch 11.0.9 (POSIX, 2.14.1). Here the exclamation mark is a character of the class, and the pattern finds `_a.md`
# and no other: the opposite. Only the option `posix`, which the manual has for names of classes as `[:alpha:]`, makes it a negation.
# `?` is no character beyond U+FFFF.
# Seen with Node 20.20 and bash 5.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' >package.json
npm install --silent --no-audit --no-fund --ignore-scripts picomatch@4.0.7 micromatch@4.0.8 minimatch@11.0.9
cat >match.js <<'JS'
import { execFileSync } from 'node:child_process';
import micromatch from 'micromatch';
import { minimatch } from 'minimatch';
import picomatch from 'picomatch';

const script = 'export LC_ALL=C.UTF-8; [[ $1 == $2 ]] && echo true || echo false';
const libraries = {
  bash: (pattern, name) => execFileSync('bash', ['-c', script, 'bash', name, pattern]).toString().trim(),
  minimatch: (pattern, name) => minimatch(name, pattern),
  micromatch: (pattern, name) => micromatch.isMatch(name, pattern),
  picomatch: (pattern, name) => picomatch.isMatch(name, pattern),
  'picomatch with posix': (pattern, name) => picomatch.isMatch(name, pattern, { posix: true }),
};
for (const [pattern, name] of [
  ['[ab].md', 'a.md'],
  ['[^_]*.md', 'a.md'],
  ['[!_]*.md', 'a.md'],
  ['[!_]*.md', '_a.md'],
  ['?.md', '\u{1F600}.md'],
]) {
  const seen = Object.entries(libraries).map(([library, matches]) => `${library} ${matches(pattern, name)}`);
  console.log(`${pattern} ${name}: ${seen.join(', ')}`);
}
JS
node match.js >seen.txt
cat seen.txt
cat >expected.txt <<'TXT'
[ab].md a.md: bash true, minimatch true, micromatch true, picomatch true, picomatch with posix true
[^_]*.md a.md: bash true, minimatch true, micromatch true, picomatch true, picomatch with posix true
[!_]*.md a.md: bash true, minimatch true, micromatch false, picomatch false, picomatch with posix true
[!_]*.md _a.md: bash false, minimatch false, micromatch true, picomatch true, picomatch with posix false
?.md 😀.md: bash true, minimatch true, micromatch false, picomatch false, picomatch with posix false
TXT
diff expected.txt seen.txt
