#include "local/apiserver/name_rules.h"

#include "base/text.h"
#include "fmt/format.h"

#include <algorithm>
#include <vector>

namespace manta::local {
namespace {

bool is_lower_alnum(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool is_alnum(char c) { return is_lower_alnum(c) || (c >= 'A' && c <= 'Z'); }

bool is_dns_label(std::string_view text) {
  if (text.empty() || !is_lower_alnum(text.front()) || !is_lower_alnum(text.back())) return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return is_lower_alnum(c) || c == '-'; });
}

bool is_subdomain(std::string_view text) {
  while (true) {
    const auto dot = text.find('.');
    if (!is_dns_label(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

/// [A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?
bool is_name_part(std::string_view text) {
  if (text.empty() || !is_alnum(text.front()) || !is_alnum(text.back())) return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return is_alnum(c) || c == '-' || c == '_' || c == '.'; });
}

std::string join(const std::vector<std::string>& texts) {
  return fmt::to_string(fmt::join(texts, "; "));
}

std::string max_length(std::size_t limit) {
  return fmt::format("must be no more than {} characters", limit);
}

}  // namespace

std::string check_dns1123_label(std::string_view text) {
  std::vector<std::string> found;
  if (text.size() > 63) found.push_back(max_length(63));
  if (!is_dns_label(text))
    found.push_back(
        is_subdomain(text)
            ? "must not contain dots"
            : "a lowercase RFC 1123 label must consist of lower case alphanumeric "
              "characters or '-', and must start and end with an alphanumeric character "
              "(e.g. 'my-name',  or '123-abc', regex used for validation is "
              "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')");
  return join(found);
}

std::string check_dns1123_subdomain(std::string_view text) {
  std::vector<std::string> found;
  if (text.size() > 253) found.push_back(max_length(253));
  if (!is_subdomain(text))
    found.push_back(
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
        "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex "
        "used "
        "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')");
  return join(found);
}

std::string check_dns1035_label(std::string_view text) {
  std::vector<std::string> found;
  if (text.size() > 63) found.push_back(max_length(63));
  if (!is_dns_label(text) || (text.front() >= '0' && text.front() <= '9'))
    found.push_back(
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
        "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or "
        "'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')");
  return join(found);
}

std::string check_qualified_name(std::string_view text) {
  std::vector<std::string> found;
  std::string_view name = text;
  constexpr std::string_view kRule =
      "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
      "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
      "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
  if (const auto slash = text.find('/'); slash != std::string_view::npos) {
    const auto prefix = text.substr(0, slash);
    name = text.substr(slash + 1);
    if (name.find('/') != std::string_view::npos)
      return fmt::format(
          "a qualified name {} with an optional DNS subdomain prefix and '/' (e.g. "
          "'example.com/MyName')",
          kRule);
    if (prefix.empty())
      found.emplace_back("prefix part must be non-empty");
    else if (auto why = check_dns1123_subdomain(prefix); !why.empty())
      found.push_back("prefix part " + why);
  }
  if (name.empty())
    found.emplace_back("name part must be non-empty");
  else if (name.size() > 63)
    found.push_back("name part " + max_length(63));
  if (!is_name_part(name)) found.push_back(fmt::format("name part {}", kRule));
  return join(found);
}

std::string check_label_key(std::string_view text) {
  auto why = check_qualified_name(text);
  constexpr std::string_view kOld = "a qualified name must";
  if (why.starts_with(kOld)) why = "a valid label key must" + why.substr(kOld.size());
  return why;
}

std::string check_label_value(std::string_view text) {
  std::vector<std::string> found;
  if (text.size() > 63) found.push_back(max_length(63));
  if (!text.empty() && !is_name_part(text))
    found.push_back(
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
        "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or "
        "'my_value',  or '12345', regex used for validation is "
        "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')");
  return join(found);
}

namespace {

void validate_owners(const Json& object, FieldErrors& errors) {
  const auto& owners = array_at(object, {"metadata", "ownerReferences"});
  std::string controller;
  for (std::size_t i = 0; i < owners.size(); ++i) {
    const auto path = fmt::format("metadata.ownerReferences[{}]", i);
    const auto& owner = owners[i];
    if (string_at(owner, {"apiVersion"}).empty())
      errors.invalid(path + ".apiVersion", "", "version must not be empty");
    if (string_at(owner, {"kind"}).empty()) errors.invalid(path + ".kind", "", "must not be empty");
    if (string_at(owner, {"name"}).empty()) errors.invalid(path + ".name", "", "must not be empty");
    if (string_at(owner, {"uid"}).empty()) errors.invalid(path + ".uid", "", "must not be empty");
    if (bool_at(owner, {"controller"})) {
      auto name = fmt::format("{}", string_at(owner, {"name"}));
      if (!controller.empty())
        errors.invalid(
            "metadata.ownerReferences", object_at(object, {"metadata"}).at("ownerReferences"),
            fmt::format("Only one reference can have Controller set to true. Found \"true\" "
                        "in references for {} and {}",
                        controller, name));
      controller = name;
    }
  }
}

}  // namespace

void validate_metadata(const Json& object, bool namespaced, bool name_is_label,
                       FieldErrors& errors) {
  const std::string name(string_at(object, {"metadata", "name"}));
  const std::string generate(string_at(object, {"metadata", "generateName"}));
  if (!generate.empty()) {
    auto stem = std::string(generate);
    if (stem.ends_with('-')) stem.back() = 'a';
    const auto why = name_is_label ? check_dns1123_label(stem) : check_dns1123_subdomain(stem);
    if (!why.empty()) errors.invalid("metadata.generateName", Json(generate), why);
  }
  if (name.empty()) {
    errors.required("metadata.name", "name or generateName is required");
  } else {
    const auto why = name_is_label ? check_dns1123_label(name) : check_dns1123_subdomain(name);
    if (!why.empty()) errors.invalid("metadata.name", Json(name), why);
  }
  if (!namespaced && !string_at(object, {"metadata", "namespace"}).empty())
    errors.forbidden("metadata.namespace", "not allowed on this type");
  for (const auto& [key, value] : object_at(object, {"metadata", "labels"})) {
    if (auto why = check_label_key(key); !why.empty())
      errors.invalid("metadata.labels", Json(std::string(key)), why);
    if (value.is_string())
      if (auto why = check_label_value(value.get_string()); !why.empty())
        errors.invalid("metadata.labels", value, why);
  }
  std::int64_t total = 0;
  for (const auto& [key, value] : object_at(object, {"metadata", "annotations"})) {
    if (auto why = check_qualified_name(lower_case(key)); !why.empty())
      errors.invalid("metadata.annotations", Json(std::string(key)), why);
    total +=
        static_cast<std::int64_t>(key.size() + (value.is_string() ? value.get_string().size() : 0));
  }
  constexpr std::int64_t kMost = 256 << 10;
  if (total > kMost) errors.too_long("metadata.annotations", kMost);
  validate_owners(object, errors);
  for (const auto& finalizer : array_at(object, {"metadata", "finalizers"})) {
    if (finalizer.is_string())
      if (auto why = check_qualified_name(finalizer.get_string()); !why.empty())
        errors.invalid("metadata.finalizers", finalizer, why);
  }
}

}  // namespace manta::local
