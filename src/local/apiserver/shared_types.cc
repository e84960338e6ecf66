#include "local/apiserver/shared_types.h"

#include "local/apiserver/crd.h"

namespace manta::local {

SharedTypes::SharedTypes() : builtin_(std::make_unique<BuiltinTypes>()), kinds_(*builtin_) {}

SharedTypes::SharedTypes(const std::vector<Json>& crds) : SharedTypes() {
  for (const auto& crd : crds)
    kinds_.set_custom(string_at(crd, {"spec", "group"}),
                      string_at(crd, {"spec", "names", "plural"}), kinds_of_crd(crd));
}

}  // namespace manta::local
