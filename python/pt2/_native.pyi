from typing import Any, Callable, Iterable, Iterator, Mapping, Optional, Sequence, Union

from ._info import Blocker, Finding, Generated, OperatorUse, Place

version: str

class Tensor:
    """A tensor of this library. numpy.from_dlpack(t) and torch.from_dlpack(t) share its memory."""

    @property
    def dtype(self) -> str: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def strides(self) -> tuple[int, ...]:
        """The strides, counted in elements."""
    @property
    def nbytes(self) -> int: ...
    def __dlpack__(
        self,
        *,
        stream: Optional[Any] = None,
        max_version: Optional[tuple[int, int]] = None,
        dl_device: Optional[tuple[int, int]] = None,
        copy: Optional[bool] = None,
    ) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> Any: ...
    def numpy(self) -> Any:
        """Returns a NumPy array over the tensor's memory; bfloat16 becomes a float32 copy. Raises
        ArgumentError for other dtypes that NumPy lacks."""
    def bits(self) -> Tensor:
        """Returns the same bytes as a tensor of unsigned integers."""
    @staticmethod
    def from_bits(bits: Any, dtype: str) -> Tensor:
        """Returns a tensor of the dtype over the bytes of an array of integers."""

class Operators:
    """Kernels for custom operators, which PyTorch itself does not define."""

    def __init__(self) -> None: ...
    def add(self, schema: str, kernel: Callable[..., Any]) -> None:
        """Adds the kernel of one operator. `schema` has the form that torch.library.define takes:
        'mylib::scale(Tensor x, float f) -> Tensor'. The kernel is called with the operator's
        arguments in order; tensors are pt2.Tensor. It returns its result, a tuple of several, or
        None; a tensor is an object with __dlpack__."""

class Session:
    """A sequence of calls that keeps the state that the program changes (buffers). Only one thread
    at a time may use a session; fork() makes a session for another thread."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def run(
        self, inputs: Union[dict[str, Any], Sequence[Any]], *, timeout: Optional[float] = None
    ) -> dict[str, Any]:
        """Runs the program as Model.run does, and keeps its changes to the state."""
    def fork(self) -> Session:
        """Returns a new session that starts with a copy of this session's state."""
    def seed(self, seed: int) -> None: ...
    def observe(self, function: Optional[Callable[[str, str, Any], None]]) -> None:
        """Calls function(name, target, value) for every value that later calls compute. None stops
        this."""
    def __getitem__(self, name: str) -> Tensor:
        """Returns a copy of the current value of a parameter, buffer or constant."""
    def __setitem__(self, name: str, value: Any) -> None:
        """Copies the elements of `value` into a parameter, buffer or constant. Later calls of this
        session use them."""
    def __contains__(self, name: object) -> bool: ...
    def __iter__(self) -> Iterator[str]: ...
    def keys(self) -> list[str]:
        """Returns the model's `state_names`."""

class Model:
    """A program ready to run. It is immutable, so threads may share it. A call takes the arguments
    of the Python model and returns its results; each call starts from the state in the file."""

    @property
    def inputs(self) -> list[Place]: ...
    @property
    def outputs(self) -> list[Place]: ...
    @property
    def state_names(self) -> list[str]: ...
    @property
    def path(self) -> Optional[str]: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def run(
        self, inputs: Union[dict[str, Any], Sequence[Any]], *, timeout: Optional[float] = None
    ) -> dict[str, Any]:
        """Runs the program. `inputs` is a dict by name, or a list in the order of the property
        `inputs`. Returns the results as a dict by name. Raises CancelledError after `timeout`
        seconds."""
    def session(self, threads: int = 0) -> Session:
        """Returns a session: its calls keep the state that the program changes. `threads` bounds
        the threads of a call; 0 means one for each processor."""
    def trim(self) -> int:
        """Frees the memory that finished calls keep for later calls. Returns the number of bytes
        freed."""

class Decoder:
    """Runs a language model token by token. The model is a folder that Transformers' exporter
    wrote, or a file with one program that takes token ids and returns logits. Only one thread at a
    time may use a decoder."""

    def __init__(
        self,
        path: Any,
        *,
        cache_length: int = 2048,
        threads: int = 0,
        engine: str = "planned",
        limits: Optional[Mapping[str, int]] = None,
        operators: Optional[Operators] = None,
    ) -> None: ...
    def feed(self, ids: Iterable[int], *, timeout: Optional[float] = None) -> Tensor:
        """Appends these tokens to the tokens of earlier calls. Returns the logits of the last
        token: float32, one for each token of the vocabulary."""
    def give(self, inputs: Mapping[str, Any], *, timeout: Optional[float] = None) -> None:
        """Sets the inputs other than tokens, by the names in `given_names`: the inputs of the
        encoder, such as {"input_ids": array}, or the output of an encoder if the folder has no
        encoder. The decoder shares the memory of such an output. Forgets all tokens."""
    def generate(
        self,
        prompt: Iterable[int] = ...,
        *,
        max_new_tokens: Optional[int] = None,
        temperature: Optional[float] = None,
        top_k: int = 0,
        top_p: float = 1.0,
        seed: int = 0,
        stop_ids: Optional[Iterable[int]] = None,
        on_token: Optional[Callable[[int], Optional[bool]]] = None,
        timeout: Optional[float] = None,
    ) -> Generated:
        """Forgets all tokens, feeds the prompt, then generates and feeds new tokens.
        generation_config.json decides arguments that are not given; an empty prompt becomes its
        decoder_start_token_id. `top_k`, `top_p` and `seed` count only together with `temperature`;
        temperature 0 takes the most likely token. `on_token` is called with each new token;
        generation stops if it returns False."""
    def generate_batch(
        self,
        prompts: Iterable[Iterable[int]],
        *,
        max_new_tokens: Optional[int] = None,
        temperature: Optional[float] = None,
        top_k: int = 0,
        top_p: float = 1.0,
        seed: int = 0,
        stop_ids: Optional[Iterable[int]] = None,
        on_token: Optional[Callable[[int, int], Optional[bool]]] = None,
        timeout: Optional[float] = None,
    ) -> list[Generated]:
        """Does the same as generate() for several prompts. They are computed together as far as the
        program takes more than one sequence. `on_token` is called with the index of the prompt and
        the token."""
    def reset(self) -> None:
        """Forgets all tokens. Keeps the inputs that give() set."""
    @property
    def given_names(self) -> list[str]:
        """The names of the inputs other than tokens, masks and positions."""
    @property
    def position(self) -> int:
        """The number of tokens that were fed."""
    @property
    def capacity(self) -> Optional[int]:
        """The largest number of tokens; None if the program sets no limit."""

def load_path(path: Any, options: dict[str, Any]) -> Model: ...
def load_bytes(bytes: bytes, options: dict[str, Any]) -> Model: ...
def verify(
    path: str,
    level: str,
    limits: Optional[dict[str, int]],
    progress: Optional[Callable[[int, int], None]],
) -> list[Finding]: ...
def convert(
    path: str, output: str, release: str, losses: list[str], limits: Optional[dict[str, int]]
) -> tuple[str, list[Blocker], list[Blocker]]: ...
def json(path: str, program: str, pretty: bool, limits: Optional[dict[str, int]]) -> str: ...
def dis(path: str, program: str, metadata: bool, limits: Optional[dict[str, int]]) -> str: ...
def operators(
    path: str, program: str, limits: Optional[dict[str, int]]
) -> list[OperatorUse]: ...
def command(arguments: list[str]) -> int: ...
