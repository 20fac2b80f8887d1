"""Recognises many digits with Ray Data, without torch: a session in each worker, batches of NumPy arrays.

    python ray_data.py digits.pt2 digits_images.npz
"""

from __future__ import annotations

import sys

import numpy as np
import ray

import pt2


class Recogniser:
    """An instance is made once in each worker. Workers that map the same file share the pages of its weights."""

    def __init__(self, path: str) -> None:
        self.session = pt2.load(path).session(threads=1)  # Ray manages the cores

    def __call__(self, batch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        logits = self.session(batch["image"].astype(np.float32))["logits"]
        return {"label": batch["label"], "digit": logits.argmax(axis=1)}


def main(model: str, data: str) -> None:
    arrays = np.load(data)
    images, labels = arrays["test_images"], arrays["test_labels"]
    ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR", log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    rows = ray.data.from_items([{"image": image, "label": label} for image, label in zip(images, labels)])
    answers = rows.map_batches(
        Recogniser, fn_constructor_args=(model,), batch_size=64, batch_format="numpy", concurrency=2, num_cpus=0.5
    ).take_all()
    right = sum(int(each["label"]) == int(each["digit"]) for each in answers)
    print(f"{right} of {len(answers)} right")


if __name__ == "__main__":
    main(*sys.argv[1:])
