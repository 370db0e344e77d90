! SPDX-License-Identifier: Apache-2.0
! libsmd for Fortran 2008: what became of a running job's nodes, and others instead of those it lost.
!
! Compile it with the program and link libsmd:  gfortran smd.f90 mine.f90 -lsmd
! Each subroutine is the C function of smd.h with that name (which has the rules), in Fortran's terms: texts are
! deferred-length characters, what C allocated is freed here, and `error` is 0, an ENSTOP_* number, or a system's errno;
! smd_text(error) says what it means.  Example: smd_example.f90.
module smd
  use, intrinsic :: iso_c_binding
  implicit none
  private

  integer, parameter, public :: SMD_FAILED = 2, SMD_FAILING = 4
  integer, parameter, public :: SMD_EVENT_FAILED = 2, SMD_EVENT_FAILING = 4, SMD_EVENT_REPLACE = 8
  integer, parameter, public :: SMD_EVENT_DROPPED = 16, SMD_EVENT_EXTENDED = 32, SMD_EVENT_ENDED = 64
  integer, parameter, public :: ENSTOP_CONFIG = 1000, ENSTOP_NETIO = 1001, ENSTOP_INVALCMD = 1002, ENSTOP_UPNODE = 1003
  integer, parameter, public :: ENSTOP_JOBID = 1004, ENSTOP_PORT = 1005, ENSTOP_UID = 1006, ENSTOP_JOBNOTRUN = 1007
  integer, parameter, public :: ENSTOP_NOHOST = 1008, ENSTOP_NODENOTFAILED = 1009, ENSTOP_NODENOTINJOB = 1010
  integer, parameter, public :: ENSTOP_REPLACELATER = 1011, ENSTOP_REPLACEPENDING = 1012, ENSTOP_MAXSPARECOUNT = 1013
  integer, parameter, public :: ENSTOP_NODEREPLACEFAILED = 1014, ENSTOP_NOINCREASETIMELIMIT = 1015
  integer, parameter, public :: ENSTOP_TIMEOVERLIMIT = 1016, ENSTOP_JOBUPDATE = 1017, ENSTOP_DECODEHEADER = 1018
  integer, parameter, public :: ENSTOP_UNKWNCTRLMSG = 1019, ENSTOP_PROTOCOL = 1020, ENSTOP_NONODEFAIL = 1021
  integer, parameter, public :: ENSTOP_PERM = 1022, ENSTOP_MUNGE = 1023, ENSTOP_TIMEOUT = 1024, ENSTOP_ARGS = 1025

  type, public :: smd_node
    character(:), allocatable :: name
    integer :: cpus = 0   ! that the job has (had) on it
    integer :: state = 0  ! SMD_FAILED, SMD_FAILING; 0: not told
  end type

  type, public :: smd_node_set
    character(:), allocatable :: nodelist       ! for SLURM_JOB_NODELIST
    integer :: count = 0
    character(:), allocatable :: cpus_per_node  ! for SLURM_JOB_CPUS_PER_NODE
  end type

  type, public :: smd_replaced
    character(:), allocatable :: replacement  ! not allocated: later, ask again
    integer(c_long) :: when_available = 0     ! seconds since 1970; 0: not known
    type(smd_node_set) :: set
  end type

  type, public :: smd_job_info
    type(smd_node), allocatable :: nodes(:)
    integer :: pending_job_delay = 0  ! minutes
    integer :: pending_job_id = 0
    character(:), allocatable :: pending_node
    integer :: replaced = 0
    integer :: time_extend_avail = 0  ! minutes
  end type

  type, public :: smd_event
    integer(c_int64_t) :: number = 0
    integer :: type = 0               ! SMD_EVENT_*; 0: see name
    character(:), allocatable :: name
    integer(c_int64_t) :: at = 0      ! microseconds since 1970
    type(smd_node), allocatable :: nodes(:), by(:)  ! names only
  end type

  type, public :: smd_stream
    private
    type(c_ptr) :: handle = c_null_ptr
  end type

  public :: smd_faulty_nodes, smd_drain, smd_replace, smd_replace_all, smd_drop, smd_extend, smd_info, smd_text
  public :: smd_register, smd_wait, smd_open, smd_next, smd_close, smd_this_job

  ! ---- smd.h, as it lies in memory ----
  type, bind(C) :: c_node_state
    type(c_ptr) :: name
    integer(c_int) :: cpus, state
  end type
  type, bind(C) :: c_set
    type(c_ptr) :: nodelist
    integer(c_int) :: count
    type(c_ptr) :: cpus_per_node
  end type
  type, bind(C) :: c_faulty_request
    integer(c_int32_t) :: job_id
    integer(c_int16_t) :: options
  end type
  type, bind(C) :: c_faulty_reply
    integer(c_int32_t) :: job_id
    integer(c_int) :: num
    type(c_ptr) :: nodes
  end type
  type, bind(C) :: c_drain_request
    integer(c_int32_t) :: job_id
    type(c_ptr) :: node, reason
    integer(c_long) :: timeout
  end type
  type, bind(C) :: c_node_request
    integer(c_int32_t) :: job_id
    type(c_ptr) :: node
  end type
  type, bind(C) :: c_replace_reply
    integer(c_int32_t) :: job_id
    type(c_ptr) :: failed, replacement
    integer(c_long) :: when_available
    type(c_set) :: new_set
  end type
  type, bind(C) :: c_drop_reply
    integer(c_int32_t) :: job_id
    type(c_ptr) :: node
    type(c_set) :: new_set
  end type
  type, bind(C) :: c_two
    integer(c_int32_t) :: job_id, minutes
  end type
  type, bind(C) :: c_job_reply
    integer(c_int32_t) :: job_id, count
    type(c_ptr) :: nodes
    integer(c_int32_t) :: pending_job_delay, pending_job_id
    type(c_ptr) :: pending_node
    integer(c_int32_t) :: replaced, time_extend_avail
  end type
  type, bind(C) :: c_node_event
    integer(c_int) :: event_type
    type(c_ptr) :: event
  end type
  type, bind(C) :: c_event
    integer(c_int64_t) :: number
    integer(c_int) :: event_type
    type(c_ptr) :: name
    integer(c_int64_t) :: at
    integer(c_int) :: node_cnt
    type(c_ptr) :: nodes
    integer(c_int) :: by_cnt
    type(c_ptr) :: by
  end type

  interface
    function errno_location() bind(C, name="__errno_location") result(place)
      import
      type(c_ptr) :: place
    end function
    function c_strlen(text) bind(C, name="strlen") result(length)
      import
      type(c_ptr), value :: text
      integer(c_size_t) :: length
    end function
    function c_errstr(number) bind(C, name="smd_nonstop_errstr") result(text)
      import
      integer(c_int), value :: number
      type(c_ptr) :: text
    end function
    function c_why() bind(C, name="smd_nonstop_why") result(text)
      import
      type(c_ptr) :: text
    end function
    function c_faulty(request, reply) bind(C, name="smd_get_job_faulty_nodes") result(code)
      import
      type(c_faulty_request) :: request
      type(c_faulty_reply) :: reply
      integer(c_int) :: code
    end function
    subroutine c_free_faulty(reply) bind(C, name="smd_free_job_faulty_nodes_reply")
      import
      type(c_faulty_reply) :: reply
    end subroutine
    function c_drain(request) bind(C, name="smd_drain_job_node") result(code)
      import
      type(c_drain_request) :: request
      integer(c_int) :: code
    end function
    function c_replace(request, reply) bind(C, name="smd_replace_job_node") result(code)
      import
      type(c_node_request) :: request
      type(c_replace_reply) :: reply
      integer(c_int) :: code
    end function
    subroutine c_free_replace(reply) bind(C, name="smd_free_replace_job_node_reply")
      import
      type(c_replace_reply) :: reply
    end subroutine
    function c_replace_all(request, reply) bind(C, name="smd_replace_job_nodes") result(code)
      import
      type(c_node_request) :: request
      type(c_replace_reply) :: reply
      integer(c_int) :: code
    end function
    subroutine c_free_replace_all(reply) bind(C, name="smd_free_replace_job_nodes_reply")
      import
      type(c_replace_reply) :: reply
    end subroutine
    function c_drop(request, reply) bind(C, name="smd_drop_job_node") result(code)
      import
      type(c_node_request) :: request
      type(c_drop_reply) :: reply
      integer(c_int) :: code
    end function
    subroutine c_free_drop(reply) bind(C, name="smd_free_drop_job_node_reply")
      import
      type(c_drop_reply) :: reply
    end subroutine
    function c_extend(request) bind(C, name="smd_extend_job_time") result(code)
      import
      type(c_two) :: request
      integer(c_int) :: code
    end function
    function c_info(request, reply) bind(C, name="smd_nonstop_get_failed_jobinfo") result(code)
      import
      integer(c_int32_t) :: request
      type(c_job_reply) :: reply
      integer(c_int) :: code
    end function
    subroutine c_free_info(reply) bind(C, name="smd_nonstop_free_failed_jobinfo")
      import
      type(c_job_reply) :: reply
    end subroutine
    function c_register(job_id) bind(C, name="smd_register4nodevent") result(code)
      import
      integer(c_int32_t), value :: job_id
      integer(c_int) :: code
    end function
    function c_wait(job_id, event, timeout) bind(C, name="smd_wait4nodevent") result(code)
      import
      integer(c_int32_t), value :: job_id
      type(c_node_event) :: event
      integer(c_int), value :: timeout
      integer(c_int) :: code
    end function
    function c_open(job_id, after) bind(C, name="smd_open_events") result(handle)
      import
      integer(c_int32_t), value :: job_id
      integer(c_int64_t), value :: after
      type(c_ptr) :: handle
    end function
    function c_next(handle, event, timeout) bind(C, name="smd_next_event") result(code)
      import
      type(c_ptr), value :: handle
      type(c_event) :: event
      integer(c_int), value :: timeout
      integer(c_int) :: code
    end function
    subroutine c_free_event(event) bind(C, name="smd_free_event")
      import
      type(c_event) :: event
    end subroutine
    subroutine c_close(handle) bind(C, name="smd_close_events")
      import
      type(c_ptr), value :: handle
    end subroutine
  end interface

contains

  ! The job that this program runs in, by SLURM_JOB_ID; 0: none.
  integer function smd_this_job()
    character(20) :: text
    integer :: status
    smd_this_job = 0
    call get_environment_variable("SLURM_JOB_ID", text, status=status)
    if (status == 0) read (text, *, iostat=status) smd_this_job
  end function

  ! What an error means, and what more was said of it.
  function smd_text(error) result(text)
    integer, intent(in) :: error
    character(:), allocatable :: text, why
    call from_c(c_why(), why)
    call from_c(c_errstr(int(error, c_int)), text)
    if (len(why) > 0) text = text // ": " // why
  end function

  subroutine smd_faulty_nodes(job_id, nodes, error)
    integer, intent(in) :: job_id
    type(smd_node), allocatable, intent(out) :: nodes(:)
    integer, intent(out) :: error
    type(c_faulty_reply) :: reply
    type(c_faulty_request) :: request
    request = c_faulty_request(job_id, int(SMD_FAILED + SMD_FAILING, c_int16_t))
    error = error_of(c_faulty(request, reply))
    if (error /= 0) return
    call nodes_from_c(reply%nodes, int(reply%num), nodes)
    call c_free_faulty(reply)
  end subroutine

  subroutine smd_drain(job_id, nodes, reason, error)
    integer, intent(in) :: job_id
    character(*), intent(in) :: nodes, reason
    integer, intent(out) :: error
    character(:, c_char), allocatable, target :: node, why
    type(c_drain_request) :: request
    node = trim(nodes) // c_null_char
    why = trim(reason) // c_null_char
    request = c_drain_request(job_id, c_loc(node), c_loc(why), 0)
    error = error_of(c_drain(request))
  end subroutine

  subroutine smd_replace(job_id, node, replaced, error)
    integer, intent(in) :: job_id
    character(*), intent(in) :: node
    type(smd_replaced), intent(out) :: replaced
    integer, intent(out) :: error
    character(:, c_char), allocatable, target :: name
    type(c_node_request) :: request
    type(c_replace_reply) :: reply
    name = trim(node) // c_null_char
    request = c_node_request(job_id, c_loc(name))
    error = error_of(c_replace(request, reply))
    if (error /= 0) return
    call replaced_from_c(reply, replaced)
    call c_free_replace(reply)
  end subroutine

  ! Several at once, a hostlist: all, or none.
  subroutine smd_replace_all(job_id, nodes, replaced, error)
    integer, intent(in) :: job_id
    character(*), intent(in) :: nodes
    type(smd_replaced), intent(out) :: replaced
    integer, intent(out) :: error
    character(:, c_char), allocatable, target :: names
    type(c_node_request) :: request
    type(c_replace_reply) :: reply
    names = trim(nodes) // c_null_char
    request = c_node_request(job_id, c_loc(names))
    error = error_of(c_replace_all(request, reply))
    if (error /= 0) return
    call replaced_from_c(reply, replaced)
    call c_free_replace_all(reply)
  end subroutine

  subroutine smd_drop(job_id, node, set, error)
    integer, intent(in) :: job_id
    character(*), intent(in) :: node
    type(smd_node_set), intent(out) :: set
    integer, intent(out) :: error
    character(:, c_char), allocatable, target :: name
    type(c_node_request) :: request
    type(c_drop_reply) :: reply
    name = trim(node) // c_null_char
    request = c_node_request(job_id, c_loc(name))
    error = error_of(c_drop(request, reply))
    if (error /= 0) return
    call set_from_c(reply%new_set, set)
    call c_free_drop(reply)
  end subroutine

  ! minutes 0: all the credit.
  subroutine smd_extend(job_id, minutes, error)
    integer, intent(in) :: job_id, minutes
    integer, intent(out) :: error
    type(c_two) :: request
    request = c_two(job_id, minutes)
    error = error_of(c_extend(request))
  end subroutine

  subroutine smd_info(job_id, info, error)
    integer, intent(in) :: job_id
    type(smd_job_info), intent(out) :: info
    integer, intent(out) :: error
    integer(c_int32_t) :: request
    type(c_job_reply) :: reply
    request = job_id
    error = error_of(c_info(request, reply))
    if (error /= 0) return
    call nodes_from_c(reply%nodes, int(reply%count), info%nodes)
    info%pending_job_delay = reply%pending_job_delay
    info%pending_job_id = reply%pending_job_id
    call from_c(reply%pending_node, info%pending_node)
    info%replaced = reply%replaced
    info%time_extend_avail = reply%time_extend_avail
    call c_free_info(reply)
  end subroutine

  subroutine smd_register(job_id, error)
    integer, intent(in) :: job_id
    integer, intent(out) :: error
    error = error_of(c_register(job_id))
  end subroutine

  ! event 0: none within timeout_ms (< 0: for ever).
  subroutine smd_wait(job_id, event, timeout_ms, error)
    integer, intent(in) :: job_id, timeout_ms
    integer, intent(out) :: event, error
    type(c_node_event) :: got
    error = error_of(c_wait(job_id, got, timeout_ms))
    event = 0
    if (error == 0) event = got%event_type
  end subroutine

  subroutine smd_open(job_id, after, stream, error)
    integer, intent(in) :: job_id
    integer(c_int64_t), intent(in) :: after
    type(smd_stream), intent(out) :: stream
    integer, intent(out) :: error
    error = 0
    stream%handle = c_open(job_id, after)
    if (.not. c_associated(stream%handle)) error = error_of(-1_c_int)
  end subroutine

  ! found is false where there was none within timeout_ms (< 0: for ever).
  subroutine smd_next(stream, event, found, timeout_ms, error)
    type(smd_stream), intent(in) :: stream
    type(smd_event), intent(out) :: event
    logical, intent(out) :: found
    integer, intent(in) :: timeout_ms
    integer, intent(out) :: error
    type(c_event) :: got
    integer(c_int) :: code
    code = c_next(stream%handle, got, int(timeout_ms, c_int))
    error = error_of(code)
    found = code > 0
    if (.not. found) return
    event%number = got%number
    event%type = got%event_type
    event%at = got%at
    call from_c(got%name, event%name)
    call names_from_c(got%nodes, int(got%node_cnt), event%nodes)
    call names_from_c(got%by, int(got%by_cnt), event%by)
    call c_free_event(got)
  end subroutine

  subroutine smd_close(stream)
    type(smd_stream), intent(inout) :: stream
    call c_close(stream%handle)
    stream%handle = c_null_ptr
  end subroutine

  ! ---- from C ----

  integer function error_of(code)
    integer(c_int), intent(in) :: code
    integer(c_int), pointer :: errno
    error_of = 0
    if (code >= 0) return
    call c_f_pointer(errno_location(), errno)
    error_of = errno
  end function

  ! "" for NULL.
  subroutine from_c(text, copy)
    type(c_ptr), intent(in) :: text
    character(:), allocatable, intent(out) :: copy
    character(1, c_char), pointer :: bytes(:)
    integer :: i, length
    if (.not. c_associated(text)) then
      copy = ""
      return
    end if
    length = int(c_strlen(text))
    call c_f_pointer(text, bytes, [length])
    allocate (character(length) :: copy)
    do i = 1, length
      copy(i:i) = bytes(i)
    end do
  end subroutine

  subroutine nodes_from_c(from, count, nodes)
    type(c_ptr), intent(in) :: from
    integer, intent(in) :: count
    type(smd_node), allocatable, intent(out) :: nodes(:)
    type(c_node_state), pointer :: states(:)
    integer :: i
    allocate (nodes(count))
    if (count == 0) return
    call c_f_pointer(from, states, [count])
    do i = 1, count
      call from_c(states(i)%name, nodes(i)%name)
      nodes(i)%cpus = states(i)%cpus
      nodes(i)%state = states(i)%state
    end do
  end subroutine

  subroutine names_from_c(from, count, nodes)
    type(c_ptr), intent(in) :: from
    integer, intent(in) :: count
    type(smd_node), allocatable, intent(out) :: nodes(:)
    type(c_ptr), pointer :: names(:)
    integer :: i
    allocate (nodes(count))
    if (count == 0) return
    call c_f_pointer(from, names, [count])
    do i = 1, count
      call from_c(names(i), nodes(i)%name)
    end do
  end subroutine

  subroutine set_from_c(from, set)
    type(c_set), intent(in) :: from
    type(smd_node_set), intent(out) :: set
    call from_c(from%nodelist, set%nodelist)
    set%count = from%count
    call from_c(from%cpus_per_node, set%cpus_per_node)
  end subroutine

  subroutine replaced_from_c(from, replaced)
    type(c_replace_reply), intent(in) :: from
    type(smd_replaced), intent(out) :: replaced
    if (c_associated(from%replacement)) call from_c(from%replacement, replaced%replacement)
    replaced%when_available = from%when_available
    call set_from_c(from%new_set, replaced%set)
  end subroutine

end module smd
