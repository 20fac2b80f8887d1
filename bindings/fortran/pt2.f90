! libpt2 for Fortran 2018. Runs PyTorch's exported programs on Fortran arrays without copying them.
!
! Fortran arrays are column-major, PyTorch tensors are row-major. So pt2_tensor(a) has the sizes of the array in reverse
! order: the array real :: a(8, 8, 1, n) is a tensor of the sizes [n, 1, 8, 8].
module pt2
  use, intrinsic :: iso_c_binding
  implicit none
  private
  public :: pt2_model, pt2_session, pt2_tensor, pt2_place, pt2_load, pt2_start, pt2_run, pt2_free
  public :: pt2_inputs, pt2_outputs, pt2_get_state, pt2_set_state
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

  ! PyTorch's dtypes, with DLPack's code and bits. An array without the name of a dtype has the first one of its code
  ! and bits; an array of integers can be given the name of any dtype of its width.
  type :: dtype_row
    character(15) :: name
    integer :: code, bits
  end type
  type(dtype_row), parameter :: dtypes(*) = [ &
    dtype_row("float32", 2, 32), dtype_row("float64", 2, 64), dtype_row("int8", 0, 8), dtype_row("int16", 0, 16), &
    dtype_row("int32", 0, 32), dtype_row("int64", 0, 64), dtype_row("uint8", 1, 8), dtype_row("uint16", 1, 16), &
    dtype_row("uint32", 1, 32), dtype_row("uint64", 1, 64), dtype_row("bool", 6, 8), dtype_row("float16", 2, 16), &
    dtype_row("bfloat16", 4, 16), dtype_row("float8_e4m3fn", 10, 8), dtype_row("float8_e4m3fnuz", 11, 8), &
    dtype_row("float8_e5m2", 12, 8), dtype_row("float8_e5m2fnuz", 13, 8), dtype_row("float8_e8m0fnu", 14, 8), &
    dtype_row("complex32", 5, 32), dtype_row("complex64", 5, 64), dtype_row("complex128", 5, 128)]

  ! A view of a whole array as a tensor. The array must neither move nor be freed while the tensor is used. A section
  ! with gaps between its elements, and a dtype of another width, are refused when the tensor is used.
  !
  ! Arrays are real (float32, float64), integer of 1 to 8 bytes, logical(c_bool) or complex. pt2_tensor(a, "float16")
  ! makes a tensor of a dtype that Fortran lacks over an array of integers of the same width, which hold its bits.
  type :: pt2_tensor
    private
    type(c_ptr) :: elements = c_null_ptr
    logical :: is_whole = .true. ! false: a section with gaps
    logical :: is_typed = .true. ! false: no dtype has the name and the width
    integer(c_int64_t) :: sizes(15) = 0
    integer(c_int32_t) :: dims = 0
    type(pt2_dtype) :: dtype
  end type
  interface pt2_tensor
    module procedure tensor_real32, tensor_real64, tensor_int8, tensor_int16, tensor_int32, tensor_int64
    module procedure tensor_bool, tensor_complex64, tensor_complex128
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

  ! An input or output of a model. Sizes are in PyTorch's order, which is the reverse of the array's; -1 depends on the
  ! inputs. They are not allocated, and the dtype is empty, for values that are not tensors.
  type :: pt2_place
    character(:), allocatable :: name
    character(:), allocatable :: type ! "f32[batch 1..64, 3]"
    character(:), allocatable :: dtype ! "float32"
    integer(c_int64_t), allocatable :: sizes(:), minimum(:), maximum(:)
  end type
  type, bind(c) :: c_place
    integer(c_size_t) :: size = 0
    type(c_ptr) :: name = c_null_ptr
    type(c_ptr) :: type = c_null_ptr
    integer(c_int32_t) :: is_tensor = 0
    integer(c_int32_t) :: is_keyword = 0
    integer(c_int32_t) :: is_optional = 0
    type(pt2_dtype) :: dtype
    integer(c_int32_t) :: dims = 0
    type(c_ptr) :: sizes = c_null_ptr
    type(c_ptr) :: minimum = c_null_ptr
    type(c_ptr) :: maximum = c_null_ptr
  end type
  type, bind(c) :: load_options
    integer(c_size_t) :: size = 0
    type(c_ptr) :: program = c_null_ptr
    integer(c_size_t) :: program_length = 0
    type(c_ptr) :: limits = c_null_ptr
    integer(c_size_t) :: limits_length = 0
    type(c_ptr) :: operators = c_null_ptr
    integer(c_int32_t) :: engine = 0
    type(c_funptr) :: log = c_null_funptr
    type(c_ptr) :: user = c_null_ptr
  end type
  type, bind(c) :: session_options
    integer(c_size_t) :: size = 0
    integer(c_int32_t) :: threads = 0
  end type

  type, bind(c) :: decoder_options
    integer(c_size_t) :: size = 0
    type(c_ptr) :: limits = c_null_ptr
    integer(c_size_t) :: limits_length = 0
    type(c_ptr) :: operators = c_null_ptr
    integer(c_int32_t) :: engine = 0
    integer(c_int32_t) :: threads = 0
    integer(c_int64_t) :: cache_length = 0
  end type
  type, bind(c) :: call_options
    integer(c_size_t) :: size = 0
    type(c_ptr) :: stop = c_null_ptr
    integer(c_int64_t) :: timeout_ns = 0
    type(c_funptr) :: step = c_null_funptr
    type(c_ptr) :: user = c_null_ptr
  end type
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
    ! generation. It must not free the decoder.
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
    function c_input_count(model) bind(c, name="pt2_model_input_count") result(count)
      import
      type(c_ptr), value :: model
      integer(c_size_t) :: count
    end function
    function c_output_count(model) bind(c, name="pt2_model_output_count") result(count)
      import
      type(c_ptr), value :: model
      integer(c_size_t) :: count
    end function
    function c_get_input(model, index, out) bind(c, name="pt2_model_get_input") result(error)
      import
      type(c_ptr), value :: model
      integer(c_size_t), value :: index
      type(c_place), intent(inout) :: out
      type(c_ptr) :: error
    end function
    function c_get_output(model, index, out) bind(c, name="pt2_model_get_output") result(error)
      import
      type(c_ptr), value :: model
      integer(c_size_t), value :: index
      type(c_place), intent(inout) :: out
      type(c_ptr) :: error
    end function
    function c_length(text) bind(c, name="strlen") result(length)
      import
      type(c_ptr), value :: text
      integer(c_size_t) :: length
    end function
    function c_get_state(session, name, length, out) bind(c, name="pt2_session_get_state") result(error)
      import
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: name(*)
      integer(c_size_t), value :: length
      type(c_ptr), intent(inout) :: out
      type(c_ptr) :: error
    end function
    function c_set_state(session, name, length, view) bind(c, name="pt2_session_set_state") result(error)
      import
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: name(*)
      integer(c_size_t), value :: length
      type(tensor_view), intent(in) :: view
      type(c_ptr) :: error
    end function
    function c_copy(to, from, bytes) bind(c, name="memcpy") result(same)
      import
      type(c_ptr), value :: to, from
      integer(c_size_t), value :: bytes
      type(c_ptr) :: same
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

  function text_at(start, length) result(text)
    type(c_ptr), intent(in) :: start
    integer(c_size_t), intent(in) :: length
    character(:), allocatable :: text
    character(kind=c_char), pointer :: characters(:)
    integer(c_size_t) :: i
    allocate (character(length) :: text)
    call c_f_pointer(start, characters, [length])
    do i = 1, length
      text(i:i) = characters(i)
    end do
  end function

  ! Frees the error and sets `message` to its text, or to "" if there is no error.
  subroutine take_error(error, message)
    type(c_ptr), intent(in) :: error
    character(:), allocatable, intent(out) :: message
    integer(c_size_t) :: length
    type(c_ptr) :: start
    message = ""
    if (.not. c_associated(error)) return
    start = c_error_text(error, length)
    message = text_at(start, length)
    call c_error_free(error)
  end subroutine

  ! Returns the options of a call that may take `timeout` seconds. Absent: any time.
  function call_within(timeout) result(options)
    real(c_double), intent(in), optional :: timeout
    type(call_options) :: options
    options%size = c_sizeof(options)
    if (.not. present(timeout)) return
    ! The library takes 0 to mean no deadline.
    options%timeout_ns = max(1_c_int64_t, int(min(timeout, 9e9_c_double) * 1e9_c_double, c_int64_t))
  end function

  ! `program` names the program of a file with several, `limits` the safety limits that differ from the defaults,
  ! "max_work=1000,max_json_depth=64". If `reference` is true, the reference engine runs the program. Trailing blanks of
  ! paths and names do not count, as in `open`.
  subroutine pt2_load(path, model, message, program, limits, reference)
    character(*), intent(in) :: path
    type(pt2_model), intent(out) :: model
    character(:), allocatable, intent(out) :: message
    character(*), intent(in), target, optional :: program, limits
    logical, intent(in), optional :: reference
    type(load_options), target :: options
    options%size = c_sizeof(options)
    if (present(program)) then
      options%program_length = len_trim(program, c_size_t)
      if (len(program) > 0) options%program = c_loc(program)
    end if
    if (present(limits)) then
      options%limits_length = len_trim(limits, c_size_t)
      if (len(limits) > 0) options%limits = c_loc(limits)
    end if
    if (present(reference)) options%engine = merge(1, 0, reference)
    call take_error(c_model_load(path, len_trim(path, c_size_t), c_loc(options), model%handle), message)
  end subroutine

  ! `threads` is the most threads that compute a call. 0 or absent: all CPUs that the process may use.
  subroutine pt2_start(model, session, message, threads)
    type(pt2_model), intent(in) :: model
    type(pt2_session), intent(out) :: session
    character(:), allocatable, intent(out) :: message
    integer, intent(in), optional :: threads
    type(session_options), target :: options
    options%size = c_sizeof(options)
    if (present(threads)) options%threads = max(threads, 0)
    call take_error(c_session_create(model%handle, c_loc(options), session%handle), message)
  end subroutine

  ! Give the inputs and outputs in the order in which pt2_run takes them.
  subroutine pt2_inputs(model, places, message)
    type(pt2_model), intent(in) :: model
    type(pt2_place), allocatable, intent(out) :: places(:)
    character(:), allocatable, intent(out) :: message
    integer(c_size_t) :: i
    type(c_place) :: from
    message = ""
    allocate (places(c_input_count(model%handle)))
    do i = 1, size(places, kind=c_size_t)
      from%size = c_sizeof(from)
      if (message == "") call take_error(c_get_input(model%handle, i - 1, from), message)
      if (message == "") places(i) = place_of(from)
    end do
  end subroutine
  subroutine pt2_outputs(model, places, message)
    type(pt2_model), intent(in) :: model
    type(pt2_place), allocatable, intent(out) :: places(:)
    character(:), allocatable, intent(out) :: message
    integer(c_size_t) :: i
    type(c_place) :: from
    message = ""
    allocate (places(c_output_count(model%handle)))
    do i = 1, size(places, kind=c_size_t)
      from%size = c_sizeof(from)
      if (message == "") call take_error(c_get_output(model%handle, i - 1, from), message)
      if (message == "") places(i) = place_of(from)
    end do
  end subroutine

  function place_of(from) result(place)
    type(c_place), intent(in) :: from
    type(pt2_place) :: place
    integer :: i
    place%name = text_at(from%name, c_length(from%name))
    place%type = text_at(from%type, c_length(from%type))
    place%dtype = ""
    if (from%is_tensor == 0) return
    do i = 1, size(dtypes)
      if (dtypes(i)%code == from%dtype%code .and. dtypes(i)%bits == iand(int(from%dtype%bits), 255)) &
        place%dtype = trim(dtypes(i)%name)
    end do
    call copy_numbers(from%sizes, from%dims, place%sizes)
    call copy_numbers(from%minimum, from%dims, place%minimum)
    call copy_numbers(from%maximum, from%dims, place%maximum)
  end function

  subroutine copy_numbers(start, count, numbers)
    type(c_ptr), intent(in) :: start
    integer(c_int32_t), intent(in) :: count
    integer(c_int64_t), allocatable, intent(out) :: numbers(:)
    integer(c_int64_t), pointer :: from(:)
    allocate (numbers(count))
    if (count == 0) return
    call c_f_pointer(start, from, [count])
    numbers(:) = from
  end subroutine

  ! Runs the program once. Reads the arrays of `inputs` and fills those of `outputs`. A run of more than `timeout`
  ! seconds is cancelled.
  subroutine pt2_run(session, inputs, outputs, message, timeout)
    type(pt2_session), intent(in) :: session
    type(pt2_tensor), intent(in), target :: inputs(:), outputs(:)
    character(:), allocatable, intent(out) :: message
    real(c_double), intent(in), optional :: timeout
    type(tensor_view) :: input_views(size(inputs)), output_views(size(outputs))
    type(call_options), target :: call
    integer :: i
    message = refusal([inputs, outputs])
    if (message /= "") return
    do i = 1, size(inputs)
      input_views(i) = view_of(inputs(i))
    end do
    do i = 1, size(outputs)
      output_views(i) = view_of(outputs(i))
    end do
    call = call_within(timeout)
    call take_error(c_run_views(session%handle, input_views, size(inputs, kind=c_size_t), output_views, &
                                size(outputs, kind=c_size_t), c_loc(call)), message)
  end subroutine

  ! Copies a parameter, buffer or constant into the array of `tensor`, which must have its dtype and sizes.
  subroutine pt2_get_state(session, name, tensor, message)
    type(pt2_session), intent(in) :: session
    character(*), intent(in) :: name
    type(pt2_tensor), intent(in), target :: tensor
    character(:), allocatable, intent(out) :: message
    type(c_ptr) :: value, rows, same
    type(tensor_view) :: view
    value = c_null_ptr
    rows = c_null_ptr
    message = refusal([tensor])
    if (message == "") call take_error(c_get_state(session%handle, name, len_trim(name, c_size_t), value), message)
    if (message == "") call take_error(c_value_get_tensor(value, view), message)
    if (message == "") call take_error(c_value_copy(view, rows), message)
    if (message == "") call take_error(c_value_get_tensor(rows, view), message)
    if (message == "") then
      if (.not. is_like(view, tensor)) message = "expected an array of the dtype and the sizes of '" // trim(name) // "'"
    end if
    if (message == "" .and. product(tensor%sizes(:tensor%dims)) > 0) &
      same = c_copy(tensor%elements, view%data, product(tensor%sizes(:tensor%dims)) * width_of(tensor%dtype))
    call c_value_free(value)
    call c_value_free(rows)
  end subroutine

  ! Copies the array into a parameter, buffer or constant of the same dtype and sizes, for later runs of this session.
  subroutine pt2_set_state(session, name, tensor, message)
    type(pt2_session), intent(in) :: session
    character(*), intent(in) :: name
    type(pt2_tensor), intent(in), target :: tensor
    character(:), allocatable, intent(out) :: message
    message = refusal([tensor])
    if (message /= "") return
    call take_error(c_set_state(session%handle, name, len_trim(name, c_size_t), view_of(tensor)), message)
  end subroutine

  function is_like(view, tensor) result(truth)
    type(tensor_view), intent(in) :: view
    type(pt2_tensor), intent(in) :: tensor
    logical :: truth
    integer(c_int64_t), pointer :: sizes(:)
    truth = view%dims == tensor%dims .and. view%dtype%code == tensor%dtype%code .and. &
            view%dtype%bits == tensor%dtype%bits
    if (.not. truth .or. view%dims == 0) return
    call c_f_pointer(view%sizes, sizes, [view%dims])
    truth = all(sizes == tensor%sizes(:tensor%dims))
  end function

  ! Returns the number of bytes of an element.
  function width_of(dtype) result(width)
    type(pt2_dtype), intent(in) :: dtype
    integer(c_size_t) :: width
    width = iand(int(dtype%bits, c_size_t), 255_c_size_t) / 8
  end function

  ! `limits` and `reference` as for pt2_load, `threads` as for pt2_start. `cache_length` is the number of tokens that a
  ! fixed-size cache holds, if the program does not fix it; absent: 2048.
  subroutine pt2_open(path, decoder, message, limits, reference, threads, cache_length)
    character(*), intent(in) :: path
    type(pt2_decoder), intent(out) :: decoder
    character(:), allocatable, intent(out) :: message
    character(*), intent(in), target, optional :: limits
    logical, intent(in), optional :: reference
    integer, intent(in), optional :: threads, cache_length
    type(decoder_options), target :: options
    options%size = c_sizeof(options)
    if (present(limits)) then
      options%limits_length = len_trim(limits, c_size_t)
      if (len(limits) > 0) options%limits = c_loc(limits)
    end if
    if (present(reference)) options%engine = merge(1, 0, reference)
    if (present(threads)) options%threads = max(threads, 0)
    if (present(cache_length)) options%cache_length = cache_length
    call take_error(c_decoder_open(path, len_trim(path, c_size_t), c_loc(options), decoder%handle), message)
  end subroutine

  ! Sets the inputs that the programs take beside tokens, by name; trailing blanks of names do not count. If the model
  ! has an encoder, these are the encoder's inputs and the encoder runs now, for at most `timeout` seconds.
  subroutine pt2_give(decoder, names, inputs, message, timeout)
    type(pt2_decoder), intent(in) :: decoder
    character(*), intent(in), target :: names(:)
    type(pt2_tensor), intent(in), target :: inputs(:)
    character(:), allocatable, intent(out) :: message
    real(c_double), intent(in), optional :: timeout
    type(named_value) :: given(size(inputs))
    type(call_options), target :: call
    integer :: i
    message = refusal(inputs)
    if (size(names) /= size(inputs)) message = "expected as many names as tensors"
    if (message /= "") return
    do i = 1, size(inputs)
      given(i)%name = c_loc(names(i))
      given(i)%name_length = len_trim(names(i), c_size_t)
      if (message == "") call take_error(c_value_copy(view_of(inputs(i)), given(i)%value), message)
    end do
    call = call_within(timeout)
    if (message == "") call take_error(c_decoder_give(decoder%handle, given, size(inputs, kind=c_size_t), c_loc(call)), &
                                       message)
    do i = 1, size(inputs)
      call c_value_free(given(i)%value)
    end do
  end subroutine

  function refusal(tensors) result(message)
    type(pt2_tensor), intent(in) :: tensors(:)
    character(:), allocatable :: message
    message = ""
    if (.not. all(tensors%is_typed)) message = "expected the name of a dtype with elements as wide as the array's"
    if (.not. all(tensors%is_whole)) message = "expected whole arrays, found a section with gaps between its elements"
  end function

  ! Generates at most size(tokens, 1) tokens after each prompt. `ids` holds the prompts one after another, `counts` the
  ! number of ids of each. tokens(:lengths(i), i) are the new tokens of prompt i. Defaults of absent arguments come from
  ! generation_config.json. A call of more than `timeout` seconds is cancelled.
  subroutine pt2_generate(decoder, ids, counts, tokens, lengths, message, sampling, stop_ids, told, timeout)
    type(pt2_decoder), intent(in) :: decoder
    integer(c_int64_t), intent(in) :: ids(:)
    integer, intent(in) :: counts(:)
    integer(c_int64_t), intent(out) :: tokens(:, :)
    integer, intent(out) :: lengths(:)
    character(:), allocatable, intent(out) :: message
    type(pt2_sampling), intent(in), optional :: sampling
    integer(c_int64_t), intent(in), target, contiguous, optional :: stop_ids(:)
    procedure(pt2_told), optional :: told
    real(c_double), intent(in), optional :: timeout
    type(generate_options) :: options
    type(call_options), target :: call
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
    call = call_within(timeout)
    call take_error(c_generate(decoder%handle, ids, int(counts, c_size_t), size(counts, kind=c_size_t), options, &
                               c_loc(call), made, c_null_ptr), message)
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
  function tensor_bool(array) result(tensor)
    logical(c_bool), intent(in), target :: array(..)
    type(pt2_tensor) :: tensor
    tensor = tensor_at(c_loc(array), is_contiguous(array), shape(array, c_int64_t), 6, 8)
  end function
  function tensor_complex64(array) result(tensor)
    complex(c_float_complex), intent(in), target :: array(..)
    type(pt2_tensor) :: tensor
    tensor = tensor_at(c_loc(array), is_contiguous(array), shape(array, c_int64_t), 5, 64)
  end function
  function tensor_complex128(array) result(tensor)
    complex(c_double_complex), intent(in), target :: array(..)
    type(pt2_tensor) :: tensor
    tensor = tensor_at(c_loc(array), is_contiguous(array), shape(array, c_int64_t), 5, 128)
  end function
  function tensor_int8(array, dtype) result(tensor)
    integer(c_int8_t), intent(in), target :: array(..)
    character(*), intent(in), optional :: dtype
    type(pt2_tensor) :: tensor
    tensor = tensor_at(c_loc(array), is_contiguous(array), shape(array, c_int64_t), 0, 8, dtype)
  end function
  function tensor_int16(array, dtype) result(tensor)
    integer(c_int16_t), intent(in), target :: array(..)
    character(*), intent(in), optional :: dtype
    type(pt2_tensor) :: tensor
    tensor = tensor_at(c_loc(array), is_contiguous(array), shape(array, c_int64_t), 0, 16, dtype)
  end function
  function tensor_int32(array, dtype) result(tensor)
    integer(c_int32_t), intent(in), target :: array(..)
    character(*), intent(in), optional :: dtype
    type(pt2_tensor) :: tensor
    tensor = tensor_at(c_loc(array), is_contiguous(array), shape(array, c_int64_t), 0, 32, dtype)
  end function
  function tensor_int64(array, dtype) result(tensor)
    integer(c_int64_t), intent(in), target :: array(..)
    character(*), intent(in), optional :: dtype
    type(pt2_tensor) :: tensor
    tensor = tensor_at(c_loc(array), is_contiguous(array), shape(array, c_int64_t), 0, 64, dtype)
  end function

  function tensor_at(elements, is_whole, sizes, code, bits, dtype) result(tensor)
    type(c_ptr), intent(in) :: elements
    logical, intent(in) :: is_whole
    integer(c_int64_t), intent(in) :: sizes(:)
    integer, intent(in) :: code, bits
    character(*), intent(in), optional :: dtype
    type(pt2_tensor) :: tensor
    integer :: i
    tensor%elements = elements
    tensor%is_whole = is_whole
    tensor%dims = size(sizes)
    tensor%sizes(:size(sizes)) = sizes(size(sizes):1:-1)
    ! 128 does not fit a signed byte, but its bits do.
    tensor%dtype = pt2_dtype(int(code, c_int8_t), transfer(bits, 0_c_int8_t))
    if (.not. present(dtype)) return
    tensor%is_typed = .false.
    do i = 1, size(dtypes)
      if (dtypes(i)%name /= dtype .or. dtypes(i)%bits /= bits) cycle
      tensor%is_typed = .true.
      tensor%dtype%code = int(dtypes(i)%code, c_int8_t)
    end do
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
