#!/usr/bin/env bash
# House rules that a script can check: short files, small folders, no paths of a developer's machine, a README that names
# every folder.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
max_lines=800
max_files=30  # tables (.def) are not counted
faults=0
fault() {
  echo "$*"
  faults=$((faults + 1))
}

files=$(git ls-files --cached --others --exclude-standard -- ':!tests/data' ':!examples')
sources=$(grep -E '\.(h|cpp|def|py|sh|cmake)$|(^|/)(CMakeLists\.txt|dev|run)$' <<<"$files")

for file in $sources; do
  [ -f "$file" ] || continue
  lines=$(wc -l <"$file")
  [ "$lines" -le $max_lines ] || fault "$file: $lines lines, at most $max_lines"
done

while read -r count folder; do
  [ "$count" -le $max_files ] || fault "$folder: $count files, at most $max_files"
done < <(grep -v '\.def$' <<<"$sources" | xargs -n1 dirname | sort | uniq -c)

machine_paths='(^|[^A-Za-z0-9_.$}/-])/(home|work|Users|tmp|mnt|media)/'
while read -r place; do
  fault "path of a machine: $place"
done < <(xargs grep -nIE "$machine_paths" <<<"$files" | grep -v '^tests/structure/tidy.sh:' || true)

# A precompiled header from a compiler cache has other file times, so #pragma once would include these headers twice.
while read -r file; do
  fault "$file: #pragma once, expected an include guard"
done < <(xargs grep -lI '^#pragma once' <<<"$sources" || true)

table=$(sed -n '/^## Where is/,/^## [^W]/p' README.md)
folders=$(grep / <<<"$files" | xargs -n1 dirname | sed -E 's,^(src/[^/]+|tests/[^/]+|include/pt2(/[^/]+)?|[^/]+).*,\1,' | sort -u)
for folder in $folders; do
  case $folder in
    tests/*) [ -d "src/${folder#tests/}" ] && continue ;;
  esac
  grep -qF "\`$folder/\`" <<<"$table" || fault "README.md: the table \"Where is …?\" lacks \`$folder/\`"
done
# The site's builder, which needs PyPI and does not run here, refuses pages that the navigation lacks.
while read -r page; do
  grep -qE ": ${page#docs/}$" site/mkdocs.yml || fault "site/mkdocs.yml: the navigation lacks $page"
done < <(grep '^docs/.*\.md$' <<<"$files")
# Operators of a family that families.def lacks would be compiled but never found.
while read -r family; do
  grep -qF "PT2_OP_FAMILY($family, " src/ops/families.def || fault "src/ops/families.def: lacks $family"
done < <(grep -rhoE 'OpDef> [a-z0-9_]+_ops\(\) \{' src/ops --include='*.cpp' | sed -E 's/.* (.*)_ops.*/\1/')
[ "$faults" -eq 0 ]
