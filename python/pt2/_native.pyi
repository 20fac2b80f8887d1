from typing import Any, Callable, Iterable, Iterator, Mapping, Optional, Sequence, Union

from ._info import Blocker, Finding, Generated, OperatorUse, Place

version: str

class Tensor:
    """A tensor of the library. It shares its memory through DLPack: numpy.from_dlpack(t),
    torch.from_dlpack(t)."""

    @property
    def dtype(self) -> str: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def strides(self) -> tuple[int, ...]:
        """In elements."""
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
        """As a NumPy array over the same memory; bfloat16 as a float32 copy. Raises ArgumentError
        for the other dtypes that NumPy lacks."""
    def bits(self) -> Tensor:
        """The same bytes as a tensor of unsigned integers."""

class Operators:
    """Kernels for operators of a program's authors."""

    def __init__(self) -> None: ...
    def add(self, schema: str, kernel: Callable[..., Any]) -> None:
        """`schema` is what torch.library.define takes, 'mylib::scale(Tensor x, float f) -> Tensor'.
        The kernel gets its arguments in order, tensors as pt2.Tensor, and returns anything with
        __dlpack__, a tuple of such, or None."""

class Session:
    """Calls that keep what the program changes (buffers). For one thread at a time; fork() gives
    another thread its own."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def run(
        self, inputs: Union[dict[str, Any], Sequence[Any]], *, timeout: Optional[float] = None
    ) -> dict[str, Any]:
        """As Model.run."""
    def fork(self) -> Session:
        """Another session, whose state is now as this one's."""
    def seed(self, seed: int) -> None: ...
    def observe(self, function: Optional[Callable[[str, str, Any], None]]) -> None:
        """function(name, target, value) is told every value of later calls; None ends that."""
    def __getitem__(self, name: str) -> Tensor:
        """A copy of a parameter, buffer or constant, as it is now."""
    def __setitem__(self, name: str, value: Any) -> None:
        """Copies elements into it; later calls of this session see them."""
    def __contains__(self, name: object) -> bool: ...
    def __iter__(self) -> Iterator[str]: ...
    def keys(self) -> list[str]:
        """The model's `state_names`."""

class Model:
    """A program ready to run. Immutable: threads may share it. Calling it takes and gives what the
    Python model did, on fresh state each time."""

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
        """Inputs as a dict by name, or a list in the order of `inputs`; results as a dict by name.
        Raises CancelledError after `timeout` seconds."""
    def session(self, threads: int = 0) -> Session:
        """A session, which keeps what the program changes."""
    def trim(self) -> int:
        """Gives back the memory that ended calls left for the next ones, and returns its bytes."""

class Decoder:
    """A language model, token by token: a folder of Transformers' exporter, or a file with one
    program that takes token ids and gives logits. For one thread at a time."""

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
        """Continues with these tokens after those of earlier calls. The logits of the last of them,
        float32, one for each token of the vocabulary."""
    def give(self, inputs: Mapping[str, Any], *, timeout: Optional[float] = None) -> None:
        """Gives what the programs take beside tokens, by the names of `given_names`: what the
        encoder reads, {"input_ids": array}, or what it made of it where there is no encoder.
        Forgets all tokens."""
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
        """Forgets all tokens, feeds the prompt and then each new token. What is not given is that
        of generation_config.json, for an empty prompt decoder_start_token_id; `temperature` brings
        the three behind it along, and 0 takes the most likely token. `on_token` is told each token;
        False ends."""
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
        """The same of several prompts, which are computed together as far as the program takes more
        than one sequence. `on_token` is told the number of the prompt and the token."""
    def reset(self) -> None:
        """Forgets all tokens, and nothing that was given."""
    @property
    def given_names(self) -> list[str]:
        """What the programs take beside tokens, masks and positions."""
    @property
    def position(self) -> int:
        """Tokens that were fed."""
    @property
    def capacity(self) -> Optional[int]:
        """How many fit; None: the program sets no bound."""

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
