"""Recognises many digits with Spark, without torch: predict_batch_udf keeps a session in each Python worker.

    python spark_udf.py digits.pt2 digits_images.npz
"""

from __future__ import annotations

import sys
from typing import Any, Callable

import numpy as np
from pyspark.ml.functions import predict_batch_udf
from pyspark.sql import SparkSession
from pyspark.sql.types import ArrayType, FloatType


def recogniser(path: str) -> Callable[[], Callable[[np.ndarray], np.ndarray]]:
    """Makes the function that recognises a batch. predict_batch_udf calls this once in each worker."""

    def make() -> Callable[[np.ndarray], np.ndarray]:
        import pt2

        session = pt2.load(path).session(threads=1)  # Spark manages the cores

        def predict(images: np.ndarray) -> Any:
            return session(np.ascontiguousarray(images, np.float32))["logits"]

        return predict

    return make


def main(model: str, data: str) -> None:
    arrays = np.load(data)
    images, labels = arrays["test_images"].astype(np.float32), arrays["test_labels"]
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    recognise = predict_batch_udf(
        recogniser(model), return_type=ArrayType(FloatType()), batch_size=64, input_tensor_shapes=[[1, 8, 8]]
    )
    rows = [(image.ravel().tolist(), int(label)) for image, label in zip(images, labels)]
    frame = spark.createDataFrame(rows, "image array<float>, label int").repartition(4)
    answers = frame.select("label", recognise("image").alias("logits")).collect()
    right = sum(each["label"] == int(np.argmax(each["logits"])) for each in answers)
    print(f"{right} of {len(answers)} right")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
