#include "ray/builders/variables.h"

#include "ray/builders/edit.h"

#include <set>

namespace manta::ray {
namespace {

using Names = std::set<std::string_view>;

// Adds the variables of `text`, and of the values of those.
bool add_variables(const JsonObject& container, std::string_view text, Names& names) {
  for (std::size_t at = text.find('$'); at < text.size(); at = text.find('$', at)) {
    text.remove_prefix(at + 1);
    at = 0;
    if (text.starts_with('$'))
      text.remove_prefix(1);  // "$$" is a dollar
    else if (const auto end = text.find(')'); text.starts_with('(') && end != text.npos) {
      const auto name = text.substr(1, end - 1);
      if (!has_env(container, name)) return false;
      if (!names.insert(name).second) continue;
      for (const Json& entry : array_of(container, "env"))
        if (string_at(entry, {"name"}) == name &&
            !add_variables(container, string_at(entry, {"value"}), names))
          return false;
    }
  }
  return true;
}

}  // namespace

bool copy_variables(const JsonObject& from, JsonObject& to, std::string_view text) {
  Names names;
  if (!add_variables(from, text, names)) return false;
  std::erase_if(names, [&](std::string_view name) { return has_env(to, name); });
  for (const Json& entry : array_of(from, "env"))
    if (names.contains(string_at(entry, {"name"}))) array_in(to, "env").push_back(entry);
  return true;
}

}  // namespace manta::ray
