#!/usr/bin/env bash
# Every #include of src/ and include/ follows the dependencies of areas: the lines pt2_area(NAME USES ...) of the top
# CMakeLists.txt. A public header belongs to the area with a source of the same name. A header without a source belongs to
# the last area that it includes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

areas=()
declare -A reach
while read -r area words; do
  areas+=("$area")
  reach[$area]=" $area "
  words=${words%%PRECOMPILE*}
  used=${words#*USES}
  [ "$used" != "$words" ] || used=""
  for other in ${used%%LINK*}; do
    reach[$area]+="${reach[$other]:?CMakeLists.txt: area $area uses $other, which is not declared before it}"
  done
done < <(sed -nE 's/^pt2_area\((.*)\)$/\1 /p' CMakeLists.txt)
[ ${#areas[@]} -gt 0 ] || { echo "CMakeLists.txt: found no pt2_area" >&2; exit 1; }

quoted_includes() { sed -nE 's/^ *# *include "([^"]+)".*/\1/p' "$1"; }

declare -A area_of_header=([pt2/pt2.h]=everything)  # for users; no area may include it
find_area_of_header() {
  local header=$1 area included found=${areas[0]}
  [ -z "${area_of_header[$header]:-}" ] || return 0
  area_of_header[$header]=$found
  [ -f "include/$header" ] || { echo "include/$header: included, but not there" >&2; exit 1; }
  for area in "${areas[@]}"; do
    if [ -n "$(find "src/$area" -name "$(basename "$header" .h).cpp")" ]; then
      area_of_header[$header]=$area
      return 0
    fi
  done
  for included in $(quoted_includes "include/$header"); do
    find_area_of_header "$included"
    for area in "${areas[@]}"; do
      [[ "${reach[$area]}" != *" $found "* || "$area" != "${area_of_header[$included]}" ]] || found=$area
    done
  done
  area_of_header[$header]=$found
}

faults=0
check_file() {
  local file=$1 area=$2 included target
  for included in $(quoted_includes "$file"); do
    target=${included%%/*}
    if [ "$target" = pt2 ]; then
      find_area_of_header "$included"
      target=${area_of_header[$included]}
    fi
    if [[ "${reach[$area]}" != *" $target "* ]]; then
      echo "$file: area $area may not include \"$included\" of area $target"
      faults=$((faults + 1))
    fi
  done
}

for area in "${areas[@]}"; do
  while read -r file; do
    check_file "$file" "$area"
  done < <(find "src/$area" -name '*.h' -o -name '*.cpp')
done
while read -r file; do
  find_area_of_header "${file#include/}"
  check_file "$file" "${area_of_header[${file#include/}]}"
done < <(find include/pt2 -name '*.h' ! -name pt2.h)
for folder in src/*/; do
  folder=$(basename "$folder")
  [[ " ${areas[*]} " == *" $folder "* ]] || { echo "src/$folder: not an area of CMakeLists.txt"; faults=$((faults + 1)); }
done
[ "$faults" -eq 0 ]
