#include "submitter/arguments.h"

#include <charconv>
#include <cmath>

namespace manta::submitter {

const std::string_view kUsage =
    "usage: manta-submitter [flags] [--] ENTRYPOINT…\n"
    "  --runtime-env-json TEXT       runtime environment, a JSON object\n"
    "  --metadata-json TEXT          metadata, a JSON object of strings\n"
    "  --entrypoint-resources TEXT   custom resources, a JSON object of numbers\n"
    "  --entrypoint-num-cpus N\n"
    "  --entrypoint-num-gpus N\n"
    "Environment: RAY_DASHBOARD_ADDRESS, RAY_JOB_SUBMISSION_ID, RAY_AUTH_TOKEN (optional)\n";

namespace {

Result<double> parse_number(std::string_view flag, std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value))
    return failed(ErrorCode::Invalid,
                  "--" + std::string(flag) + ": \"" + std::string(text) + "\" is no number");
  return value;
}

Result<void> set_flag(Arguments& out, std::string_view flag, std::string value) {
  const auto number = [&](double& field) -> Result<void> {
    const auto parsed = parse_number(flag, value);
    if (!parsed) return std::unexpected(parsed.error());
    field = *parsed;
    return {};
  };
  if (flag == "entrypoint-num-cpus") return number(out.entrypoint_num_cpus);
  if (flag == "entrypoint-num-gpus") return number(out.entrypoint_num_gpus);
  if (flag == "runtime-env-json")
    out.runtime_env_json = std::move(value);
  else if (flag == "metadata-json")
    out.metadata_json = std::move(value);
  else if (flag == "entrypoint-resources")
    out.entrypoint_resources = std::move(value);
  else
    return failed(ErrorCode::Invalid, "unknown flag: --" + std::string(flag));
  return {};
}

}  // namespace

Result<Arguments> parse_arguments(const std::vector<std::string>& words) {
  Arguments out;
  const auto add_word = [&](std::string_view word) {
    if (!out.entrypoint.empty()) out.entrypoint += ' ';
    out.entrypoint += word;
  };
  bool flags = true;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string_view word = words[i];
    if (flags && word == "--") {
      flags = false;
    } else if (!flags || !word.starts_with('-') || word == "-") {
      add_word(word);
    } else if (word == "--help" || word == "-h") {
      out.help = true;
    } else if (!word.starts_with("--")) {
      return failed(ErrorCode::Invalid, "unknown flag: " + words[i]);
    } else {
      word.remove_prefix(2);
      const auto equals = word.find('=');
      if (equals == std::string_view::npos && i + 1 == words.size())
        return failed(ErrorCode::Invalid, "flag needs an argument: " + words[i]);
      const auto flag = word.substr(0, equals);
      auto value =
          equals == std::string_view::npos ? words[++i] : std::string(word.substr(equals + 1));
      if (auto set = set_flag(out, flag, std::move(value)); !set)
        return std::unexpected(set.error());
    }
  }
  return out;
}

Result<Target> read_target(const Environment& environment) {
  const auto need = [&](std::string_view name) -> Result<std::string> {
    auto value = environment(name);
    if (!value || value->empty())
      return failed(ErrorCode::Invalid,
                    "missing " + std::string(name) + " in environment variables");
    return std::move(*value);
  };
  const auto address = need("RAY_DASHBOARD_ADDRESS");
  if (!address) return std::unexpected(address.error());
  auto id = need("RAY_JOB_SUBMISSION_ID");
  if (!id) return std::unexpected(id.error());

  std::string_view rest = *address;
  if (rest.starts_with("https://"))
    return failed(ErrorCode::Invalid,
                  "RAY_DASHBOARD_ADDRESS " + *address + ": only http is spoken to Ray's dashboard");
  if (rest.starts_with("http://")) rest.remove_prefix(7);
  Target target{.submission_id = std::move(*id),
                .token = environment("RAY_AUTH_TOKEN").value_or("")};
  const auto slash = rest.find('/');
  if (slash != std::string_view::npos) target.path = rest.substr(slash);
  while (target.path.ends_with('/')) target.path.pop_back();
  rest = rest.substr(0, slash);
  const auto colon = rest.rfind(':');
  const bool has_port = colon != std::string_view::npos && rest.find(']', colon) == rest.npos;
  target.host = rest.substr(0, has_port ? colon : rest.npos);
  target.port = has_port ? std::string(rest.substr(colon + 1)) : "80";
  if (target.host.empty() || target.port.empty())
    return failed(ErrorCode::Invalid, "RAY_DASHBOARD_ADDRESS \"" + *address + "\" is no HOST:PORT");
  return target;
}

}  // namespace manta::submitter
