#include "operator/log_file.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

namespace manta::operator_ {
namespace {

namespace fs = std::filesystem;

// UTC, of one length, so that names sort by time.
std::string stamp_of(Time time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  const auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(time - seconds).count();
  return fmt::format("{:%Y-%m-%dT%H-%M-%S}.{:03}",
                     fmt::gmtime(static_cast<std::time_t>(seconds.time_since_epoch().count())),
                     millis);
}

fs::path backup_path(const fs::path& path, std::string_view stamp) {
  return path.parent_path() /
         fmt::format("{}-{}{}", path.stem().string(), stamp, path.extension().string());
}

// The TIME in a backup's name; empty: it is none of ours.
std::string stamp_in(const fs::path& path, const std::string& name) {
  const auto front = path.stem().string() + "-";
  const auto back = path.extension().string();
  const auto size = stamp_of(Time{}).size();
  if (name.size() != front.size() + size + back.size() || !name.starts_with(front) ||
      !name.ends_with(back))
    return {};
  return name.substr(front.size(), size);
}

}  // namespace

Result<void> LogFile::open() {
  std::error_code ignored, not_made;
  const fs::path path(options_.path);
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), not_made);
  // Else the message would be of the file alone, and say that it does not exist.
  if (not_made)
    return failed(ErrorCode::Internal,
                  fmt::format("cannot make folder {} of the log file: {}",
                              path.parent_path().string(), not_made.message()));
  // Logs may tell more than everybody on the machine should read.
  const int file = ::open(options_.path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0)
    return failed(ErrorCode::Internal,
                  fmt::format("cannot write log file {}: {}", options_.path, std::strerror(errno)));
  file_.reset(::fdopen(file, "a"));
  const auto size = fs::file_size(path, ignored);
  bytes_ = ignored ? 0 : size;
  return {};
}

void LogFile::write(Time now, const std::string& line) {
  if (bytes_ > 0 && bytes_ + line.size() > options_.max_bytes) rotate(now);
  if (!file_) return;
  std::fwrite(line.data(), 1, line.size(), file_.get());
  std::fflush(file_.get());
  bytes_ += line.size();
}

void LogFile::rotate(Time now) {
  std::error_code ignored;
  file_.reset();
  fs::rename(options_.path, backup_path(options_.path, stamp_of(now)), ignored);
  (void)open();
  remove_old(now);
}

void LogFile::remove_old(Time now) const {
  const fs::path path(options_.path);
  const auto folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  std::vector<std::string> stamps;
  std::error_code failure;
  fs::directory_iterator entry(folder, failure);
  for (; !failure && entry != fs::directory_iterator(); entry.increment(failure))
    if (auto stamp = stamp_in(path, entry->path().filename().string()); !stamp.empty())
      stamps.push_back(std::move(stamp));
  std::ranges::sort(stamps, std::greater{});
  const auto oldest = stamp_of(now - options_.max_age);
  for (std::size_t i = 0; i < stamps.size(); ++i)
    if (i >= options_.backups || stamps[i] < oldest)
      fs::remove(backup_path(path, stamps[i]), failure);
}

}  // namespace manta::operator_
