// What every namespace holds from its start: the ServiceAccount "default" and the ConfigMap
// kube-root-ca.crt with the API server's certificate authority. Pure.
#pragma once

#include "kube/plan.h"
#include "local/controllers/views.h"

#include <memory>
#include <string>

namespace manta::local {

struct NamespaceSeen {
  std::shared_ptr<const NamespaceView> namespace_ = {};
  bool has_default_account = false;
  std::shared_ptr<const PlainView> root_ca = {};  // the ConfigMap, null when missing
};

kube::Plan plan_namespace_contents(const NamespaceSeen& seen, const std::string& ca_pem);

}  // namespace manta::local
