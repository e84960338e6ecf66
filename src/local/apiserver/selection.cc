#include "local/apiserver/selection.h"

#include "base/text.h"
#include "fmt/format.h"
#include "local/apiserver/crd.h"
#include "local/apiserver/field_errors.h"

#include <algorithm>

namespace manta::local {
namespace {

/// Fields that objects can be selected by, beside metadata.name and metadata.namespace.
std::vector<std::string_view> selectable_fields(const Kind& kind) {
  const auto& plural = kind.resource.plural;
  if (!kind.builtin())
    return {kind.crd->selectable_fields.begin(), kind.crd->selectable_fields.end()};
  if (kind.resource.group.empty()) {
    if (plural == "pods")
      return {"spec.nodeName",      "spec.restartPolicy",
              "spec.schedulerName", "spec.serviceAccountName",
              "spec.hostNetwork",   "status.phase",
              "status.podIP",       "status.nominatedNodeName"};
    if (plural == "events")
      return {"involvedObject.kind",
              "involvedObject.namespace",
              "involvedObject.name",
              "involvedObject.uid",
              "involvedObject.apiVersion",
              "involvedObject.resourceVersion",
              "involvedObject.fieldPath",
              "reason",
              "reportingComponent",
              "source",
              "type"};
    if (plural == "secrets") return {"type"};
    if (plural == "namespaces") return {"status.phase"};
    if (plural == "nodes") return {"spec.unschedulable"};
    if (plural == "services") return {"spec.clusterIP", "spec.type"};
    if (plural == "replicationcontrollers") return {"status.replicas"};
  }
  if (plural == "events")
    return {"regarding.kind",       "regarding.namespace",
            "regarding.name",       "regarding.uid",
            "regarding.apiVersion", "regarding.resourceVersion",
            "regarding.fieldPath",  "reason",
            "reportingController",  "type"};
  if (plural == "jobs") return {"status.successful"};
  if (plural == "replicasets") return {"status.replicas"};
  return {};
}

std::string text_of(const Json* value) {
  if (!value || value->is_null()) return {};
  if (value->is_string()) return std::string(value->get_string());
  return dump_json(*value);
}

std::string field_value(const Json& object, std::string_view field) {
  if (field.starts_with('.')) field.remove_prefix(1);
  // Events may be asked in either view's words; the stored ones are core's.
  std::string path(field);
  if (path.starts_with("regarding.")) path = "involvedObject." + path.substr(10);
  if (path == "reportingController") path = "reportingComponent";
  if (path == "source") path = "source.component";
  if (path == "status.successful") path = "status.succeeded";
  const Json* at = &object;
  std::string_view rest = path;
  while (at && at->is_object()) {
    const auto dot = rest.find('.');
    at = at->get_object().if_contains(rest.substr(0, dot));
    if (dot == std::string_view::npos) break;
    rest.remove_prefix(dot + 1);
  }
  auto text = text_of(at);
  if (text.empty() && (field == "spec.hostNetwork" || field == "spec.unschedulable"))
    return "false";
  if (text.empty() && (field == "status.successful" || field == "status.replicas")) return "0";
  return text;
}

/// `\,`, `\=` and `\\` stand for themselves.
std::string unescape(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) ++i;
    plain += text[i];
  }
  return plain;
}

bool is_selectable(const Kind& kind, std::string_view field) {
  return field == "metadata.name" || (field == "metadata.namespace" && kind.resource.namespaced) ||
         std::ranges::any_of(selectable_fields(kind), [&](std::string_view known) {
           return known == field || (known.starts_with('.') && known.substr(1) == field);
         });
}

/// Of NAME=VALUE and NAME==VALUE, what stands behind the first `=`.
std::string_view value_behind(std::string_view term, std::size_t equal) {
  auto value = term.substr(equal + 1);
  if (value.starts_with('=')) value.remove_prefix(1);
  return trim(value, " ");
}

/// The term at the front of a field selector, which loses it. `\,` ends none.
std::string_view take_term(std::string_view& rest) {
  std::size_t end = 0;
  while (end < rest.size() && rest[end] != ',') end += rest[end] == '\\' ? 2 : 1;
  const auto term = rest.substr(0, end);
  rest.remove_prefix(std::min(rest.size(), end + 1));
  return term;
}

}  // namespace

Result<Selection> Selection::parse(const Kind& kind, const std::string& labels,
                                   const std::string& fields) {
  Selection selection;
  if (!labels.empty()) {
    auto parsed = kube::LabelSelector::parse(labels);
    if (!parsed)
      return failed(
          bad_request(fmt::format("unable to parse requirement: {}", parsed.error().message)));
    selection.labels_ = std::move(*parsed);
    selection.look_for_labels(labels);
  }
  std::string_view rest = fields;
  while (!rest.empty()) {
    const auto term = take_term(rest);
    const auto equal = term.find('=');
    if (equal == std::string_view::npos)
      return failed(bad_request(fmt::format(
          "unable to find \"fieldSelector\" that matches: invalid selector: '{}'; can't understand "
          "'{}'",
          fields, term)));
    FieldTerm made;
    made.equal = !(equal > 0 && term[equal - 1] == '!');
    made.field = trim(term.substr(0, made.equal ? equal : equal - 1), " ");
    made.value = unescape(value_behind(term, equal));
    if (!is_selectable(kind, made.field))
      return failed(bad_request(fmt::format("field label not supported: {}", made.field)));
    selection.fields_.push_back(std::move(made));
  }
  return selection;
}

/// "a=b" and "a==b" terms give a text to look for before parsing.
void Selection::look_for_labels(std::string_view labels) {
  if (labels.find_first_of("()!\\\"") != std::string_view::npos) return;
  for (const auto& term : split(labels, ','))
    if (const auto equal = term.find('='); equal != std::string::npos)
      needles_.push_back(fmt::format("\"{}\":\"{}\"",
                                     trim(std::string_view(term).substr(0, equal), " "),
                                     value_behind(term, equal)));
}

bool Selection::may_match(std::string_view text) const {
  return std::ranges::all_of(
      needles_, [&](const std::string& needle) { return text.find(needle) != text.npos; });
}

bool Selection::matches(const Json& object) const {
  for (const auto& term : fields_)
    if ((field_value(object, term.field) == term.value) != term.equal) return false;
  if (labels_.empty()) return true;
  kube::StringMap labels;
  for (const auto& [key, value] : object_at(object, {"metadata", "labels"}))
    if (value.is_string()) labels.emplace(key, value.get_string());
  return labels_.matches(labels);
}

std::optional<std::string> Selection::only_name() const {
  for (const auto& term : fields_)
    if (term.field == "metadata.name" && term.equal) return term.value;
  return std::nullopt;
}

}  // namespace manta::local
