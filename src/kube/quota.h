// What a ResourceQuota refuses may succeed as soon as something else goes.
#pragma once

#include "base/result.h"

namespace manta::kube {

inline bool refused_by_quota(const Error& error) {
  return error.code == ErrorCode::Forbidden &&
         error.message.find("exceeded quota") != std::string::npos;
}

}  // namespace manta::kube
