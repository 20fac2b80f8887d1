! Prints the greedily generated tokens of each prompt: generate FOLDER COUNT READ IDS...
! READ is the encoder's input ids, or - without an encoder. Each IDS is one prompt.
module counting
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: told = 0

contains

  function count_token(prompt, token, user) bind(c) result(ends)
    integer(c_size_t), value :: prompt
    integer(c_int64_t), value :: token
    type(c_ptr), value :: user
    integer(c_int32_t) :: ends
    told = told + 1
    ends = merge(1_c_int32_t, 0_c_int32_t, token < 0 .or. prompt > 9 .or. c_associated(user))
  end function

end module

program generate
  use, intrinsic :: iso_c_binding
  use counting
  use pt2
  implicit none
  type(pt2_decoder) :: decoder
  character(:), allocatable :: message
  integer(c_int64_t), allocatable :: prompts(:), tokens(:, :)
  integer, allocatable :: counts(:), lengths(:)
  character(1000) :: argument
  integer :: i, count, before

  call get_command_argument(1, argument)
  call pt2_open(argument, decoder, message, limits="max_fun=1")
  if (index(message, "max_fun") == 0) error stop 8
  call pt2_open(argument, decoder, message, cache_length=-1)
  if (index(message, "cache_length") == 0) error stop 9
  call pt2_open(argument, decoder, message, threads=1)
  call check(message)
  call get_command_argument(3, argument)
  if (argument /= "-") call read_text(ids_of(argument))
  prompts = [integer(c_int64_t) ::]
  counts = [integer ::]
  do i = 4, command_argument_count()
    call get_command_argument(i, argument)
    before = size(prompts)
    prompts = [prompts, ids_of(argument)]
    counts = [counts, size(prompts) - before]
  end do
  call get_command_argument(2, argument)
  read (argument, *) count
  allocate (tokens(count, size(counts)), lengths(size(counts)))
  call pt2_generate(decoder, prompts, counts, tokens, lengths, message, pt2_sampling(), told=count_token)
  call check(message)
  do i = 1, size(counts)
    print "(*(i0, :, ','))", tokens(:lengths(i), i)
  end do
  if (told /= sum(lengths)) error stop 2
  call pt2_generate(decoder, [2_c_int64_t**40], [1], tokens(:, :1), lengths(:1), message)
  if (message == "") error stop 3
  call pt2_generate(decoder, prompts, [size(prompts) + 1], tokens(:, :1), lengths(:1), message)
  if (index(message, "as many ids") == 0) error stop 4
  call pt2_generate(decoder, prompts, counts, tokens(:, :0), lengths, message)
  if (index(message, "a place") == 0) error stop 5
  call pt2_give(decoder, [character(9) :: "input_ids"], [pt2_tensor ::], message)
  if (index(message, "as many names") == 0) error stop 6
  call pt2_generate(decoder, prompts, counts, tokens, lengths, message, timeout=0d0)
  if (index(message, "deadline") == 0) error stop 7
  call pt2_free(decoder)

contains

  subroutine check(text)
    character(*), intent(in) :: text
    if (len(text) == 0) return
    print "(a)", text
    error stop 1
  end subroutine

  function ids_of(list) result(ids)
    character(*), intent(in) :: list
    integer(c_int64_t), allocatable :: ids(:)
    integer :: at
    allocate (ids(1 + sum([(merge(1, 0, list(at:at) == ","), at=1, len(list))])))
    read (list, *) ids
  end function

  subroutine read_text(ids)
    integer(c_int64_t), intent(in) :: ids(:)
    integer(c_int64_t), target :: rows(size(ids), 1), mask(size(ids), 1)
    rows(:, 1) = ids
    mask = 1
    call pt2_give(decoder, [character(14) :: "input_ids", "attention_mask"], [pt2_tensor(rows), pt2_tensor(mask)], message)
    call check(message)
  end subroutine

end program
