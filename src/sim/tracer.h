// A run in words, a line for each thing that happens: what --replay prints.
#pragma once

#include "sim/world.h"

#include <functional>
#include <string>

namespace manta::sim {

class Tracer {
 public:
  using Say = std::function<void(const std::string&)>;
  /// Without `out` nothing is traced, and nothing is spent on it.
  explicit Tracer(Say out) : out_(std::move(out)) {}

  void follow(World& world);
  void tell(const std::string& what) const;
  Say say() const;

 private:
  void at_commit(const Change& change) const;

  Say out_;
  World* world_ = nullptr;
};

}  // namespace manta::sim
