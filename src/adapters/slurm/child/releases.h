// SPDX-License-Identifier: GPL-2.0-or-later
// Where the releases of libslurm differ: 22.05 (Debian 12), 24.11 (13), 26.05 (sid).
//
// What the types tell is read from them, so that releases between these are right, too: a function that is
// declared weak here may be missing, and what is named in another way is found by its members.
#pragma once
#include <slurm/slurm.h>

#include <cstdio>
#include <cstdlib>
#include <type_traits>

#include "model/ids.h"

extern "C" {
// 26.05 has the latter in place of the former.
[[gnu::weak]] void slurm_free_ctl_conf(slurm_conf_t* conf);
[[gnu::weak]] void slurm_free_conf(slurm_conf_t* conf);
// Exported by all three and declared by none.
void slurm_xfree_ptr(void* memory);
// From 24.11 on gone without a successor (job_cpus.h).
[[gnu::weak]] int slurm_job_cpus_allocated_on_node_id(job_resources_t* resources, int node);
}

namespace sickbay::slurm {

inline void free_conf(slurm_conf_t* conf) {
  if (slurm_free_ctl_conf)
    slurm_free_ctl_conf(conf);
  else if (slurm_free_conf)
    slurm_free_conf(conf);
}

/// From 24.11 on an allocation is its caller's, whatever user it names (releases between were not looked at).
inline constexpr bool kAllocatesForOthers = SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(23, 2, 0);

/// Frees the name that slurm_create_reservation() gives: of 26.05 by Slurm's own free, of the others by
/// libc's.
inline void free_reservation_name(char* name) {
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 5, 0)
  slurm_xfree_ptr(name);
#else
  std::free(name);
#endif
}

/// The number of the job that a message is about: 26.05 has put it into a step's name.
template <class Message>
auto& job_number(Message& message) {
  if constexpr (requires { message.job_id; })
    return message.job_id;
  else
    return message.step_id.job_id;
}

/// A job as functions of libslurm name it: 26.05 by a step's name that leaves the step open, else by number.
template <class Name>
Name job_name(JobId job) {
  if constexpr (std::is_integral_v<Name>) {
    return job;
  } else {
    Name name{};
    name.job_id = job;
    name.step_id = name.step_het_comp = NO_VAL;
    return name;
  }
}
/// CALL(..., job, ...) with the job as this libslurm names it.
template <class Name>
int call_for_job(int (*call)(job_info_msg_t**, Name, std::uint16_t), job_info_msg_t** answer, JobId job,
                 std::uint16_t flags) {
  return call(answer, job_name<Name>(job), flags);
}
template <class Name>
int call_for_job(int (*call)(Name, std::uint16_t, std::uint16_t), JobId job, std::uint16_t signal) {
  return call(job_name<Name>(job), signal, 0);
}
template <class Name>
int call_for_job(int (*call)(Name, resource_allocation_response_msg_t**), JobId job,
                 resource_allocation_response_msg_t** answer) {
  return call(job_name<Name>(job), answer);
}
template <class Name>
int call_for_job(int (*call)(FILE*, Name), FILE* out, JobId job) {
  return call(out, job_name<Name>(job));
}

inline int load_job(job_info_msg_t** answer, JobId job, std::uint16_t flags) {
  return call_for_job(slurm_load_job, answer, job, flags);
}
inline int kill_job(JobId job, std::uint16_t signal) { return call_for_job(slurm_kill_job, job, signal); }

inline int requeue(JobId job, std::uint32_t flags) {
  return [&]<class Name>(int (*call)(Name, std::uint32_t)) {
    return call(job_name<Name>(job), flags);
  }(slurm_requeue);
}

/// Who gives a node's reason: 26.05 takes it from the credential.
template <class Message>
void set_reason_uid(Message& message, std::uint32_t uid) {
  if constexpr (requires { message.reason_uid; }) message.reason_uid = uid;
}

}  // namespace sickbay::slurm
