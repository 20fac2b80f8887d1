#!/usr/bin/env python3
"""check_sbom.py FILE: is it CycloneDX 1.6, and does its graph name nothing that it lacks?"""

import json
import sys

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

text = open(sys.argv[1], encoding="utf-8").read()
error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
if error:
    sys.exit(f"{sys.argv[1]}: {error}")
bill = json.loads(text)
known = {each["bom-ref"] for each in [bill["metadata"]["component"], *bill["components"]]}
named = {ref for edge in bill["dependencies"] for ref in [edge["ref"], *edge["dependsOn"]]}
if named != known:
    sys.exit(f"{sys.argv[1]}: components and graph differ: {sorted(named ^ known)}")
print(f"{sys.argv[1]}: {len(bill['components'])} components")
