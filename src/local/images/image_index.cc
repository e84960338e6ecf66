#include "local/images/image_index.h"

#include "base/json.h"
#include "local/images/image_name.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <sstream>
#include <system_error>

namespace manta::local {
namespace fs = std::filesystem;
namespace {

/// A name as a file name: every other character than these becomes %XX.
std::string file_name(const std::string& name) {
  std::string out;
  for (const unsigned char c : name) {
    const bool plain = std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_';
    out += plain ? std::string(1, char(c)) : fmt::format("%{:02X}", c);
  }
  return out;
}

std::optional<PreparedImage> read_entry(const fs::path& path) {
  auto text = read_file(path);
  if (!text) return std::nullopt;
  auto json = parse_json(*text);
  if (!json) return std::nullopt;
  PreparedImage image{.name = std::string(string_at(*json, {"name"})),
                      .is_venv = string_at(*json, {"kind"}) == "venv",
                      .path = std::string(string_at(*json, {"path"})),
                      .ray = std::string(string_at(*json, {"ray"})),
                      .python = std::string(string_at(*json, {"python"})),
                      .pulled = bool_at(*json, {"pulled"})};
  std::error_code ignored;
  if (image.name.empty() || !fs::is_directory(image.path, ignored)) return std::nullopt;
  return image;
}

/// "2.9.3" < "2.10.0": runs of digits compare as numbers.
bool version_less(const std::string& a, const std::string& b) {
  std::istringstream left(a);
  std::istringstream right(b);
  std::string x;
  std::string y;
  while (true) {
    const bool more_left = bool(std::getline(left, x, '.'));
    const bool more_right = bool(std::getline(right, y, '.'));
    if (!more_left || !more_right) return !more_left && more_right;
    if (x.size() != y.size()) return x.size() < y.size();
    if (x != y) return x < y;
  }
}

std::string no_image(const std::string& name, const std::string& command) {
  return fmt::format("no image \"{}\"; `{} image ls` shows them", name, command);
}

Error io_error(std::string what, const std::error_code& code) {
  return {.code = ErrorCode::Internal, .message = std::move(what) + ": " + code.message()};
}

}  // namespace

Result<std::string> read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in)
    return failed(ErrorCode::NotFound,
                  fmt::format("cannot read {}: {}", path.string(), std::strerror(errno)));
  std::ostringstream text;
  text << in.rdbuf();
  return std::move(text).str();
}

Result<void> write_file_whole(const fs::path& path, const std::string& text) {
  std::error_code code;
  fs::create_directories(path.parent_path(), code);
  if (code) return failed(io_error("making " + path.parent_path().string(), code));
  auto temporary = path;
  temporary += fmt::format(".{}.tmp", ::getpid());
  {
    std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
    out << text;
    out.flush();
    if (!out) {
      auto error = fmt::format("cannot write {}: {}", temporary.string(), std::strerror(errno));
      fs::remove(temporary, code);
      return failed(ErrorCode::Internal, std::move(error));
    }
  }
  fs::rename(temporary, path, code);
  if (code) return failed(io_error("renaming to " + path.string(), code));
  return {};
}

fs::path ImageIndex::env_folder(const std::string& version, const std::string& python) const {
  std::string digits;
  for (const char c : python)
    if (c != '.') digits += c;
  return folder_ / "envs" / fmt::format("ray-{}-py{}", version, digits);
}

fs::path ImageIndex::entry(const std::string& name) const {
  return folder_ / "entries" / (file_name(name) + ".json");
}

std::vector<PreparedImage> ImageIndex::list() const {
  std::vector<PreparedImage> images;
  std::error_code code;
  for (fs::directory_iterator it(folder_ / "entries", code), end; !code && it != end;
       it.increment(code))
    if (it->path().extension() == ".json")
      if (auto image = read_entry(it->path())) images.push_back(std::move(*image));
  std::ranges::sort(images, {}, &PreparedImage::name);
  return images;
}

std::optional<PreparedImage> ImageIndex::find(const std::string& name) const {
  return read_entry(entry(canonical_image_name(name)));
}

Result<void> ImageIndex::put(const PreparedImage& image) const {
  const JsonObject json{{"name", image.name},     {"kind", image.is_venv ? "venv" : "root"},
                        {"path", image.path},     {"ray", image.ray},
                        {"python", image.python}, {"pulled", image.pulled}};
  const auto text = pretty_json(json) + "\n";
  if (read_file(entry(image.name)) == text) return {};
  return write_file_whole(entry(image.name), text);
}

Result<void> ImageIndex::remove(const std::string& name) const {
  const auto image = find(name);
  if (!image) return failed(ErrorCode::NotFound, no_image(name, command_));
  std::error_code code;
  fs::remove(entry(image->name), code);
  if (code) return failed(io_error("removing the image's entry", code));
  const bool used = std::ranges::any_of(
      list(), [&](const PreparedImage& other) { return other.path == image->path; });
  if (image->pulled && !used) fs::remove_all(image->path, code);
  if (code) return failed(io_error("removing " + image->path, code));
  return {};
}

std::optional<PreparedImage> ImageIndex::default_image() const {
  if (auto chosen = read_file(folder_ / "default")) {
    chosen->erase(chosen->find_last_not_of(" \n") + 1);
    if (auto image = find(*chosen)) return image;
  }
  // A second name for the same Ray, or a copy of it, is no reason to change what runs.
  const auto put_at = [&](const PreparedImage& image) {
    std::error_code ignored;
    return fs::last_write_time(entry(image.name), ignored);
  };
  std::optional<PreparedImage> newest;
  for (auto& image : list()) {
    if (image.ray.empty()) continue;
    if (newest && version_less(image.ray, newest->ray)) continue;
    if (newest && image.ray == newest->ray && put_at(image) >= put_at(*newest)) continue;
    newest = std::move(image);
  }
  return newest;
}

Result<void> ImageIndex::set_default(const std::string& name) const {
  const auto image = find(name);
  if (!image) return failed(ErrorCode::NotFound, no_image(name, command_));
  return write_file_whole(folder_ / "default", image->name + "\n");
}

Result<PreparedImage> inspect_venv(const fs::path& venv) {
  std::error_code code;
  if (!fs::exists(venv / "bin" / "python", code))
    return failed(ErrorCode::Invalid,
                  venv.string() + " is no Python environment: it has no bin/python");
  PreparedImage image{.path = fs::absolute(venv, code).lexically_normal().string()};
  for (fs::directory_iterator it(venv / "lib", code), end; !code && it != end; it.increment(code)) {
    const auto name = it->path().filename().string();
    if (!name.starts_with("python3.")) continue;
    image.python = name.substr(6);
    for (fs::directory_iterator pkg(it->path() / "site-packages", code); !code && pkg != end;
         pkg.increment(code)) {
      const auto folder = pkg->path().filename().string();
      if (folder.starts_with("ray-") && folder.ends_with(".dist-info"))
        image.ray = folder.substr(4, folder.size() - 4 - 10);
    }
  }
  return image;
}

}  // namespace manta::local
