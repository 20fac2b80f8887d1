"""A user's program, for mypy --strict."""

import numpy as np

import pt2


def recognise(path: str, image: "np.ndarray[tuple[int, ...], np.dtype[np.float32]]") -> int:
    model: pt2.Model = pt2.load(path, limits={"max_work": 10**12})
    scores = model.run({"image": image}, timeout=10.0)["logits"]
    try:
        return int(scores.argmax())
    except pt2.Error as error:
        print(error.place, error.code, error.message)
        raise
