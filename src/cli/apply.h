// Puts a manifest's objects into the cluster, and takes them out again.
#pragma once

#include "base/loop.h"
#include "cli/manifest.h"
#include "kube/api.h"

#include <string>
#include <vector>

namespace manta::cli {

struct AppliedObject {
  kube::Resource resource = {};
  kube::ObjectKey key = {};
  std::string uid = {};
  bool created = false;   // else it was there and has been changed
  bool replaced = false;  // created, after an ended one of this name was deleted
  Json object = {};
};

/// Checks every document with the server first, so that nothing is applied of a file with a mistake
/// in it; then creates RayJobs anew (an ended one of that name goes first) and applies the rest.
/// The error's message says where in the file. On an error after the first write, `applied` holds
/// what is there.
Task<Result<void>> apply_manifest(Loop& loop, kube::Api& api, Manifest manifest,
                                  std::vector<AppliedObject>& applied);

/// Its first half alone: says what is wrong, and writes nothing.
Task<Result<void>> check_manifest(kube::Api& api, Manifest manifest);

bool is_ray_job(const Json& document);

}  // namespace manta::cli
