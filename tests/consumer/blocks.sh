#!/usr/bin/env bash
# blocks.sh PAGE FOLDER: writes every code block of a page into FOLDER under its title: ```cpp title="load.cpp" becomes
# load.cpp, and the block titled "output of load.cpp" is its expected output. A block without a title is a fault, because
# nothing would compile or run it. Exceptions are ```text (drawings, and output of commands, which tests/tools/golden_test.cpp
# compares), ```ebnf (grammars), and indented commands of pt2, whose verbs and options that test checks.
set -euo pipefail
page=$1 folder=$2
mkdir -p "$folder"
awk -v folder="$folder" -v page="$page" '
  function fault(text) { print page ":" NR ": " text >"/dev/stderr"; exit 1 }
  /^```/ && inside { if (file != "") close(file); file = ""; inside = 0; indented = 0; next }
  /^```(text|ebnf)$/ { inside = 1; next }
  /^```/ {
    if (!match($0, /^```[a-z]+ title="[^"\/]+"$/)) fault("a code block without a title")
    inside = 1
    title = $0
    sub(/^[^"]*"/, "", title)
    sub(/"$/, "", title)
    file = folder "/" title
    printf "" >file
    next
  }
  file != "" { print >file }
  inside { next }
  /^    [^ ]/ && (indented || !words) { indented = 1; if ($1 != "pt2") fault("a code block that nothing runs") }
  !/^    / { indented = 0 }
  { words = NF > 0 }
' "$page"
