// From what an image stands for to the file system, user and variables of a container.
#pragma once

#include "local/node/helper_spec.h"
#include "local/node/image_store.h"
#include "local/node/pod_spec.h"

#include <string>
#include <vector>

namespace manta::local {

struct RootRequest {
  const ImageRoot& image;
  const PodSpec& pod;
  const ContainerSpec& container;
  std::string folder = {};      // this instance's own, on the state folder's disk
  std::string executable = {};  // this program: stands in for a missing wget
  bool rootless = false;
};

struct ContainerRoot {
  RootSpec root = {};
  CredentialSpec credentials = {};
  kube::StringMap env = {};  // PATH, HOME, … and the image's own
  std::string cwd = {};
  std::vector<MountSpec> mounts = {};  // of the node's, to go before the Pod's
  std::vector<std::string> notices = {};
};

/// Reads a few links and files of the host. Fails when the container's securityContext cannot be
/// met (reason CreateContainerConfigError).
Result<ContainerRoot> build_container_root(const RootRequest& request);

/// Read-only folders of the image that a volume mounted above would hide: shown again on top of it.
std::vector<MountSpec> restore_hidden(const RootSpec& root, const std::vector<MountSpec>& mounts);

}  // namespace manta::local
