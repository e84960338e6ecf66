#include "local/node/files.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>

namespace manta::local {

std::optional<std::string> read_file(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  std::string text;
  char buffer[16384];
  ssize_t got = 0;
  while ((got = read(fd, buffer, sizeof buffer)) > 0 || (got < 0 && errno == EINTR))
    if (got > 0) text.append(buffer, static_cast<std::size_t>(got));
  close(fd);
  if (got < 0) return std::nullopt;
  return text;
}

std::vector<std::string> list_folder(const std::string& path) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator it(path, error), end; !error && it != end;
       it.increment(error))
    names.push_back(it->path().filename().string());
  return names;
}

}  // namespace manta::local
