// Label and field selectors, as the server takes them.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "kube/object.h"
#include "local/apiserver/kinds.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace manta::local {

/// Which objects a list or watch wants.
class Selection {
 public:
  /// Refuses fields that the kind cannot be selected by.
  static Result<Selection> parse(const Kind& kind, const std::string& labels,
                                 const std::string& fields);
  bool everything() const { return labels_.empty() && fields_.empty(); }
  bool matches(const Json& object) const;
  /// False only when the text cannot match: a cheap look before parsing.
  bool may_match(std::string_view text) const;
  /// The one name that metadata.name is compared with, if it is.
  std::optional<std::string> only_name() const;

 private:
  void look_for_labels(std::string_view labels);

  struct FieldTerm {
    std::string field;
    std::string value;
    bool equal = true;
  };
  kube::LabelSelector labels_ = {};
  std::vector<FieldTerm> fields_ = {};
  std::vector<std::string> needles_ = {};  // texts that an object of these labels has
};

}  // namespace manta::local
