#include "operator/log_sampler.h"

namespace manta::operator_ {
namespace {

constexpr std::uint64_t kFirst = 100;
constexpr std::uint64_t kEvery = 100;

}  // namespace

bool LogSampler::admit(log::Level level, std::string_view message, Time now) {
  const auto second = std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count();
  std::string identity = std::to_string(static_cast<int>(level));
  identity.append("\n").append(message);
  auto& count = counts_[identity];
  if (count.second != second) count = {.second = second};
  ++count.lines;
  return count.lines <= kFirst || (count.lines - kFirst) % kEvery == 0;
}

}  // namespace manta::operator_
