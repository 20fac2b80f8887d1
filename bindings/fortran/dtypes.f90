! Tests every dtype: dtypes MODELS, the folder with dtypes.pt2 and values.pt2.
program dtypes
  use, intrinsic :: iso_c_binding
  use pt2
  implicit none
  type(pt2_model) :: model
  type(pt2_session) :: session
  type(pt2_place), allocatable :: places(:)
  type(pt2_tensor), allocatable :: inputs(:), outputs(:)
  character(:), allocatable :: message
  character(1000) :: folder
  ! An array of the tensor [2, 3] has the shape [3, 2]. The program transposes one input of each dtype.
  integer(c_int8_t), target :: bytes(3, 2), bytes_out(2, 3, 7)
  integer(c_int16_t), target :: shorts(3, 2), shorts_out(2, 3, 4)
  integer(c_int32_t), target :: ints(3, 2), ints_out(2, 3, 3)
  integer(c_int64_t), target :: longs(3, 2), longs_out(2, 3, 2)
  real(c_float), target :: floats(3, 2), floats_out(2, 3)
  real(c_double), target :: doubles(3, 2), doubles_out(2, 3)
  complex(c_float_complex), target :: complexes(3, 2), complexes_out(2, 3)
  complex(c_double_complex), target :: wide(3, 2), wide_out(2, 3)
  logical(c_bool), target :: truths(3, 2), truths_out(2, 3)
  real(c_float), target :: state(3)
  integer :: i, used(4)

  call get_command_argument(1, folder)
  call pt2_load(trim(folder) // "/dtypes.pt2", model, message, limits="max_work=1000000", reference=.true.)
  call check(message == "")
  call pt2_start(model, session, message, threads=1)
  call check(message == "")
  ints = reshape([1, -2, 3, 4, 5, 2147483647], [3, 2])
  longs = ints * 4000000000_c_int64_t
  shorts = int(mod(ints, 30000), c_int16_t)
  bytes = int(mod(ints, 100), c_int8_t)
  floats = real(ints)
  doubles = ints
  complexes = cmplx(floats, -floats, c_float_complex)
  wide = cmplx(doubles, -doubles, c_double_complex)
  truths = ints > 3
  call pt2_inputs(model, places, message)
  call check(message == "")
  call check(size(places) == 21)
  allocate (inputs(0), outputs(0))
  used = 0
  do i = 1, size(places)
    call check(places(i)%dtype == places(i)%name)
    call check(all(places(i)%sizes == [2, 3]))
    call add(places(i)%dtype)
  end do
  call pt2_run(session, inputs, outputs, message)
  call check(message == "")
  call check(all(used == [7, 4, 3, 2]))
  do i = 1, 7
    call check(all(bytes_out(:, :, i) == transpose(bytes)))
  end do
  do i = 1, 4
    call check(all(shorts_out(:, :, i) == transpose(shorts)))
  end do
  do i = 1, 3
    call check(all(ints_out(:, :, i) == transpose(ints)))
  end do
  do i = 1, 2
    call check(all(longs_out(:, :, i) == transpose(longs)))
  end do
  call check(all(transfer(floats_out, ints) == transfer(transpose(floats), ints)))
  call check(all(transfer(doubles_out, longs) == transfer(transpose(doubles), longs)))
  call check(all(transfer(complexes_out, longs) == transfer(transpose(complexes), longs)))
  call check(all(transfer(wide_out, longs) == transfer(transpose(wide), longs)))
  call check(logical(all(truths_out .eqv. transpose(truths))))

  inputs(12) = pt2_tensor(bytes)
  call pt2_run(session, inputs, outputs, message)
  call check(index(message, "input 'bool'") == 1)
  inputs(12) = pt2_tensor(bytes, "float16")
  call pt2_run(session, inputs, outputs, message)
  call check(index(message, "dtype") > 0)
  call pt2_free(session)
  call pt2_free(session)
  call pt2_free(model)

  call pt2_load(trim(folder) // "/values.pt2", model, message)
  call check(message == "")
  call pt2_outputs(model, places, message)
  call check(message == "")
  call check(places(1)%sizes(1) == -1 .and. places(1)%maximum(1) == 3 .and. places(1)%dtype == "int64")
  call check(places(2)%dtype == "" .and. .not. allocated(places(2)%sizes))
  call pt2_start(model, session, message)
  call check(message == "")
  state = [1, 2, 3]
  call pt2_set_state(session, "total", pt2_tensor(state), message)
  call check(message == "")
  state = 0
  call pt2_get_state(session, "total  ", pt2_tensor(state), message)
  call check(message == "")
  call check(all(nint(state) == [1, 2, 3]))
  call pt2_get_state(session, "total", pt2_tensor(floats), message)
  call check(index(message, "'total'") > 0)
  call pt2_get_state(session, "other", pt2_tensor(state), message)
  call check(index(message, "other") > 0)
  call pt2_free(session)
  call pt2_free(model)
  call pt2_load(trim(folder) // "/values.pt2", model, message, program="other")
  call check(index(message, "other") > 0)
  call pt2_load(trim(folder) // "/values.pt2", model, message, limits="max_fun=1")
  call check(index(message, "max_fun") > 0)

contains

  subroutine check(holds)
    logical, intent(in) :: holds
    if (holds) return
    if (allocated(message)) print "(a)", message
    error stop 1
  end subroutine

  ! Adds an input and an output of the dtype: over arrays of its own type, or of integers of its width.
  subroutine add(dtype)
    character(*), intent(in) :: dtype
    select case (dtype)
    case ("float32")
      call append(pt2_tensor(floats), pt2_tensor(floats_out))
    case ("float64")
      call append(pt2_tensor(doubles), pt2_tensor(doubles_out))
    case ("complex64")
      call append(pt2_tensor(complexes), pt2_tensor(complexes_out))
    case ("complex128")
      call append(pt2_tensor(wide), pt2_tensor(wide_out))
    case ("bool")
      call append(pt2_tensor(truths), pt2_tensor(truths_out))
    case ("int16", "uint16", "float16", "bfloat16")
      used(2) = used(2) + 1
      call append(pt2_tensor(shorts, dtype), pt2_tensor(shorts_out(:, :, used(2)), dtype))
    case ("int32", "uint32", "complex32")
      used(3) = used(3) + 1
      call append(pt2_tensor(ints, dtype), pt2_tensor(ints_out(:, :, used(3)), dtype))
    case ("int64", "uint64")
      used(4) = used(4) + 1
      call append(pt2_tensor(longs, dtype), pt2_tensor(longs_out(:, :, used(4)), dtype))
    case default
      used(1) = used(1) + 1
      call append(pt2_tensor(bytes, dtype), pt2_tensor(bytes_out(:, :, used(1)), dtype))
    end select
  end subroutine

  subroutine append(input, output)
    type(pt2_tensor), intent(in) :: input, output
    inputs = [inputs, input]
    outputs = [outputs, output]
  end subroutine

end program
