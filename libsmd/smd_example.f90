! SPDX-License-Identifier: Apache-2.0
! What a program does between two steps: which nodes are faulty, another for each, else on without it.
! Prints what it did and ends with 0 where the job may go on.
program smd_example
  use smd
  implicit none
  type(smd_node), allocatable :: nodes(:)
  type(smd_replaced) :: replaced
  type(smd_node_set) :: set
  integer :: job, error, i

  job = smd_this_job()
  call smd_faulty_nodes(job, nodes, error)
  if (error /= 0) call give_up()
  print "(a, i0, a, i0, a)", "job ", job, " has ", size(nodes), " faulty nodes"
  do i = 1, size(nodes)
    call smd_replace(job, nodes(i)%name, replaced, error)
    if (error == 0 .and. allocated(replaced%replacement)) then
      print "(6a, i0)", nodes(i)%name, " replaced by ", replaced%replacement, ", nodes ", replaced%set%nodelist, " ", &
        replaced%set%count
      cycle
    end if
    if (error == 0) then
      print "(3a, i0)", nodes(i)%name, " could be replaced", " at ", replaced%when_available
    else
      print "(3a)", nodes(i)%name, ": ", smd_text(error)
    end if
    call smd_drop(job, nodes(i)%name, set, error)
    if (error /= 0) call give_up()
    print "(4a, i0)", nodes(i)%name, " dropped, nodes ", set%nodelist, " ", set%count
    call smd_extend(job, 0, error)
    if (error /= 0) print "(2a)", "no more time: ", smd_text(error)
  end do

contains

  subroutine give_up()
    print "(a)", smd_text(error)
    stop 1
  end subroutine

end program smd_example
