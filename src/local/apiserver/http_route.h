// A resource path, taken apart; shared by the router's files only.
#pragma once

#include "local/apiserver/http_router.h"

namespace manta::local {

struct HttpRouter::Route {
  KindPtr kind = {};
  kube::Request request = {};
  std::string rest = {};  // behind a proxy subresource
  QueryMap query = {};
  Accept accept = {};
};

}  // namespace manta::local
