#include "local/apiserver/crd_pattern.h"

#include <regex>
#include <string>

namespace manta::local {
namespace {

class StdPattern final : public Pattern {
 public:
  explicit StdPattern(std::regex regex) : regex_(std::move(regex)) {}
  bool found_in(std::string_view text) const override {
    // std::regex recurses per character; nothing that a pattern guards is this long.
    if (text.size() > 4096) return false;
    try {
      return std::regex_search(text.begin(), text.end(), regex_);
    } catch (const std::regex_error&) {
      return false;
    }
  }

 private:
  std::regex regex_;
};

}  // namespace

std::shared_ptr<const Pattern> Pattern::compile(std::string_view expression) {
  try {
    return std::make_shared<StdPattern>(std::regex(expression.begin(), expression.end(),
                                                   std::regex::ECMAScript | std::regex::optimize));
  } catch (const std::regex_error&) {
    return nullptr;
  }
}

}  // namespace manta::local
