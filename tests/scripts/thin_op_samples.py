#!/usr/bin/env python3
"""Chooses a few small samples of every overload from recorded operator calls.

    thin_op_samples.py SOURCE_DIR OUT_DIR [--samples 4] [--bytes 2600]

From each overload's file, the script keeps the smallest samples with different first dtypes, then the smallest error, as
long as they fit --bytes (it always keeps one). --add keeps the samples that OUT_DIR has, and appends the new ones.
"""
import argparse, json, pathlib, struct


def read(path):
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    return json.loads(data[8:8 + size]), data[8 + size:]


def keys_of(value):
    """Returns the keys of the tensors that a sample uses."""
    if isinstance(value, dict):
        if isinstance(value.get("tensor"), str):
            yield value["tensor"]
        for item in value.values():
            yield from keys_of(item)
    elif isinstance(value, list):
        for item in value:
            yield from keys_of(item)


def first_dtype(value):
    if isinstance(value, dict):
        if "dtype" in value and "sizes" in value:
            return value["dtype"]
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            found = first_dtype(item)
            if found:
                return found
    return None


def choose(header, samples, count, limit):
    def size(sample):
        begin_end = [header[key]["data_offsets"] for key in set(keys_of(sample))]
        return len(json.dumps(sample)) + sum(end - begin + 90 for begin, end in begin_end)

    def is_plain(sample):
        tensor = next((v for v in sample["args"].values() if isinstance(v, dict) and "sizes" in v), None)
        return tensor is not None and 0 in tensor["sizes"]

    chosen, dtypes, total = [], set(), 0
    for sample in sorted(samples, key=lambda s: ("raises" in s, is_plain(s), size(s))):
        kind = "error" if "raises" in sample else first_dtype(sample["args"])
        if kind in dtypes or len(chosen) == count:
            continue
        if chosen and total + size(sample) > limit:
            break
        chosen.append(sample)
        dtypes.add(kind)
        total += size(sample)
    return chosen


def write(path, metadata, header, data, samples):
    keys = sorted({key for sample in samples for key in keys_of(sample)})
    out, blobs, offset = {"__metadata__": metadata}, [], 0
    for key in keys:
        begin, end = header[key]["data_offsets"]
        blobs.append(data[begin:end])
        out[key] = {**header[key], "data_offsets": [offset, offset + end - begin]}
        offset += end - begin
    text = json.dumps(out, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def rekeyed(value, number):
    """Returns the sample with its tensors renamed to s<number>.…"""
    if isinstance(value, dict):
        return {k: f"s{number}.{v.split('.', 1)[1]}" if k == "tensor" and isinstance(v, str) else rekeyed(v, number)
                for k, v in value.items()}
    return [rekeyed(item, number) for item in value] if isinstance(value, list) else value


def joined(path, header, data, samples):
    """Returns header, data and samples of `path`, followed by the new ones."""
    old_header, old_data = read(path)
    old = json.loads(old_header["__metadata__"]["samples"])
    number = 1 + max((int(key[1:].split(".")[0]) for key in old_header if key != "__metadata__"), default=-1)
    out = dict(old_header)
    for sample in samples:
        fresh = rekeyed(sample, number)
        for before, after in zip(keys_of(sample), keys_of(fresh)):
            begin, end = (len(old_data) + offset for offset in header[before]["data_offsets"])
            out[after] = {**header[before], "data_offsets": [begin, end]}
        old.append(fresh)
        number += 1
    return out, old_data + data, old


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--samples", type=int, default=4)
    parser.add_argument("--bytes", type=int, default=2600)
    parser.add_argument("--add", action="store_true")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for path in sorted(options.source.glob("*.safetensors")):
        header, data = read(path)
        metadata = header["__metadata__"]
        samples = choose(header, json.loads(metadata["samples"]), options.samples, options.bytes)
        tolerance = json.loads(metadata["tolerance"])
        if options.add and (options.out / path.name).exists():
            header, data, samples = joined(options.out / path.name, header, data, samples)
            metadata = header["__metadata__"]
            tolerance |= json.loads(metadata["tolerance"])
        kept = {k: metadata[k] for k in ("overload", "tier", "torch")}
        kept["tolerance"] = json.dumps({k: v for k, v in tolerance.items() if isinstance(v, list)})
        kept["samples"] = json.dumps(samples, separators=(",", ":"))
        write(options.out / path.name, kept, header, data, samples)


if __name__ == "__main__":
    main()
