// Ray's dashboard, scripted: it knows the jobs that were submitted to a cluster whose head is
// ready, and says of them what the test wants. A new head has forgotten every job.
#pragma once

#include "base/async.h"
#include "kube/runtime.h"

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace manta::sim {

class RayDashboardDouble final : public kube::Outside {
 public:
  enum class Mood { Answers, ServerError, Hangs };

  explicit RayDashboardDouble(Loop& loop) : loop_(loop) {}

  /// uid of the ready head Pod behind a head Service; empty: nobody answers.
  std::function<std::string(std::string_view service)> head_of = {};
  Mood mood = Mood::Answers;

  /// As `ray job submit` does: an id that is known is followed, not submitted again.
  void submit(const std::string& job_id, const std::string& head);
  /// RUNNING, SUCCEEDED, FAILED, STOPPED.
  void set(const std::string& job_id, std::string status);
  void forget(const std::string& job_id) { jobs_.erase(job_id); }

  /// Ids in the order in which Ray took them.
  const std::vector<std::string>& submissions() const { return submissions_; }
  const std::vector<std::string>& stops() const { return stops_; }
  /// Ids of which it has ever said that they succeeded.
  const std::set<std::string>& succeeded() const { return succeeded_; }
  std::uint64_t calls() const { return calls_; }
  std::string status_of(const std::string& job_id) const;
  std::string head_with(const std::string& job_id) const;  // its uid; empty: no such job
  /// What a job has printed.
  std::function<std::string(const std::string& job_id)> log = {};
  /// Called for each new job.
  std::function<void(const std::string& job_id)> on_submit = {};

  Task<Result<Json>> call(std::string target, Json request) override;

 private:
  struct Job {
    std::string head = {};
    std::string status = {};
    Time started = {};
    Time ended = {};
  };
  Result<Json> answer(const Json& request, const std::string& head);
  Json describe(const std::string& id, const Job& job) const;

  Loop& loop_;
  std::map<std::string, Job> jobs_ = {};
  std::vector<std::string> submissions_ = {};
  std::vector<std::string> stops_ = {};
  std::set<std::string> succeeded_ = {};
  std::uint64_t calls_ = 0;
};

}  // namespace manta::sim
