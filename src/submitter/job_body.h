// The body of POST /api/jobs/. Source: spec/04 §6.4.
#pragma once

#include "base/json.h"
#include "submitter/arguments.h"

namespace manta::submitter {

/// Fails naming the flag whose text is not what Ray takes.
Result<Json> job_body(const Arguments& arguments, const std::string& submission_id);

}  // namespace manta::submitter
