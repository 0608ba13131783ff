#!/bin/sh
# ignore 0.4.35, the library of ripgrep: `matched_path_or_any_parents`, which is for a path that was not found by a walk, takes the folder of the
# .gitignore itself for one of the parents. `*/`, every folder here, then stands for that folder too, and every file is ignored: `/*/` with
# `!/src/` should leave the files at the top, and leaves none. `matched` and git leave them.
# Seen with Rust 1.95 and git 2.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export CARGO_HOME="$folder/cargo"
mkdir src
cat >Cargo.toml <<'TOML'
[package]
name = "ignored"
version = "1.0.0"
edition = "2024"

[dependencies]
ignore = "=0.4.35"
TOML
cat >src/main.rs <<'RS'
use ignore::gitignore::GitignoreBuilder;

fn main() {
    let mut builder = GitignoreBuilder::new("/repository");
    builder.add_line(None, "/*/").unwrap();
    builder.add_line(None, "!/src/").unwrap();
    let lines = builder.build().unwrap();
    for path in ["readme.md", "src/main.rs", "out/main"] {
        let parents = lines.matched_path_or_any_parents(path, false).is_ignore();
        println!("{path} matched {} with parents {parents}", lines.matched(path, false).is_ignore());
    }
}
RS
seen=$(cargo run --quiet)
git init --quiet repository
printf '/*/\n!/src/\n' >repository/.gitignore
for path in readme.md src/main.rs out/main; do
  if git -C repository check-ignore --quiet --no-index "$path"; then seen="$seen
$path git true"; else seen="$seen
$path git false"; fi
done
printf '%s\n' "$seen"
[ "$seen" = 'readme.md matched false with parents true
src/main.rs matched false with parents false
out/main matched false with parents true
readme.md git false
src/main.rs git false
out/main git true' ]
