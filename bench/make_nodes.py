"""Write a program of many nodes from a small real one. Needs nothing but Python.

    python3 make_nodes.py SMALL.pt2 LARGE.pt2 NODES [--change PLACE]

SMALL is tests/data/corpus/2.15.0/mlp.pt2: its relu is called again and again, each time with a name, a module and a
line of its own. Every third call is an addition of the last two results. --change replaces the call at PLACE by another.
"""

import argparse
import copy
import json
import re
import zipfile


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("small")
    parser.add_argument("large")
    parser.add_argument("nodes", type=int)
    parser.add_argument("--change", type=int)
    options = parser.parse_args()
    with zipfile.ZipFile(options.small) as small, zipfile.ZipFile(options.large, "w") as large:
        for info in small.infolist():
            content = small.read(info)
            if info.filename.endswith("models/model.json"):
                program = json.loads(content)
                grow(program["graph_module"]["graph"], options.nodes, options.change)
                content = json.dumps(program).encode()
            large.writestr(zipfile.ZipInfo(info.filename), content)


def grow(graph, count, change):
    place = next(i for i, node in enumerate(graph["nodes"]) if "relu" in node["target"])
    relu = graph["nodes"][place]
    source, result = relu["inputs"][0]["arg"]["as_tensor"]["name"], relu["outputs"][0]["as_tensor"]["name"]
    added, names = [], [source, result]
    for i in range(count - len(graph["nodes"])):
        node, name = copy.deepcopy(relu), f"{result}_{i + 1}"
        node["outputs"][0]["as_tensor"]["name"] = node["name"] = name
        node["inputs"][0]["arg"]["as_tensor"]["name"] = names[-1]
        for key, text in node["metadata"].items():
            node["metadata"][key] = re.sub(r"line \d+", f"line {i % 1000 + 1}", text.replace("relu", f"blocks_{i // 100}_relu"))
        if i % 3 == 2:
            other = copy.deepcopy(node["inputs"][0])
            other["name"], other["arg"]["as_tensor"]["name"] = "other", names[-2]
            node.update(target="torch.ops.aten.add.Tensor", inputs=node["inputs"] + [other])
        if i == change:
            node.update(target="torch.ops.aten.sigmoid.default", inputs=node["inputs"][:1])
        added.append(node)
        names.append(name)
        graph["tensor_values"][name] = graph["tensor_values"][result]
    last = graph["nodes"][place + 1]
    last["inputs"][0]["arg"]["as_tensor"]["name"] = names[-1]
    graph["nodes"][place + 1:place + 1] = added


if __name__ == "__main__":
    main()
