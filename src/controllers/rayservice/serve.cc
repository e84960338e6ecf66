#include "controllers/rayservice/serve.h"

#include "base/excerpt.h"
#include "controllers/dashboard.h"
#include "controllers/rayservice/serve_config.h"
#include "controllers/writes.h"
#include "ray/builders/cluster_facts.h"
#include "ray/builders/service.h"
#include "ray/labels.h"
#include "ray/names.h"

#include <fmt/format.h>

#include <algorithm>

namespace manta::controllers::rayservice {
namespace {

constexpr std::chrono::seconds kPollInterval{2};
// An answer sooner than this after a request may tell what was before it.
constexpr std::chrono::seconds kSettle{1};
// Ray lists what it was sent at once; what is not there by then was lost on its way.
constexpr std::chrono::seconds kListsWithin{60};

Json dashboard_request(const ClusterSeen& seen, std::string_view operation, std::string host) {
  const auto& cluster = *seen.cluster;
  JsonObject request{{"op", operation},
                     {"host", std::move(host)},
                     {"namespace", cluster.meta.key.namespace_},
                     {"service", seen.head_service->meta.key.name}};
  if (ray::token_auth_enabled(cluster.spec)) request["secret"] = ray::auth_secret_name(cluster);
  return request;
}

constexpr std::size_t kLongestStatus = 128;  // of one word

// All messages share what a status can hold; they stand in it for two clusters.
std::size_t longest_message(const Json& answer) {
  constexpr std::size_t kAll = 256u << 10;
  constexpr std::size_t kShortest = 256, kLongest = 4096;
  std::size_t messages = 1;
  for (const auto& entry : object_at(answer, {"applications"}))
    messages += 1 + object_at(entry.value(), {"deployments"}).size();
  return std::clamp(kAll / messages, kShortest, kLongest);
}

Applications parse_applications(const Json& answer) {
  const auto longest = longest_message(answer);
  const auto message_of = [&](const Json& of) {
    return excerpt(string_at(of, {"message"}), longest);
  };
  const auto status_of = [](const Json& of) {
    return excerpt(string_at(of, {"status"}), kLongestStatus);
  };
  Applications out;
  for (const auto& entry : object_at(answer, {"applications"})) {
    const Json& value = entry.value();
    ray::ServeApplicationStatus application{.status = status_of(value),
                                            .message = message_of(value)};
    for (const auto& deployment : object_at(value, {"deployments"}))
      application.serveDeploymentStatuses[std::string(deployment.key())] = {
          .status = status_of(deployment.value()), .message = message_of(deployment.value())};
    const std::string_view name = entry.key();
    out[std::string(name.empty() ? ray::kDefaultServeApplication : name)] = std::move(application);
  }
  return out;
}

// Ray tells each application's config. Nothing when it leaves out one of them.
std::optional<JsonObject> parse_deployed(const Json& answer) {
  JsonArray applications;
  for (const auto& entry : object_at(answer, {"applications"})) {
    const auto* config = find(entry.value(), {"deployed_app_config"});
    if (!config || !config->is_object()) return std::nullopt;
    applications.push_back(*config);
  }
  if (applications.empty()) return std::nullopt;
  return JsonObject{{"applications", std::move(applications)}};
}

std::optional<Submission> parse_submission(const Json& answer) {
  const auto* config = find(answer, {"submitted", "config"});
  if (!config || !config->is_object()) return std::nullopt;
  return Submission{.config = config->get_object(),
                    .head = std::string(string_at(answer, {"submitted", "head"})),
                    .at = Time{Duration{int_at(answer, {"submitted", "at"})}},
                    .listed = bool_at(answer, {"submitted", "listed"})};
}

// Nothing runs there though it was sent: Serve has started anew without what it knew. RS-28
bool is_lost(Draft& draft, const ClusterSeen& cluster, const ServeSeen& serve) {
  if (!serve.applications.empty() || !serve.submission) return false;
  if (serve.submission->listed || serve.submission->head != head_identity(cluster)) return true;
  if (application_names(serve.submission->config).empty()) return false;
  const auto late = serve.submission->at + kListsWithin;
  if (draft.now() >= late) return true;
  draft.look_at(late);
  return false;
}

// The config that the cluster runs; nothing when nobody knows.
std::optional<JsonObject> held_config(const ServeSeen& serve) {
  if (serve.submission) return serve.submission->config;
  return serve.deployed;
}

void plan_submission(Draft& draft, const ClusterSeen& cluster, JsonObject config,
                     bool only_capacity) {
  const auto key = cluster.cluster->meta.key.to_string();
  auto request = dashboard_request(cluster, "update-serve",
                                   *dashboard_address(cluster.head_service, draft.settings));
  request.as_object()["config"] = *parse_json(canonical_json(config));
  request.as_object()["head"] = head_identity(cluster);
  kube::Write write{
      .kind = kube::WriteKind::External,
      .body = std::move(request),
      .target = std::string(kDashboardTarget),
      .lane = "serve:" + cluster.cluster->meta.key.name,
      .why = only_capacity ? "the rollout moves capacity" : "Serve does not run the config"};
  if (only_capacity) {
    write.done_event = normal(
        "UpdatedServeTargetCapacity", "Update",
        fmt::format("Updated target_capacity of serve applications to to the RayCluster {}", key));
    write.failed_event = warning("FailedToUpdateTargetCapacity", "Update",
                                 fmt::format("Failed to update target_capacity of serve "
                                             "applications to the RayCluster {}: {{error}}",
                                             key));
  } else {
    write.done_event = normal("UpdatedServeApplications", "Update",
                              fmt::format("Updated serve applications to the RayCluster {}", key));
    write.failed_event = warning(
        "FailedToUpdateServeApplications", "Update",
        fmt::format("Failed to update serve applications to the RayCluster {}: {{error}}", key));
  }
  if (const auto failure = draft.context.failures.find(write.lane);
      failure != draft.context.failures.end())
    draft.waits.push_back(
        fmt::format("Ray Serve of {} refuses the config: {}", key, failure->second.error.message));
  draft.block(cluster.cluster->meta.key.name);
  draft.write(std::move(write));
}

void refuse_config(Draft& draft, const ClusterSeen& cluster, std::string why) {
  draft.plan.events.push_back(
      warning("FailedToUpdateServeApplications", "Update",
              fmt::format("Failed to update serve applications to the RayCluster {}: {}",
                          cluster.cluster->meta.key.to_string(), why)));
  draft.block(cluster.cluster->meta.key.name, std::move(why));
}

bool ensure_held(Draft& draft, const ClusterSeen& cluster, const ServeSeen& serve,
                 const ServeGoal& goal) {
  auto held = held_config(serve);
  if (!serve.lost) {
    if (!goal.capacity) return true;
    if (held && serve.submission && capacity_of(*held) == *goal.capacity) return true;
    // Not sent by this process: what the status remembers was.
    if (!serve.submission && goal.capacity == goal.had_capacity) return true;
  }
  if (!held) {
    auto newest = parse_serve_config(draft.spec().serveConfigV2);
    if (!newest) {
      refuse_config(draft, cluster, newest.error().message);
      return false;
    }
    held = std::move(*newest);
  }
  plan_submission(draft, cluster, with_capacity(std::move(*held), goal.capacity), !serve.lost);
  return false;
}

bool ensure_newest(Draft& draft, const ClusterSeen& cluster, const ServeSeen& serve,
                   const ServeGoal& goal) {
  auto newest = parse_serve_config(draft.spec().serveConfigV2);
  if (!newest) {
    refuse_config(draft, cluster, newest.error().message);
    return false;
  }
  const bool serves_users = !draft.active_name().empty();
  if (newest->empty() && serves_users) {
    // SEEN-34: sending it would delete every application.
    refuse_config(draft, cluster,
                  "spec.serveConfigV2 is blank; the applications that run are left alone");
    return false;
  }
  auto config =
      goal.capacity ? with_capacity(std::move(*newest), goal.capacity) : std::move(*newest);
  if (!serve.submission || serve.lost) {
    plan_submission(draft, cluster, std::move(config), false);
    return false;
  }
  const auto& sent = serve.submission->config;
  if (same_config(config, sent)) return true;
  const bool only_capacity =
      goal.capacity && same_config(with_capacity(config, {}), with_capacity(sent, {}));
  plan_submission(draft, cluster, std::move(config), only_capacity);
  return false;
}

}  // namespace

const kube::PodView* the_head(const ClusterSeen& cluster) {
  const kube::PodView* only = nullptr;
  for (const auto& head : cluster.heads) {
    if (head->meta.deleting) continue;
    if (only) return nullptr;
    only = head.get();
  }
  return only;
}

std::string head_identity(const ClusterSeen& cluster) {
  const auto* head = the_head(cluster);
  if (!head) return {};
  const auto* ray = head->container(head->first_container);
  return fmt::format("{}/{}", head->meta.uid, ray ? ray->restartCount : 0);
}

bool head_is_ready(const ClusterSeen& cluster, const Settings& settings) {
  if (!cluster.cluster) return false;
  if (settings.status_conditions)
    return ray::condition_is_true(cluster.cluster->status.conditions, "HeadPodReady");
  const auto* head = the_head(cluster);
  return head && head->phase == kube::PodPhase::Running && head->is_ready();
}

ServeSeen look_at_serve(Draft& draft, const ClusterSeen& cluster) {
  ServeSeen serve;
  const auto& name = cluster.cluster->meta.key.name;
  if (!head_is_ready(cluster, draft.settings)) return serve;
  serve.asked = true;
  const auto unknown = [&](std::string why) {
    serve.trouble = why;
    draft.block(name, std::move(why));
    return std::move(serve);
  };
  auto host = dashboard_address(cluster.head_service, draft.settings);
  if (!host)
    return unknown(
        fmt::format("the head Service of {} is not there or has no port dashboard", name));
  if (ray::token_auth_enabled(cluster.cluster->spec) &&
      !(cluster.auth_secret && cluster.auth_secret->auth_token))
    return unknown(fmt::format("the Secret {} with the token of {} is not there",
                               ray::auth_secret_name(*cluster.cluster), name));
  kube::FactRequest request{.name = "serve:" + name,
                            .target = std::string(kDashboardTarget),
                            .circuit = *host,
                            .query = dashboard_request(cluster, "serve-details", *host),
                            .interval = kPollInterval};
  const auto fact = draft.context.facts.find(request.name);
  draft.plan.facts.push_back(std::move(request));
  if (fact == draft.context.facts.end()) return unknown({});
  if (!fact->second.answer)
    return unknown(fmt::format("the dashboard of {} does not answer: {}", name,
                               fact->second.answer.error().message));
  const Json& answer = *fact->second.answer;
  serve.known = true;
  serve.applications = parse_applications(answer);
  serve.deployed = parse_deployed(answer);
  serve.submission = parse_submission(answer);
  serve.lost = is_lost(draft, cluster, serve);
  if (serve.submission && fact->second.at < serve.submission->at + kSettle) {
    serve.fresh = false;
    draft.look_at(std::max(serve.submission->at + kPollInterval, draft.now()) +
                  std::chrono::milliseconds{100});
  }
  return serve;
}

bool ensure_serve(Draft& draft, const ClusterSeen& cluster, const ServeSeen& serve,
                  const ServeGoal& goal) {
  if (!serve.known) return false;
  return goal.config == ServeGoal::Config::Held ? ensure_held(draft, cluster, serve, goal)
                                                : ensure_newest(draft, cluster, serve, goal);
}

bool answers(const ServeSeen& serve) {
  return serve.known && serve.fresh && !serve.applications.empty() &&
         std::ranges::all_of(serve.applications,
                             [](const auto& one) { return one.second.status == "RUNNING"; });
}

bool is_serving(const ServeSeen& serve, const ServeGoal& goal, const ray::RayServiceSpec& spec) {
  if (!answers(serve)) return false;
  std::optional<JsonObject> config;
  if (goal.config == ServeGoal::Config::Held)
    config = held_config(serve);
  else if (auto newest = parse_serve_config(spec.serveConfigV2))
    config = std::move(*newest);
  if (!config) return true;
  if (goal.config == ServeGoal::Config::Newest &&
      !(serve.submission &&
        same_config(with_capacity(*config, {}), with_capacity(serve.submission->config, {}))))
    return false;  // what runs is an older one
  for (const auto& name : application_names(*config))
    if (!serve.applications.contains(name)) return false;
  return true;
}

std::string host_and_port(std::string_view address, std::int64_t port) {
  const bool v6 = address.find(':') != std::string_view::npos;
  return v6 ? fmt::format("[{}]:{}", address, port) : fmt::format("{}:{}", address, port);
}

void ensure_serve_label(Draft& draft, const ClusterSeen& cluster) {
  const auto* head = the_head(cluster);
  if (!head) {
    draft.block(cluster.cluster->meta.key.name);  // on its way, or the RayCluster says why not
    return;
  }
  std::string wanted = "false";
  if (!draft.spec().excludeHeadPodFromServeSvc && !head->podIP.empty()) {
    const auto port = ray::serve_container_port(cluster.cluster->spec);
    const auto host = host_and_port(head->podIP, port);
    kube::FactRequest request{.name = "health:" + cluster.cluster->meta.key.name,
                              .target = std::string(kDashboardTarget),
                              .circuit = "proxy " + host,
                              .query = {{"op", "serve-health"},
                                        {"host", host},
                                        {"namespace", head->meta.key.namespace_},
                                        {"pod", head->meta.key.name},
                                        {"port", port}},
                              .interval = kPollInterval};
    const auto fact = draft.context.facts.find(request.name);
    draft.plan.facts.push_back(std::move(request));
    if (fact == draft.context.facts.end()) return;
    if (fact->second.answer && bool_at(*fact->second.answer, {"healthy"})) wanted = "true";
  }
  if (head->meta.label(ray::kLabelServe) == wanted) return;
  const auto key = head->meta.key.to_string();
  draft.write(
      {.kind = kube::WriteKind::Patch,
       .resource = kube::kPods,
       .key = head->meta.key,
       .body = {{"metadata", {{"uid", head->meta.uid}, {"labels", {{ray::kLabelServe, wanted}}}}}},
       .patch_type = kube::PatchType::Merge,
       .lane = "label:" + head->meta.key.name,
       .done_event = normal(
           "UpdatedHeadPodServeLabel", "Update",
           fmt::format("Updated the serve label to \"{}\" for the Head Pod {}", wanted, key)),
       .failed_event = warning(
           "FailedToUpdateHeadPodServeLabel", "Update",
           fmt::format("Failed to update the serve label to \"{}\" for the Head Pod {}: {{error}}",
                       wanted, key)),
       .why = "the Serve proxy on the head says so"});
}

}  // namespace manta::controllers::rayservice
