"""Makes files of tests/data/hostile whose records deflate to a hundredth of their size: deflated_bombs.py MLP.pt2 OUT."""

import io
import json
import random
import struct
import sys
import zipfile
import zlib
from pathlib import Path


def noise(count):
    return random.Random(1).randbytes(count)


def copy(source, replaced):
    """Copies a zip with stored records. Records in `replaced`, (content, how it is deflated), are deflated instead."""
    out = io.BytesIO()
    with zipfile.ZipFile(source) as read, zipfile.ZipFile(out, "w") as written:
        for info in read.infolist():
            entry = zipfile.ZipInfo(info.filename, (1980, 1, 1, 0, 0, 0))
            content, deflate = read.read(info), None
            for ending, change in replaced.items():
                if info.filename.endswith(ending):
                    content, deflate = change
            if deflate is not None:
                entry.compress_type = zipfile.ZIP_DEFLATED
            zipfile._get_compressor = lambda *_, deflate=deflate: deflate and Deflated(deflate)
            written.writestr(entry, content)
    return out.getvalue()


class Deflated:
    """Replaces zlib's compression object, to which zipfile passes the whole content at once."""

    def __init__(self, deflate):
        self.deflate = deflate

    def compress(self, content):
        return self.deflate(content)

    def flush(self):
        return b""


def tightly(content):
    machine = zlib.compressobj(9, zlib.DEFLATED, -15)
    return machine.compress(content) + machine.flush()


def with_zeros_in_front(count):
    """Leaves the first `count` bytes, which are zeros, as they are, so the deflated bytes can be deflated once more."""

    def deflate(content):
        out = b""
        for at in range(0, count, 65535):
            size = min(65535, count - at)
            out += struct.pack("<BHH", 0, size, size ^ 0xFFFF) + content[at : at + size]
        return out + tightly(content[count:])

    return deflate


def pickled(padding, body):
    """Returns a pickle of a tuple: unused bytes, and the value that the opcodes `body` make."""
    return b"\x80\x02(" + b"B" + struct.pack("<I", len(padding)) + padding + body + b"t."


def main(mlp, out):
    out = Path(out)
    with zipfile.ZipFile(mlp) as file:
        program = file.read("mlp/models/model.json").decode()
        samples = io.BytesIO(file.read("mlp/data/sample_inputs/model.pt"))

    def write_program(name, text):
        (out / name).write_bytes(copy(mlp, {"model.json": (text.encode(), tightly)}))

    # Above 16 MB, deflated to less than a twentieth and more than a two hundredth.
    write_program("json-ratio.pt2", program.replace("{", '{"noise": "%s",' % noise(90_000).hex() + " " * 16_700_000, 1))

    # A harmless file: real programs also contain repeated text.
    lines = random.Random(2).choices(range(10), k=15_000)
    line = 'File \\"/usr/lib/python3/dist-packages/layers/attention.py\\", line 12%d, in forward\\n'
    trace = '"stack_trace": "' + "".join(line % number for number in lines)
    write_program("json-of-stack-traces.pt2", program.replace('"stack_trace": "', trace, 1))

    node = '{"target": "torch.ops.my.op.default", "inputs": [{"name": "x", "arg": {"as_int_lists": [%s[]]}, "kind": 1}], '
    node += '"outputs": [], "metadata": {"noise": "%s"}, "is_hop_single_tensor_return": null, "name": "z"}, '
    node %= ("[]," * 1_300_000, noise(16_000).hex())
    write_program("json-of-empty-lists.pt2", program.replace('"nodes": [', '"nodes": [' + node, 1))

    # Also harmless: hundreds of weights with equal descriptions.
    with zipfile.ZipFile(mlp) as file:
        config = json.loads(file.read("mlp/data/weights/model_weights_config.json"))["config"]
    first = next(iter(config.values()))
    config |= {f"encoder.layers.{i}.weight": first for i in range(900)}
    config = json.dumps({"config": config}).encode()
    (out / "json-of-equal-weights.pt2").write_bytes(copy(mlp, {"weights_config.json": (config, tightly)}))

    lists = pickled(noise(12_000), b"]" * 2_000_000)
    inner = copy(samples, {"data.pkl": (lists, tightly)})
    (out / "pickle-of-empty-lists.pt2").write_bytes(copy(mlp, {"sample_inputs/model.pt": (inner, None)}))

    # The zeros are preceded by the opcodes that begin the bytes.
    zeros = 40_000
    nones = pickled(bytes(zeros), b"N" * 7_000_000)
    inner = copy(samples, {"data.pkl": (nones, with_zeros_in_front(zeros))})
    (out / "pickle-deflated-twice.pt2").write_bytes(copy(mlp, {"sample_inputs/model.pt": (inner, tightly)}))


main(*sys.argv[1:])
