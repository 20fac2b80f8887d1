! libpt2 for Fortran 2018. Runs PyTorch's exported programs on Fortran arrays without copying them.
!
! Fortran arrays are column-major, PyTorch tensors are row-major. So pt2_tensor(a) has the sizes of the array in reverse
! order: the array real :: a(8, 8, 1, n) is a tensor of the sizes [n, 1, 8, 8].
module pt2
  use, intrinsic :: iso_c_binding
  implicit none
  private
  public :: pt2_model, pt2_session, pt2_tensor, pt2_load, pt2_start, pt2_run, pt2_free
  public :: pt2_decoder, pt2_sampling, pt2_told, pt2_open, pt2_give, pt2_generate

  type, bind(c) :: pt2_dtype
    integer(c_int8_t) :: code
    integer(c_int8_t) :: bits
  end type

  type, bind(c) :: tensor_view
    type(c_ptr) :: data = c_null_ptr
    type(c_ptr) :: sizes = c_null_ptr
    type(c_ptr) :: strides = c_null_ptr
    integer(c_int32_t) :: dims = 0
    type(pt2_dtype) :: dtype
    integer(c_int8_t) :: read_only = 0
  end type

  ! A view of a whole array as a tensor. The array must neither move nor be freed while the tensor is used. A section
  ! with gaps between its elements is refused when the tensor is used.
  type :: pt2_tensor
    private
    type(c_ptr) :: elements = c_null_ptr
    logical :: is_whole = .true. ! false: a section with gaps
    integer(c_int64_t) :: sizes(15) = 0
    integer(c_int32_t) :: dims = 0
    type(pt2_dtype) :: dtype
  end type
  interface pt2_tensor
    module procedure tensor_real32, tensor_real64, tensor_int32, tensor_int64
  end interface

  ! A loaded program. Threads may share it.
  type :: pt2_model
    type(c_ptr) :: handle = c_null_ptr
  end type
  ! Runs a model and keeps the state that the program changes. One thread at a time may use it.
  type :: pt2_session
    type(c_ptr) :: handle = c_null_ptr
  end type
  ! A language model: a folder written by Transformers' exporter, or one program that takes token ids. One thread at a
  ! time may use it.
  type :: pt2_decoder
    type(c_ptr) :: handle = c_null_ptr
  end type
  ! How tokens are drawn. The default values always take the most likely token.
  type :: pt2_sampling
    real(c_double) :: temperature = 0
    integer(c_int64_t) :: top_k = 0
    real(c_double) :: top_p = 1
    integer(c_int64_t) :: seed = 0
  end type
  interface pt2_free
    module procedure free_model, free_session, free_decoder
  end interface

  type, bind(c) :: generate_options
    integer(c_size_t) :: size = 0
    integer(c_int64_t) :: max_new_tokens = 0
    integer(c_int32_t) :: has_sampling = 0
    real(c_double) :: temperature = 0
    integer(c_int64_t) :: top_k = 0
    real(c_double) :: top_p = 1
    integer(c_int64_t) :: seed = 0
    type(c_ptr) :: stop_ids = c_null_ptr
    integer(c_size_t) :: stop_count = 0
    type(c_funptr) :: token = c_null_funptr
    type(c_ptr) :: user = c_null_ptr
    type(c_funptr) :: token_of = c_null_funptr
  end type
  type, bind(c) :: named_value
    type(c_ptr) :: name = c_null_ptr
    integer(c_size_t) :: name_length = 0
    type(c_ptr) :: value = c_null_ptr
  end type

  abstract interface
    ! Receives each token as soon as it is known, with the index (from 0) of its prompt. A result other than 0 ends
    ! generation.
    function pt2_told(prompt, token, user) bind(c) result(ends)
      import
      integer(c_size_t), value :: prompt
      integer(c_int64_t), value :: token
      type(c_ptr), value :: user
      integer(c_int32_t) :: ends
    end function
  end interface

  ! The library writes results only on success. They are intent(inout) because intent(out) would leave them undefined
  ! after an error.
  interface
    function c_decoder_open(path, length, options, out) bind(c, name="pt2_decoder_open") result(error)
      import
      character(kind=c_char), intent(in) :: path(*)
      integer(c_size_t), value :: length
      type(c_ptr), value :: options
      type(c_ptr), intent(inout) :: out
      type(c_ptr) :: error
    end function
    function c_decoder_give(decoder, inputs, count, options) bind(c, name="pt2_decoder_give") result(error)
      import
      type(c_ptr), value :: decoder, options
      type(named_value), intent(in) :: inputs(*)
      integer(c_size_t), value :: count
      type(c_ptr) :: error
    end function
    function c_generate(decoder, ids, counts, prompts, generate, options, tokens, reasons) &
        bind(c, name="pt2_decoder_generate_batch") result(error)
      import
      type(c_ptr), value :: decoder, options, reasons
      integer(c_int64_t), intent(in) :: ids(*)
      integer(c_size_t), intent(in) :: counts(*)
      integer(c_size_t), value :: prompts
      type(generate_options), intent(in) :: generate
      type(c_ptr), intent(inout) :: tokens(*)
      type(c_ptr) :: error
    end function
    subroutine c_decoder_free(decoder) bind(c, name="pt2_decoder_free")
      import
      type(c_ptr), value :: decoder
    end subroutine
    function c_value_copy(view, out) bind(c, name="pt2_value_copy") result(error)
      import
      type(tensor_view), intent(in) :: view
      type(c_ptr), intent(inout) :: out
      type(c_ptr) :: error
    end function
    function c_value_get_tensor(value, out) bind(c, name="pt2_value_get_tensor") result(error)
      import
      type(c_ptr), value :: value
      type(tensor_view), intent(out) :: out
      type(c_ptr) :: error
    end function
    subroutine c_value_free(value) bind(c, name="pt2_value_free")
      import
      type(c_ptr), value :: value
    end subroutine
    function c_model_load(path, length, options, out) bind(c, name="pt2_model_load") result(error)
      import
      character(kind=c_char), intent(in) :: path(*)
      integer(c_size_t), value :: length
      type(c_ptr), value :: options
      type(c_ptr), intent(inout) :: out
      type(c_ptr) :: error
    end function
    function c_session_create(model, options, out) bind(c, name="pt2_session_create") result(error)
      import
      type(c_ptr), value :: model, options
      type(c_ptr), intent(inout) :: out
      type(c_ptr) :: error
    end function
    function c_run_views(session, inputs, input_count, outputs, output_count, options) &
        bind(c, name="pt2_session_run_views") result(error)
      import
      type(c_ptr), value :: session, options
      type(tensor_view), intent(in) :: inputs(*), outputs(*)
      integer(c_size_t), value :: input_count, output_count
      type(c_ptr) :: error
    end function
    subroutine c_model_free(model) bind(c, name="pt2_model_free")
      import
      type(c_ptr), value :: model
    end subroutine
    subroutine c_session_free(session) bind(c, name="pt2_session_free")
      import
      type(c_ptr), value :: session
    end subroutine
    subroutine c_error_free(error) bind(c, name="pt2_error_free")
      import
      type(c_ptr), value :: error
    end subroutine
    function c_error_text(error, length) bind(c, name="pt2_error_text") result(text)
      import
      type(c_ptr), value :: error
      integer(c_size_t), intent(out) :: length
      type(c_ptr) :: text
    end function
  end interface

contains

  ! Frees the error and sets `message` to its text, or to "" if there is no error.
  subroutine take_error(error, message)
    type(c_ptr), intent(in) :: error
    character(:), allocatable, intent(out) :: message
    character(kind=c_char), pointer :: text(:)
    integer(c_size_t) :: length, i
    type(c_ptr) :: start
    message = ""
    if (.not. c_associated(error)) return
    start = c_error_text(error, length)
    call c_f_pointer(start, text, [length])
    do i = 1, length
      message = message // text(i)
    end do
    call c_error_free(error)
  end subroutine

  subroutine pt2_load(path, model, message)
    character(*), intent(in) :: path
    type(pt2_model), intent(out) :: model
    character(:), allocatable, intent(out) :: message
    call take_error(c_model_load(path, len(path, c_size_t), c_null_ptr, model%handle), message)
  end subroutine

  subroutine pt2_start(model, session, message)
    type(pt2_model), intent(in) :: model
    type(pt2_session), intent(out) :: session
    character(:), allocatable, intent(out) :: message
    call take_error(c_session_create(model%handle, c_null_ptr, session%handle), message)
  end subroutine

  ! Runs the program once. Reads the arrays of `inputs` and fills those of `outputs`.
  subroutine pt2_run(session, inputs, outputs, message)
    type(pt2_session), intent(in) :: session
    type(pt2_tensor), intent(in), target :: inputs(:), outputs(:)
    character(:), allocatable, intent(out) :: message
    type(tensor_view) :: input_views(size(inputs)), output_views(size(outputs))
    integer :: i
    message = refusal([inputs%is_whole, outputs%is_whole])
    if (message /= "") return
    do i = 1, size(inputs)
      input_views(i) = view_of(inputs(i))
    end do
    do i = 1, size(outputs)
      output_views(i) = view_of(outputs(i))
    end do
    call take_error(c_run_views(session%handle, input_views, size(inputs, kind=c_size_t), output_views, &
                                size(outputs, kind=c_size_t), c_null_ptr), message)
  end subroutine

  subroutine pt2_open(path, decoder, message)
    character(*), intent(in) :: path
    type(pt2_decoder), intent(out) :: decoder
    character(:), allocatable, intent(out) :: message
    call take_error(c_decoder_open(path, len(path, c_size_t), c_null_ptr, decoder%handle), message)
  end subroutine

  ! Sets the inputs that the programs take beside tokens, by name; trailing blanks of names do not count. If the model
  ! has an encoder, these are the encoder's inputs and the encoder runs now.
  subroutine pt2_give(decoder, names, inputs, message)
    type(pt2_decoder), intent(in) :: decoder
    character(*), intent(in), target :: names(:)
    type(pt2_tensor), intent(in), target :: inputs(:)
    character(:), allocatable, intent(out) :: message
    type(named_value) :: given(size(inputs))
    integer :: i
    message = refusal(inputs%is_whole)
    if (size(names) /= size(inputs)) message = "expected as many names as tensors"
    if (message /= "") return
    do i = 1, size(inputs)
      given(i)%name = c_loc(names(i))
      given(i)%name_length = len_trim(names(i), c_size_t)
      if (message == "") call take_error(c_value_copy(view_of(inputs(i)), given(i)%value), message)
    end do
    if (message == "") call take_error(c_decoder_give(decoder%handle, given, size(inputs, kind=c_size_t), c_null_ptr), &
                                       message)
    do i = 1, size(inputs)
      call c_value_free(given(i)%value)
    end do
  end subroutine

  function refusal(are_whole) result(message)
    logical, intent(in) :: are_whole(:)
    character(:), allocatable :: message
    message = ""
    if (.not. all(are_whole)) message = "expected whole arrays, found a section with gaps between its elements"
  end function

  ! Generates at most size(tokens, 1) tokens after each prompt. `ids` holds the prompts one after another, `counts` the
  ! number of ids of each. tokens(:lengths(i), i) are the new tokens of prompt i. Defaults of absent arguments come from
  ! generation_config.json.
  subroutine pt2_generate(decoder, ids, counts, tokens, lengths, message, sampling, stop_ids, told)
    type(pt2_decoder), intent(in) :: decoder
    integer(c_int64_t), intent(in) :: ids(:)
    integer, intent(in) :: counts(:)
    integer(c_int64_t), intent(out) :: tokens(:, :)
    integer, intent(out) :: lengths(:)
    character(:), allocatable, intent(out) :: message
    type(pt2_sampling), intent(in), optional :: sampling
    integer(c_int64_t), intent(in), target, contiguous, optional :: stop_ids(:)
    procedure(pt2_told), optional :: told
    type(generate_options) :: options
    integer(c_int64_t), target :: none(1)
    type(c_ptr) :: made(size(counts))
    integer :: i
    options%size = c_sizeof(options)
    options%max_new_tokens = size(tokens, 1)
    if (present(sampling)) then
      options%has_sampling = 1
      options%temperature = sampling%temperature
      options%top_k = sampling%top_k
      options%top_p = sampling%top_p
      options%seed = sampling%seed
    end if
    if (present(stop_ids)) then
      none = 0
      options%stop_ids = c_loc(none) ! an empty array may have no address, which would mean the default
      options%stop_count = size(stop_ids, kind=c_size_t)
      if (size(stop_ids) > 0) options%stop_ids = c_loc(stop_ids)
    end if
    if (present(told)) options%token_of = c_funloc(told)
    made = c_null_ptr
    tokens = 0
    lengths = 0
    message = ""
    if (any(counts < 0) .or. sum(int(counts, c_int64_t)) > size(ids, kind=c_int64_t)) &
      message = "expected as many ids as the counts say"
    if (size(tokens, 2) < size(counts) .or. size(lengths) < size(counts)) message = "expected a place for each prompt"
    if (message /= "") return
    if (size(tokens, 1) == 0) return ! the library takes 0 to mean the number in generation_config.json
    call take_error(c_generate(decoder%handle, ids, int(counts, c_size_t), size(counts, kind=c_size_t), options, &
                               c_null_ptr, made, c_null_ptr), message)
    do i = 1, size(counts)
      if (message == "") call copy_ids(made(i), tokens(:, i), lengths(i), message)
      call c_value_free(made(i))
    end do
  end subroutine

  subroutine copy_ids(value, ids, length, message)
    type(c_ptr), intent(in) :: value
    integer(c_int64_t), intent(inout) :: ids(:)
    integer, intent(out) :: length
    character(:), allocatable, intent(out) :: message
    integer(c_int64_t), pointer :: sizes(:), elements(:)
    type(tensor_view) :: view
    length = 0
    call take_error(c_value_get_tensor(value, view), message)
    if (message /= "") return
    call c_f_pointer(view%sizes, sizes, [1])
    call c_f_pointer(view%data, elements, [sizes(1)])
    length = int(sizes(1))
    ids(:length) = elements
  end subroutine

  function view_of(tensor) result(view)
    type(pt2_tensor), intent(in), target :: tensor
    type(tensor_view) :: view
    view%data = tensor%elements
    view%sizes = c_loc(tensor%sizes)
    view%dims = tensor%dims
    view%dtype = tensor%dtype
  end function

  function tensor_real32(array) result(tensor)
    real(c_float), intent(in), target :: array(..)
    type(pt2_tensor) :: tensor
    tensor = tensor_at(c_loc(array), is_contiguous(array), shape(array, c_int64_t), 2, 32)
  end function
  function tensor_real64(array) result(tensor)
    real(c_double), intent(in), target :: array(..)
    type(pt2_tensor) :: tensor
    tensor = tensor_at(c_loc(array), is_contiguous(array), shape(array, c_int64_t), 2, 64)
  end function
  function tensor_int32(array) result(tensor)
    integer(c_int32_t), intent(in), target :: array(..)
    type(pt2_tensor) :: tensor
    tensor = tensor_at(c_loc(array), is_contiguous(array), shape(array, c_int64_t), 0, 32)
  end function
  function tensor_int64(array) result(tensor)
    integer(c_int64_t), intent(in), target :: array(..)
    type(pt2_tensor) :: tensor
    tensor = tensor_at(c_loc(array), is_contiguous(array), shape(array, c_int64_t), 0, 64)
  end function

  function tensor_at(elements, is_whole, sizes, code, bits) result(tensor)
    type(c_ptr), intent(in) :: elements
    logical, intent(in) :: is_whole
    integer(c_int64_t), intent(in) :: sizes(:)
    integer, intent(in) :: code, bits
    type(pt2_tensor) :: tensor
    tensor%elements = elements
    tensor%is_whole = is_whole
    tensor%dims = size(sizes)
    tensor%sizes(:size(sizes)) = sizes(size(sizes):1:-1)
    tensor%dtype = pt2_dtype(int(code, c_int8_t), int(bits, c_int8_t))
  end function

  subroutine free_model(model)
    type(pt2_model), intent(inout) :: model
    call c_model_free(model%handle)
    model%handle = c_null_ptr
  end subroutine
  subroutine free_session(session)
    type(pt2_session), intent(inout) :: session
    call c_session_free(session%handle)
    session%handle = c_null_ptr
  end subroutine
  subroutine free_decoder(decoder)
    type(pt2_decoder), intent(inout) :: decoder
    call c_decoder_free(decoder%handle)
    decoder%handle = c_null_ptr
  end subroutine

end module
