#include "sim/mischief.h"

#include "sim/dice.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace manta::sim {
namespace {

using enum Mischief;

constexpr std::array<std::pair<Mischief, std::string_view>, 15> kNames = {{
    {Calls, "Calls"},
    {Events, "Events"},
    {StaleLists, "StaleLists"},
    {Crashes, "Crashes"},
    {Rivals, "Rivals"},
    {Outages, "Outages"},
    {PodsFail, "PodsFail"},
    {PodsSlow, "PodsSlow"},
    {PodsHang, "PodsHang"},
    {RayHangs, "RayHangs"},
    {RayLies, "RayLies"},
    {RayForgets, "RayForgets"},
    {Meddling, "Meddling"},
    {ServeSick, "ServeSick"},
    {GatewayFails, "GatewayFails"},
}};

}  // namespace

std::string_view to_string(Mischief mischief) {
  for (const auto& [known, name] : kNames)
    if (known == mischief) return name;
  return "?";
}

Result<Mischief> parse_mischief(std::string_view name) {
  for (const auto& [mischief, known] : kNames)
    if (known == name) return mischief;
  return failed(ErrorCode::Invalid, fmt::format("no mischief is called \"{}\"; there are {}", name,
                                                to_string(all_mischiefs())));
}

const Mischiefs& all_mischiefs() {
  static const Mischiefs kAll = [] {
    Mischiefs all;
    for (const auto& [mischief, name] : kNames) all.insert(mischief);
    return all;
  }();
  return kAll;
}

const Mischiefs& wire_mischiefs() {
  static const Mischiefs kWire = {Calls, Events, StaleLists, Crashes, Rivals, Outages};
  return kWire;
}

Mischiefs choose_mischiefs(std::uint64_t seed) {
  Dice dice(seed * 2 + 1);
  Mischiefs chosen;
  const double share = dice.pick(std::vector<double>{0.15, 0.35, 0.6});
  for (const auto& [mischief, name] : kNames) {
    // A second operator makes every run longer.
    if (dice.chance(mischief == Rivals ? share / 2 : share)) chosen.insert(mischief);
  }
  return chosen;
}

std::string to_string(const Mischiefs& mischiefs) {
  std::string text;
  for (const auto mischief : mischiefs)
    text += (text.empty() ? "" : ",") + std::string(to_string(mischief));
  return text.empty() ? "none" : text;
}

}  // namespace manta::sim
