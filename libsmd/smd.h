/* SPDX-License-Identifier: Apache-2.0
 * libsmd: a running job asks what became of its nodes, and for others instead of those it lost.
 *
 * Each call is one request to the nonstop service (Sickbay's sickbayd, or Slurm's own plugin
 * slurmctld/nonstop up to 22.05), signed by MUNGE.  The service is found by nonstop.conf, which lies beside
 * slurm.conf: where SLURM_CONF says, else in /etc/slurm.  The addresses there are tried in their order,
 * ControlAddr and then BackupAddr.
 *
 * Names, layouts and numbers are those under which the library was first shipped, so that programs written
 * for it compile and link unchanged; what is ours alone is at the end.
 *
 * What holds for all of it:
 *  - A call returns 0, or -1 with errno set to an ENSTOP_* number (below) or to that of a system call.
 *  - Thread-safe; no lock is kept while it waits.  No signal handlers, no SIGPIPE, no thread, no file left
 *    open over an exec, and no output, but with SMD_DEBUG=1 in the environment: what is asked and answered.
 *  - No call waits longer than ReadTimeout + WriteTimeout of nonstop.conf (seconds; 10 each without them) for
 *    each address, but a wait for events as long as it was asked to.
 *  - A reply is filled only when the call returned 0; its free function must then be called, and clears it.
 *    A free function takes a cleared reply, and NULL.
 *  - Where nodes are more than one they are a hostlist of Slurm's: "n[1-3],m7".  Times are Unix seconds.
 *
 * Page: doc/formats/nonstop.md.  Fortran: smd.f90.  Python: smd.py.
 */
#ifndef SMD_H
#define SMD_H

#include <netinet/in.h>
#include <stdint.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/* ---- states and events: bits ---- */

#define FAILED_NODES (1 << 1)  /* DOWN; Slurm has taken the node out of the job, which has --no-kill */
#define FAILING_NODES (1 << 2) /* in Slurm's state FAIL: still in the job, expected to fail */

#define SMD_EVENT_NODE_FAILED (1 << 1)  /* a node of the job has failed */
#define SMD_EVENT_NODE_FAILING (1 << 2) /* a node of the job is failing */
#define SMD_EVENT_NODE_REPLACE (1 << 3) /* a replacement is ready; ask again with smd_replace_job_node */

/* ---- errors ---- */

typedef enum {
  ENSTOP_OK = 0,
  ENSTOP_CONFIG = 1000,       /* nonstop.conf is not there or wrong */
  ENSTOP_NETIO,               /* no address answers, or the connection broke */
  ENSTOP_INVALCMD,            /* the service does not know or accept the command (ECMD) */
  ENSTOP_UPNODE,              /* Slurm refused to change the node (EUPDNODE) */
  ENSTOP_JOBID,               /* no such job (EJOBID) */
  ENSTOP_PORT,                /* not a port to be called back at (EPORT) */
  ENSTOP_UID,                 /* the job is another user's (EUID) */
  ENSTOP_JOBNOTRUN,           /* the job does not run (EJOBNOTRUN) */
  ENSTOP_NOHOST,              /* no such node (ENOHOST) */
  ENSTOP_NODENOTFAILED,       /* the node is neither failed nor failing (ENODENOTFAIL) */
  ENSTOP_NODENOTINJOB,        /* the node has no part in the job (NODENOTINJOB, ENODENOCPU) */
  ENSTOP_REPLACELATER,        /* a replacement will come later; a reply says when, no call fails with it */
  ENSTOP_REPLACEPENDING,      /* another node of the job waits for its replacement (EREPLACEPENDING) */
  ENSTOP_MAXSPARECOUNT,       /* the job has had MaxSpareNodeCount replacements (EMAXSPARECOUNT) */
  ENSTOP_NODEREPLACEFAILED,   /* no replacement, and none in sight (ENODEREPLACEFAIL) */
  ENSTOP_NOINCREASETIMELIMIT, /* the job has no time credit (ENOINCREASETIMELIMIT) */
  ENSTOP_TIMEOVERLIMIT,       /* more minutes than the credit has (ETIMEOVERLIMIT) */
  ENSTOP_JOBUPDATE,           /* Slurm refused to change the job (EJOBUPDATE) */
  ENSTOP_DECODEHEADER,        /* the answer has no header that can be read */
  ENSTOP_UNKWNCTRLMSG,        /* the answer has a code that this library does not know */
  ENSTOP_PROTOCOL,            /* the answer cannot be read */
  ENSTOP_NONODEFAIL,          /* the job has no faulty node now */
  /* Ours, in no older library. */
  ENSTOP_PERM,    /* this user may not (EPERM) */
  ENSTOP_MUNGE,   /* munged on this host signs nothing, or the service does not take what it signed */
  ENSTOP_TIMEOUT, /* an address took the request and did not answer in time: it may have been done */
  ENSTOP_ARGS,    /* an argument cannot be: NULL, a job id of 0, a name with blanks, quotes or colons */
  ENSTOP_LASTERR  /* one more than the last */
} nonstop_errno_t;

/* The text of an ENSTOP_* number, of a system's errno where it is none.  Never NULL; not to be freed or
 * changed. */
extern char* smd_nonstop_errstr(int errnum);

/* What the service, or the library itself, said more of the last failed call of this thread: "no idle node in
 * partition batch", "nonstop.conf, line 7: ...".  "" where nothing.  Valid until this thread's next call. */
extern const char* smd_nonstop_why(void);

/* Frees what the library keeps: callbacks are no longer listened for.  Calls of other threads must have
 * ended. */
extern void smd_nonstop_fini(void);

/* ---- which nodes are faulty ---- */

typedef struct node_state {
  char* node_name;
  int cpu_cnt; /* CPUs the job has (had) on it */
  int state;   /* FAILED_NODES or FAILING_NODES; 0 where the call does not tell */
} node_state_t;

typedef struct faulty_node_request {
  uint32_t job_id;
  uint16_t options; /* FAILED_NODES, FAILING_NODES or both; 0: both */
} faulty_node_request_t;

typedef struct faulty_node_reply {
  uint32_t job_id;
  int num;
  struct node_state* nodes; /* NULL where num is 0 */
} faulty_node_reply_t;

extern int smd_get_job_faulty_nodes(struct faulty_node_request* request, struct faulty_node_reply* reply);
extern void smd_free_job_faulty_nodes_reply(struct faulty_node_reply* reply);
/* Frees one made by malloc, with its name. */
extern void smd_free_node_state(struct node_state* state);

/* ---- say that a node is going to fail ---- */

typedef struct drain_node_request {
  uint32_t job_id; /* of the caller; 0: not said */
  char* node;      /* hostlist */
  char* reason;    /* NULL: "failing" */
  time_t timeout;  /* seconds for the whole call; 0: those of nonstop.conf */
} drain_node_request_t;

/* Sets the nodes to Slurm's state FAIL.  Only for users whom nonstop.conf allows (UserDrainAllow). */
extern int smd_drain_job_node(struct drain_node_request* request);

/* ---- a new set of nodes ---- */

typedef struct new_node_set {
  char* new_nodelist;      /* SLURM_JOB_NODELIST from now on; NULL: unchanged */
  int new_node_cnt;        /* SLURM_JOB_NUM_NODES */
  char* new_cpus_per_node; /* SLURM_JOB_CPUS_PER_NODE: "8(x3),4" */
} new_node_set_t;

typedef struct replace_node_request {
  uint32_t job_id;
  char* node; /* one faulty node of the job */
} replace_node_request_t;

typedef struct replace_node_reply {
  uint32_t job_id;
  char* failed_node;
  char* replacement_node; /* NULL: later */
  time_t when_available;  /* when to expect it, where it comes later; 0: not known, or there already */
  struct new_node_set new_set;
} replace_node_reply_t;

/* Asks for another node instead of a faulty one.  0 with replacement_node NULL: the request waits in the
 * service; ask again, with the same node, until it is there or the node is dropped.  To ask again never takes
 * a second node. */
extern int smd_replace_job_node(struct replace_node_request* request, struct replace_node_reply* reply);
extern void smd_free_replace_job_node_reply(struct replace_node_reply* reply);

typedef struct drop_node_request {
  uint32_t job_id;
  char* node; /* one faulty node of the job */
} drop_node_request_t;

typedef struct drop_node_reply {
  uint32_t job_id;
  char* node;
  struct new_node_set new_set;
} drop_node_reply_t;

/* The job goes on without the node.  A replacement that it waits for is called off. */
extern int smd_drop_job_node(struct drop_node_request* request, struct drop_node_reply* reply);
extern void smd_free_drop_job_node_reply(struct drop_node_reply* reply);

/* ---- time ---- */

typedef struct job_time_extend_request {
  uint32_t job_id;
  uint32_t minutes; /* to be added to the time limit; 0: all the credit the job has */
} job_time_extend_request_t;

extern int smd_extend_job_time(struct job_time_extend_request* request);

/* ---- what the service knows of a job, and how it is configured ---- */

typedef struct job_nonstop_info_request {
  uint32_t job_id;
} job_nonstop_info_request_t;

typedef struct job_nonstop_info_reply {
  uint32_t job_id;
  uint32_t failed_node_cnt; /* failed and failing */
  struct node_state* failed_nodes;
  uint32_t pending_job_delay; /* minutes of credit that waiting for a replacement gave */
  uint32_t pending_job_id;    /* the job that waits for the replacement; 0: none */
  char* pending_node_name;    /* the node to be replaced; NULL: none */
  uint32_t replace_node_cnt;
  uint32_t time_extend_avail; /* minutes of credit */
} job_nonstop_info_reply_t;

extern int smd_nonstop_get_failed_jobinfo(struct job_nonstop_info_request* request,
                                          struct job_nonstop_info_reply* reply);
extern void smd_nonstop_free_failed_jobinfo(struct job_nonstop_info_reply* reply);

typedef struct nonstop_config {
  /* By the file nonstop.conf on this host. */
  char* conf_fname;
  char* control_addr;
  in_addr_t control_saddr; /* IPv4, network order; 0: it has none, or no name server answers */
  char* backup_addr;       /* NULL: none */
  in_addr_t backup_saddr;
  uint16_t debug;
  uint16_t port;
  uint32_t read_timeout; /* seconds */
  uint32_t write_timeout;
  /* As the service said. */
  char* hot_spare_count;         /* "batch:8,debug:1"; NULL: none */
  uint32_t max_spare_node_count; /* 0: no limit */
  uint16_t time_limit_delay;     /* minutes */
  uint16_t time_limit_drop;
  uint16_t time_limit_extend;
  char* user_drain_allow; /* "alan,brenda", "ALL"; NULL: nobody */
  char* user_drain_deny;  /* NULL: nobody */
} nonstop_config_t;

extern int smd_get_nonstopconfig(struct nonstop_config* config);
extern void smd_free_nonstop_config(struct nonstop_config* config);

/* ---- events, as the first library had them ---- */

typedef struct node_event {
  int event_type; /* one SMD_EVENT_NODE_* */
  void* event;    /* NULL: this protocol tells no more; ask with smd_get_job_faulty_nodes */
} node_event_t;

/* Asks the service to call this process when something happens to the job's nodes.  One registration for each
 * job in a process; a second one is kept as it is and told to the service again. A call back is not
 * authenticated: take it for a hint.  smd_open_events has none of these weaknesses. */
extern int smd_register4nodevent(uint32_t job_id);

/* Waits for an event of a job that was registered: > 0, and *event is filled; 0: none within timeout_ms (< 0:
 * for ever); -1: error.  Several at once are given one after the other, FAILED first. */
extern int smd_wait4nodevent(uint32_t job_id, struct node_event* event, int timeout_ms);

/* ---- ours: only Sickbay's service answers these (the plugin of 22.05: ENSTOP_INVALCMD, ENSTOP_NOHOST) ----
 */

typedef struct smd_replace_nodes_request {
  uint32_t job_id;
  const char* nodes; /* hostlist of faulty nodes; all are replaced, or none */
} smd_replace_nodes_request_t;

typedef struct smd_replace_nodes_reply {
  uint32_t job_id;
  char* failed_nodes;      /* hostlist */
  char* replacement_nodes; /* hostlist; NULL: later */
  time_t when_available;
  struct new_node_set new_set;
} smd_replace_nodes_reply_t;

extern int smd_replace_job_nodes(const smd_replace_nodes_request_t* request,
                                 smd_replace_nodes_reply_t* reply);
extern void smd_free_replace_job_nodes_reply(smd_replace_nodes_reply_t* reply);

#define SMD_EVENT_NODE_DROPPED (1 << 4)  /* a node was dropped */
#define SMD_EVENT_TIME_EXTENDED (1 << 5) /* the time limit was extended */
#define SMD_EVENT_JOB_ENDED (1 << 6)     /* the job has ended; no more events will come */

typedef struct smd_event {
  uint64_t number; /* of the event; goes up; smd_open_events takes it to go on from there */
  int event_type;  /* one SMD_EVENT_*; 0: one that this library does not know, see name */
  char* name; /* "failed", "failing", "replaced", "dropped", "extended", "ended", as the service wrote it */
  int64_t at; /* microseconds since 1970 by the service's clock */
  int node_cnt;
  char** nodes; /* whom it struck */
  int by_cnt;
  char** by; /* with event replaced: the replacements */
} smd_event_t;

typedef struct smd_events smd_events_t;

/* Opens a stream of the job's events: those after number `after` that the service still knows (0: all), then
 * each as it happens, without a gap.  NULL with errno: not opened. */
extern smd_events_t* smd_open_events(uint32_t job_id, uint64_t after);

/* The next event: 1, and *event is filled, to be freed by smd_free_event; 0: none within timeout_ms (< 0: for
 * ever); -1: error.  After ENSTOP_NETIO open again after the number of the last event: nothing is lost. One
 * thread at a time for each stream. */
extern int smd_next_event(smd_events_t* events, smd_event_t* event, int timeout_ms);
extern void smd_free_event(smd_event_t* event);

/* The descriptor of the stream, for poll(POLLIN) in the program's own loop.  After it was readable, call
 * smd_next_event with timeout 0 until it returns 0: several events may have come at once. */
extern int smd_events_fd(const smd_events_t* events);
extern void smd_close_events(smd_events_t* events);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif /* SMD_H */
