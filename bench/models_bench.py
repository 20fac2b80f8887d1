#!/usr/bin/env python3
"""Whole models compared with their peers: `PYTHON bench/models_bench.py build/release/tools/pt2 [FOLDER] [--models NAME…]`.

Exports models with random weights into FOLDER (if they are not there), then runs `pt2 bench` and the installed peers in
turn: the Python package, torch's eager mode, ONNX Runtime, OpenVINO. Prints the fastest call of each and its ratio to
ours, for one thread and two, and ours after `pt2 decompose`. Each peer has a process of its own, which sleeps between its
turns.
"""
import argparse
import functools
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy


def mlp_tiny():
    import torch

    layers = [torch.nn.Linear(16, 64)]
    for outputs in (64, 64, 4):
        layers += [torch.nn.ReLU(), torch.nn.Linear(64, outputs)]
    return torch.nn.Sequential(*layers), torch.randn(1, 16)


def recurrent(kind):
    import torch

    class Recurrent(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.cells = getattr(torch.nn, kind)(40, 128, 2, batch_first=True)
            self.out = torch.nn.Linear(128, 20)

        def forward(self, x):
            return self.out(self.cells(x)[0])

    return Recurrent(), torch.randn(1, 50, 40)


def vision(name):
    import torch
    import torchvision

    return getattr(torchvision.models, name)(weights=None), torch.randn(1, 3, 224, 224)


def encoder():
    import torch

    layer = torch.nn.TransformerEncoderLayer(768, 12, 3072, activation="gelu", batch_first=True)
    return torch.nn.TransformerEncoder(layer, 4, enable_nested_tensor=False), torch.randn(1, 128, 768)


def language(name):
    import torch
    import transformers

    class Logits(torch.nn.Module):
        def __init__(self, model, pick):
            super().__init__()
            self.model, self.pick = model, pick

        def forward(self, tokens):
            return self.pick(self.model(tokens, **options))

    if name == "bert_base":
        options = {}
        model = Logits(transformers.BertModel(transformers.BertConfig()), lambda out: out.last_hidden_state)
    else:
        options = {"use_cache": False}
        model = Logits(transformers.GPT2LMHeadModel(transformers.GPT2Config()), lambda out: out.logits)
    return model, torch.randint(0, 20000, (1, 128))


MODELS = {
    "mlp_tiny": mlp_tiny,
    "lstm_small": lambda: recurrent("LSTM"),
    "gru_small": lambda: recurrent("GRU"),
    "mobilenet_v2": lambda: vision("mobilenet_v2"),
    "mobilenet_v3_large": lambda: vision("mobilenet_v3_large"),
    "efficientnet_b0": lambda: vision("efficientnet_b0"),
    "densenet121": lambda: vision("densenet121"),
    "resnet18": lambda: vision("resnet18"),
    "resnet50": lambda: vision("resnet50"),
    "vit_b_16": lambda: vision("vit_b_16"),
    "encoder": encoder,
    "bert_base": lambda: language("bert_base"),
    "gpt2": lambda: language("gpt2"),
}
PEERS = {"from Python": "pt2", "eager": "torch", "onnxruntime": "onnxruntime", "openvino": "openvino"}


def export(folder, name, command):
    """Writes FOLDER/NAME.pt2, .core.pt2, .npy and, if the exporter supports the model, .onnx."""
    file = folder / f"{name}.pt2"
    if not file.exists():
        import torch

        torch.manual_seed(1)
        module, inputs = MODELS[name]()
        numpy.save(folder / f"{name}.npy", inputs.numpy())
        with torch.no_grad():
            program = torch.export.export(module.eval(), (inputs,))
            torch.export.save(program, file)
            if importlib.util.find_spec("onnxscript") is not None:
                try:
                    torch.onnx.export(program, dynamo=True).save(folder / f"{name}.onnx")
                except Exception as error:  # a model that ONNX cannot express gets no .onnx file
                    print(f"{name}: no ONNX file: {str(error).splitlines()[0]}", file=sys.stderr)
    core = folder / f"{name}.core.pt2"
    if not core.exists():
        subprocess.run([command, "decompose", file, "-o", core], stdout=subprocess.DEVNULL)


def make_call(peer, folder, name, threads):
    inputs = numpy.load(folder / f"{name}.npy")
    if peer == "from Python":
        import pt2

        session = pt2.load(folder / f"{name}.pt2").session(threads=threads)
        return lambda: session(inputs)
    if peer == "eager":
        import torch

        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)
        module = torch.export.load(folder / f"{name}.pt2").module()
        tensor = torch.from_numpy(inputs)
        return lambda: module(tensor)
    if peer == "onnxruntime":
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        session = onnxruntime.InferenceSession(folder / f"{name}.onnx", options, ["CPUExecutionProvider"])
        feed = {session.get_inputs()[0].name: inputs}
        return lambda: session.run(None, feed)
    import openvino

    core = openvino.Core()
    settings = {"INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads}
    request = core.compile_model(core.read_model(folder / f"{name}.onnx"), "CPU", settings).create_infer_request()
    feed = {0: inputs}
    return lambda: request.infer(feed, share_inputs=True)


def serve(peer, folder, name, threads):
    """Reads a number of seconds per line of stdin, and answers each with a line: the fastest call in microseconds."""
    call = make_call(peer, folder, name, threads)
    call()
    print("ready", flush=True)
    for line in sys.stdin:
        fastest, end = float("inf"), time.perf_counter() + float(line)
        while time.perf_counter() < end:
            start = time.perf_counter()
            call()
            fastest = min(fastest, time.perf_counter() - start)
        print(fastest * 1e6, flush=True)


class Peer:
    def __init__(self, peer, folder, name, threads):
        self.process = subprocess.Popen([sys.executable, __file__, "--serve", peer, str(folder), name, str(threads)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        text=True)
        self.ready = self.process.stdout.readline().strip() == "ready"

    def run(self, seconds):
        self.process.stdin.write(f"{seconds}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def ours(command, file, inputs, threads, seconds):
    answer = subprocess.run([command, "bench", file, "-i", f"0={inputs}", "--threads", str(threads), "--seconds",
                             str(seconds), "--json"], check=True, capture_output=True, text=True)
    return min(json.loads(answer.stdout.splitlines()[-1])["latencies_us"])


def compare(arguments, folder, name, threads):
    inputs = folder / f"{name}.npy"
    contenders = {}
    for label, suffix in (("pt2", ".pt2"), ("core", ".core.pt2")):
        file = folder / (name + suffix)
        if file.exists():
            contenders[label] = functools.partial(ours, arguments.command, file, inputs, threads)
    peers = {peer: Peer(peer, folder, name, threads) for peer, package in PEERS.items()
             if importlib.util.find_spec(package) is not None}
    contenders |= {peer: process.run for peer, process in peers.items() if process.ready}
    best = dict.fromkeys(contenders, float("inf"))
    for _ in range(arguments.rounds):
        for contender, run in contenders.items():
            best[contender] = min(best[contender], run(arguments.seconds))
    for process in peers.values():
        process.end()
    cells = [f"{best['pt2'] / 1000:.4g}", f"{best['core'] / best['pt2']:.2f}" if "core" in best else "-"]
    for peer in PEERS:
        cells.append(f"{best[peer] / 1000:.4g} ({best['pt2'] / best[peer]:.2f})" if peer in best else "-")
    print(f"| {name} | {threads} | " + " | ".join(cells) + " |", flush=True)


def main():
    if sys.argv[1:2] == ["--serve"]:
        return serve(sys.argv[2], pathlib.Path(sys.argv[3]), sys.argv[4], int(sys.argv[5]))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command")
    parser.add_argument("folder", nargs="?", type=pathlib.Path)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=0.4, help="of each contender in a round")
    arguments = parser.parse_args()
    folder = arguments.folder or pathlib.Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    print("| model | threads | pt2 ms | decomposed | from Python (ratio) | eager | ONNX Runtime | OpenVINO |")
    print("|---|---|---|---|---|---|---|---|")
    for name in arguments.models:
        export(folder, name, arguments.command)
        for threads in arguments.threads:
            compare(arguments, folder, name, threads)


if __name__ == "__main__":
    main()
