// Kubernetes' rules for names and labels, with its messages (v0.36 wording). Source: spec/01 §6.7.
// Each answers what is wrong, one message a fault; empty when nothing is.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace manta::ray {

std::vector<std::string> dns1035_label_faults(std::string_view text);
std::vector<std::string> dns1123_label_faults(std::string_view text);
std::vector<std::string> dns1123_subdomain_faults(std::string_view text);
std::vector<std::string> label_key_faults(std::string_view text);
std::vector<std::string> label_value_faults(std::string_view text);

/// "[a b]", as Go prints a list.
std::string go_list(const std::vector<std::string>& items);
/// A double-quoted string with Go's escapes (%q).
std::string go_quote(std::string_view text);

}  // namespace manta::ray
