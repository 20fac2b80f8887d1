"""The recipes under load: many rows through several workers, one of which is killed on the way.

    python many_rows.py ray|spark digits.pt2 digits_images.npz [--rows 100000] [--workers 4] [--passes 1]

Every row must come back once, with the digit that a single process computes. The last line compares the workers'
throughput with that of as many plain parallel processes, measured before and after, and says which share of the cores' time
went into batches: a machine whose speed varies in the meantime does not change that. --passes computes each batch so many
times, to imitate a larger model.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import signal
import tempfile
import time
from typing import Any, Iterator

import numpy as np

BATCH = 1000  # also the rows of a block: a killed worker loses little, and all workers end together


class Worker:
    """Does the work of a recipe's worker, `passes` times. The first worker that gets the row `fatal` kills itself."""

    def __init__(self, model: str, passes: int, fatal: int, scratch: str) -> None:
        import pt2

        self.session = pt2.load(model).session(threads=1)  # the engine manages the cores
        self.passes, self.fatal, self.killed = passes, fatal, os.path.join(scratch, "killed")

    def __call__(self, rows: np.ndarray, images: np.ndarray) -> np.ndarray:
        """Returns each row's digit, the times when its batch began and ended, and the processor time that it took."""
        if self.fatal in rows and not os.path.exists(self.killed):
            open(self.killed, "x").close()
            os.kill(os.getpid(), signal.SIGKILL)
        images = np.ascontiguousarray(images, np.float32).reshape(-1, 1, 8, 8)
        began, used = time.time(), time.process_time()
        for _ in range(self.passes):
            logits = self.session(images)["logits"]
        times = [began, time.time(), time.process_time() - used]
        return np.column_stack([logits.argmax(axis=1), np.tile(times, (len(rows), 1))])


def compute(arguments: tuple[tuple[Any, ...], np.ndarray, int, Any]) -> tuple[float, float]:
    """Computes the batches in one of the parallel processes; returns the times when that began and ended."""
    made, images, batches, all_here = arguments
    worker, ids = Worker(*made), np.arange(BATCH)
    worker(ids, images)
    all_here.wait()
    times = [worker(ids, images)[0, 1:3] for _ in range(batches)]
    return times[0][0], times[-1][1]


def rate_side_by_side(made: tuple[Any, ...], images: np.ndarray, processes: int, batches: int) -> float:
    """Returns the rows per second of plain parallel processes, which begin at the same time."""
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager, context.Pool(processes) as pool:
        times = pool.map(compute, [(made, images, batches, manager.Barrier(processes))] * processes, chunksize=1)
    return processes * batches * BATCH / (max(end for _, end in times) - min(began for began, _ in times))


Answers = Iterator[tuple[int, np.ndarray]]


def with_ray(options: argparse.Namespace, images: np.ndarray, made: tuple[Any, ...]) -> Answers:
    import ray

    class RayWorker(Worker):
        def __call__(self, batch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:  # type: ignore[override]
            rows = batch["data"]
            return {"row": rows, "answer": super().__call__(rows, images[rows % len(images)])}

    os.environ["RAY_worker_niceness"] = "0"  # like the processes that they are compared with; Ray's default is 15
    ray.init(num_cpus=options.workers, include_dashboard=False, logging_level="ERROR", log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    rows = ray.data.from_numpy(np.array_split(np.arange(options.rows), options.rows // BATCH))
    answers = rows.map_batches(
        RayWorker, fn_constructor_args=made, batch_size=BATCH, batch_format="numpy", concurrency=options.workers, num_cpus=0.5
    )
    for each in answers.iter_batches(batch_size=None, batch_format="numpy"):
        yield from zip(each["row"].tolist(), each["answer"])


def with_spark(options: argparse.Namespace, images: np.ndarray, made: tuple[Any, ...]) -> Answers:
    from pyspark.ml.functions import predict_batch_udf
    from pyspark.sql import SparkSession
    from pyspark.sql.types import ArrayType, DoubleType

    def make() -> Any:
        worker = Worker(*made)
        return lambda rows: worker(rows, images[rows.astype(np.int64) % len(images)])

    # A task whose worker died is retried, up to 4 times in all; Spark on one machine does not retry by default.
    builder = SparkSession.builder.master(f"local[{options.workers},4]").config("spark.ui.enabled", "false")
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    answer = predict_batch_udf(make, return_type=ArrayType(DoubleType()), batch_size=BATCH)
    rows = spark.range(0, options.rows, 1, options.rows // BATCH)
    for each in rows.select("id", answer("id").alias("answer")).collect():
        yield each["id"], np.array(each["answer"])
    spark.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engine", choices=["ray", "spark"])
    parser.add_argument("model")
    parser.add_argument("data")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--passes", type=int, default=1)
    options = parser.parse_args()
    images = np.load(options.data)["test_images"]
    with tempfile.TemporaryDirectory() as scratch:
        model = os.path.abspath(options.model)
        alone = Worker(model, options.passes, -1, scratch)
        expected = alone(np.arange(len(images)), images)[:, 0]
        some = images[np.arange(BATCH) % len(images)]
        plain = (model, options.passes, -1, scratch), some, options.workers, max(2, options.rows // BATCH // 20)
        rates = [rate_side_by_side(*plain)]
        engine = with_ray if options.engine == "ray" else with_spark
        answers = list(engine(options, images, (model, options.passes, options.rows * 2 // 5, scratch)))
        killed = os.path.exists(os.path.join(scratch, "killed"))
        rates.append(rate_side_by_side(*plain))
    rows = np.array([row for row, _ in answers])
    found = np.array([answer for _, answer in answers])
    if not killed or not np.array_equal(np.sort(rows), np.arange(options.rows)):
        raise SystemExit(f"killed {int(killed)} worker, found {len(rows)} rows, expected 1 and {options.rows}")
    wrong = int((found[:, 0] != expected[rows % len(images)]).sum())
    if wrong:
        raise SystemExit(f"{wrong} of {len(rows)} rows are not as one process finds them")
    print(f"{len(rows)} rows as one process finds them, one of {options.workers} workers was killed")
    batches = np.unique(found[:, 1:], axis=0)
    seconds = batches[:, 1].max() - batches[:, 0].min()
    rate, cores = options.rows / seconds, min(options.workers, len(os.sched_getaffinity(0)))
    print(f"{rate:.0f} rows a second; {options.workers} processes side by side {rates[0]:.0f} and {rates[1]:.0f}: "
          f"{rate * len(rates) / sum(rates):.2f} of them; {batches[:, 2].sum() / seconds / cores:.2f} of "
          f"the time of {cores} cores")  # fmt: skip


if __name__ == "__main__":
    main()
