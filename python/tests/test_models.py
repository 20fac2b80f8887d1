"""Loading and calling models, without torch."""

from __future__ import annotations

import errno
import gc
import pathlib
import pickle
import signal
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

import pt2
from pt2 import _trees


@pytest.fixture(scope="session")
def digits(examples: pathlib.Path) -> pt2.Model:
    return pt2.load(examples / "digits.pt2")


def test_recognises_digits(digits: pt2.Model, examples: pathlib.Path) -> None:
    image = np.load(examples / "digit_5.npy")
    result = digits(image)
    assert list(result) == ["logits"]
    scores = result["logits"]
    assert isinstance(scores, np.ndarray) and scores.dtype == np.float32
    assert scores.argmax() == 5
    labels = [int(x) for x in (examples / "digits_8.labels.txt").read_text().split()]
    eight = digits(image=np.load(examples / "digits_8.npy"))
    assert eight["logits"].argmax(axis=1).tolist() == labels


def test_inputs_and_results_are_not_copied(digits: pt2.Model, examples: pathlib.Path) -> None:
    scores = digits.run({"image": np.load(examples / "digit_3.npy")})["logits"]
    tensor = pt2.load(examples / "digits.pt2").session()["conv1.weight"]
    array = np.from_dlpack(tensor)
    assert array.ctypes.data == np.from_dlpack(tensor).ctypes.data
    assert scores.argmax() == 3


def test_strides_of_all_kinds(digits: pt2.Model, examples: pathlib.Path) -> None:
    image = np.load(examples / "digits_8.npy")
    expected = digits(image)["logits"]
    wide = np.zeros((8, 1, 8, 16), np.float32)
    wide[..., ::2] = image
    assert np.array_equal(digits(wide[..., ::2])["logits"], expected)
    backwards = np.ascontiguousarray(image[..., ::-1])[..., ::-1]
    assert np.array_equal(digits(backwards)["logits"], expected)
    image.flags.writeable = False
    assert np.array_equal(digits(image)["logits"], expected)
    packed = np.zeros(image.shape, [("pixel", np.float32), ("rest", np.int16)])
    packed["pixel"] = image
    assert np.array_equal(digits(packed["pixel"])["logits"], expected)


def test_arrays_of_subclasses(digits: pt2.Model, examples: pathlib.Path) -> None:
    class Array(np.ndarray):
        pass

    image = np.load(examples / "digits_8.npy")
    expected = digits(image)["logits"]
    swapped = image.astype(image.dtype.newbyteorder())
    for each in (image, np.ascontiguousarray(image[..., ::-1])[..., ::-1], swapped):
        scores = digits(each.view(Array))["logits"]
        assert type(scores) is np.ndarray and np.array_equal(scores, expected)


def test_byte_orders_and_dtypes(digits: pt2.Model, examples: pathlib.Path) -> None:
    image = np.load(examples / "digits_8.npy")
    expected = digits(image)["logits"]
    swapped = image.astype(image.dtype.newbyteorder())
    assert np.array_equal(digits(swapped)["logits"], expected)
    assert np.array_equal(digits(swapped[::-1])["logits"], expected[::-1])
    with pytest.raises(pt2.ArgumentError, match="dtype object") as caught:
        digits(np.array([None]))
    assert caught.value.place == "input 'image'"


def test_says_what_it_takes(digits: pt2.Model) -> None:
    (place,) = digits.inputs
    assert place == ("image", place.type, "float32", ((1, 1024), 1, 8, 8), False)
    assert repr(digits).startswith("<pt2.Model (image: f32[")
    assert "conv1.weight" in digits.state_names


def test_errors_have_a_place(digits: pt2.Model, examples: pathlib.Path) -> None:
    with pytest.raises(pt2.ArgumentError) as caught:
        digits(np.zeros((1, 1, 8, 9), np.float32))
    assert caught.value.place.startswith("input 'image'")
    assert isinstance(caught.value, ValueError) and caught.value.code == "argument"
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.message, again.place) == (caught.value.message, caught.value.place)
    with pytest.raises(pt2.ArgumentError, match="is missing"):
        digits()
    with pytest.raises(pt2.ArgumentError, match="keyword"):
        digits(np.zeros((1, 1, 8, 8), np.float32), mask=1)
    with pytest.raises(pt2.ArgumentError, match="no argument 'img'.* takes 'image'$"):
        digits(img=np.zeros((1, 1, 8, 8), np.float32))
    with pytest.raises(pt2.ArgumentError, match="no argument .*ud800"):
        digits(**{"\ud800": 1})
    with pytest.raises(pt2.ArgumentError, match="^'image' is given twice"):
        digits(np.zeros((1, 1, 8, 8), np.float32), image=1)
    with pytest.raises(pt2.ArgumentError, match="found 2 arguments without a keyword, expected at most 1$"):
        digits(np.zeros((1, 1, 8, 8), np.float32), 1)
    with pytest.raises(pt2.ArgumentError, match="class object"):
        digits(object())
    with pytest.raises(pt2.FileError) as missing:
        pt2.load("no/such/file.pt2")
    assert isinstance(missing.value, FileNotFoundError) and missing.value.errno == errno.ENOENT
    assert str(missing.value) == "no/such/file.pt2: No such file or directory"
    again = pickle.loads(pickle.dumps(missing.value))
    assert type(again) is type(missing.value) and str(again) == str(missing.value)
    with pytest.raises(pt2.FileError) as folder:
        pt2.load(examples)
    assert not isinstance(folder.value, FileNotFoundError)
    with pytest.raises(pt2.MalformedError):
        pt2.load(b"no zip")
    with pytest.raises(pt2.ArgumentError, match="max_nothing"):
        pt2.load(b"", limits={"max_nothing": 1})


def test_keyword_arguments_have_no_position(corpus: pathlib.Path) -> None:
    # forward(self, x, *, scale, shift=None, flag=True), exported with shift=…, scale=….
    model = pt2.load(corpus / "kwargs_inputs.pt2")
    x, scale, shift = np.ones((2, 3), np.float32), np.full(3, 2, np.float32), np.full(3, 5, np.float32)
    assert np.array_equal(model(x, scale=scale, shift=shift), x * scale + shift)
    with pytest.raises(pt2.ArgumentError, match="expected at most 1; the program takes 'shift', 'scale' by keyword"):
        model(x, scale, shift)


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 2**70, np.uint64(2**63)])
def test_integers_beyond_int64(corpus: pathlib.Path, number: object) -> None:
    model = pt2.load(corpus / "symint_io.pt2")
    x = np.ones((3, 2), np.float32)
    for call in (
        lambda: model(x, number, 1),
        lambda: model(x, k=1, n=number),
        lambda: model.run({"x": x, "n": number, "k": 1}),
        lambda: model.run([x, number, 1]),
    ):
        with pytest.raises(pt2.ArgumentError, match="beyond int64") as caught:
            call()
        assert caught.value.place == "input 'n'"


def test_options_of_another_kind(digits: pt2.Model, examples: pathlib.Path) -> None:
    path = examples / "digits.pt2"
    assert pt2.load(path, limits={"max_work": np.int64(10**12)})
    for value in (-1, 2**64, 1e12, "1"):
        with pytest.raises(pt2.ArgumentError, match="expected") as caught:
            pt2.load(path, limits={"max_work": value})  # type: ignore[dict-item]
        assert caught.value.place == "limit 'max_work'"
    for call in (
        lambda: pt2.load(path, limits={1: 1}),  # type: ignore[dict-item]
        lambda: pt2.load(path, program=1),  # type: ignore[arg-type]
        lambda: pt2.load(path, engine=None),  # type: ignore[arg-type]
        lambda: digits.run({1: 1}),  # type: ignore[dict-item]
        lambda: digits("\ud800"),
    ):
        with pytest.raises(pt2.ArgumentError, match="expected text"):
            call()


def test_objects_that_are_no_tensors(digits: pt2.Model) -> None:
    class Pretender:
        def __dlpack__(self, **_: object) -> object:
            return 3

    with pytest.raises(pt2.ArgumentError, match="no capsule") as caught:
        digits(Pretender())
    assert caught.value.place == "input 'image'"
    tensor = digits.session()["conv1.weight"]
    assert tensor.__dlpack__(dl_device=tensor.__dlpack_device__()) is not None
    with pytest.raises(BufferError):
        tensor.__dlpack__(dl_device=(2, 0))
    for each in (pt2.Model, pt2.Session):
        with pytest.raises(TypeError):
            each.__new__(each)()


def test_containers_come_and_go_as_in_python(examples: pathlib.Path) -> None:
    model = pt2.load(examples / "nested.pt2")
    image = np.arange(6, dtype=np.float32).reshape(2, 3)
    one = np.ones((), np.float32)
    sample = {"image": image, "range": [np.zeros_like(one), one]}
    result = model(sample, [one, one])
    assert isinstance(result, dict)
    by_name = model(weights=[one, one], sample=sample)
    assert list(by_name) == list(result)
    with pytest.raises(pt2.ArgumentError) as caught:
        model({"image": image, "range": [one]}, [one, one])
    assert caught.value.place == "input 'sample.range'"
    for wrong, message in (
        ({"image": image}, "found a dict without 'range', expected a dict of 'image', 'range'"),
        ({**sample, "foo": 1}, "found a dict with 'foo', expected"),
        ({"image": image, 3: one}, "found a dict without 'range' and with 3, expected"),
        ([image, one], "found a list, expected a dict of 'image', 'range'"),
        ({**dict.fromkeys(range(99)), **sample}, "with 0, .*, 15, ..., expected"),
    ):
        with pytest.raises(pt2.ArgumentError, match=message) as caught:
            model(wrong, [one, one])
        assert caught.value.place == "input 'sample'"


def test_scalars_of_numpy(examples: pathlib.Path, corpus: pathlib.Path) -> None:
    model = pt2.load(examples / "nested.pt2")
    image = np.arange(6, dtype=np.float32).reshape(2, 3)
    low, high = image.min(), image.mean()
    arrays = [np.asarray(low), np.asarray(high)]
    expected = model({"image": image, "range": arrays}, arrays)
    for found in (
        model({"image": image, "range": [low, high]}, (low, high)),
        model({"image": image, "range": [low, high]}, weights=[low, high]),
    ):
        assert list(found) == list(expected)
    flat = {"sample.image": image, "sample.range[0]": low, "weights[1]": high}
    flat.update({"sample.range[1]": high, "weights[0]": low})
    assert list(model.run(flat)) == list(model.run([image, low, high, low, high]))
    with pytest.raises(pt2.ArgumentError, match=r"found f64\[\], expected f32\[\]"):
        model({"image": image, "range": [np.float64(0), high]}, arrays)
    with pytest.raises(pt2.ArgumentError, match=r"pass np.array\(0.5, np.float32\)") as caught:
        model({"image": image, "range": [low, 0.5]}, arrays)
    assert caught.value.place == "input 'sample.range[1]'"
    with pytest.raises(pt2.ArgumentError, match="beyond int64"):
        model({"image": image, "range": [low, 10**5000]}, arrays)
    # Parameters that take numbers also take NumPy's.
    x = np.ones((3, 2), np.float32)
    sizes = pt2.load(corpus / "symint_io.pt2")
    assert sizes(x, np.int64(3), 1)[1:] == sizes(x, 3, 1)[1:]
    constants = pt2.load(corpus / "constant_inputs.pt2")
    x = np.ones((2, 2), np.float32)
    assert constants(x, np.int64(3), np.float32(0.5), np.bool_(True))[1:] == constants(x, 3, 0.5, True)[1:]
    with pytest.raises(pt2.ArgumentError, match="found complex"):
        constants(x, 3, np.complex64(0.5 + 1j), True)


def test_models_are_pickled_by_path(digits: pt2.Model, examples: pathlib.Path) -> None:
    image = np.load(examples / "digit_5.npy")
    again = pickle.loads(pickle.dumps(digits))
    assert np.array_equal(again(image)["logits"], digits(image)["logits"])
    from_bytes = pt2.load((examples / "digits.pt2").read_bytes())
    assert np.array_equal(from_bytes(image)["logits"], digits(image)["logits"])
    with pytest.raises(pt2.ArgumentError, match="cannot be pickled"):
        pickle.dumps(from_bytes)


def test_trim_gives_memory_back(digits: pt2.Model, examples: pathlib.Path) -> None:
    image = np.load(examples / "digit_5.npy")
    digits(image)
    assert digits.trim() > 0
    assert digits.trim() == 0
    assert digits(image)["logits"].argmax() == 5


def test_sessions_keep_state(corpus: pathlib.Path) -> None:
    model = pt2.load(corpus / "buffer_mutation.pt2")
    shape = [4 if isinstance(size, tuple) else size for size in model.inputs[0].shape or ()]
    x = np.ones(shape, np.float32)
    session = model.session()
    before = session["total"].numpy().copy()
    session(x)
    after = session["total"].numpy().copy()
    assert not np.array_equal(before, after)
    fork = session.fork()
    fork["total"] = before
    assert np.array_equal(fork["total"].numpy(), before)
    assert np.array_equal(session["total"].numpy(), after)
    fresh = model(x)
    assert np.array_equal(np.asarray(model(x)), np.asarray(fresh))
    with pytest.raises(KeyError):
        session["nothing"]
    assert list(session) == session.keys() == model.state_names
    assert "total" in session and "nothing" not in session and 3 not in session
    assert set(dict(session)) == set(model.state_names)
    for wrong in ([0.0], 0, None):
        with pytest.raises(pt2.ArgumentError, match="expected an array") as caught:
            session["total"] = wrong
        assert caught.value.place == "state 'total'"
    with pytest.raises(pt2.ArgumentError, match=r"found f32\[\], expected"):
        session["total"] = np.float32(0)
    session["total"] = before.astype(before.dtype.newbyteorder())
    assert np.array_equal(session["total"].numpy(), before)


def test_calls_of_a_model_begin_with_the_generators_of_the_file(exports: pathlib.Path) -> None:
    model = pt2.load(exports.parent / "corpus" / "2.15.0" / "generators.pt2")
    x = np.ones(5, np.float32)
    first, second = model.run([x]), model.run([x])
    assert all(np.array_equal(first[name], second[name]) for name in first)


def test_observers_see_every_value(digits: pt2.Model, examples: pathlib.Path) -> None:
    seen: list[str] = []
    session = digits.session(threads=1)
    session.observe(lambda name, target, value: seen.append(f"{name} {target}"))
    image = np.load(examples / "digit_5.npy")
    session(image)
    assert any("conv2d" in each for each in seen)

    def refuse(name: str, target: str, value: object) -> None:
        raise RuntimeError("enough")

    session.observe(refuse)
    with pytest.raises(pt2.InvalidError, match="enough") as caught:
        session(image)
    assert type(caught.value.__cause__) is RuntimeError
    assert caught.value.__cause__.__traceback__ is not None
    with pytest.raises(pt2.ArgumentError) as caught:  # and no later error has this cause
        session(image[0])
    assert caught.value.__cause__ is None
    with pytest.raises(pt2.ArgumentError, match="class int, expected a function"):
        session.observe(3)  # type: ignore[arg-type]
    session.observe(None)
    assert session(image)["logits"].argmax() == 5


def test_observers_cannot_use_their_session(digits: pt2.Model, examples: pathlib.Path) -> None:
    image = np.load(examples / "digit_5.npy")
    session = digits.session()
    fork = session.fork()
    session.observe(lambda name, target, value: fork(image))
    assert session(image)["logits"].argmax() == 5
    session.observe(lambda name, target, value: session(image))
    with pytest.raises(pt2.InvalidError, match="in the middle of a call") as caught:
        session(image)
    assert type(caught.value.__cause__) is pt2.ArgumentError


def test_observers_may_refer_to_their_session(digits: pt2.Model) -> None:
    class Watcher:
        def __init__(self) -> None:
            self.session = digits.session()
            self.session.observe(self.see)

        def see(self, name: str, target: str, value: object) -> None:
            pass

    watcher = weakref.ref(Watcher())
    gc.collect()
    assert watcher() is None


def test_deadlines(digits: pt2.Model, examples: pathlib.Path) -> None:
    with pytest.raises(pt2.CancelledError):
        digits.run([np.load(examples / "digit_5.npy")], timeout=0)
    for wrong in (-1, -1e-9, float("nan")):
        with pytest.raises(pt2.ArgumentError, match="found a timeout of .*, 0 or more"):
            digits.run([np.load(examples / "digit_5.npy")], timeout=wrong)
    assert digits.run([np.load(examples / "digit_5.npy")], timeout=float("inf"))


def test_ctrl_c_ends_loops(hostile: pathlib.Path) -> None:
    # Two nodes, one of which is an endless loop.
    model = pt2.load(hostile / "run-loop-time.pt2", limits={"max_work": 2**62})

    def refuse(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, refuse)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(KeyboardInterrupt):
            model()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_results_are_the_callers_own(digits: pt2.Model, examples: pathlib.Path) -> None:
    images = np.load(examples / "digits_8.npy")
    expected = digits(images)["logits"].copy()
    kept = []
    for _ in range(4):
        scores = digits(images)["logits"]
        assert np.array_equal(scores, expected)
        scores += 1  # no other result and no later call sees this write
        kept.append(scores)
    assert all(np.array_equal(each, expected + 1) for each in kept)


def test_threads_share_a_model(digits: pt2.Model, examples: pathlib.Path) -> None:
    images = np.load(examples / "digits_8.npy")
    expected = digits(images)["logits"]
    wrong: list[int] = []

    def work() -> None:
        for _ in range(20):
            if not np.array_equal(digits(images)["logits"], expected):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_threads_that_import_numpy_do_not_wait_for_each_other(corpus: pathlib.Path) -> None:
    program = """
import sys, threading, pt2
session = pt2.load(sys.argv[1]).session()
tensor = next(session[name] for name in session if session[name].dtype == "bfloat16")
assert "numpy" not in sys.modules
threads = [threading.Thread(target=tensor.numpy) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""
    command = [sys.executable, "-c", program, str(corpus / "dtypes_float.pt2")]
    subprocess.run(command, check=True, timeout=60)


def test_custom_operators(examples: pathlib.Path) -> None:
    with pytest.raises(pt2.UnsupportedError, match="mylib"):
        pt2.load(examples / "custom.pt2")
    operators = pt2.Operators()
    operators.add(
        "mylib::scale(Tensor x, float factor=2.0) -> Tensor",
        lambda x, factor: x.numpy() * np.float32(factor),
    )
    operators.add(
        "mylib::split_sign(Tensor x) -> (Tensor positive, Tensor negative)",
        lambda x: (np.maximum(x.numpy(), 0), np.minimum(x.numpy(), 0)),
    )

    def add_into(out: pt2.Tensor, x: pt2.Tensor, alpha: float) -> None:
        out.numpy()[...] += np.float32(alpha) * x.numpy()

    operators.add("mylib::add_into(Tensor(a!) out, Tensor x, *, Scalar alpha=1) -> ()", add_into)
    model = pt2.load(examples / "custom.pt2", operators=operators)
    shapes = [[2 if isinstance(s, tuple) else s for s in place.shape or ()] for place in model.inputs]
    ones = [np.ones(shape, np.float32) for shape in shapes]
    expected = model(*(each.copy() for each in ones))
    with pytest.raises(pt2.ArgumentError):
        operators.add("mylib::scale(Tensor", lambda x: x)

    # Kernels of torch.library may also return several results as a list, and a list as a tuple.
    operators = pt2.Operators()
    operators.add("mylib::scale(Tensor x, float factor=2.0) -> Tensor", lambda x, factor: (x.numpy() * np.float32(factor),))
    operators.add(
        "mylib::split_sign(Tensor x) -> (Tensor, Tensor)",
        lambda x: [np.maximum(x.numpy(), 0), np.minimum(x.numpy(), 0)],
    )
    operators.add("mylib::add_into(Tensor(a!) out, Tensor x, *, Scalar alpha=1) -> ()", add_into)
    model = pt2.load(examples / "custom.pt2", operators=operators)
    assert np.array_equal(model(*(each.copy() for each in ones)), expected)

    def refuse(x: pt2.Tensor, factor: float) -> None:
        raise LookupError("nowhere")

    operators = pt2.Operators()
    operators.add("mylib::scale(Tensor x, float factor=2.0) -> Tensor", refuse)
    operators.add("mylib::split_sign(Tensor x) -> (Tensor, Tensor)", refuse)
    operators.add("mylib::add_into(Tensor(a!) out, Tensor x, *, Scalar alpha=1) -> ()", add_into)
    model = pt2.load(examples / "custom.pt2", operators=operators)
    with pytest.raises(pt2.InvalidError, match="nowhere") as caught:
        model(*(np.ones(shape, np.float32) for shape in shapes))
    assert type(caught.value.__cause__) is LookupError


def test_bfloat16_falls_back(corpus: pathlib.Path) -> None:
    tensors = [
        each
        for path in sorted(corpus.glob("dtypes_float*.pt2"))
        for model in [pt2.load(path)]
        for each in (model.session()[name] for name in model.state_names)
    ]
    gc.collect()
    wide = [each for each in tensors if each.dtype == "bfloat16"]
    for each in wide:
        assert each.numpy().dtype == np.float32
        upper = (each.numpy().view(np.uint32) >> 16).astype(np.uint16)
        assert np.array_equal(upper, np.from_dlpack(each.bits()))
        with pytest.raises(ValueError, match="must be copied"):
            each.__array__(copy=False)
    for each in tensors:
        if each.dtype.startswith("float8"):
            with pytest.raises(pt2.ArgumentError):
                each.numpy()


def test_every_dtype(bindings: pathlib.Path) -> None:
    model = pt2.load(bindings / "dtypes.pt2")
    given: list[object] = []
    for at, place in enumerate(model.inputs):
        assert place.dtype == place.name
        if place.dtype == "bool":
            given.append(np.arange(6).reshape(2, 3) % 2 == 0)
        elif place.dtype in ("complex64", "complex128"):
            given.append((np.arange(6) * (1 - 2j)).astype(place.dtype).reshape(2, 3))
        else:
            width = int("".join(filter(str.isdigit, place.dtype.split("_")[0].replace("float8", "8"))))
            bits = (np.arange(6) + at).astype(f"uint{width}").reshape(2, 3)
            given.append(pt2.Tensor.from_bits(bits, place.dtype))
    for place, before, after in zip(model.inputs, given, model(*given)):
        if isinstance(after, pt2.Tensor):
            assert after.dtype == place.dtype
            after = after.bits().numpy()
        if isinstance(before, pt2.Tensor):
            before, after = before.bits().numpy(), after.view(before.bits().numpy().dtype)
        assert np.array_equal(np.asarray(before).T, after), place.dtype


def test_bits_of_another_width() -> None:
    bits = np.arange(6, dtype=np.uint16)
    assert np.array_equal(pt2.Tensor.from_bits(bits, "float16").numpy(), bits.view(np.float16))
    for wrong, dtype in ((bits, "float8_e5m2"), (bits, "half"), (bits.view(np.float16), "bfloat16"), ([1], "bfloat16")):
        with pytest.raises(pt2.ArgumentError):
            pt2.Tensor.from_bits(wrong, dtype)


def test_lists_that_contain_themselves(digits: pt2.Model) -> None:
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(RecursionError):
        digits.run([endless])


def test_records_of_any_class_name() -> None:
    made = _trees.record("models.class", ["a", "def"], ["n"])([1, 2])
    assert tuple(made) == (1, 2, None) and made.a == 1


def test_programs_print_to_stdout(exports: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = pt2.load(exports / "prints.pt2")
    model(np.arange(6, dtype=np.float32).reshape(3, 2))
    printed = "rows    3, mean 2.50 {} tensor([[0., 1.],\n        [2., 3.],\n        [4., 5.]])\nprinted\n"
    assert capsys.readouterr().out == printed


def test_other_interpreters_are_refused(digits: pt2.Model) -> None:
    try:
        import _interpreters as interpreters  # type: ignore[import-not-found]
    except ImportError:
        interpreters = pytest.importorskip("_xxsubinterpreters")
    other = interpreters.create()
    imports = "try:\n    import pt2\nexcept ImportError:\n    pass\nelse:\n    raise SystemError('imported')"
    assert interpreters.run_string(other, f"import sys\nsys.path[:] = {sys.path}\n{imports}") is None
    interpreters.destroy(other)
    # The classes of this interpreter still know their own objects.
    image = np.zeros((1, 1, 8, 8), np.float32)
    assert digits.session().run({"image": image})["logits"].shape == (1, 10)
