# SPDX-License-Identifier: Apache-2.0
"""libsmd for Python: what became of a running job's nodes, and others instead of those it lost.

Needs nothing but Python 3 and libsmd.so.1.  Each function is the C function of smd.h with that name, in Python's
terms: it returns plain objects, frees what C allocated, and raises SmdError.  Calls release Python's lock while they
wait.  The job is SLURM_JOB_ID where none is given.

    import smd
    for node in smd.faulty_nodes():
        new = smd.replace(node.name)
        if new.replacement is None:
            print("a node will come at", new.when_available)   # ask again later
        else:
            print(node.name, "->", new.replacement, "; now on", new.set.nodelist)

    with smd.events() as stream:          # each event as it happens, until the job ends
        for event in stream:
            print(event.name, event.nodes, event.by)

SMD_LIBRARY in the environment names another library file.
"""
import ctypes
import os
from collections import namedtuple

FAILED, FAILING = 1 << 1, 1 << 2
EVENT_FAILED, EVENT_FAILING, EVENT_REPLACE = 1 << 1, 1 << 2, 1 << 3
EVENT_DROPPED, EVENT_EXTENDED, EVENT_ENDED = 1 << 4, 1 << 5, 1 << 6

# errno of SmdError: the ENSTOP_* of smd.h, in its order.
_NAMES = """CONFIG NETIO INVALCMD UPNODE JOBID PORT UID JOBNOTRUN NOHOST NODENOTFAILED NODENOTINJOB REPLACELATER
REPLACEPENDING MAXSPARECOUNT NODEREPLACEFAILED NOINCREASETIMELIMIT TIMEOVERLIMIT JOBUPDATE DECODEHEADER UNKWNCTRLMSG
PROTOCOL NONODEFAIL PERM MUNGE TIMEOUT ARGS""".split()
ENSTOP = {name: 1000 + at for at, name in enumerate(_NAMES)}

Node = namedtuple("Node", "name cpus state")
NodeSet = namedtuple("NodeSet", "nodelist count cpus_per_node")
Replaced = namedtuple("Replaced", "failed replacement when_available set")
JobInfo = namedtuple("JobInfo", "nodes pending_job_delay pending_job_id pending_node replaced time_extend_avail")
Config = namedtuple(
    "Config",
    "conf_fname control_addr backup_addr debug port read_timeout write_timeout hot_spare_count max_spare_node_count "
    "time_limit_delay time_limit_drop time_limit_extend user_drain_allow user_drain_deny")
Event = namedtuple("Event", "number type name at nodes by")


class SmdError(OSError):
    """errno: ENSTOP[...] or a system's; strerror: its text, and what more the service said."""


_u16, _u32, _u64, _i64 = ctypes.c_uint16, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int64
_int, _text, _time = ctypes.c_int, ctypes.c_char_p, ctypes.c_long


def _struct(name, *fields):
    return type(name, (ctypes.Structure,), {"_fields_": list(fields)})


_NodeState = _struct("node_state", ("node_name", _text), ("cpu_cnt", _int), ("state", _int))
_Set = _struct("new_node_set", ("new_nodelist", _text), ("new_node_cnt", _int), ("new_cpus_per_node", _text))
_FaultyRequest = _struct("faulty_node_request", ("job_id", _u32), ("options", _u16))
_FaultyReply = _struct("faulty_node_reply", ("job_id", _u32), ("num", _int), ("nodes", ctypes.POINTER(_NodeState)))
_DrainRequest = _struct("drain_node_request", ("job_id", _u32), ("node", _text), ("reason", _text), ("timeout", _time))
_NodeRequest = _struct("replace_node_request", ("job_id", _u32), ("node", _text))
_ReplaceReply = _struct("replace_node_reply", ("job_id", _u32), ("failed", _text), ("replacement", _text),
                        ("when_available", _time), ("new_set", _Set))
_DropReply = _struct("drop_node_reply", ("job_id", _u32), ("node", _text), ("new_set", _Set))
_TimeRequest = _struct("job_time_extend_request", ("job_id", _u32), ("minutes", _u32))
_JobRequest = _struct("job_nonstop_info_request", ("job_id", _u32))
_JobReply = _struct("job_nonstop_info_reply", ("job_id", _u32), ("failed_node_cnt", _u32),
                    ("failed_nodes", ctypes.POINTER(_NodeState)), ("pending_job_delay", _u32), ("pending_job_id", _u32),
                    ("pending_node_name", _text), ("replace_node_cnt", _u32), ("time_extend_avail", _u32))
_Config = _struct("nonstop_config", ("conf_fname", _text), ("control_addr", _text), ("control_saddr", _u32),
                  ("backup_addr", _text), ("backup_saddr", _u32), ("debug", _u16), ("port", _u16),
                  ("read_timeout", _u32), ("write_timeout", _u32), ("hot_spare_count", _text),
                  ("max_spare_node_count", _u32), ("time_limit_delay", _u16), ("time_limit_drop", _u16),
                  ("time_limit_extend", _u16), ("user_drain_allow", _text), ("user_drain_deny", _text))
_NodeEvent = _struct("node_event", ("event_type", _int), ("event", ctypes.c_void_p))
_Event = _struct("smd_event", ("number", _u64), ("event_type", _int), ("name", _text), ("at", _i64),
                 ("node_cnt", _int), ("nodes", ctypes.POINTER(_text)), ("by_cnt", _int), ("by", ctypes.POINTER(_text)))

_lib = ctypes.CDLL(os.environ.get("SMD_LIBRARY") or "libsmd.so.1", use_errno=True)
_lib.smd_nonstop_errstr.restype = _text
_lib.smd_nonstop_why.restype = _text
_lib.smd_open_events.restype = ctypes.c_void_p
_lib.smd_open_events.argtypes = [_u32, _u64]
_lib.smd_next_event.argtypes = [ctypes.c_void_p, ctypes.POINTER(_Event), _int]
_lib.smd_events_fd.argtypes = [ctypes.c_void_p]
_lib.smd_close_events.argtypes = [ctypes.c_void_p]
_lib.smd_close_events.restype = None
_lib.smd_register4nodevent.argtypes = [_u32]
_lib.smd_wait4nodevent.argtypes = [_u32, ctypes.POINTER(_NodeEvent), _int]


def _plain(text):
    return None if text is None else text.decode("utf-8", "replace")


def _bytes(text):
    return None if text is None else text.encode()


def _error():
    number = ctypes.get_errno()
    why = _plain(_lib.smd_nonstop_why())
    text = _plain(_lib.smd_nonstop_errstr(number))
    return SmdError(number, text + ": " + why if why else text)


def _checked(result):
    if result < 0:
        raise _error()
    return result


def _job(job_id):
    if job_id is None:
        job_id = os.environ.get("SLURM_JOB_ID") or os.environ.get("SLURM_JOBID")
        if not job_id:
            raise ValueError("no job id: give one, or run inside a job (SLURM_JOB_ID)")
    return int(job_id)


def _set(new):
    return NodeSet(_plain(new.new_nodelist), new.new_node_cnt, _plain(new.new_cpus_per_node))


def _nodes(nodes, count):
    return [Node(_plain(nodes[i].node_name), nodes[i].cpu_cnt, nodes[i].state) for i in range(count)]


def _call(function, request, reply, free, convert):
    """One call with a reply, which is freed whatever happens."""
    _checked(function(ctypes.byref(request), ctypes.byref(reply)))
    try:
        return convert(reply)
    finally:
        free(ctypes.byref(reply))


def faulty_nodes(job_id=None, options=FAILED | FAILING):
    """The job's faulty nodes: a list of Node(name, cpus, state)."""
    return _call(_lib.smd_get_job_faulty_nodes, _FaultyRequest(_job(job_id), options), _FaultyReply(),
                 _lib.smd_free_job_faulty_nodes_reply, lambda r: _nodes(r.nodes, r.num))


def drain(nodes, reason, job_id=None, timeout=0):
    """Says that nodes (a hostlist) are going to fail."""
    _checked(_lib.smd_drain_job_node(ctypes.byref(_DrainRequest(_job(job_id), _bytes(nodes), _bytes(reason), timeout))))


def replace(node, job_id=None):
    """Asks for another node: Replaced; its replacement is None where it will come later: ask again."""
    return _call(_lib.smd_replace_job_node, _NodeRequest(_job(job_id), _bytes(node)), _ReplaceReply(),
                 _lib.smd_free_replace_job_node_reply,
                 lambda r: Replaced(_plain(r.failed), _plain(r.replacement), r.when_available, _set(r.new_set)))


def replace_all(nodes, job_id=None):
    """The same for several (a hostlist): all, or none."""
    return _call(_lib.smd_replace_job_nodes, _NodeRequest(_job(job_id), _bytes(nodes)), _ReplaceReply(),
                 _lib.smd_free_replace_job_nodes_reply,
                 lambda r: Replaced(_plain(r.failed), _plain(r.replacement), r.when_available, _set(r.new_set)))


def drop(node, job_id=None):
    """The job goes on without the node: the NodeSet that is left."""
    return _call(_lib.smd_drop_job_node, _NodeRequest(_job(job_id), _bytes(node)), _DropReply(),
                 _lib.smd_free_drop_job_node_reply, lambda r: _set(r.new_set))


def extend(minutes=0, job_id=None):
    """Adds minutes to the time limit, out of the job's credit; 0: all of it."""
    _checked(_lib.smd_extend_job_time(ctypes.byref(_TimeRequest(_job(job_id), minutes))))


def job_info(job_id=None):
    """What the service knows of the job: JobInfo."""
    return _call(
        _lib.smd_nonstop_get_failed_jobinfo, _JobRequest(_job(job_id)), _JobReply(),
        _lib.smd_nonstop_free_failed_jobinfo,
        lambda r: JobInfo(_nodes(r.failed_nodes, r.failed_node_cnt), r.pending_job_delay, r.pending_job_id,
                          _plain(r.pending_node_name), r.replace_node_cnt, r.time_extend_avail))


def config():
    """How the service is configured: Config."""
    got = _Config()
    _checked(_lib.smd_get_nonstopconfig(ctypes.byref(got)))
    try:
        values = [getattr(got, name) for name in Config._fields]
        return Config(*[_plain(v) if isinstance(v, bytes) else v for v in values])
    finally:
        _lib.smd_free_nonstop_config(ctypes.byref(got))


def register(job_id=None):
    """Asks the service to call this process; see wait.  events() is better where the service is Sickbay's."""
    _checked(_lib.smd_register4nodevent(_job(job_id)))


def wait(timeout=None, job_id=None):
    """The next call: an EVENT_* number; None after `timeout` seconds (None: for ever)."""
    got = _NodeEvent()
    found = _checked(_lib.smd_wait4nodevent(_job(job_id), ctypes.byref(got), _milliseconds(timeout)))
    return got.event_type if found else None


def _milliseconds(timeout):
    return -1 if timeout is None else max(0, int(timeout * 1000))


class events:
    """A stream of the job's events after number `after`.  Iterate it, or call next_event."""

    def __init__(self, job_id=None, after=0):
        self._stream = _lib.smd_open_events(_job(job_id), after)
        if not self._stream:
            raise _error()

    def next_event(self, timeout=None):
        """The next Event; None after `timeout` seconds (None: for ever)."""
        got = _Event()
        if not _checked(_lib.smd_next_event(self._stream, ctypes.byref(got), _milliseconds(timeout))):
            return None
        try:
            return Event(got.number, got.event_type, _plain(got.name), got.at,
                         [_plain(got.nodes[i]) for i in range(got.node_cnt)],
                         [_plain(got.by[i]) for i in range(got.by_cnt)])
        finally:
            _lib.smd_free_event(ctypes.byref(got))

    def fileno(self):
        """For select and poll."""
        return _lib.smd_events_fd(self._stream)

    def close(self):
        if self._stream:
            _lib.smd_close_events(self._stream)
            self._stream = None

    def __iter__(self):
        while True:
            event = self.next_event()
            yield event
            if event.type == EVENT_ENDED:
                return

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
