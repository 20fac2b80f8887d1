"""Trains a small network on real handwritten digits and exports it as digits.pt2, with inputs to try it on.

    python train_digits.py [OUTDIR]

Needs torch, numpy, safetensors and scikit-learn; takes about a minute on two cores and downloads nothing: the
1797 images of 8 x 8 pixels come with scikit-learn. A quarter of them is held out; the script prints the accuracy on
those and stops if it is 97 % or less. The same versions of the libraries on the same kind of processor give the same
weights. It writes into OUTDIR (default: the folder of this script)

    digits.pt2           the program: `image` f32[batch, 1, 8, 8] with raw pixels 0 ... 16 -> `logits` f32[batch, 10]
    digits.safetensors   two recorded calls: inputs and the outputs of PyTorch, for `pt2 test`
    digit_N.npy          one held-out image of the digit N
    digits_8.npy         eight held-out images; digits_8.labels.txt has what they show
"""

import json
import os
import re
import sys

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.export import Dim

EPOCHS = 60
BATCH = 64
SINGLE_DIGITS = (3, 5, 8)


class DigitClassifier(nn.Module):
    """Two convolutions, one pooling, two linear layers: 24,000 parameters. Takes raw pixels and scales them itself."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.norm1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.norm2 = nn.BatchNorm2d(32)
        self.hidden = nn.Linear(32 * 4 * 4, 36)
        self.dropout = nn.Dropout(0.4)
        self.classify = nn.Linear(36, 10)

    def forward(self, image):
        x = image / 16.0
        x = F.relu(self.norm1(self.conv1(x)))
        x = F.relu(self.norm2(self.conv2(x)))
        x = F.max_pool2d(x, 2).flatten(1)
        x = F.relu(self.hidden(x))
        return {"logits": self.classify(self.dropout(x))}


def load_images():
    """Returns (images f32[n, 1, 8, 8], labels i64[n]) for training and held out, every digit in the same share."""
    digits = load_digits()
    images = digits.images.astype(np.float32)[:, None]
    split = train_test_split(images, digits.target, test_size=0.25, random_state=0, stratify=digits.target)
    return [torch.from_numpy(part.astype(np.float32 if i < 2 else np.int64)) for i, part in enumerate(split)]


def shift(images):
    """Shifts the images by up to one pixel in each direction: the only augmentation."""
    dy, dx = torch.randint(-1, 2, (2,)).tolist()
    return F.pad(images, (1, 1, 1, 1))[:, :, 1 + dy : 9 + dy, 1 + dx : 9 + dx]


def train(model, images, labels):
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS)
    model.train()
    for _ in range(EPOCHS):
        for chosen in torch.randperm(len(images)).split(BATCH):
            loss = F.cross_entropy(model(shift(images[chosen]))["logits"], labels[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        schedule.step()
    model.eval()


def shorten(match):
    folder, name = match[1] or "", match[2]
    return f'File "{name}"' if name == os.path.basename(__file__) else f'File "{folder}{name}"'


def export(model, path):
    """Exports for any batch from 1 to 1024. The example has two images, because torch.export treats a size of 1 as fixed."""
    batch = Dim("batch", min=1, max=1024)
    program = torch.export.export(model, (torch.zeros(2, 1, 8, 8),), dynamic_shapes={"image": {0: batch}})
    for node in program.graph.nodes:  # keep source lines, but not the folders of this machine
        if trace := node.meta.get("stack_trace"):
            node.meta["stack_trace"] = re.sub(r'File "[^"]*?([^"/]+/)?([^"/]+)"', shorten, trace)
    torch.export.save(program, path)
    return torch.export.load(path).module()


def record(run, inputs, path):
    """Records the saved program's results in the form that `pt2 test` reads."""
    tensors, calls = {}, []
    for i, images in enumerate(inputs):
        tensors[f"call{i}.in.0"] = images
        tensors[f"call{i}.out.0"] = run(images)["logits"].detach()
        calls.append({"in": [{"tensor": f"call{i}.in.0"}], "out": [{"tensor": f"call{i}.out.0"}]})
    save_file(tensors, path, metadata={"calls": json.dumps(calls), "torch": torch.__version__})


def main():
    out = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    torch.manual_seed(0)
    torch.set_num_threads(1)  # the order of additions, and thus the weights, must not depend on the number of cores
    torch.use_deterministic_algorithms(True)
    train_images, test_images, train_labels, test_labels = load_images()

    model = DigitClassifier()
    train(model, train_images, train_labels)
    run = export(model, os.path.join(out, "digits.pt2"))

    answers = run(test_images)["logits"].argmax(1)
    right = int((answers == test_labels).sum())
    accuracy = right / len(test_labels)
    print(f"torch {torch.__version__}: {right} of {len(test_labels)} held-out digits right ({100 * accuracy:.2f} %)")
    if accuracy <= 0.97:
        sys.exit("accuracy is too low")

    singles = []
    for digit in SINGLE_DIGITS:
        image = test_images[test_labels == digit][:1]
        np.save(os.path.join(out, f"digit_{digit}.npy"), image.numpy())
        singles.append(image)
    eight, labels = test_images[:8], test_labels[:8]
    np.save(os.path.join(out, "digits_8.npy"), eight.numpy())
    with open(os.path.join(out, "digits_8.labels.txt"), "w") as f:
        f.write(" ".join(map(str, labels.tolist())) + "\n")
    record(run, [singles[0], eight], os.path.join(out, "digits.safetensors"))


if __name__ == "__main__":
    main()
