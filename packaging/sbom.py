#!/usr/bin/env python3
"""sbom.py BUILD_FOLDER > sbom.json: a bill of materials, CycloneDX 1.6, of what a build makes.

What CMake found (BUILD_FOLDER/dependencies.json: versions, and which target links what), joined with licences and origins
(packaging/dependencies.json). A package that one of them lacks is an error.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import uuid
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent
NAMESPACE = uuid.UUID("6f1f0a2e-3d0b-5d9c-9c53-2f0d7a5a7c11")  # any; so that equal bills have equal numbers


def component(kind: str, name: str, version: str, licence: str, **more: Any) -> dict[str, Any]:
    purl = f"pkg:generic/{name.replace('::', '-')}@{version}"
    return {"type": kind, "bom-ref": purl, "name": name, "version": version,
            "licenses": [{"license": {"id": licence}}], "purl": purl, **more}  # fmt: skip


def bill(facts: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    version = facts["version"]
    packages = {name: found for name, found in facts["packages"].items() if name not in known["not shipped"]}
    strangers = set(packages) ^ set(known["packages"])
    if strangers:
        raise SystemExit(f"packaging/dependencies.json and the build differ: {', '.join(sorted(strangers))}")
    parts = {}
    for name, found in packages.items():
        if not found:
            raise SystemExit(f"the build does not say which version of {name} it found")
        row = known["packages"][name]
        parts[name] = component("library", name, found, row["licence"], scope="required",
                                properties=[{"name": "pt2:how", "value": row["how"]}])  # fmt: skip
    whole = component("library", "libpt2", version, "BSD-3-Clause")
    targets = {
        name: component("application" if name == "pt2" else "library", name, version, "BSD-3-Clause")
        for name in facts["targets"]
    }
    edges = {whole["bom-ref"]: {each["bom-ref"] for each in targets.values()}}
    for name, links in facts["targets"].items():
        used = {link.split("::")[0] for link in links}
        used |= {package for package, row in known["packages"].items() if name in row.get("in", [])}
        edges[targets[name]["bom-ref"]] = {parts[package]["bom-ref"] for package in used if package in parts}
    unused = {part["bom-ref"] for part in parts.values()} - set().union(*edges.values())
    if unused:
        raise SystemExit(f"no target links {', '.join(sorted(unused))}")
    components = [*targets.values(), *parts.values()]
    graph = [{"ref": each["bom-ref"], "dependsOn": sorted(edges.get(each["bom-ref"], ()))} for each in [whole, *components]]
    text = json.dumps([components, graph], sort_keys=True)
    return {"bomFormat": "CycloneDX", "specVersion": "1.6", "serialNumber": f"urn:uuid:{uuid.uuid5(NAMESPACE, text)}",
            "version": 1, "metadata": {"component": whole}, "components": components, "dependencies": graph}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    build = parser.parse_args().build
    facts = json.loads((build / "dependencies.json").read_text())
    known = json.loads((ROOT / "dependencies.json").read_text())
    print(json.dumps(bill(facts, known), indent=2))


if __name__ == "__main__":
    main()
