// The functions and methods that rules may call.
#pragma once

#include "local/apiserver/cel_value.h"
#include "local/apiserver/pattern.h"

namespace manta::local::cel {

/// Whether there is such a function, or method of its receiver, of that many arguments (the
/// receiver not counted). Rules that call anything else are refused when the CRD is created.
bool is_known_function(std::string_view name, std::size_t arguments, bool method);

/// Calls what is known. A method's receiver is its first argument.
Outcome call_function(std::string_view name, bool method, const Values& arguments);

// By receiver; a file each.
Outcome convert(std::string_view function, const Value& value);
Outcome call_string(std::string_view method, const Values& arguments);
/// matches, find and findAll, of a text and (argument 1) the pattern.
bool is_pattern_function(std::string_view name);
Outcome call_pattern(std::string_view name, const Pattern& pattern, const Values& arguments);
Outcome call_list(std::string_view method, const Values& arguments);

/// Code points, for what counts characters.
std::vector<std::string> characters(std::string_view text);

}  // namespace manta::local::cel
