"""Does the search of the built site find each verb, class and exit code? check_search.py PT2 SITE

A word is found when the title of a page or section has it, cut as the index cuts, and no filter drops it.
"""

from __future__ import annotations

import ast
import json
import pathlib
import re
import subprocess
import sys

import declarations
import pages


def classes() -> set[str]:
    """Those of the C++ headers that the reference is made of, of C and of Python."""
    found = set()
    for path in (pages.ROOT / "include/pt2").rglob("*.h"):
        if path.name in pages.MACHINERY:
            continue
        for _, parts in declarations.read(path.read_text(encoding="utf-8")).parts:
            found |= {part.name for part in parts if re.search(r"^(class|struct|typedef struct) ", "\n".join(part.code), re.M)}
    for path in ("python/pt2/_native.pyi", "python/pt2/_info.py", "python/pt2/_errors.py"):
        body = ast.parse(pages.text_of(path)).body
        found |= {item.name for item in body if isinstance(item, ast.ClassDef) and item.name[0] != "_"}
    return found


def main() -> None:
    pt2, site = sys.argv[1:]
    index = json.loads((pathlib.Path(site) / "search/search_index.json").read_text(encoding="utf-8"))
    if index["config"]["pipeline"]:
        sys.exit(f"words are dropped or changed before they are found: {index['config']['pipeline']}")
    titles = [re.split(index["config"]["separator"], each["title"]) for each in index["docs"]]
    overview = subprocess.run([pt2, "--help"], capture_output=True, text=True, check=True).stdout
    codes = re.search(r"^Exit codes: (.*)", overview, re.M)
    assert codes is not None
    wanted = {
        "verbs": [["pt2", verb] for verb in re.findall(r"^  ([a-z]+) +\S", overview, re.M)],
        "exit codes": [["Exit", "code", code] for code in re.findall(r"\d", codes[1])],
        "classes": [[name] for name in sorted(classes())],
    }
    missing = []
    for kind, queries in wanted.items():
        missing += [" ".join(words) for words in queries if not any(set(words) <= set(title) for title in titles)]
        print(f"{len(queries)} {kind}")
    if missing:
        sys.exit("the search does not find " + ", ".join(missing))


if __name__ == "__main__":
    main()
