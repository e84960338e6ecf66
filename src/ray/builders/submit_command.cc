#include "ray/builders/submit_command.h"

#include "base/json.h"
#include "base/shell.h"
#include "ray/builders/edit.h"
#include "ray/builders/service.h"
#include "ray/labels.h"
#include "ray/runtime_env.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <vector>

namespace manta::ray {
namespace {

using Tokens = std::vector<std::string>;

void add(Tokens& tokens, std::initializer_list<std::string_view> more) {
  for (const auto word : more) tokens.emplace_back(word);
}

/// Where the submitter finds the dashboard, and where it asks whether GCS is up.
struct Address {
  std::string dashboard;
  std::string health;
};

Result<Address> find_address(const RayJob& job) {
  if (job.spec.submissionMode == "K8sJobMode") {
    const std::string& url = job.status.dashboardURL;
    const std::string dashboard = url.starts_with("http://") ? url : "http://" + url;
    return Address{dashboard, dashboard + "/api/gcs_healthz"};
  }
  if (job.spec.submissionMode == "SidecarMode") {
    const RayClusterSpec none;
    const std::int64_t port =
        dashboard_port(job.spec.rayClusterSpec ? *job.spec.rayClusterSpec : none);
    return Address{fmt::format("http://127.0.0.1:{}", port),
                   fmt::format("http://localhost:{}/api/gcs_healthz", port)};
  }
  return failed(ErrorCode::Invalid,
                fmt::format("unsupported submission mode for job submit command: {}",
                            job.spec.submissionMode));
}

// One word of the script: raw where a shell reads it as it is. RJ-30
std::string word(std::string_view text) {
  std::string bare(text);
  std::erase(bare, '~');  // special only where a word begins
  const bool plain = !text.starts_with('~') && !bare.empty() && shell_quote(bare) == bare;
  return plain || text.empty() ? std::string(text) : shell_quote(text);
}

// The address of a Service is plain; a status edited by hand need not be. RJ-30
std::string in_double_quotes(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\' || c == '$' || c == '`') out += '\\';
    out += c;
  }
  return out;
}

void add_wait(Tokens& tokens, const Address& address) {
  add(tokens,
      {"until",
       fmt::format("python -c \"import urllib.request; r=urllib.request.urlopen('{}', timeout=10); "
                   "exit(0 if b'success' in r.read() else 1)\"",
                   in_double_quotes(address.health)),
       ">/dev/null", "2>&1", ";", "do", "echo",
       quote_argument(fmt::format("Waiting for Ray Dashboard GCS to become healthy at {} ...",
                                  address.dashboard)),
       ";", "sleep", "2", ";", "done", ";"});
}

Result<void> add_metadata(Tokens& tokens, const RayJobSpec& spec) {
  if (spec.metadata.empty()) return {};
  if (spec.rayClusterSpec && !spec.rayClusterSpec->rayVersion.empty()) {
    const auto known = supports_job_metadata(spec.rayClusterSpec->rayVersion);
    if (!known) return failed(known.error());
    if (!*known)
      return failed(ErrorCode::Invalid,
                    "the Ray version must be at least 2.6.0 to use the metadata field");
  }
  add(tokens,
      {"--metadata-json", quote_argument(dump_json(json_of(spec.metadata), JsonEscape::Html))});
  return {};
}

std::string_view trim(std::string_view text) {
  // Unicode white space: ASCII's, NEL, NBSP, and the spaces and separators from U+1680 on.
  constexpr std::string_view kWide[] = {"\u0085", "\u00a0", "\u1680", "\u2000", "\u2001",
                                        "\u2002", "\u2003", "\u2004", "\u2005", "\u2006",
                                        "\u2007", "\u2008", "\u2009", "\u200a", "\u2028",
                                        "\u2029", "\u202f", "\u205f", "\u3000"};
  auto space_at_start = [&]() -> std::size_t {
    if (!text.empty() && std::string_view(" \t\n\v\f\r").contains(text.front())) return 1;
    for (const auto wide : kWide)
      if (text.starts_with(wide)) return wide.size();
    return 0;
  };
  auto space_at_end = [&]() -> std::size_t {
    if (!text.empty() && std::string_view(" \t\n\v\f\r").contains(text.back())) return 1;
    for (const auto wide : kWide)
      if (text.ends_with(wide)) return wide.size();
    return 0;
  };
  while (const auto size = space_at_start()) text.remove_prefix(size);
  while (const auto size = space_at_end()) text.remove_suffix(size);
  return text;
}

// Ray's command line joins its words again and hands them to a shell. Its client takes the text as
// it is. RJ-28
Result<void> add_verbatim_submit(Tokens& tokens, const RayJob& job, const std::string& address) {
  const RayJobSpec& spec = job.spec;
  JsonObject body{{"entrypoint", spec.entrypoint}};
  if (!job.status.jobId.empty()) body["submission_id"] = job.status.jobId;
  if (!spec.runtimeEnvYAML.empty()) {
    auto env = parse_runtime_env(spec.runtimeEnvYAML);
    if (!env) return failed(env.error().in("reading runtimeEnvYAML"));
    body["runtime_env"] = std::move(*env);
  }
  if (!spec.metadata.empty()) body["metadata"] = json_of(spec.metadata);
  if (spec.entrypointNumCpus > 0) body["entrypoint_num_cpus"] = spec.entrypointNumCpus;
  if (spec.entrypointNumGpus > 0) body["entrypoint_num_gpus"] = spec.entrypointNumGpus;
  if (!spec.entrypointResources.empty()) {
    auto resources = parse_json(spec.entrypointResources);
    if (!resources) return failed(resources.error().in("reading entrypointResources"));
    body["entrypoint_resources"] = std::move(*resources);
  }
  add(tokens,
      {"python", "-c",
       shell_quote("import json, sys; from ray.job_submission import JobSubmissionClient; "
                   "JobSubmissionClient(sys.argv[1]).submit_job(**json.loads(sys.argv[2]))"),
       address, shell_quote(dump_json(body)), ";"});
  return {};
}

Result<void> add_submit(Tokens& tokens, const RayJob& job, const std::string& address, bool guarded,
                        bool verbatim) {
  const RayJobSpec& spec = job.spec;
  if (verbatim) return add_verbatim_submit(tokens, job, address);
  add(tokens, {"ray", "job", "submit", "--address", address});
  if (guarded) add(tokens, {"--no-wait"});
  if (!spec.runtimeEnvYAML.empty()) {
    auto runtime_env = runtime_env_text(spec.runtimeEnvYAML);
    if (!runtime_env) return failed(runtime_env.error().in("reading runtimeEnvYAML"));
    add(tokens, {"--runtime-env-json", quote_argument(*runtime_env)});
  }
  if (auto added = add_metadata(tokens, spec); !added) return added;
  if (!job.status.jobId.empty()) add(tokens, {"--submission-id", word(job.status.jobId)});
  if (spec.entrypointNumCpus > 0)
    add(tokens, {"--entrypoint-num-cpus", fmt::format("{:.6f}", spec.entrypointNumCpus)});
  if (spec.entrypointNumGpus > 0)
    add(tokens, {"--entrypoint-num-gpus", fmt::format("{:.6f}", spec.entrypointNumGpus)});
  if (!spec.entrypointResources.empty())
    add(tokens, {"--entrypoint-resources", quote_argument(spec.entrypointResources)});
  // The entrypoint is shell text by contract: users write pipes and quotes in it.
  add(tokens, {"--", trim(spec.entrypoint), ";"});
  return {};
}

}  // namespace

std::string quote_argument(std::string_view text) {
  const bool plain = std::ranges::none_of(
      text, [](unsigned char c) { return c < 0x20 || c == 0x7f || c == '$' || c == '`'; });
  if (!plain) return shell_quote(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

Result<bool> supports_job_metadata(std::string_view ray_version) {
  auto no_version = [&] {
    return failed(ErrorCode::Invalid, fmt::format("failed to parse Ray version: {}: invalid "
                                                  "semantic version",
                                                  ray_version));
  };
  std::string_view rest = ray_version;
  if (rest.starts_with('v')) rest.remove_prefix(1);
  std::uint64_t numbers[3] = {0, 0, 0};
  for (int i = 0; i < 3; ++i) {
    if (i > 0) {
      if (!rest.starts_with('.')) break;
      rest.remove_prefix(1);
    }
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), numbers[i]);
    if (error != std::errc()) return no_version();
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  }
  const bool suffix = rest.size() > 1 && (rest[0] == '-' || rest[0] == '+') &&
                      std::ranges::all_of(rest, [](char c) {
                        return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
                               std::string_view("-+.").contains(c);
                      });
  if (!rest.empty() && !suffix) return no_version();
  if (rest.starts_with('-')) return false;  // a pre-release never satisfies ">= 2.6.0"
  return numbers[0] > 2 || (numbers[0] == 2 && numbers[1] >= 6);
}

Result<std::string> submit_command(const RayJob& job, const BuildOptions& options) {
  const auto address = find_address(job);
  if (!address) return failed(address.error());
  const bool verbatim = options.verbatim_entrypoint;
  const bool guarded =
      job.spec.submissionMode == "K8sJobMode" || options.sidecar_submitter_restart || verbatim;
  const std::string id = word(job.status.jobId);
  const std::string dashboard = word(address->dashboard);

  Tokens tokens;
  add_wait(tokens, *address);
  // A submitter that starts again must not submit twice: it only follows the logs.
  if (guarded)
    add(tokens, {"if", "!", "ray", "job", "status", "--address", dashboard, id, ">/dev/null",
                 "2>&1", ";", "then"});
  if (auto submitted = add_submit(tokens, job, dashboard, guarded, verbatim); !submitted)
    return failed(submitted.error());
  if (guarded)
    add(tokens, {"fi", ";", "ray", "job", "logs", "--address", dashboard, "--follow", id});
  return fmt::format("{}", fmt::join(tokens, " "));
}

}  // namespace manta::ray
