// SPDX-License-Identifier: Apache-2.0
// Labels by likeness: a job that no evidence labels is probably what the same user's other jobs of the same
// shape are.
//
// Role: SQL that makes `jobs_like`, which is `jobs` with such labels put in, marked 'like', and with how sure
// each is.  Never stored, and used only where asked for: sums of certainty are made of `jobs`.
// Idea: two shapes, the closer first.  By name: the name without its numbers, cores, nodes, GPUs, memory and
// limit; its other jobs are counted.  By size: the same without the name; the user's different names are
// counted, for jobs of one name are no independent witnesses.  Confidence is the lower bound of Wilson's 95 %
// interval for the share that agrees, so that few witnesses are never sure: 16 of 16 are needed for 0.8.
// Invariants: a job with a label by evidence keeps it; a label under `least` is not given; every job stands
// in jobs_like once.
#pragma once
#include <string>

namespace sickbay::workload {

/// Statements that make the table like_names, the table like_sizes and the view jobs_like on a connection.
/// `least`: of the confidence, from 0.5 (below it, another application may be as likely) to 1.
std::string likeness_sql(double least);

/// A SELECT over jobs_like's tables: of the labelled jobs whose shape would tell, how many it tells rightly
/// from the other ones: columns asked, right.
std::string likeness_check_sql();

}  // namespace sickbay::workload
