// The list of prepared images: a small file for each below the images folder, so that several
// processes may read and change it; a file appears whole or not at all.
//
//   <images>/entries/<name>.json   what an image is
//   <images>/default               the name of the default Ray image
//   <images>/envs/…                Python environments that `manta image pull` made
#pragma once

#include "base/result.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace manta::local {

struct PreparedImage {
  std::string name = {};    // canonical
  bool is_venv = true;      // else a root folder
  std::string path = {};    // absolute
  std::string ray = {};     // Ray's version; empty: none
  std::string python = {};  // "3.11"; empty for roots
  bool pulled = false;      // ours to delete
};

class ImageIndex {
 public:
  /// `command` is how messages call `manta`: "manta --data-dir DIR" when it takes that.
  explicit ImageIndex(std::filesystem::path folder, std::string command = "manta")
      : folder_(std::move(folder)), command_(std::move(command)) {}

  const std::filesystem::path& folder() const { return folder_; }
  const std::string& command() const { return command_; }
  std::filesystem::path env_folder(const std::string& version, const std::string& python) const;

  /// By name order. Entries that cannot be read, or whose folder is gone, are left out.
  std::vector<PreparedImage> list() const;
  std::optional<PreparedImage> find(const std::string& name) const;
  /// An entry that says the same already is left alone, and so keeps its age.
  Result<void> put(const PreparedImage& image) const;
  /// Removes the entry, and the folder when it was pulled and no other entry uses it.
  Result<void> remove(const std::string& name) const;

  /// The chosen default; else the newest Ray, of several names for it the first that was put; else
  /// nothing.
  std::optional<PreparedImage> default_image() const;
  Result<void> set_default(const std::string& name) const;

 private:
  std::filesystem::path entry(const std::string& name) const;

  std::filesystem::path folder_;
  std::string command_;
};

/// Writes a file whole: into a temporary one beside it, then renamed.
Result<void> write_file_whole(const std::filesystem::path& path, const std::string& text);
/// NotFound when it cannot be opened.
Result<std::string> read_file(const std::filesystem::path& path);

/// What an environment holds, read from its files without running it. Fails when `venv` has no
/// bin/python.
Result<PreparedImage> inspect_venv(const std::filesystem::path& venv);

}  // namespace manta::local
