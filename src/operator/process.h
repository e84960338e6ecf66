// The operator as a process: from its arguments to its exit code.
#pragma once

#include <string>
#include <vector>

namespace manta::operator_ {

/// 0 stopped by a signal, or help; 1 cannot start or run; 2 bad flags. Source: spec/07 §2, §18.
int run_manager(const std::vector<std::string>& arguments);

}  // namespace manta::operator_
