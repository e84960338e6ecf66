// What many servers in one process may have in common, made once: Kubernetes' own types, and custom
// resource definitions compiled into schemas, which takes longer than all else that a server does
// when it starts.
//
//   auto types = std::make_shared<const SharedTypes>(crds);
//   ApiServer one(loop, random, store, {.types = types});   // likewise the next thousand
//
// The custom kinds are served from the start, and no definition of them is stored: nobody can list,
// change or delete one.
#pragma once

#include "local/apiserver/kinds.h"

#include <memory>
#include <vector>

namespace manta::local {

class SharedTypes {
 public:
  SharedTypes();
  explicit SharedTypes(const std::vector<Json>& crds);

  /// Makes a type when it is first asked for: nothing else about it ever changes.
  BuiltinTypes& builtin() const { return *builtin_; }
  const Kinds& kinds() const { return kinds_; }

 private:
  std::unique_ptr<BuiltinTypes> builtin_;
  Kinds kinds_;
};

}  // namespace manta::local
