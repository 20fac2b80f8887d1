#!/usr/bin/env bash
# blocks.sh PAGE FOLDER: writes every code block of a guide into FOLDER under its title: ```cpp title="load.cpp" becomes
# load.cpp, and what that prints is the block titled "output of load.cpp". A block without a title, which nothing would
# compile or run, is a fault.
set -euo pipefail
page=$1 folder=$2
mkdir -p "$folder"
awk -v folder="$folder" -v page="$page" '
  /^```/ && file != "" { close(file); file = ""; next }
  /^```/ {
    if (!match($0, /^```[a-z]+ title="[^"\/]+"$/)) { print page ":" NR ": a code block without a title" >"/dev/stderr"; exit 1 }
    title = $0
    sub(/^[^"]*"/, "", title)
    sub(/"$/, "", title)
    file = folder "/" title
    printf "" >file
    next
  }
  file != "" { print >file }
' "$page"
