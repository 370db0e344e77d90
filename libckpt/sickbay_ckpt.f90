! SPDX-License-Identifier: Apache-2.0
! libsickbay-ckpt for Fortran 2008: a program of a job says what its state is, saves it, and goes on from it.
!
! Compile it with the program and link libsickbay-ckpt:  gfortran sickbay_ckpt.f90 mine.f90 -lsickbay-ckpt
! Each subroutine is the C function of sickbay_ckpt.h with that name (which has the rules), in Fortran's terms: `error` is 0
! or a SICKBAY_CKPT_* number, and ckpt_text(ckpt) says what it means.  What is state has the attribute target.
! Example: sickbay_ckpt_example.f90.
module sickbay_ckpt
  use, intrinsic :: iso_c_binding
  implicit none
  private

  integer, parameter, public :: SICKBAY_CKPT_OK = 0, SICKBAY_CKPT_USAGE = 1, SICKBAY_CKPT_NOT_FOUND = 2
  integer, parameter, public :: SICKBAY_CKPT_DAMAGED = 3, SICKBAY_CKPT_CONFLICT = 4, SICKBAY_CKPT_BUSY = 5
  integer, parameter, public :: SICKBAY_CKPT_TIMED_OUT = 6, SICKBAY_CKPT_FULL = 7, SICKBAY_CKPT_STORAGE = 8
  integer, parameter, public :: SICKBAY_CKPT_TOO_NEW = 9, SICKBAY_CKPT_SYSTEM = 10, SICKBAY_CKPT_TORN = 11
  integer, parameter, public :: SICKBAY_CKPT_INTERNAL = 12

  type, public :: ckpt_handle
    private
    type(c_ptr) :: at = c_null_ptr
  end type

  public :: ckpt_open, ckpt_close, ckpt_memory, ckpt_file, ckpt_restore, ckpt_due, ckpt_save, ckpt_every, ckpt_mttf, ckpt_text

  interface
    function c_open(out, name) bind(C, name="sickbay_ckpt_open") result(code)
      import
      type(c_ptr), intent(out) :: out
      type(c_ptr), value :: name
      integer(c_int) :: code
    end function
    function c_open_as(out, name, rank, ranks, session) bind(C, name="sickbay_ckpt_open_as") result(code)
      import
      type(c_ptr), intent(out) :: out
      type(c_ptr), value :: name, session
      integer(c_long), value :: rank, ranks
      integer(c_int) :: code
    end function
    subroutine c_close(ckpt) bind(C, name="sickbay_ckpt_close")
      import
      type(c_ptr), value :: ckpt
    end subroutine
    function c_memory(ckpt, name, bytes, size) bind(C, name="sickbay_ckpt_memory") result(code)
      import
      type(c_ptr), value :: ckpt, bytes
      character(kind=c_char), intent(in) :: name(*)
      integer(c_size_t), value :: size
      integer(c_int) :: code
    end function
    function c_file(ckpt, pattern) bind(C, name="sickbay_ckpt_file") result(code)
      import
      type(c_ptr), value :: ckpt
      character(kind=c_char), intent(in) :: pattern(*)
      integer(c_int) :: code
    end function
    function c_restore(ckpt, number, label, size) bind(C, name="sickbay_ckpt_restore") result(code)
      import
      type(c_ptr), value :: ckpt
      integer(c_long_long), intent(out) :: number
      character(kind=c_char), intent(out) :: label(*)
      integer(c_size_t), value :: size
      integer(c_int) :: code
    end function
    function c_due(ckpt) bind(C, name="sickbay_ckpt_due") result(due)
      import
      type(c_ptr), value :: ckpt
      integer(c_int) :: due
    end function
    function c_save(ckpt, label) bind(C, name="sickbay_ckpt_save") result(code)
      import
      type(c_ptr), value :: ckpt
      character(kind=c_char), intent(in) :: label(*)
      integer(c_int) :: code
    end function
    function c_every(ckpt, seconds) bind(C, name="sickbay_ckpt_every") result(code)
      import
      type(c_ptr), value :: ckpt
      real(c_double), value :: seconds
      integer(c_int) :: code
    end function
    function c_mttf(ckpt, seconds) bind(C, name="sickbay_ckpt_mttf") result(code)
      import
      type(c_ptr), value :: ckpt
      real(c_double), value :: seconds
      integer(c_int) :: code
    end function
    function c_error(ckpt) bind(C, name="sickbay_ckpt_error") result(text)
      import
      type(c_ptr), value :: ckpt
      type(c_ptr) :: text
    end function
    function c_strlen(text) bind(C, name="strlen") result(length)
      import
      type(c_ptr), value :: text
      integer(c_size_t) :: length
    end function
  end interface

contains

  ! With rank and ranks (as MPI has them) and a session, that is the same on all of them and new for every start; or by
  ! Slurm's environment.
  subroutine ckpt_open(ckpt, error, name, rank, ranks, session)
    type(ckpt_handle), intent(out) :: ckpt
    integer, intent(out) :: error
    character(*), intent(in), optional :: name, session
    integer, intent(in), optional :: rank, ranks
    character(:), allocatable, target :: c_name, c_session
    type(c_ptr) :: name_at, session_at
    name_at = c_null_ptr
    session_at = c_null_ptr
    if (present(name)) then
      c_name = trim(name) // c_null_char
      name_at = c_loc(c_name)
    end if
    if (present(session)) then
      c_session = trim(session) // c_null_char
      session_at = c_loc(c_session)
    end if
    if (present(rank) .and. present(ranks)) then
      error = c_open_as(ckpt%at, name_at, int(rank, c_long), int(ranks, c_long), session_at)
    else
      error = c_open(ckpt%at, name_at)
    end if
  end subroutine

  subroutine ckpt_close(ckpt)
    type(ckpt_handle), intent(inout) :: ckpt
    call c_close(ckpt%at)
    ckpt%at = c_null_ptr
  end subroutine

  ! call ckpt_memory(ckpt, "grid", c_loc(grid), size(grid, kind=c_size_t) * storage_size(grid) / 8, error)
  subroutine ckpt_memory(ckpt, name, at, bytes, error)
    type(ckpt_handle), intent(in) :: ckpt
    character(*), intent(in) :: name
    type(c_ptr), intent(in) :: at
    integer(c_size_t), intent(in) :: bytes
    integer, intent(out) :: error
    error = c_memory(ckpt%at, trim(name) // c_null_char, at, bytes)
  end subroutine

  subroutine ckpt_file(ckpt, pattern, error)
    type(ckpt_handle), intent(in) :: ckpt
    character(*), intent(in) :: pattern
    integer, intent(out) :: error
    error = c_file(ckpt%at, trim(pattern) // c_null_char)
  end subroutine

  ! number 0: there is none yet.
  subroutine ckpt_restore(ckpt, number, error, label)
    type(ckpt_handle), intent(in) :: ckpt
    integer(c_long_long), intent(out) :: number
    integer, intent(out) :: error
    character(:), allocatable, intent(out), optional :: label
    integer(c_size_t), parameter :: room = 256
    character(kind=c_char) :: text(room)
    integer :: i
    error = c_restore(ckpt%at, number, text, room)
    if (.not. present(label)) return
    label = ""
    do i = 1, int(room)
      if (text(i) == c_null_char) exit
      label = label // text(i)
    end do
  end subroutine

  ! On rank 0; elsewhere false: spread it.
  logical function ckpt_due(ckpt)
    type(ckpt_handle), intent(in) :: ckpt
    ckpt_due = c_due(ckpt%at) /= 0
  end function

  subroutine ckpt_save(ckpt, error, label)
    type(ckpt_handle), intent(in) :: ckpt
    integer, intent(out) :: error
    character(*), intent(in), optional :: label
    if (present(label)) then
      error = c_save(ckpt%at, trim(label) // c_null_char)
    else
      error = c_save(ckpt%at, c_null_char)
    end if
  end subroutine

  subroutine ckpt_every(ckpt, seconds, error)
    type(ckpt_handle), intent(in) :: ckpt
    real(c_double), intent(in) :: seconds
    integer, intent(out) :: error
    error = c_every(ckpt%at, seconds)
  end subroutine

  subroutine ckpt_mttf(ckpt, seconds, error)
    type(ckpt_handle), intent(in) :: ckpt
    real(c_double), intent(in) :: seconds
    integer, intent(out) :: error
    error = c_mttf(ckpt%at, seconds)
  end subroutine

  ! What the last call that failed was told; of a handle that could not be opened: why.
  function ckpt_text(ckpt) result(text)
    type(ckpt_handle), intent(in) :: ckpt
    character(:), allocatable :: text
    character(kind=c_char), pointer :: chars(:)
    type(c_ptr) :: at
    integer(c_size_t) :: i, length
    at = c_error(ckpt%at)
    length = c_strlen(at)
    call c_f_pointer(at, chars, [length])
    allocate (character(length) :: text)
    do i = 1, length
      text(i:i) = chars(i)
    end do
  end function

end module sickbay_ckpt
