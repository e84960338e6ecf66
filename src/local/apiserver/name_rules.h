// What names, labels and annotations may look like. A check gives the empty text when it is
// satisfied, else what the server says. Source: apimachinery util/validation.
#pragma once

#include "local/apiserver/field_errors.h"

#include <string>
#include <string_view>

namespace manta::local {

std::string check_dns1123_label(std::string_view text);
std::string check_dns1123_subdomain(std::string_view text);
std::string check_dns1035_label(std::string_view text);
std::string check_qualified_name(
    std::string_view text);  // label and annotation keys; may be two texts joined by "; "
std::string check_label_key(std::string_view text);
std::string check_label_value(std::string_view text);

/// Labels, annotations, owners, finalizers, names: the same for all kinds.
void validate_metadata(const Json& object, bool namespaced, bool name_is_label,
                       FieldErrors& errors);

}  // namespace manta::local
