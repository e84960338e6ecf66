// Ray as it must not be trusted: between the operator and the scripted Ray, some answers are old,
// nonsense, or deny a job that Ray has.
#pragma once

#include "kube/runtime.h"
#include "sim/dice.h"

#include <functional>
#include <map>
#include <string>

namespace manta::sim {

class LyingRay final : public kube::Outside {
 public:
  LyingRay(kube::Outside& ray, std::uint64_t seed) : ray_(ray), dice_(seed) {}

  std::function<bool()> lies = {};  // while it holds; nothing: never
  std::function<void()> lied_of_serve = {};
  std::function<bool()> is_down = {};  // for questions about Serve; RayDashboardDouble has moods

  Task<Result<Json>> call(std::string target, Json request) override;

 private:
  kube::Outside& ray_;
  Dice dice_;
  std::map<std::string, Json> earlier_ = {};  // by request
};

}  // namespace manta::sim
