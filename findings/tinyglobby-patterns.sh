#!/bin/sh
# tinyglobby 0.2.17 is meant to behave as fast-glob, and reads three patterns in a way of its own. `src/*/`, the folders in src for bash and
# glob 14.0.6, is every file there; `page{01..03}.md` is none; and `(app)/*.md` is what lies in a folder named `app`, not in `(app)`. fast-glob 3.3.3
# has no folder for the first and no file for the third. A search that changes from one to another
# misses files without an error.
# Seen with Node 20.20 and bash 5.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' >package.json
npm install --silent --no-audit --no-fund --ignore-scripts tinyglobby@0.2.17 fast-glob@3.3.3 glob@14.0.6
mkdir -p src/lib 'src/(app)' src/app
touch src/a.md src/page01.md src/page02.md src/page03.md src/lib/b.md 'src/(app)/c.md' src/app/d.md
cat >find.js <<'JS'
import fastGlob from 'fast-glob';
import { globSync } from 'glob';
import { globSync as tinyGlob } from 'tinyglobby';

const libraries = {
  glob: (pattern) => globSync(pattern),
  'fast-glob': (pattern) => fastGlob.sync(pattern),
  tinyglobby: (pattern) => tinyGlob(pattern, { expandDirectories: false }),
};
for (const pattern of ['src/?.md', 'src/*/', 'src/page{01..03}.md', 'src/(app)/*.md']) {
  console.log(pattern);
  for (const [name, find] of Object.entries(libraries)) {
    console.log(` ${name}: ${find(pattern).toSorted().join(' ')}`);
  }
}
JS
{
  node find.js
  bash -c "printf 'bash: %s %s %s\n' src/*/; printf 'bash: %s %s %s\n' src/page{01..03}.md; printf 'bash: %s\n' src/\(app\)/*.md"
} >seen.txt
cat seen.txt
cat >expected.txt <<'TXT'
src/?.md
 glob: src/a.md
 fast-glob: src/a.md
 tinyglobby: src/a.md
src/*/
 glob: src/(app) src/app src/lib
 fast-glob: 
 tinyglobby: src/a.md src/page01.md src/page02.md src/page03.md
src/page{01..03}.md
 glob: src/page01.md src/page02.md src/page03.md
 fast-glob: src/page01.md src/page02.md src/page03.md
 tinyglobby: 
src/(app)/*.md
 glob: src/(app)/c.md
 fast-glob: 
 tinyglobby: src/app/d.md
bash: src/(app)/ src/app/ src/lib/
bash: src/page01.md src/page02.md src/page03.md
bash: src/(app)/c.md
TXT
diff expected.txt seen.txt
