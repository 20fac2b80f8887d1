#!/usr/bin/env bash
# README.md's table of conversions equals the one that this script makes from interop/support.json, the results of
# interop/convert_matrix.py --record. PT2_REBASE=1 rewrites the table. interop/originals.json has an entry for every release
# (interop/run_originals.py --record): it excuses files that PyTorch itself cannot run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

begin='| converted for | files | run alike | PyTorch cannot run them itself | blocked | by |'

# The JSON has one key per line (json.dumps with an indent), with releases in their order.
table() {
  echo "$begin"
  echo '|---|---|---|---|---|---|'
  awk '
    function number(line) { gsub(/[^0-9]/, "", line); return line + 0 }
    /^ "[0-9.]+": \{/ { release = $1; gsub(/[":]/, "", release); excused = 0; kinds = ""; delete seen; section = "" }
    /^  "alike":/ { alike = number($2) }
    /^  "failed":/ { failed = number($2) }
    /^  "blocked":/ { blocked = number($2) }
    /^  "excused":/ { section = "excused" }
    /^  "reasons":/ { section = "reasons" }
    /^   "/ && section == "excused" { line = $0; sub(/.*": /, "", line); excused += number(line) }
    /^   "/ && section == "reasons" {
      kind = $1; gsub(/[":]/, "", kind)
      if (!(kind in seen)) { seen[kind] = 1; kinds = kinds (kinds == "" ? "" : ", ") "`" kind "`" }
    }
    /^ \}/ {
      if (failed > 0) print release ": " failed " failed" > "/dev/stderr"
      printf "| %s | %d | %d | %d | %d | %s |\n", release, alike + failed + excused + blocked, alike, excused, blocked, kinds
    }' interop/support.json
}

shown() { awk -v begin="$begin" '$0 == begin { on = 1 } on && !/^\|/ { exit } on' README.md; }

if [ "${PT2_REBASE:-}" = 1 ]; then
  made=$(table)
  awk -v begin="$begin" -v made="$made" '
    $0 == begin { print made; on = 1 }
    on && /^\|/ { next }
    { on = 0; print }' README.md >README.md.new
  mv README.md.new README.md
fi
grep -qF "$begin" README.md || { echo "README.md: lacks the table that begins with $begin"; exit 1; }
diff <(table) <(shown) || { echo "README.md: found another table than interop/support.json makes; PT2_REBASE=1 $0"; exit 1; }
if grep -qE '"failed": [1-9]' interop/support.json; then
  echo "interop/support.json: a file failed"
  exit 1
fi
releases=$(sed -nE 's/^PT2_RELEASE\([0-9]+, *"([0-9]+\.[0-9]+)\..*/\1/p' include/pt2/releases.def)
for release in ${releases:?include/pt2/releases.def: found no release}; do
  grep -q "^ \"$release\": {" interop/originals.json || { echo "interop/originals.json: lacks $release"; exit 1; }
done
