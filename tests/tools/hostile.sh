#!/usr/bin/env bash
# hostile.sh PT2: every command in tests/data/hostile/cases.txt gives the expected answer within 10 s of processor time and
# 1 GB of memory. Tests of the dev preset cannot check this: sanitizers take most of both.
set -uo pipefail
pt2=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/../data" || exit 1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# Thread stacks count as memory although threads use little of them.
kilobytes=$((1024 * 1024 + 8192 * $(nproc)))
faults=0

# expect "ARGUMENTS" EXIT TEXT: runs the command and checks its exit code and that its output contains the text.
expect() {
  local said code words
  read -ra words <<<"$1"
  said=$(
    ulimit -t 10 -d "$kilobytes"
    "$pt2" "${words[@]}" 2>&1 </dev/null | tr -d '\0'  # Bash variables cannot hold zero bytes
    exit "${PIPESTATUS[0]}"
  )
  code=$?
  if [ "$code" != "$2" ] || [[ $said != *"$3"* ]]; then
    echo "pt2 $1: exit $code, expected $2 and \"$3\"; it says:"
    head -c 2000 <<<"$said"
    faults=1
  fi
}

count=0
while IFS='|' read -r command code text; do
  [[ -z $command || $command == '#'* ]] && continue
  for suffix in pt2 npy npz safetensors; do
    name=\$${suffix^^}
    [ "$suffix" = pt2 ] && name=\$OUT
    command=${command//"$name"/"$folder/out.$suffix"}
  done
  [[ $command == *" -o "* ]] && rm -f "$folder"/out.*
  read -r code <<<"$code"
  text=${text#"${text%%[! ]*}"}
  expect "$command" "$code" "${text%"${text##*[! ]}"}"
  count=$((count + 1))
done <hostile/cases.txt
[ "$count" -gt 20 ] || { echo "found $count cases"; faults=1; }

# A buffer that grows by doubling would exceed the memory limit.
expect "info /dev/zero --limit max_stream_bytes=800000000" 5 max_stream_bytes
# Beyond that limit no allocation of the command ends the process.
expect "info /dev/zero --limit max_stream_bytes=4000000000" 5 "needs more memory"

# Without a limit on the command line: the work that is counted is what the processor does.
expect "run hostile/run-prime-transforms.pt2 -i random" 5 max_work
expect "test hostile/run-boxes-time.pt2 --engine both" 5 max_work

# A program with more nodes than any real one, with a finding for each node.
nodes=100000
{
  echo 'program schema 8.20 { graph() {'
  yes 'aten.f.default()' | head -n "$nodes"
  echo 'return } }'
} >"$folder/nodes.txt"
expect "as $folder/nodes.txt -o $folder/nodes.pt2" 0 ""
expect "info $folder/nodes.pt2" 0 "$nodes"
expect "verify $folder/nodes.pt2" 1 "1 error, $nodes warnings"

# A file of hundreds of programs. Reading all of them again for each would take too long.
mapfile -t programs < <(for i in $(seq 700); do echo "p$i=corpus/2.15.0/mlp.pt2"; done)
expect "pack ${programs[*]} -o $folder/programs.pt2" 0 "700 programs"
expect "pack $folder/programs.pt2 -o $folder/again.pt2" 0 "700 programs"
expect "unpack $folder/programs.pt2 -o $folder/unpacked" 0 p700.pt2
expect "hash $folder/programs.pt2" 0 programs.pt2:p700

# As many nodes as a megabyte of JSON can hold.
{
  printf '{"graph_module": {"graph": {"inputs": [], "outputs": [], "nodes": [{}'
  yes ',{}' | head -n 333000 | tr -d '\n'
  printf ']}}}'
} >"$folder/nodes.json"
for verb in info verify; do
  expect "$verb $folder/nodes.json" 3 'nodes[0]: Node has no field "target"'
done
exit $faults
