// The rows of configuration, accounts and claims, and of kinds without columns of their own.
#include "fmt/format.h"
#include "local/apiserver/table_cells.h"

namespace manta::local {

JsonArray config_map_cells(const Json& object, Time now) {
  return {name_of(object),
          Json(static_cast<std::int64_t>(object_at(object, {"data"}).size() +
                                         object_at(object, {"binaryData"}).size())),
          Json(age(object, now))};
}

JsonArray secret_cells(const Json& object, Time now) {
  return {name_of(object), Json(string_at(object, {"type"})),
          Json(static_cast<std::int64_t>(object_at(object, {"data"}).size())),
          Json(age(object, now))};
}

JsonArray account_cells(const Json& object, Time now) {
  return {name_of(object), Json(static_cast<std::int64_t>(array_at(object, {"secrets"}).size())),
          Json(age(object, now))};
}

JsonArray claim_cells(const Json& object, Time now) {
  std::vector<std::string> modes;
  for (const auto& mode : array_at(object, {"spec", "accessModes"}))
    if (mode.is_string()) {
      const std::string_view name = mode.get_string();
      modes.emplace_back(name == "ReadWriteOnce"   ? "RWO"
                         : name == "ReadOnlyMany"  ? "ROX"
                         : name == "ReadWriteMany" ? "RWX"
                                                   : "RWOP");
    }
  return {name_of(object),
          Json(find(object, {"metadata", "deletionTimestamp"})
                   ? "Terminating"
                   : string_at(object, {"status", "phase"})),
          Json(string_at(object, {"spec", "volumeName"})),
          Json(string_at(object, {"status", "capacity", "storage"})),
          Json(join(modes)),
          Json(string_at(object, {"spec", "storageClassName"})),
          Json("<unset>"),
          Json(age(object, now)),
          Json(string_at(object, {"spec", "volumeMode"}))};
}

JsonArray created_cells(const Json& object, Time) {
  return {name_of(object), Json(string_at(object, {"metadata", "creationTimestamp"}))};
}

JsonArray binding_cells(const Json& object, Time now) {
  return {name_of(object),
          Json(fmt::format("{}/{}", string_at(object, {"roleRef", "kind"}),
                           string_at(object, {"roleRef", "name"}))),
          Json(age(object, now))};
}

JsonArray plain_cells(const Json& object, Time now) {
  return {name_of(object), Json(age(object, now))};
}

}  // namespace manta::local
