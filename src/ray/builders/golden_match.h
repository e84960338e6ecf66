// Test helper: compares an object as built with a record of the same object as an API server shows
// it (conformance/golden): what the record masks is masked, what the API server adds is allowed.
#pragma once

#include "base/json.h"
#include "base/quantity.h"
#include "ray/builders/edit.h"

#include <regex>
#include <set>
#include <string>
#include <vector>

namespace manta::ray::testing_golden {

inline constexpr const char* kUid = "11111111-2222-3333-4444-555555555555";

inline std::string replace_all(std::string text, std::string_view from, std::string_view to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

/// As conform.py's Mask.text does.
inline std::string mask_text(std::string text) {
  text = replace_all(std::move(text), kUid, "<uid>");
  text = replace_all(std::move(text), "11111111", "<uid8>");
  if (text.starts_with("10.77.")) return "<ip>";
  static const std::regex kHash("^[0-9A-Va-v]{32}$");
  static const std::regex kVersion("(kuberay_version=)[^;,\"\\s]+");
  if (std::regex_match(text, kHash)) return "<hash>";
  text = std::regex_replace(text, kVersion, "$1<version>");
  if (text.find("ray start") == std::string::npos) return text;
  // The order of flags is sorted and white space collapsed.
  static const std::regex kFlags("(ray start(?: --head)?)((?: +--[\\w-]+(?:=\\S+)?)+)");
  std::smatch match;
  if (std::regex_search(text, match, kFlags)) {
    std::string flags = match[2];
    std::set<std::string> sorted;
    static const std::regex kWord("\\S+");
    for (std::sregex_iterator it(flags.begin(), flags.end(), kWord), end; it != end; ++it)
      sorted.insert(it->str());
    std::string joined = match[1];
    for (const auto& flag : sorted) joined += " " + flag;
    text = match.prefix().str() + joined + match.suffix().str();
  }
  static const std::regex kSpace("\\s+");
  text = std::regex_replace(text, kSpace, " ");
  while (text.starts_with(' ')) text.erase(0, 1);
  while (text.ends_with(' ')) text.pop_back();
  return text;
}

inline Json mask(const Json& value, std::string_view key = {}) {
  if (value.is_object()) {
    JsonObject object;
    for (const auto& [name, item] : value.get_object())
      if (!item.is_null()) object[mask_text(std::string(name))] = mask(item, name);
    return object;
  }
  if (value.is_array()) {
    JsonArray array;
    for (const Json& item : value.get_array()) array.push_back(mask(item, key));
    return array;
  }
  if (!value.is_string()) return value;
  const std::string text(value.get_string());
  const bool command = key == "args" || key == "command";
  const bool compared = text.find("ray start") != std::string::npos ||
                        text.find("ray job") != std::string::npos || text.size() <= 160;
  if (command && (text.find('\n') != std::string::npos || !compared)) return "<script>";
  return Json(mask_text(text));
}

/// Fields that an API server adds, with the values it gives them; "" allows any.
inline bool server_adds(std::string_view key, const Json& value) {
  static const std::set<std::pair<std::string, std::string>, std::less<>> kDefaults = {
      {"terminationMessagePath", "\"/dev/termination-log\""},
      {"terminationMessagePolicy", "\"File\""},
      {"imagePullPolicy", "\"IfNotPresent\""},
      {"imagePullPolicy", "\"Always\""},
      {"protocol", "\"TCP\""},
      {"dnsPolicy", "\"ClusterFirst\""},
      {"enableServiceLinks", "true"},
      {"preemptionPolicy", "\"PreemptLowerPriority\""},
      {"restartPolicy", "\"Always\""},
      {"schedulerName", "\"default-scheduler\""},
      {"terminationGracePeriodSeconds", "30"},
      {"apiVersion", "\"v1\""},
      {"scheme", "\"HTTP\""},
      {"defaultMode", "420"},
      {"expirationSeconds", "3600"},
      {"timeoutSeconds", "1"},
      {"timeoutSeconds", "10800"},
      {"periodSeconds", "10"},
      {"successThreshold", "1"},
      {"failureThreshold", "3"},
      {"divisor", "\"0\""},
      {"nodePort", "\"<port>\""},
      {"clusterIP", "\"<ip>\""},
      {"clusterIPs", "\"<ip>\""},
      {"clusterIPs", "[\"None\"]"},
      {"internalTrafficPolicy", "\"Cluster\""},
      {"externalTrafficPolicy", "\"Cluster\""},
      {"allocateLoadBalancerNodePorts", "true"},
      {"ipFamilies", "[\"IPv4\"]"},
      {"ipFamilyPolicy", "\"SingleStack\""},
      {"sessionAffinity", "\"None\""},
      {"type", "\"ClusterIP\""},
      {"type", "\"Opaque\""},
      {"finalizers", "[\"kubernetes.io/pvc-protection\"]"},
      {"volumeMode", "\"Filesystem\""},
      {"completionMode", "\"NonIndexed\""},
      {"completions", "1"},
      {"parallelism", "1"},
      {"manualSelector", "false"},
      {"podReplacementPolicy", "\"TerminatingOrFailed\""},
      {"suspend", "false"},
      {"group", "\"gateway.networking.k8s.io\""},
      {"group", "\"\""},
      {"kind", "\"Gateway\""},
      {"kind", "\"Service\""},
  };
  if (kDefaults.contains(std::pair(std::string(key), canonical_json(value)))) return true;
  if (key == "status" || key == "requests" || key == "serviceAccount" || key == "targetPort" ||
      key == "sessionAffinityConfig" || key == "priority" ||  // from the class
      key == "matchExpressions" ||                            // from matchLabelKeys
      key == "job-name" || key == "batch.kubernetes.io/job-name")
    return true;
  // Empty things come and go on the way through an API server.
  return (value.is_object() && value.get_object().empty()) ||
         (value.is_array() && value.get_array().empty());
}

inline bool is_nothing(const Json& value) {
  return value.is_null() || (value.is_object() && value.get_object().empty()) ||
         (value.is_array() && value.get_array().empty()) ||
         (value.is_string() && value.get_string().empty()) ||
         (value.is_bool() && !value.get_bool());
}

inline bool same_scalar(const Json& built, const Json& record) {
  if (built == record || dump_json(built) == dump_json(record)) return true;
  if (!built.is_string() && !built.is_number()) return false;
  auto text = [](const Json& value) {
    return value.is_string() ? std::string(value.get_string()) : dump_json(value);
  };
  const auto left = Quantity::parse(text(built));
  const auto right = Quantity::parse(text(record));
  return left && right && left->to_string() == text(record);
}

inline void compare(const Json& built, const Json& record, const std::string& path,
                    std::vector<std::string>& differences);

// Limits become requests where there are none; admission adds two tolerations.
inline void compare_arrays(const JsonArray& built, const JsonArray& record, const std::string& path,
                           std::vector<std::string>& differences) {
  const bool tolerations = path.ends_with(".tolerations");
  if (built.size() != record.size() && !(tolerations && record.size() >= built.size()))
    differences.push_back(path + ": built " + canonical_json(built) + ", recorded " +
                          canonical_json(record));
  for (std::size_t i = 0; i < std::min(built.size(), record.size()); ++i)
    compare(built[i], record[i], path + "[" + std::to_string(i) + "]", differences);
}

inline void compare(const Json& built, const Json& record, const std::string& path,
                    std::vector<std::string>& differences) {
  if (built.is_array() && record.is_array())
    return compare_arrays(built.get_array(), record.get_array(), path, differences);
  if (!built.is_object() || !record.is_object()) {
    if (!same_scalar(built, record))
      differences.push_back(path + ": built " + canonical_json(built) + ", recorded " +
                            canonical_json(record));
    return;
  }
  for (const auto& [key, value] : built.get_object()) {
    const std::string below = path + "." + std::string(key);
    const Json* other = record.get_object().if_contains(key);
    if (other != nullptr)
      compare(value, *other, below, differences);
    else if (!is_nothing(value))
      differences.push_back(below + ": built " + canonical_json(value) + ", not recorded");
  }
  const bool requests = path.ends_with(".requests");
  for (const auto& [key, value] : record.get_object())
    if (!built.get_object().contains(key) && !requests && !server_adds(key, value) &&
        !(path.empty() && key == "tolerations") && key != "tolerations")
      differences.push_back(path + "." + std::string(key) + ": not built, recorded " +
                            canonical_json(value));
}

/// An object as built, in the shape of a record.
inline Json as_record(const Json& built) {
  Json masked = mask(built);
  JsonObject& object = masked.as_object();
  JsonObject& metadata = object["metadata"].as_object();
  if (metadata.contains("generateName") && !metadata.contains("name"))
    metadata["name"] = std::string(text_in(metadata, "generateName")) + "*";
  for (const auto* gone : {"generateName", "namespace", "uid"}) metadata.erase(gone);
  if (metadata.contains("ownerReferences")) {
    JsonArray owners;
    for (const Json& owner : metadata["ownerReferences"].as_array()) {
      JsonObject kept;
      for (const auto* key : {"kind", "name", "controller", "blockOwnerDeletion"})
        kept[key] = owner.as_object().at(key);
      owners.push_back(std::move(kept));
    }
    metadata["owners"] = std::move(owners);
    metadata.erase("ownerReferences");
  }
  if (metadata.contains("annotations")) {
    JsonObject& annotations = metadata["annotations"].as_object();
    if (annotations.contains("ray.io/kuberay-version"))
      annotations["ray.io/kuberay-version"] = "<version>";
  }
  if (metadata.contains("labels")) {
    JsonObject& labels = metadata["labels"].as_object();
    if (labels.contains("ray.io/worker-group-replica-name"))
      labels["ray.io/worker-group-replica-name"] =
          std::string(text_in(labels, "ray.io/group")) + "-*";
  }
  const auto kind = text_in(object, "kind");
  if (kind == "Secret") {
    object["data"] = JsonObject{{"auth_token", "<data>"}};
    object.erase("stringData");
  }
  if (kind == "Service") {
    JsonArray& ports = array_in(object["spec"].as_object(), "ports");
    std::vector<Json> sorted(ports.begin(), ports.end());
    std::ranges::sort(sorted, {}, [](const Json& port) {
      return std::string(text_in(port.get_object(), "name"));
    });
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      if (sorted[i].get_object().contains("nodePort"))
        sorted[i].get_object()["nodePort"] = "<port>";
      ports[i] = sorted[i];
    }
  }
  return masked;
}

}  // namespace manta::ray::testing_golden
