#include "local/node/volumes.h"

#include "local/node/files.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

namespace manta::local {

namespace fs = std::filesystem;

Result<VolumeKind> volume_kind(const Json& volume) {
  const auto name = string_at(volume, {"name"});
  if (const Json* empty = find(volume, {"emptyDir"}))
    return string_at(*empty, {"medium"}) == "Memory" ? VolumeKind::Memory : VolumeKind::Folder;
  for (const char* kind : {"configMap", "secret", "projected", "downwardAPI"})
    if (find(volume, {kind}) != nullptr) return VolumeKind::Files;
  if (find(volume, {"hostPath"}) != nullptr) return VolumeKind::Host;
  if (find(volume, {"persistentVolumeClaim"}) != nullptr) return VolumeKind::Claim;
  std::string type = "unknown";
  if (volume.is_object()) {
    if (volume.as_object().size() == 1) return VolumeKind::Folder;  // only a name: an emptyDir
    for (const auto& [key, value] : volume.as_object())
      if (key != "name") type = key;
  }
  return failed(
      ErrorCode::Invalid,
      fmt::format(
          "volume \"{}\" is of type {}, which this node does not offer; use emptyDir, configMap, "
          "secret, projected, downwardAPI, hostPath or persistentVolumeClaim",
          name, type));
}

/// Calls visit(source) for each source of a Files volume: the volume itself, or the projected ones.
/// A `source` has one of configMap, secret, downwardAPI, serviceAccountToken.
template <class Visit>
static void each_source(const Json& volume, Visit visit) {
  if (find(volume, {"projected"}) == nullptr) return visit(volume);
  for (const auto& source : array_at(volume, {"projected", "sources"})) visit(source);
}

/// A secret volume says secretName where a projected one says name.
static std::string_view object_name(const Json& reference, bool secret) {
  const auto name = string_at(reference, {"name"});
  return secret && name.empty() ? string_at(reference, {"secretName"}) : name;
}

void collect_volume_objects(const PodSpec& pod, PodObjects& needed) {
  for (const auto& volume : array_at(*pod.document, {"spec", "volumes"}))
    each_source(volume, [&](const Json& source) {
      if (const Json* map = find(source, {"configMap"}))
        needed.config_maps.try_emplace(std::string(object_name(*map, false)));
      if (const Json* secret = find(source, {"secret"}))
        needed.secrets.try_emplace(std::string(object_name(*secret, true)));
    });
}

std::vector<TokenNeed> needed_tokens(const PodSpec& pod) {
  std::vector<TokenNeed> needs;
  for (const auto& volume : array_at(*pod.document, {"spec", "volumes"}))
    each_source(volume, [&](const Json& source) {
      const Json* token = find(source, {"serviceAccountToken"});
      if (token == nullptr) return;
      needs.push_back({std::string(string_at(volume, {"name"})),
                       std::string(string_at(*token, {"audience"})),
                       std::max<std::int64_t>(600, int_at(*token, {"expirationSeconds"}, 3600))});
    });
  return needs;
}

namespace {

class FileCollector {
 public:
  FileCollector(const PodSpec& pod, const Json& volume, const VolumeContext& context)
      : pod_(pod), volume_(volume), context_(context) {
    for (const char* kind : {"configMap", "secret", "projected", "downwardAPI"})
      if (const Json* source = find(volume, {kind}))
        mode_ = static_cast<int>(int_at(*source, {"defaultMode"}, 0644));
  }

  Result<std::vector<VolumeFile>> collect() {
    Result<void> result = {};
    each_source(volume_, [&](const Json& source) {
      if (result) result = add_source(source);
    });
    if (!result) return failed(result.error());
    return std::move(files_);
  }

 private:
  Result<void> add_source(const Json& source) {
    if (const Json* map = find(source, {"configMap"})) return add_object(*map, false);
    if (const Json* secret = find(source, {"secret"})) return add_object(*secret, true);
    if (const Json* downward = find(source, {"downwardAPI"})) return add_downward(*downward);
    if (const Json* token = find(source, {"serviceAccountToken"})) {
      const TokenNeed need{std::string(string_at(volume_, {"name"})),
                           std::string(string_at(*token, {"audience"}))};
      const auto found = context_.tokens.find(need.key());
      if (found == context_.tokens.end())
        return failed(ErrorCode::NotFound, "no service account token was issued");
      return add(string_at(*token, {"path"}), found->second, mode_);
    }
    return failed(
        ErrorCode::Invalid,
        "a projected source must be configMap, secret, downwardAPI or serviceAccountToken");
  }

  Result<void> add_object(const Json& reference, bool secret) {
    const auto name = object_name(reference, secret);
    const bool optional = bool_at(reference, {"optional"});
    const auto& map = secret ? context_.objects.secrets : context_.objects.config_maps;
    const auto found = map.find(name);
    if (found == map.end() || !found->second) {
      if (optional) return {};
      return failed(ErrorCode::NotFound,
                    fmt::format("{} \"{}\" not found", secret ? "secret" : "configmap", name));
    }
    auto data = object_data(*found->second, secret);
    if (!data) return failed(data.error());
    const Json* items = find(reference, {"items"});
    if (items == nullptr) {
      for (auto& [key, value] : *data)
        if (auto added = add(key, std::move(value), mode_); !added) return added;
      return {};
    }
    for (const auto& item : array_at(reference, {"items"})) {
      const auto key = string_at(item, {"key"});
      const auto value = data->find(key);
      if (value == data->end()) {
        if (optional) continue;
        return failed(ErrorCode::NotFound, fmt::format("references non-existent {} key: {}",
                                                       secret ? "secret" : "config", key));
      }
      auto added = add(string_at(item, {"path"}), value->second,
                       static_cast<int>(int_at(item, {"mode"}, mode_)));
      if (!added) return added;
    }
    return {};
  }

  Result<void> add_downward(const Json& downward) {
    for (const auto& item : array_at(downward, {"items"})) {
      Result<std::string> text = std::string();
      if (const Json* field = find(item, {"fieldRef"}))
        text =
            resolve_field(pod_, context_.node, context_.pod_ip, string_at(*field, {"fieldPath"}));
      else if (const Json* resource = find(item, {"resourceFieldRef"}))
        text = resolve_resource(pod_, pod_.container(string_at(*resource, {"containerName"})),
                                context_.node, *resource);
      if (!text) return failed(text.error());
      auto added = add(string_at(item, {"path"}), std::move(*text),
                       static_cast<int>(int_at(item, {"mode"}, mode_)));
      if (!added) return added;
    }
    return {};
  }

  Result<void> add(std::string_view path, std::string content, int mode) {
    const fs::path p(path);
    bool bad = path.empty() || p.is_absolute() || path.starts_with("..");
    for (const auto& part : p) bad = bad || part == "..";
    if (bad)
      return failed(ErrorCode::Invalid,
                    fmt::format("path \"{}\" must be relative, without '..'", path));
    std::erase_if(files_, [&](auto& f) { return f.path == path; });  // a later source wins
    files_.push_back({std::string(path), std::move(content), mode});
    return {};
  }

  const PodSpec& pod_;
  const Json& volume_;
  const VolumeContext& context_;
  int mode_ = 0644;
  std::vector<VolumeFile> files_ = {};
};

Result<void> io_error(std::string_view what, const fs::path& path, const std::error_code& error) {
  return failed(ErrorCode::Internal,
                fmt::format("{} {}: {}", what, path.string(), error.message()));
}

bool shows_exactly(const fs::path& data, const std::vector<VolumeFile>& files) {
  std::error_code error;
  std::size_t seen = 0;
  for (fs::recursive_directory_iterator it(data, error), end; !error && it != end;
       it.increment(error))
    if (it->is_regular_file(error)) ++seen;
  if (error || seen != files.size()) return false;
  for (const auto& file : files) {
    struct stat info = {};
    if (stat((data / file.path).c_str(), &info) != 0 ||
        static_cast<int>(info.st_mode & 07777) != file.mode ||
        read_file(data / file.path) != file.content)
      return false;
  }
  return true;
}

Result<void> write_one(const fs::path& path, const VolumeFile& file, std::int64_t group) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error) return io_error("making", path.parent_path(), error);
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return io_error("writing", path, std::error_code(errno, std::generic_category()));
  const auto wrote = write(fd, file.content.data(), file.content.size());
  const int write_error = errno;
  int mode = file.mode;
  if (group >= 0) {
    (void)!fchown(fd, static_cast<uid_t>(-1), static_cast<gid_t>(group));
    mode |= (mode & 0400) >> 3;  // fsGroup may read what the owner may
  }
  fchmod(fd, static_cast<mode_t>(mode));
  close(fd);
  if (wrote != static_cast<ssize_t>(file.content.size()))
    return io_error("writing", path, std::error_code(write_error, std::generic_category()));
  return {};
}

/// Names shown at the top: links into ..data; those no longer there go.
void link_names(const fs::path& folder, const std::vector<VolumeFile>& files) {
  std::set<std::string> names;
  for (const auto& file : files) names.insert(fs::path(file.path).begin()->string());
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (entry.is_symlink(error) && !entry.path().filename().string().starts_with("..") &&
        !names.contains(entry.path().filename().string()))
      fs::remove(entry.path(), error);
  for (const auto& name : names)
    fs::create_symlink(fs::path("..data") / name, folder / name, error);  // there already: fine
}

}  // namespace

Result<std::vector<VolumeFile>> build_volume_files(const PodSpec& pod, const Json& volume,
                                                   const VolumeContext& context) {
  return FileCollector(pod, volume, context).collect();
}

Result<bool> write_volume_files(const std::string& folder, const std::vector<VolumeFile>& files,
                                std::int64_t owner_group) {
  const fs::path root(folder);
  std::error_code error;
  fs::create_directories(root, error);
  if (error) return failed(io_error("making", root, error).error());
  const auto data = root / "..data";
  const auto before = fs::read_symlink(data, error);
  if (!error && shows_exactly(data, files)) return false;

  std::string fresh = folder + "/..v.XXXXXX";
  if (mkdtemp(fresh.data()) == nullptr)
    return failed(ErrorCode::Internal, fmt::format("making {}: {}", fresh, strerror(errno)));
  chmod(fresh.c_str(), 0755);
  for (const auto& file : files)
    if (auto wrote = write_one(fs::path(fresh) / file.path, file, owner_group); !wrote)
      return failed(wrote.error());
  const auto next = root / "..data_tmp";
  fs::remove(next, error);
  fs::create_symlink(fs::path(fresh).filename(), next, error);
  if (!error) fs::rename(next, data, error);
  if (error) return failed(io_error("swapping", data, error).error());
  link_names(root, files);
  if (!before.empty()) fs::remove_all(root / before, error);
  return true;
}

Result<void> prepare_host_path(const Json& volume) {
  const std::string path(string_at(volume, {"hostPath", "path"}));
  const auto type = string_at(volume, {"hostPath", "type"});
  std::error_code error;
  if (type == "DirectoryOrCreate" && !fs::exists(path, error)) fs::create_directories(path, error);
  if (type == "FileOrCreate" && !fs::exists(path, error)) std::ofstream(path).flush();
  const auto status = fs::status(path, error);
  auto wrong = [&](std::string_view what) -> Result<void> {
    return failed(ErrorCode::Invalid,
                  fmt::format("hostPath type check failed: {} is not a {}", path, what));
  };
  if (!fs::exists(status))
    return failed(ErrorCode::NotFound,
                  fmt::format("hostPath {} does not exist on this machine", path));
  if ((type == "Directory" || type == "DirectoryOrCreate") && !fs::is_directory(status))
    return wrong("directory");
  if ((type == "File" || type == "FileOrCreate") && !fs::is_regular_file(status))
    return wrong("file");
  if (type == "Socket" && !fs::is_socket(status)) return wrong("socket file");
  if (type == "CharDevice" && !fs::is_character_file(status)) return wrong("character device");
  if (type == "BlockDevice" && !fs::is_block_file(status)) return wrong("block device");
  return {};
}

Result<std::vector<MountSpec>> build_mounts(
    const ContainerSpec& container, const std::map<std::string, std::string, std::less<>>& paths,
    const Env& env) {
  std::vector<MountSpec> mounts;
  for (const auto& mount : array_at(*container.document, {"volumeMounts"})) {
    const auto name = string_at(mount, {"name"});
    const auto path = paths.find(name);
    if (path == paths.end())
      return failed(ErrorCode::Invalid,
                    fmt::format("volumeMount \"{}\": the Pod has no such volume", name));
    MountSpec spec;
    spec.source = path->second;
    spec.target = string_at(mount, {"mountPath"});
    if (!spec.target.starts_with("/")) spec.target.insert(0, "/");
    while (spec.target.size() > 1 && spec.target.ends_with('/')) spec.target.pop_back();
    spec.read_only = bool_at(mount, {"readOnly"});
    spec.sub_path = string_at(mount, {"subPath"});
    if (const auto text = string_at(mount, {"subPathExpr"}); !text.empty())
      spec.sub_path = expand(text, env);
    if (spec.sub_path.starts_with("/"))
      return failed(ErrorCode::Invalid,
                    fmt::format("subPath \"{}\" must be relative", spec.sub_path));
    mounts.push_back(std::move(spec));
  }
  std::ranges::sort(mounts, {}, [](const MountSpec& m) {
    return std::pair(std::ranges::count(m.target, '/'), m.target);
  });
  return mounts;
}

}  // namespace manta::local
