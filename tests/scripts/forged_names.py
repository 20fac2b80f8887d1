#!/usr/bin/env python3
"""Writes tests/data/hostile/names-*.pt2: names that lead out of a folder, and texts with terminal control sequences.

    forged_names.py MLP OUT: of tests/data/corpus/2.15.0/mlp.pt2
"""

import json
import pathlib
import sys
import zipfile

# Erases the line and begins another that says "ok"; a control character beyond ASCII; a right-to-left override.
FORGED = "\x1b[2K\r\nforged.pt2: ok\n\u009b31m\u202e"


def write(path, records, programs):
    """Writes programs that share the weights; each is a name and a function that changes the JSON."""
    with zipfile.ZipFile(path, "w") as archive:
        def add(name, data):
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED if name.endswith(".json") else None)

        for name, data in records.items():
            if "model" not in name:
                add(name, data)
        for program, change in programs:
            for name, data in records.items():
                if name.endswith("models/model.json"):
                    parsed = json.loads(data)
                    change(parsed)
                    data = json.dumps(parsed)
                if "model" in name and "sample_inputs" not in name:
                    folder, _, file = name.rpartition("/")
                    add(f"{folder}/{file.replace('model', program, 1)}", data)


def same(_):
    pass


def rename(old, new):
    """Gives a value another name everywhere."""
    def change(program):
        text = json.dumps(program).replace(json.dumps(old), json.dumps(new))
        program.clear()
        program.update(json.loads(text))
    return change


def forge_target(program):
    program["graph_module"]["graph"]["nodes"][1]["target"] += FORGED


def forge_specs(program):
    signature = program["graph_module"]["signature"]
    signature["input_specs"][0]["parameter"]["parameter_name"] += FORGED
    signature["output_specs"][0]["user_output"]["arg"]["as_tensor"]["name"] = "none" + FORGED


def main():
    with zipfile.ZipFile(sys.argv[1]) as archive:
        records = {name: archive.read(name) for name in archive.namelist()}
    out = pathlib.Path(sys.argv[2])
    for case, programs in {
        "absolute": ["/pt2-test/escaped"],
        "subfolder": ["fine", "a/b"],
        "device": ["con"],
        "case": ["Model", "model"],
        "control": ["a" + FORGED.replace("\n", "")],
    }.items():
        write(out / f"names-{case}.pt2", records, [(program, same) for program in programs])
    for case, change in {
        "value": rename("relu", "relu" + FORGED),
        "target": forge_target,
        "signature": forge_specs,
    }.items():
        write(out / f"names-{case}.pt2", records, [("model", change)])


main()
