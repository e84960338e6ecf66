// What the operator is told: flags, gates, the configuration file, time zones.
#include "fuzz/fuzz.h"
#include "operator/flags.h"
#include "operator/gates.h"
#include "operator/options.h"
#include "operator/posix_zone.h"
#include "operator/time_zones.h"

using namespace manta;
using namespace manta::fuzz;
using namespace manta::operator_;

static void check_flags(Input& in) {
  std::vector<std::string> arguments;
  std::string shown;
  for (int n = in.number(0, 6); n > 0; --n) {
    std::string text(in.one_of({"-", "--", "---", ""}));
    text += in.one_of({"metrics-addr", "qps", "burst", "enable-leader-election", "help",
                       "reconcile-concurrency", "feature-gates", "watch-namespace", "config",
                       "batch-scheduler", "zap-log-level", ""});
    if (in.flag()) text += "=";
    if (in.flag()) text += in.text();
    shown += text + "|";
    arguments.push_back(std::move(text));
  }
  const auto command = parse_command_line(arguments);
  // Options, or a text that says why there are none.
  FUZZ_CHECK(command.options.has_value() != !command.text.empty(), shown, command.text);
  FUZZ_CHECK(command.options || command.exit_code == 0 || command.exit_code == 2, shown);
  if (!command.options) return;
  FUZZ_CHECK(!command.options->namespaces().empty(), shown);
  (void)make_settings(*command.options, [&](std::string_view) -> std::optional<std::string> {
    return in.flag() ? std::optional(in.text()) : std::nullopt;
  });
}

static void check_gates(std::string_view text) {
  const auto gates = parse_gates(text);
  if (!gates) return FUZZ_CHECK(!gates.error().message.empty(), text);
  // The result, written out, is itself a text that gives the same.
  std::string all;
  for (const auto& [name, on] : *gates)
    if (name != "AllAlpha" && name != "AllBeta")
      all += (all.empty() ? "" : ",") + name + "=" + (on ? "true" : "false");
  const auto again = parse_gates(all);
  FUZZ_CHECK(again.has_value(), text, all, again.error().message);
  for (const auto& [name, on] : *again)
    if (name != "AllAlpha" && name != "AllBeta") FUZZ_CHECK(gates->at(name) == on, text, all);
  for (const auto& [name, on] : default_gates()) FUZZ_CHECK(gates->contains(name), text, name);
}

static void check_config(std::string_view text) {
  Options options;
  options.kubeconfig = "k";
  if (const auto read = apply_config_file(options, text); !read)
    return FUZZ_CHECK(!read.error().message.empty(), text);
  FUZZ_CHECK(options.kubeconfig == "k", text);  // not the file's to decide
  FUZZ_CHECK(!options.metrics_addr.empty() && !options.probe_addr.empty(), text);
  FUZZ_CHECK(options.reconcile_concurrency != 0, text);
}

static void check_zone(std::string_view text, Input& in) {
  const auto zone = parse_posix_zone(text);
  if (!zone) return;
  for (int n = 0; n < 4; ++n) {
    const std::chrono::sys_seconds at{
        std::chrono::seconds{in.number<std::int64_t>(-4'000'000'000, 40'000'000'000)}};
    const auto offset = zone->at(at);
    FUZZ_CHECK(offset == zone->standard || offset == zone->summer, text);
  }
}

// Files of time zones: a header with the fuzzer's counts, and its bytes.
static void check_tzif(Input& in) {
  std::string file = "TZif" + std::string(in.one_of({"2", "3", std::string_view("\0", 1)}));
  file.append(15, '\0');
  for (int n = 0; n < 6; ++n) {
    const auto count = in.rarely(10) ? in.any<std::uint32_t>() : in.number<std::uint32_t>(0, 3);
    for (const int shift : {24, 16, 8, 0}) file += static_cast<char>(count >> shift);
  }
  file += in.rest();
  if (const auto zone = parse_time_zone(file))
    for (const std::int64_t at : {std::int64_t{-5'000'000'000}, std::int64_t{0},
                                  std::int64_t{1'800'000'000}, std::int64_t{9'000'000'000}})
      (void)(*zone)(Time{std::chrono::seconds{at}});
}

FUZZ(data) {
  check_gates(data);
  check_config(data);
  Input in(data);
  check_zone(data, in);
  if (const auto zone = parse_time_zone(data)) (void)(*zone)(Time{});
  (void)parse_go_bool(data);

  Input choices(data);
  check_flags(choices);
  std::string gates;
  const auto known = default_gates();
  for (int n = choices.number(0, 4); n > 0; --n) {
    const auto at =
        choices.number<std::ptrdiff_t>(0, static_cast<std::ptrdiff_t>(known.size()) - 1);
    gates += (choices.flag() ? std::next(known.begin(), at)->first
                             : std::string(choices.one_of({"AllAlpha", "AllBeta", "x", " "}))) +
             std::string(choices.one_of({"=true", "=false", "=1", "=x", ""})) + ",";
  }
  check_gates(std::string_view(gates).substr(0, gates.empty() ? 0 : gates.size() - 1));

  JsonObject config{{"apiVersion", "config.ray.io/v1alpha1"}, {"kind", "Configuration"}};
  for (int n = choices.number(0, 5); n > 0; --n)
    config[choices.one_of({"metricsAddr", "qps", "burst", "reconcileConcurrency",
                           "enableBatchScheduler", "watchNamespace", "headSidecarContainers",
                           "defaultPodLabels", "defaultContainerEnvs", "probeAddr"})] =
        choices.json(2);
  check_config(dump_json(config));
  std::string zone = "CET" + std::to_string(choices.number(-30, 30));
  if (choices.flag()) zone += "CEST";
  for (int n = choices.number(0, 2); n > 0; --n)
    zone += std::string(choices.one_of({",M3.5.0", ",J60", ",0", ",M13.1.1", ",366"})) +
            (choices.flag() ? "/" + std::to_string(choices.number(-200, 200)) + ":" +
                                  std::to_string(choices.any<std::int32_t>())
                            : "");
  check_zone(zone, choices);
  check_tzif(choices);
}
