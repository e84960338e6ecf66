// What an image name means on a machine without a container runtime: a prepared folder.
// The node asks; src/local/images answers.
#pragma once

#include "base/result.h"
#include "kube/object.h"

#include <cstdint>
#include <string>
#include <vector>

namespace manta::local {

struct ImageRoot {
  /// Venv: the host's /usr plus a Python environment. Root: a folder that is a whole file system.
  /// Host: the host's /usr only.
  enum class Kind { Venv, Root, Host };

  Kind kind = Kind::Host;
  std::string id = {};    // shown as imageID in the status; empty: the image's name
  std::string root = {};  // Root: the folder
  std::string venv = {};  // Venv: the environment; its bin/ also shows at <home>/anaconda3/bin
  /// Host folders shown read-only at their own paths: the base Python's prefix and the like. `venv`
  /// needs no mention.
  std::vector<std::string> binds = {};
  std::vector<std::string> path = {};  // put before PATH (Venv: venv/bin is there already)
  kube::StringMap env = {};            // the image's own; the Pod's wins
  std::string user = {};         // name in the root's passwd; empty: ray (Venv, Host), root (Root)
  std::int64_t uid = -1;         // -1: 1000 (Venv, Host), 0 (Root)
  std::int64_t gid = -1;         // -1: 100 (Venv, Host), 0 (Root)
  std::string home = {};         // empty: /home/ray (Venv, Host), /root (Root)
  std::string working_dir = {};  // empty: home (Venv, Host), / (Root)
  std::vector<std::string> entrypoint = {};  // used when the container names no command
  std::vector<std::string> command = {};     // used when it names neither command nor args
  /// A container whose command has these words cannot start with less memory: a lower limit is
  /// raised to it, and an event says so. The first that fits counts.
  struct MemoryNeed {
    std::string words = {};
    std::int64_t bytes = 0;
  };
  std::vector<MemoryNeed> needs = {};
  /// Another image was used than the one asked for: which, and why that is good enough. Becomes an
  /// event and a log line.
  std::string notice = {};
};

class ImageStore {
 public:
  virtual ~ImageStore() = default;

  /// Cheap and without waiting: asked again every few seconds while a Pod waits for its image.
  /// NotFound: no such image; the message says what to do ("… manta image add NAME --venv DIR").
  virtual Result<ImageRoot> resolve(const std::string& image) = 0;
};

}  // namespace manta::local
