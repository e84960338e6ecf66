#include "ray/builders/start_params.h"

#include "base/quantity.h"
#include "base/shell.h"
#include "base/text.h"
#include "ray/builders/edit.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>

namespace manta::ray {
namespace {

constexpr std::string_view kResources = "resources";

// Container resources that Ray schedules by a name of its own. spec/03 §1.4
struct Accelerator {
  std::string_view kubernetes;
  std::string_view ray;
};
constexpr Accelerator kAccelerators[] = {
    {"aws.amazon.com/neuroncore", "neuron_cores"},
    {"google.com/tpu", "TPU"},
};

using CustomResources = std::map<std::string, double, std::less<>>;

std::string without_escapes(std::string_view text) {
  std::string plain(text);
  for (auto at = plain.find("\\\""); at != std::string::npos; at = plain.find("\\\"", at + 1))
    plain.erase(at, 1);
  return plain;
}

std::string encode(const CustomResources& resources) {
  JsonObject object;
  for (const auto& [name, amount] : resources) object[name] = amount;
  // Always quoted, and a quote inside a name stays inside: JSON does not escape it.
  const std::string quoted = shell_quote(dump_json(object, JsonEscape::Html));
  return quoted;
}

// Users write the JSON within one or two layers of quotes, for one or two shells; within double
// quotes they escape those of the JSON, which bash takes off again.
std::optional<CustomResources> decode(std::string_view text) {
  constexpr std::string_view kQuotes = "'\"` ";
  const auto first = text.find_first_not_of(kQuotes);
  if (first == std::string_view::npos) return std::nullopt;
  text = text.substr(first, text.find_last_not_of(kQuotes) - first + 1);
  auto parsed = parse_json(text);
  if (!parsed) parsed = parse_json(without_escapes(text));
  if (!parsed) return std::nullopt;
  CustomResources resources;
  if (parsed->is_null()) return resources;
  if (!parsed->is_object()) return std::nullopt;
  for (const auto& [name, amount] : parsed->get_object()) {
    if (!amount.is_number()) return std::nullopt;
    resources[name] = amount.to_number<double>();
  }
  return resources;
}

std::optional<Quantity> quantity_in(const JsonObject& amounts, std::string_view name) {
  const Json* value = amounts.if_contains(name);
  if (value == nullptr) return std::nullopt;
  auto parsed = Quantity::parse(quantity_text(*value));
  if (!parsed) return std::nullopt;
  return *parsed;
}

std::string whole_units(const Quantity& quantity) { return fmt::format("{}", quantity.value()); }

// Whatever their vendors: SEEN-14.
void derive_gpus(StartParams& params, const JsonObject& limits) {
  if (params.contains("num-gpus")) return;
  Quantity gpus;
  for (const auto& [name, value] : limits)
    if (is_gpu_resource(name))
      if (const auto amount = Quantity::parse(quantity_text(value))) gpus += *amount;
  if (!gpus.is_zero()) params["num-gpus"] = whole_units(gpus);
}

bool names_an_accelerator(const CustomResources& resources) {
  return std::ranges::any_of(kAccelerators,
                             [&](const Accelerator& a) { return resources.contains(a.ray); });
}

void derive_accelerators(StartParams& params, const JsonObject& limits) {
  const auto given = params.find(kResources);
  auto custom = given == params.end() ? CustomResources{} : decode(given->second);
  // Nothing can be added to a text that is not ours to understand (unreadable_resources() tells the
  // user), and what the user says of accelerators is the last word.
  if (!custom || names_an_accelerator(*custom)) return;
  bool added = false;
  for (const Accelerator& accelerator : kAccelerators) {
    const auto amount = quantity_in(limits, accelerator.kubernetes);
    if (!amount || amount->is_zero()) continue;
    (*custom)[std::string(accelerator.ray)] =
        quantity_as_float(quantity_text(limits.at(accelerator.kubernetes))).value_or(0);
    added = true;
  }
  if (added) params[std::string(kResources)] = encode(*custom);
}

}  // namespace

std::string quantity_text(const Json& value) {
  if (value.is_string()) return std::string(value.get_string());
  return value.is_number() ? dump_json(value) : std::string();
}

bool is_gpu_resource(std::string_view name) {
  if (name.ends_with("gpu")) return true;
  // …nvidia.com/mig-<digits>g.<digits>gb
  constexpr std::string_view kMig = "nvidia.com/mig-";
  const auto at = name.rfind(kMig);
  if (at == std::string_view::npos) return false;
  std::string_view rest = name.substr(at + kMig.size());
  auto eat_digits = [&] {
    const auto end = std::min(rest.find_first_not_of("0123456789"), rest.size());
    rest.remove_prefix(end);
    return end > 0;
  };
  if (!eat_digits() || !rest.starts_with("g.")) return false;
  rest.remove_prefix(2);
  return eat_digits() && rest == "gb";
}

std::optional<double> quantity_as_float(std::string_view text) {
  if (!Quantity::parse(text)) return std::nullopt;
  std::string digits;
  int exponent = 0;
  std::size_t i = 0;
  bool fraction = false;
  for (; i < text.size() && std::string_view("+-.0123456789").contains(text[i]); ++i) {
    if (text[i] == '.') {
      fraction = true;
      continue;
    }
    digits += text[i];
    if (fraction) --exponent;
  }
  const std::string_view suffix = text.substr(i);
  constexpr std::string_view kBinary = "KMGTPE";
  double binary = 1;
  if (suffix.ends_with('i')) {
    binary = std::ldexp(1.0, 10 * (static_cast<int>(kBinary.find(suffix[0])) + 1));
  } else if (suffix.size() > 1) {  // e3, E-2
    // Ten thousand is as good as a million: beyond, a double is its largest or 0.
    std::int64_t given = 0;
    const auto power = suffix.substr(suffix[1] == '+' ? 2 : 1);
    std::from_chars(power.data(), power.data() + power.size(), given);
    exponent += static_cast<int>(std::clamp<std::int64_t>(given, -10'000, 10'000));
  } else if (suffix.size() == 1) {
    constexpr std::string_view kDecimal = "num kMGTPE";
    exponent += 3 * (static_cast<int>(kDecimal.find(suffix[0])) - 3);
  }
  const double value =
      std::strtod(fmt::format("{}e{}", digits, exponent).c_str(), nullptr) * binary;
  constexpr double kMost = std::numeric_limits<double>::max();
  return std::clamp(value, -kMost, kMost) + 0.0;  // JSON has no infinity, and -0 is 0
}

void apply_group_resources(StartParams& params, const kube::StringMap& resources) {
  CustomResources custom;
  std::optional<Quantity> gpus;
  for (const auto& [name, text] : resources) {
    const auto amount = Quantity::parse(text);
    if (!amount) continue;
    const std::string key = lower_case(name);
    if (key == "cpu")
      params["num-cpus"] = whole_units(*amount);
    else if (key == "memory")
      params["memory"] = whole_units(*amount);
    else if (is_gpu_resource(key))
      (gpus ? *gpus : gpus.emplace()) += *amount;
    else
      custom[name] = quantity_as_float(text).value_or(0);
  }
  if (gpus) params["num-gpus"] = whole_units(*gpus);
  if (!custom.empty()) params[std::string(kResources)] = encode(custom);
}

bool unreadable_resources(const StartParams& params) {
  const auto given = params.find(kResources);
  return given != params.end() && !given->second.empty() && !decode(given->second);
}

void apply_group_labels(StartParams& params, const kube::StringMap& labels) {
  if (labels.empty()) return;
  std::string joined;
  for (const auto& [key, value] : labels)
    joined += fmt::format("{}{}={}", joined.empty() ? "" : ",", key, value);
  params["labels"] = joined;
}

namespace {

void apply_common_defaults(StartParams& params) {
  params.emplace("metrics-export-port", "8080");
  params.emplace("dashboard-agent-listen-port", "52365");
  params["block"] = "true";  // without it the container ends while Ray runs in the background
}

}  // namespace

void apply_head_defaults(StartParams& params) {
  params.emplace("dashboard-host", "0.0.0.0");
  apply_common_defaults(params);
}

void apply_worker_defaults(StartParams& params, std::string_view gcs_address) {
  params.emplace("address", gcs_address);
  apply_common_defaults(params);
}

void derive_from_container(StartParams& params, const JsonObject& ray_container) {
  const JsonObject& resources = object_of(ray_container, "resources");
  const JsonObject& limits = object_of(resources, "limits");
  if (!params.contains("num-cpus")) {
    auto cpu = quantity_in(limits, "cpu");
    if (!cpu || cpu->is_zero()) cpu = quantity_in(object_of(resources, "requests"), "cpu");
    if (cpu && !cpu->is_zero()) params["num-cpus"] = whole_units(*cpu);
  }
  if (!params.contains("memory")) {
    // Requests do not count: Ray would take them for a bound that the kernel does not keep.
    const auto memory = quantity_in(limits, "memory");
    if (memory && !memory->is_zero()) params["memory"] = whole_units(*memory);
  }
  derive_gpus(params, limits);
  derive_accelerators(params, limits);
}

std::string ray_start_text(RayNode node, const StartParams& params) {
  std::string text = node == RayNode::Head ? "ray start --head " : "ray start ";
  for (const auto& [key, value] : params) {
    const std::string word = lower_case(value);
    const bool takes_value =
        key == "log-color" || key == "include-dashboard" || key == "include-log-monitor";
    if (!takes_value && word == "true")
      text += fmt::format(" --{} ", key);
    else if (takes_value || word != "false")
      text += fmt::format(" --{}={} ", key, value);
  }
  return text;
}

std::string gcs_port(const StartParams& head_params) {
  const auto port = head_params.find("port");
  return port == head_params.end() ? "6379" : port->second;
}

std::int32_t port_param(const StartParams& params, std::string_view key, std::int32_t fallback) {
  const auto it = params.find(key);
  if (it == params.end()) return fallback;
  std::string_view text = it->second;
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  std::int32_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && !text.empty() ? port
                                                                                   : fallback;
}

}  // namespace manta::ray
