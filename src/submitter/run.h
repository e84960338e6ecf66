// The submitter's whole run. Source: spec/04 §3.6.
#pragma once

#include "submitter/arguments.h"

#include <chrono>
#include <functional>
#include <string_view>

namespace manta::submitter {

struct Surroundings {
  Environment environment = {};
  std::function<void(std::string_view)> out = {};
  std::function<void(std::string_view)> err = {};
  std::function<void(std::chrono::milliseconds)> sleep = {};
  /// How often a dashboard that does not answer is asked, two seconds apart.
  int patience = 150;
};

/// Submits the job unless it was, copies its log to `out`, and answers the exit code: 0 when the
/// job SUCCEEDED or was STOPPED, 1 when it FAILED or cannot be followed, 2 for a wrong command
/// line.
int run(const std::vector<std::string>& words, const Surroundings& around);

}  // namespace manta::submitter
