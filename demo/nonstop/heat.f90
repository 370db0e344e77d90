! SPDX-License-Identifier: Apache-2.0
! heat_fortran: heat.c in Fortran 2008, by libsmd's module (smd.f90).
!
!     heat_fortran FOLDER [STEPS=2000] [SIZE=256] [EVERY=100]
!
! The same sums in the same order and the same checkpoint, so that either program goes on from what the other has saved,
! and both have one result.  What happens when a node fails, and how to try it: heat.c.  A band is columns here, for
! that is how Fortran's arrays lie.
program heat_fortran
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: error_unit, output_unit, int64, real64
  use mpi_f08
  use smd
  implicit none

  integer, parameter :: GO_ON_LATER = 75     ! exit code: this step is over, the work is not
  integer, parameter :: HEAR_FIRST = 200     ! milliseconds for the first event of a stream
  integer, parameter :: WAIT_FOR_NODE = 300  ! seconds for a replacement; then the node is dropped
  real(real64), parameter :: LOOK_EVERY = 0.05_real64

  interface
    function c_rename(from, to) bind(C, name="rename") result(code)
      import
      character(kind=c_char), intent(in) :: from(*), to(*)
      integer(c_int) :: code
    end function
    function c_raise(signal) bind(C, name="raise") result(code)
      import
      integer(c_int), value :: signal
      integer(c_int) :: code
    end function
    function c_sleep(seconds) bind(C, name="sleep") result(left)
      import
      integer(c_int), value :: seconds
      integer(c_int) :: left
    end function
    function c_alarm(seconds) bind(C, name="alarm") result(left)
      import
      integer(c_int), value :: seconds
      integer(c_int) :: left
    end function
  end interface

  integer :: rank, ranks, n, first, columns, steps, every, r
  integer(int64) :: step
  character(:), allocatable :: folder
  real(real64), allocatable, asynchronous :: band(:, :), next(:, :), square(:, :)
  integer, allocatable :: counts(:), places(:)
  logical :: leave, nodes_failing = .false.

  ! Rank 0 and the job's nodes.
  integer :: job = 0  ! 0: not in a job
  type(smd_stream) :: stream
  logical :: is_open = .false.
  integer(int64) :: last_event = 0
  real(real64) :: look_at = 0, open_at = 0

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  folder = word(1, "")
  steps = number(2, 2000)
  n = number(3, 256)
  every = number(4, 100)
  if (len(folder) == 0 .or. steps < 1 .or. n < 4 .or. n > 20000 .or. every < 1 .or. ranks > n) then
    if (rank == 0) write (error_unit, "(a)") "usage: heat_fortran FOLDER [STEPS] [SIZE] [EVERY]   (at most SIZE ranks)"
    call MPI_Finalize()
    stop 64
  end if
  if (rank == 0) job = smd_this_job()

  first = first_column(rank)
  columns = first_column(rank + 1) - first
  allocate (band(n, 0:columns + 1), next(n, 0:columns + 1), source=0.0_real64)
  if (rank == 0) then
    allocate (square(n, n))
  else
    allocate (square(0, 0))
  end if
  counts = [((first_column(r + 1) - first_column(r)) * n, r=0, ranks - 1)]
  places = [(first_column(r) * n, r=0, ranks - 1)]
  step = 0
  if (rank == 0) call load()
  call MPI_Bcast(step, 1, MPI_INTEGER8, 0, MPI_COMM_WORLD)
  call MPI_Scatterv(square, counts, places, MPI_DOUBLE_PRECISION, band(:, 1:columns), counts(rank + 1), &
                    MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD)
  if (rank == 0) print "(a, i0, a, i0, a, i0)", "heat_fortran: ", ranks, " ranks, from step ", step, " of ", steps

  leave = .false.
  do while (step < steps .and. .not. leave)
    if (rank == 0) call look_at_events()
    call exchange()
    call spread_heat()
    step = step + 1
    call die_for_the_trial()
    if (mod(step, int(every, int64)) /= 0 .and. step /= steps) cycle
    call gather()
    if (rank == 0 .and. step == steps) call save_as("result")
    if (rank == 0 .and. step /= steps) call save_as("checkpoint")
    call agree()
  end do

  if (rank == 0 .and. leave) then
    if (care_for(SMD_FAILING)) print "(a)", "heat_fortran: failing nodes were cared for"
  end if
  if (rank == 0) print "(3a, i0)", "heat_fortran: ", trim(merge("leaves", "done  ", leave)), " at step ", step
  if (is_open) call smd_close(stream)
  ! MPICH 4.0.2 over UCX can hang in MPI_Finalize when ranks enter it apart: the barrier brings them together, and
  ! whoever hangs all the same is ended after two seconds, for all has been saved.
  flush (output_unit)
  call MPI_Barrier(MPI_COMM_WORLD)
  r = c_alarm(2)
  call MPI_Finalize()
  r = c_alarm(0)
  if (leave) stop GO_ON_LATER

contains

  ! ---- rank 0 and the job's nodes ----

  ! The job's new nodes, for the next step.
  subroutine write_nodes(set)
    type(smd_node_set), intent(in) :: set
    integer :: unit
    if (.not. allocated(set%nodelist)) return
    if (len(set%nodelist) == 0) return
    open (newunit=unit, file=folder // "/nodes.sh.new", status="replace", action="write")
    write (unit, "(3a)") "export SLURM_NODELIST='", set%nodelist, "'"
    write (unit, "(3a)") "export SLURM_JOB_NODELIST='", set%nodelist, "'"
    write (unit, "(a, i0)") "export SLURM_NNODES=", set%count
    write (unit, "(a, i0)") "export SLURM_JOB_NUM_NODES=", set%count
    if (allocated(set%cpus_per_node)) write (unit, "(3a)") "export SLURM_JOB_CPUS_PER_NODE='", set%cpus_per_node, "'"
    write (unit, "(a)") "unset SLURM_TASKS_PER_NODE"
    close (unit)
    call move("nodes.sh.new", "nodes.sh")
  end subroutine

  ! Another node for this one, or on without it.
  subroutine replace_or_drop(node)
    character(*), intent(in) :: node
    type(smd_replaced) :: replaced
    type(smd_node_set) :: set
    integer :: error, left
    real(real64) :: until
    until = MPI_Wtime() + WAIT_FOR_NODE
    do while (MPI_Wtime() < until)
      call smd_replace(job, node, replaced, error)
      if (error /= 0) then
        write (error_unit, "(2a)") "heat_fortran: no replacement: ", smd_text(error)
        exit
      end if
      if (allocated(replaced%replacement)) then
        print "(4a)", "heat_fortran: node ", node, " replaced by ", replaced%replacement
        call write_nodes(replaced%set)
        return
      end if
      left = c_sleep(1)  ! later: ask again
    end do
    call smd_drop(job, node, set, error)
    if (error /= 0) then
      write (error_unit, "(2a)") "heat_fortran: the node cannot be dropped: ", smd_text(error)
      return  ! nonstop.sh tries once more when the step has ended
    end if
    print "(3a)", "heat_fortran: node ", node, " dropped"
    call write_nodes(set)
  end subroutine

  logical function any_faulty(state)
    integer, intent(in) :: state
    type(smd_node), allocatable :: nodes(:)
    integer :: error
    any_faulty = .false.
    call smd_faulty_nodes(job, nodes, error)
    if (error == 0) any_faulty = any(nodes%state == state)
  end function

  ! Cares for the job's faulty nodes of this state; whether there were any.
  logical function care_for(state)
    integer, intent(in) :: state
    type(smd_node), allocatable :: nodes(:)
    integer :: error, i
    care_for = .false.
    call smd_faulty_nodes(job, nodes, error)
    if (error /= 0) return
    do i = 1, size(nodes)
      if (nodes(i)%state /= state) cycle
      care_for = .true.
      call replace_or_drop(nodes(i)%name)
    end do
  end function

  ! Looks at the events; does not return where a node has failed.
  subroutine look_at_events()
    type(smd_event) :: event
    logical :: found, failed, failing
    integer :: error, patience
    real(real64) :: now
    now = MPI_Wtime()
    if (job == 0 .or. now < look_at) return
    look_at = now + LOOK_EVERY
    patience = 0
    if (.not. is_open) then
      if (now < open_at) return
      open_at = now + 1
      call smd_open(job, last_event, stream, error)
      is_open = error == 0
      if (.not. is_open) return
      patience = HEAR_FIRST  ! what has happened so far comes at once, and should be known before the work begins
    end if
    failed = .false.
    failing = .false.
    do
      call smd_next(stream, event, found, patience, error)
      if (.not. found) exit
      patience = 0
      last_event = event%number
      failed = failed .or. event%type == SMD_EVENT_FAILED
      failing = failing .or. event%type == SMD_EVENT_FAILING
    end do
    if (error /= 0) then  ! the service went away: again from the last number on, in a second
      call smd_close(stream)
      is_open = .false.
    end if
    if (failing) then
      if (any_faulty(SMD_FAILING)) nodes_failing = .true.
    end if
    if (.not. failed) return
    if (.not. care_for(SMD_FAILED)) return
    print "(a)", "heat_fortran: a node has failed; the next step goes on from the checkpoint"
    flush (output_unit)
    call MPI_Abort(MPI_COMM_WORLD, GO_ON_LATER)  ! the other ranks wait for one that is gone
    stop GO_ON_LATER
  end subroutine

  ! MPI_Waitall that sees events.
  subroutine wait_all(count, requests)
    integer, intent(in) :: count
    type(MPI_Request), intent(inout) :: requests(*)
    logical :: done
    if (rank /= 0 .or. job == 0) then
      call MPI_Waitall(count, requests, MPI_STATUSES_IGNORE)
      return
    end if
    do
      call MPI_Testall(count, requests, done, MPI_STATUSES_IGNORE)
      if (done) return
      call look_at_events()
    end do
  end subroutine

  ! ---- the work ----

  integer function first_column(of)  ! from 0
    integer, intent(in) :: of
    first_column = n / ranks * of + min(of, mod(n, ranks))
  end function

  subroutine spread_heat()
    integer :: i, j, column
    real(real64) :: around
    do j = 1, columns
      column = first + j - 1
      do i = 1, n
        if (column == 0 .or. column == n - 1 .or. i == 1 .or. i == n) then
          next(i, j) = band(i, j)
        else
          around = ((band(i, j - 1) + band(i, j + 1)) + band(i - 1, j)) + band(i + 1, j)
          next(i, j) = band(i, j) + 0.2_real64 * (around - 4.0_real64 * band(i, j))
        end if
      end do
    end do
    band(:, 1:columns) = next(:, 1:columns)
  end subroutine

  subroutine exchange()
    type(MPI_Request) :: requests(4)
    integer :: count
    count = 0
    if (rank > 0) then
      call MPI_Irecv(band(1, 0), n, MPI_DOUBLE_PRECISION, rank - 1, 0, MPI_COMM_WORLD, requests(count + 1))
      call MPI_Isend(band(1, 1), n, MPI_DOUBLE_PRECISION, rank - 1, 1, MPI_COMM_WORLD, requests(count + 2))
      count = count + 2
    end if
    if (rank < ranks - 1) then
      call MPI_Irecv(band(1, columns + 1), n, MPI_DOUBLE_PRECISION, rank + 1, 1, MPI_COMM_WORLD, requests(count + 1))
      call MPI_Isend(band(1, columns), n, MPI_DOUBLE_PRECISION, rank + 1, 0, MPI_COMM_WORLD, requests(count + 2))
      count = count + 2
    end if
    call wait_all(count, requests)
  end subroutine

  subroutine gather()
    type(MPI_Request) :: requests(1)
    call MPI_Igatherv(band(1, 1), counts(rank + 1), MPI_DOUBLE_PRECISION, square, counts, places, MPI_DOUBLE_PRECISION, &
                      0, MPI_COMM_WORLD, requests(1))
    call wait_all(1, requests)
  end subroutine

  ! All leave where rank 0 says so.
  subroutine agree()
    type(MPI_Request) :: requests(1)
    logical, asynchronous :: word_of_rank_0
    word_of_rank_0 = rank == 0 .and. nodes_failing .and. step < steps
    call MPI_Ibcast(word_of_rank_0, 1, MPI_LOGICAL, 0, MPI_COMM_WORLD, requests(1))
    call wait_all(1, requests)
    leave = word_of_rank_0
  end subroutine

  ! ---- checkpoint: two numbers (step, size), the square, the step again ----

  subroutine save_as(name)
    character(*), intent(in) :: name
    integer :: unit, code
    open (newunit=unit, file=folder // "/" // name // ".new", access="stream", form="unformatted", status="replace", &
          action="write", iostat=code)
    if (code == 0) write (unit, iostat=code) step, int(n, int64), square, step
    if (code == 0) close (unit, iostat=code)
    if (code /= 0) then
      write (error_unit, "(4a)") "heat_fortran: cannot write ", folder, "/", name
      call MPI_Abort(MPI_COMM_WORLD, 1)
    end if
    call move(name // ".new", name)  ! whole, or as it was
  end subroutine

  ! The checkpoint, or the square as it is at first.
  subroutine load()
    integer :: unit, code
    integer(int64) :: of_size, tail
    open (newunit=unit, file=folder // "/checkpoint", access="stream", form="unformatted", status="old", &
          action="read", iostat=code)
    if (code == 0) then
      tail = -1
      read (unit, iostat=code) step, of_size
      if (code == 0 .and. of_size == n) read (unit, iostat=code) square, tail
      close (unit)
      if (code == 0 .and. tail == step) return
      write (error_unit, "(2a)") "heat_fortran: the checkpoint is of another size or broken: from the start"
    end if
    step = 0
    square = 0
    square(:, 1) = 100  ! the hot side
  end subroutine

  subroutine move(from, to)
    character(*), intent(in) :: from, to
    if (c_rename(folder // "/" // from // c_null_char, folder // "/" // to // c_null_char) /= 0) then
      write (error_unit, "(4a)") "heat_fortran: cannot rename to ", folder, "/", to
      call MPI_Abort(MPI_COMM_WORLD, 1)
    end if
  end subroutine

  subroutine die_for_the_trial()
    character(64) :: text
    integer :: length, code, at, who, signal, i, unit
    call get_environment_variable("HEAT_DIE", text, length, code)
    if (code /= 0) return
    do i = 1, len_trim(text)
      if (text(i:i) == ":") text(i:i) = " "
    end do
    read (text, *, iostat=code) at, who, signal
    if (code /= 0 .or. step /= at .or. rank /= who) return
    open (newunit=unit, file=folder // "/died", status="new", iostat=code)  ! once only
    if (code /= 0) return
    close (unit)
    code = c_raise(int(signal, c_int))
  end subroutine

  function word(at, fallback) result(text)
    integer, intent(in) :: at
    character(*), intent(in) :: fallback
    character(:), allocatable :: text
    integer :: length
    text = fallback
    if (at > command_argument_count()) return
    call get_command_argument(at, length=length)
    deallocate (text)
    allocate (character(length) :: text)
    call get_command_argument(at, text)
  end function

  integer function number(at, fallback)
    integer, intent(in) :: at, fallback
    character(:), allocatable :: text
    integer :: code
    number = fallback
    text = word(at, "")
    if (len(text) == 0) return
    read (text, *, iostat=code) number
    if (code /= 0) number = -1
  end function

end program heat_fortran
