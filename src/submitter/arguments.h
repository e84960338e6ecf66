// What the command line and the environment say. Source: spec/04 §3.6.
#pragma once

#include "base/result.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace manta::submitter {

struct Arguments {
  std::string runtime_env_json = {};
  std::string metadata_json = {};
  std::string entrypoint_resources = {};
  double entrypoint_num_cpus = 0;
  double entrypoint_num_gpus = 0;
  std::string entrypoint = {};  // the positionals, joined by spaces
  bool help = false;
};
extern const std::string_view kUsage;

/// Without the program's name. Flags and words may be mixed; after "--" all are words.
Result<Arguments> parse_arguments(const std::vector<std::string>& words);

struct Target {
  std::string host = {};
  std::string port = {};
  std::string path = {};  // before /api, without a slash at its end
  std::string submission_id = {};
  std::string token = {};  // empty: none

  std::string address() const { return host + ":" + port; }
};
using Environment = std::function<std::optional<std::string>(std::string_view)>;

/// RAY_DASHBOARD_ADDRESS ("host:port", with or without "http://"), RAY_JOB_SUBMISSION_ID,
/// RAY_AUTH_TOKEN.
Result<Target> read_target(const Environment& environment);

}  // namespace manta::submitter
