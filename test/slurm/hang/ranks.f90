! SPDX-License-Identifier: Apache-2.0
! ranks KIND, in Fortran: the programs of ranks.h that hang.
module state
  integer :: rank, size
end module state

subroutine exchange(wait)
  use mpi
  use state
  logical, intent(in) :: wait
  integer :: got, total, ierr, status(MPI_STATUS_SIZE)
  if (wait) then
    call MPI_Recv(got, 1, MPI_INTEGER, 0, 77, MPI_COMM_WORLD, status, ierr)
  else
    call MPI_Allreduce(rank, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  end if
end subroutine exchange

subroutine disorder()
  use mpi
  use state
  integer :: value, ierr
  value = rank
  if (mod(rank, 2) == 1) then
    call MPI_Bcast(value, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
  else
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
  end if
end subroutine disorder

subroutine work(x)
  double precision, intent(inout) :: x
  integer :: i
  do
    do i = 1, 1000000
      x = x + 1.0d0 / (i * x)
    end do
    if (x < 0) exit
  end do
end subroutine work

program ranks
  use mpi
  use state
  integer :: ierr, i, total
  double precision :: x
  character(len=16) :: kind
  call get_command_argument(1, kind)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierr)
  do i = 1, 1000
    call MPI_Allreduce(rank, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  end do
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  if (rank == 0) then
    call execute_command_line("date +'stage %s%6N'")
  end if
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  x = 1
  if (kind == "recv") call exchange(rank == min(3, size - 1))
  if (kind == "order") call disorder()
  if (kind == "loop" .and. rank == 1) call work(x)
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  if (rank == 0) print *, "done", x
  call MPI_Finalize(ierr)
end program ranks
