#include "sim/furniture.h"

#include "base/random.h"
#include "base/virtual_loop.h"
#include "local/apiserver/api_server.h"
#include "ray/crd.h"

#include <memory>
#include <vector>

namespace manta::sim {
namespace {

std::vector<local::StoreChange> make_furniture() {
  VirtualLoop loop;
  SeededRandom random(0);
  const auto store = std::move(*local::Store::open({}));
  std::vector<local::StoreChange> made;
  const auto subscription =
      store->subscribe([&](const local::StoreChange& change) { made.push_back(change); });
  local::ApiServer server(loop, random, *store);
  for (auto& crd : ray::ray_crds())
    MANTA_CHECK(loop.run(server.create(kube::kCustomResourceDefinitions, crd.object)).has_value());
  loop.run_for(std::chrono::seconds{1});
  return made;
}

}  // namespace

local::Store& furnish(local::Store& store) {
  static const auto kFurniture = make_furniture();
  for (const auto& piece : kFurniture) {
    MANTA_CHECK(piece.after);
    const auto revision = store.put(piece.key, *piece.after);
    MANTA_CHECK(revision && *revision == piece.revision);  // the text names it
  }
  return store;
}

}  // namespace manta::sim
