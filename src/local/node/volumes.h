// Volumes: what a Pod's volumes hold, and how that gets onto the disk and into containers.
//
// Where they live: <pod folder>/volumes/<name>. Memory volumes are tmpfs mounts that the sandbox
// makes over such a folder in its own mount namespace. Files of configMap, secret, downwardAPI and
// projected volumes are swapped all at once: `..data` is a symlink to the folder that holds the
// current ones.
#pragma once

#include "local/node/env.h"
#include "local/node/helper_spec.h"
#include "local/node/pod_spec.h"

#include <map>
#include <string>
#include <vector>

namespace manta::local {

struct VolumeFile {
  std::string path = {};  // relative
  std::string content = {};
  int mode = 0644;
  bool operator==(const VolumeFile&) const = default;
};

enum class VolumeKind { Folder, Memory, Files, Host, Claim };

/// Fails on a volume that this node cannot offer, naming it and what there is instead.
Result<VolumeKind> volume_kind(const Json& volume);

/// Adds the ConfigMaps and Secrets that volumes refer to: names without values.
void collect_volume_objects(const PodSpec& pod, PodObjects& needed);

/// A service account token to ask for.
struct TokenNeed {
  std::string volume = {};
  std::string audience = {};
  std::int64_t expiration_seconds = 3600;
  std::string key() const { return volume + "/" + audience; }
};
std::vector<TokenNeed> needed_tokens(const PodSpec& pod);

struct VolumeContext {
  const PodObjects& objects;
  const NodeFacts& node;
  std::string pod_ip = {};
  std::map<std::string, std::string> tokens = {};  // by TokenNeed::key()
};

/// The files of a Files volume. Fails (event FailedMount) when something referred to is missing.
Result<std::vector<VolumeFile>> build_volume_files(const PodSpec& pod, const Json& volume,
                                                   const VolumeContext& context);

/// Makes `folder` show exactly these files, in one step for readers. True: something changed.
/// `owner_group` ≥ 0: the files' group (fsGroup).
Result<bool> write_volume_files(const std::string& folder, const std::vector<VolumeFile>& files,
                                std::int64_t owner_group);

/// hostPath.type's promises: makes or checks the path.
Result<void> prepare_host_path(const Json& volume);

/// The container's volumeMounts, outer targets first. `paths`: a volume's place on the host.
Result<std::vector<MountSpec>> build_mounts(
    const ContainerSpec& container, const std::map<std::string, std::string, std::less<>>& paths,
    const Env& env);

}  // namespace manta::local
