// Ray's job API, as far as a submitter needs it. Source: spec/04 §3.6, §6.3.
#pragma once

#include "base/json.h"
#include "submitter/arguments.h"
#include "submitter/connection.h"

#include <cstdint>
#include <functional>
#include <string>

namespace manta::submitter {

class Dashboard {
 public:
  explicit Dashboard(Target target) : target_(std::move(target)) {}

  struct Submitted {
    std::string job_id = {};
    bool already = false;  // the id is taken: an earlier submitter of the same job sent it
  };
  Result<Submitted> submit(const Json& body);

  /// PENDING, RUNNING, SUCCEEDED, FAILED, STOPPED; and Ray's words.
  struct State {
    std::string status = {};
    std::string message = {};
  };
  Result<State> state(const std::string& job_id);

  /// The log from its beginning, piece by piece, until Ray closes the stream: true when it did so
  /// in good order (which it does at the job's end).
  Result<bool> tail(const std::string& job_id, const std::function<void(std::string_view)>& sink);

 private:
  struct Answer {
    int status = 0;
    std::string body = {};
  };
  Result<Answer> ask(std::string_view method, const std::string& path, const std::string& body);
  std::string head(std::string_view method, const std::string& path) const;

  Target target_;
};

}  // namespace manta::submitter
