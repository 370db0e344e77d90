-- SPDX-License-Identifier: Apache-2.0
-- Two days, 2021-05-01 and 02, of a cluster of four nodes with 4 cores each: 384 core-hours a day.
-- Made by hand so that the answers can be worked out on paper; golden/ holds them.
INSERT INTO nodes VALUES
  ('n1', 4, 17179869184, 0, 'cpu', 'c', NULL), ('n2', 4, 17179869184, 0, 'cpu', 'c', NULL), ('n3', 4, 17179869184, 0, 'cpu', 'c', NULL),
  ('n4', 4, 17179869184, 2, 'gpu', 'c', NULL);
-- n3 is down from 05-01 12:00 to 05-02 06:00, told by two events that overlap: 18 h, of them 12 on the first
-- day.  Draining is no outage, an event before the period counts nowhere, and n9 is on no list of nodes.
INSERT INTO node_events VALUES
  ('n3', 'DOWN', '2021-05-01 12:00:00', '2021-05-02 02:00:00', 4, 'no answer', 'c'),
  ('n3', 'DOWN', '2021-05-01 20:00:00', '2021-05-02 06:00:00', 4, 'no answer', 'c'),
  ('n1', 'DRAINING', '2021-05-01 00:00:00', NULL, 4, 'service', 'c'),
  ('n2', 'DOWN', '2021-04-01 00:00:00', '2021-04-02 00:00:00', 4, 'old', 'c'),
  ('n9', 'DOWN', '2021-05-01 00:00:00', NULL, 64, 'gone', 'c');
INSERT INTO imports VALUES
  ('a', 'may.txt', 'sacct', '2021-06-01 00:00:00', 4000, 42, 40, 2, ''),
  ('b', 'june.txt', 'sacct', '2021-07-01 00:00:00', 10, 1, 0, 0, '');
INSERT INTO rejects VALUES ('a', 'may.txt', 'no job id', 2, 17);

-- ann's lammps: three that are alike (1, 2 and 3 h: mean 2, deviation 1, coefficient of variation 0.5), and
-- one of two nodes that runs over midnight into its limit.
INSERT INTO jobs (job_id, job_id_raw, cluster, user_name, account, partition, qos, job_name, application, labelled_by, state,
    submit_time, eligible_time, start_time, end_time, elapsed, time_limit, cpus, req_cpus, nodes, tasks, cpu_time, total_cpu,
    req_mem, max_rss, ave_rss, job_rss, disk_read, disk_write, energy, exit_code, exit_signal, node_list, restarts, repairs, flaws) VALUES
  ('101', 101, 'c', 'ann', 'phys', 'cpu', 'normal', 'melt', 'lammps', 'keyword', 'COMPLETED',
    '2021-05-01 00:00:00', '2021-05-01 00:00:00', '2021-05-01 01:00:00', '2021-05-01 02:00:00', 3600, 7200, 4, 4, 1, 4, 14400, 14400000,
    4294967296, 1073741824, 536870912, 2147483648, 1073741824, 2147483648, 3600000, 0, 0, 'n1', 0, 0, 0),
  ('102', 102, 'c', 'ann', 'phys', 'cpu', 'normal', 'melt', 'lammps', 'keyword', 'COMPLETED',
    '2021-05-01 00:00:00', '2021-05-01 01:00:00', '2021-05-01 02:00:00', '2021-05-01 04:00:00', 7200, 14400, 4, 4, 1, 4, 28800, 14400000,
    4294967296, 1073741824, 536870912, 2147483648, 0, 0, 7200000, 0, 0, 'n1', 0, 0, 0),
  ('103', 103, 'c', 'ann', 'phys', 'cpu', 'normal', 'melt', 'lammps', 'keyword', 'COMPLETED',
    '2021-05-01 00:00:00', NULL, '2021-05-01 04:00:00', '2021-05-01 07:00:00', 10800, NULL, 4, 4, 1, 4, 43200, NULL,
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 'n1', 0, 2, 0),
  ('104', 104, 'c', 'ann', 'phys', 'cpu', 'normal', 'big', 'lammps', 'keyword', 'TIMEOUT',
    '2021-05-01 12:00:00', '2021-05-01 12:00:00', '2021-05-01 20:00:00', '2021-05-02 04:00:00', 28800, 28800, 8, 8, 2, 8, 230400, 207360000,
    8589934592, 1073741824, 1073741824, 8589934592, 2147483648, 21474836480, 0, 0, 15, 'n[1-2]', 0, 1, 0),
-- bob's vasp: began before the period; a failed node of two; memory ran out.
  ('105', 105, 'c', 'bob', 'chem', 'cpu', 'high', 'relax', 'vasp', 'rename', 'COMPLETED',
    '2021-04-30 18:00:00', '2021-04-30 18:00:00', '2021-04-30 20:00:00', '2021-05-01 04:00:00', 28800, 36000, 2, 2, 1, 2, 57600, 57600000,
    2147483648, 1073741824, 1073741824, 2147483648, NULL, 1073741824, NULL, 0, 0, 'n2', 0, 0, 64),
  ('106', 106, 'c', 'bob', 'chem', 'cpu', 'high', 'relax', 'vasp', 'rename', 'NODE_FAIL',
    '2021-05-01 08:00:00', '2021-05-01 08:00:00', '2021-05-01 09:00:00', '2021-05-01 12:00:00', 10800, 36000, 8, 8, 2, 8, 86400, NULL,
    2147483648, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 'n[2-3]', 0, 0, 0),
  ('106', 106, 'c', 'bob', 'chem', 'cpu', 'high', 'relax', 'vasp', 'rename', 'COMPLETED',
    '2021-05-01 12:00:01', '2021-05-01 12:00:01', '2021-05-01 12:30:01', '2021-05-01 13:30:01', 3600, 36000, 8, 8, 2, 8, 28800, 14400000,
    2147483648, 536870912, 536870912, 1073741824, 0, 1073741824, NULL, 0, 0, 'n[1-2]', 1, 0, 0),
  ('107', 107, 'c', 'bob', 'chem', 'cpu', 'high', 'relax', 'vasp', 'rename', 'OUT_OF_MEMORY',
    '2021-05-02 00:00:00', '2021-05-02 00:00:00', '2021-05-02 00:30:00', '2021-05-02 01:30:00', 3600, 3600, 1, 1, 1, 1, 3600, 1800000,
    1073741824, 1073741824, 1073741824, 1073741824, 0, 0, NULL, 0, 9, 'n2', 0, 0, 0);
-- cat on the GPUs of n4: one job that used them, one that used neither GPUs nor cores, one that still runs.
INSERT INTO jobs (job_id, job_id_raw, cluster, user_name, account, partition, job_name, application, labelled_by, state,
    submit_time, eligible_time, start_time, end_time, elapsed, time_limit, cpus, req_cpus, nodes, cpu_time, total_cpu, gpus, gpu_type,
    gpu_util_milli, gpu_mem, exit_code, node_list, repairs, flaws) VALUES
  ('108', 108, 'c', 'cat', 'ai', 'gpu', 'train', 'pytorch', 'keyword', 'COMPLETED',
    '2021-05-01 10:00:00', '2021-05-01 10:00:00', '2021-05-01 10:00:00', '2021-05-01 20:00:00', 36000, 86400, 2, 2, 1, 72000, 1800000, 2, 'a100',
    800, 8589934592, 0, 'n4', 0, 0),
  ('109', 109, 'c', 'cat', 'ai', 'gpu', 'notebook', 'unknown', 'interpreter', 'FAILED',
    '2021-05-02 00:00:00', '2021-05-02 00:00:00', '2021-05-02 00:00:00', '2021-05-02 02:00:00', 7200, 86400, 2, 2, 1, 14400, 144000, 1, 'a100',
    10, NULL, 1, 'n4', 0, 0),
  ('110', 110, 'c', 'cat', 'ai', 'gpu', 'train', 'pytorch', 'keyword', 'RUNNING',
    '2021-05-02 20:00:00', '2021-05-02 20:00:00', '2021-05-02 22:00:00', NULL, 3600, 86400, 2, 2, 1, NULL, NULL, 1, 'a100',
    NULL, NULL, NULL, 'n4', NULL, NULL);
-- dan: an array of short tasks, two of which ended and three still wait in one row; and what never started.
INSERT INTO jobs (job_id, job_id_raw, array_job_id, array_task_id, array_tasks, cluster, user_name, account, partition, job_name,
    application, labelled_by, state, submit_time, start_time, end_time, elapsed, cpus, req_cpus, nodes, exit_code) VALUES
  ('200_1', 201, 200, 1, NULL, 'c', 'dan', 'phys', 'cpu', 'sweep', 'unknown', 'other', 'COMPLETED',
    '2021-05-02 10:00:00', '2021-05-02 10:00:00', '2021-05-02 10:00:30', 30, 1, 1, 1, 0),
  ('200_2', 202, 200, 2, NULL, 'c', 'dan', 'phys', 'cpu', 'sweep', 'unknown', 'other', 'FAILED',
    '2021-05-02 10:00:00', '2021-05-02 10:00:00', '2021-05-02 10:00:06', 6, 1, 1, 1, 3),
  ('200_[3-5]', 200, 200, NULL, 3, 'c', 'dan', 'phys', 'cpu', 'sweep', 'unknown', 'other', 'PENDING',
    '2021-05-02 10:00:00', NULL, NULL, 0, 0, 1, NULL, NULL),
  ('111', 111, NULL, NULL, NULL, 'c', 'dan', 'phys', 'cpu', 'gone', 'unknown', 'other', 'CANCELLED',
    '2021-05-02 11:00:00', NULL, '2021-05-02 12:00:00', 0, 0, 16, NULL, 0);
-- A row that says next to nothing.
INSERT INTO jobs (job_id, cluster, state, submit_time, flaws) VALUES ('112', 'c', 'COMPLETED', '2021-05-02 12:00:00', 8);
-- What Sickbay's journal tells: 106 lost a node at 12:00 and went on from its second checkpoint, of an hour before: 8
-- cores, 8 core-hours lost and 16 saved; each of its two checkpoints took 90 s.  104 had none when its time was over: 64
-- lost.  103 has run once: the failure before its submission is one of an older job of that id.  999 is in no log.
INSERT INTO job_failures VALUES
  ('c', 106, 0, 'NODE_FAIL', '2021-05-01 12:00:00', 10800000, 2, true, 3600000, 10800000),
  (NULL, 104, 0, 'TIMEOUT', '2021-05-02 04:00:00', 28800000, 0, false, 28800000, 28800000),
  (NULL, 103, 0, 'FAILED', '2021-04-30 23:00:00', 60000, 0, false, 60000, 60000),
  (NULL, 999, 0, 'FAILED', '2021-05-01 09:00:00', 60000, 0, false, 60000, 60000);
INSERT INTO job_checkpoints VALUES
  (NULL, 106, 0, 1, '2021-05-01 10:00:00', 90000), ('c', 106, 0, 2, '2021-05-01 11:00:00', 90000);
