! Recognises handwritten digits: digits MODEL.pt2 IMAGES.npy...
program digits
  use, intrinsic :: iso_c_binding
  use pt2
  implicit none
  type(pt2_model) :: model
  type(pt2_session) :: session
  character(:), allocatable :: message
  character(1000) :: path
  integer :: i

  call get_command_argument(1, path)
  call pt2_load(path, model, message)
  call check(message)
  call pt2_start(model, session, message)
  call check(message)
  call show_errors()
  do i = 2, command_argument_count()
    call get_command_argument(i, path)
    call recognise(trim(path))
  end do
  call pt2_free(session)
  call pt2_free(model)

contains

  subroutine check(text)
    character(*), intent(in) :: text
    if (len(text) == 0) return
    print "(a)", text
    error stop 1
  end subroutine

  ! Checks that the error about a wrong size names the input, and that sections with gaps are refused.
  subroutine show_errors()
    real(c_float) :: pixels(9), image(8, 8, 1, 1), scores(10, 1)
    character(:), allocatable :: refusal
    pixels = 0
    image = 0
    call pt2_run(session, [pt2_tensor(pixels)], [pt2_tensor(scores)], refusal)
    if (index(refusal, "input 'image'") /= 1) error stop 2
    call pt2_run(session, [pt2_tensor(pixels(::2))], [pt2_tensor(scores)], refusal)
    if (index(refusal, "whole arrays") == 0) error stop 3
    call pt2_run(session, [pt2_tensor(pixels)], [pt2_tensor(scores(::2, :))], refusal)
    if (index(refusal, "whole arrays") == 0) error stop 4
    call pt2_run(session, [pt2_tensor(image)], [pt2_tensor(scores)], refusal, timeout=0d0)
    if (index(refusal, "deadline") == 0) error stop 5
    call pt2_run(session, [pt2_tensor(image)], [pt2_tensor(scores)], refusal, timeout=1d300)
    if (refusal /= "") error stop 6
  end subroutine

  ! A .npy file is a header, then row-major elements: the rows of the file become the columns of the array.
  subroutine recognise(name)
    character(*), intent(in) :: name
    real(c_float), allocatable :: images(:, :, :, :), scores(:, :)
    integer(c_int8_t) :: head(10)
    integer :: unit, bytes, start, count, image
    open (newunit=unit, file=name, access="stream", form="unformatted", status="old")
    read (unit) head
    start = 10 + iand(int(head(9)), 255) + 256 * iand(int(head(10)), 255)
    inquire (unit=unit, size=bytes)
    count = (bytes - start) / (4 * 64)
    allocate (images(8, 8, 1, count), scores(10, count))
    read (unit, pos=start + 1) images
    close (unit)
    call pt2_run(session, [pt2_tensor(images)], [pt2_tensor(scores)], message)
    call check(message)
    if (count == 1) then
      print "(a, i0)", "this is a ", maxloc(scores(:, 1)) - 1
    else
      print "(a, *(1x, i0))", "these are", (maxloc(scores(:, image)) - 1, image=1, count)
    end if
  end subroutine

end program
