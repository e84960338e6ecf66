// What the node reads: Pods, helpers' messages, logs, image names, $(VAR) in commands.
#include "fuzz/fuzz.h"
#include "local/images/image_name.h"
#include "local/node/container_log.h"
#include "local/node/env.h"
#include "local/node/helper_spec.h"
#include "local/node/pod_spec.h"
#include "local/node/prober.h"
#include "local/node/volumes.h"

using namespace manta;
using namespace manta::fuzz;
using namespace manta::local;

static Json pod_like(Input& in, int depth) {
  static constexpr std::string_view kFields[] = {"name",
                                                 "image",
                                                 "command",
                                                 "args",
                                                 "env",
                                                 "value",
                                                 "valueFrom",
                                                 "fieldRef",
                                                 "fieldPath",
                                                 "resourceFieldRef",
                                                 "resource",
                                                 "divisor",
                                                 "configMapKeyRef",
                                                 "key",
                                                 "envFrom",
                                                 "prefix",
                                                 "livenessProbe",
                                                 "httpGet",
                                                 "port",
                                                 "exec",
                                                 "periodSeconds",
                                                 "lifecycle",
                                                 "preStop",
                                                 "volumeMounts",
                                                 "mountPath",
                                                 "subPath",
                                                 "resources",
                                                 "limits",
                                                 "cpu",
                                                 "memory",
                                                 "restartPolicy",
                                                 "configMap",
                                                 "secret",
                                                 "items",
                                                 "path",
                                                 "emptyDir",
                                                 "medium",
                                                 "sizeLimit",
                                                 "projected",
                                                 "sources",
                                                 "serviceAccountToken",
                                                 "downwardAPI",
                                                 "hostPath",
                                                 "optional",
                                                 "mode",
                                                 "defaultMode"};
  switch (in.number(0, depth > 0 ? 5 : 2)) {
    case 0:
      return in.word({"a", "$(a)", "metadata.name", "limits.cpu", "100m", "1Gi", "Always", "/x",
                      "../y", "http"});
    case 1:
      return in.number<std::int64_t>(-1, 9000);
    case 2:
      return in.json(0);
    case 3: {
      JsonArray out;
      for (int n = in.number(0, 3); n > 0; --n) out.push_back(pod_like(in, depth - 1));
      return out;
    }
    default: {
      JsonObject out;
      for (int n = in.number(1, 5); n > 0; --n) out[in.one_of(kFields)] = pod_like(in, depth - 1);
      return out;
    }
  }
}

static JsonArray named(Input& in, int depth) {
  JsonArray out;
  for (int n = in.number(0, 3); n > 0; --n) {
    Json item = pod_like(in, depth);
    if (!in.rarely(8)) ensure(item, {"name"}) = in.word({"a", "b", "c"});
    out.push_back(std::move(item));
  }
  return out;
}

static void check_pod(Input& in) {
  JsonObject spec{{"containers", named(in, 4)}, {"volumes", named(in, 4)}};
  if (in.flag()) spec["initContainers"] = named(in, 3);
  if (in.flag()) spec["restartPolicy"] = in.json(0);
  if (in.flag()) spec["terminationGracePeriodSeconds"] = in.json(0);
  const auto document = std::make_shared<const Json>(
      Json{{"metadata", {{"name", "p"}, {"namespace", "n"}, {"uid", "u"}}}, {"spec", spec}});
  const auto shown = dump_json(*document);
  const auto pod = parse_pod(document);
  if (!pod) return FUZZ_CHECK(!pod.error().message.empty(), shown);
  PodObjects objects;
  collect_env_objects(*pod, objects);
  collect_volume_objects(*pod, objects);
  for (auto& [name, object] : objects.config_maps)
    if (in.flag()) object = Json{{"data", in.json(1)}};
  for (auto& [name, object] : objects.secrets)
    if (in.flag()) object = Json{{"data", in.json(1)}};
  const NodeFacts node{.host_ip = "10.0.0.1", .cpu_milli = 2000, .memory = 1 << 30};
  FUZZ_CHECK(!qos_class(*pod).empty(), shown);
  for (const auto& container : pod->containers) {
    const auto adjust = oom_score_adj(*pod, container, node.memory);
    FUZZ_CHECK(adjust >= -1000 && adjust <= 1000, shown);
    const auto env = build_env(*pod, container, {.objects = objects, .node = node});
    if (env) {
      (void)build_argv(container, {"/bin/a"}, {}, *env);
      (void)build_mounts(container, {{"a", "/v/a"}, {"b", "/v/b"}}, *env);
    }
    for (const auto* probe : {&container.startup, &container.liveness, &container.readiness})
      if (*probe) (void)build_probe_request((*probe)->handler, "10.0.0.2");
  }
  (void)needed_tokens(*pod);
  for (const auto& volume : array_at(*document, {"spec", "volumes"})) {
    (void)volume_kind(volume);
    const auto files = build_volume_files(*pod, volume, {.objects = objects, .node = node});
    if (!files) continue;
    // No file of a volume may land outside it.
    for (const auto& file : *files) {
      FUZZ_CHECK(!file.path.empty() && file.path[0] != '/', shown, file.path);
      FUZZ_CHECK(("/" + file.path + "/").find("/../") == std::string::npos, shown, file.path);
    }
  }
}

FUZZ(data) {
  const std::string text(data);
  if (const auto spec = parse_helper_spec(text)) {
    const auto written = dump_json(to_json(*spec));
    const auto again = parse_helper_spec(written);
    FUZZ_CHECK(again && dump_json(to_json(*again)) == written, text, written);
  }
  if (const auto news = parse_news(text)) {
    const auto line = format_news(*news);
    FUZZ_CHECK(line.ends_with('\n') && line.find('\n') == line.size() - 1, line);
    const auto again = parse_news(line);
    FUZZ_CHECK(again && format_news(*again) == line, line);
  }
  if (const auto line = parse_log_line(text)) FUZZ_CHECK(line->text.size() <= text.size(), text);
  (void)judge_probe_answer(text);
  const auto name = canonical_image_name(text);
  FUZZ_CHECK(canonical_image_name(name) == name, text, name);
  (void)parse_ray_image(text);

  Input in(data);
  const Env env{{"A", "1"}, {"B", "$(A)"}};
  const auto source = in.bytes(40);
  if (source.find('$') == std::string::npos) FUZZ_CHECK(expand(source, env) == source, source);
  // Doubling every dollar protects the text.
  std::string doubled;
  for (const char c : source) doubled += c == '$' ? "$$" : std::string(1, c);
  FUZZ_CHECK(expand(doubled, env) == source, source, expand(doubled, env));
  check_pod(in);
}
