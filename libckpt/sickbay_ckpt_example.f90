! SPDX-License-Identifier: Apache-2.0
! A program of one process that adds up, and goes on after a fault from what it has saved.  (With MPI: ckpt_open with rank,
! ranks and a session, and MPI_Bcast of what ckpt_due says; demo/checkpoint/wave.c of the source.)
program sickbay_ckpt_example
  use, intrinsic :: iso_c_binding
  use sickbay_ckpt
  implicit none
  integer, parameter :: steps = 10
  real(c_double), target :: sums(100, 2)
  integer, target :: step
  type(ckpt_handle) :: ckpt
  integer :: error, last, i
  integer(c_long_long) :: number
  character(:), allocatable :: label
  character(20) :: text

  sums = 0
  step = 0
  call get_command_argument(1, text)  ! ends after so many steps, as a fault would
  last = steps
  if (len_trim(text) > 0) read (text, *) last

  call ckpt_open(ckpt, error)
  if (error /= 0) call give_up()
  call ckpt_memory(ckpt, "sums", c_loc(sums), size(sums, kind=c_size_t) * storage_size(sums) / 8, error)
  if (error /= 0) call give_up()
  call ckpt_memory(ckpt, "step", c_loc(step), int(storage_size(step) / 8, c_size_t), error)
  if (error /= 0) call give_up()
  call ckpt_every(ckpt, 1e-6_c_double, error)
  if (error /= 0) call give_up()
  call ckpt_restore(ckpt, number, error, label)
  if (error /= 0) call give_up()
  print "(a, i0, 3a)", "from step ", step, " (", label, ")"

  do while (step < last)
    step = step + 1
    do i = 1, 100
      sums(i, 1) = sums(i, 1) + 1d0 / (i + step)
      sums(i, 2) = sums(i, 2) + sums(i, 1)
    end do
    do while (.not. ckpt_due(ckpt))  ! (a program does not wait for it)
    end do
    write (text, "(a, i0)") "step ", step
    call ckpt_save(ckpt, error, text)
    if (error /= 0) call give_up()
  end do
  print "(a, i0, a, es23.16)", "step ", step, " sum ", sum(sums)
  call ckpt_close(ckpt)

contains

  subroutine give_up()
    print "(a)", ckpt_text(ckpt)
    stop 1
  end subroutine

end program sickbay_ckpt_example
