#include "local/node/container_log.h"

#include "base/log.h"
#include "local/node/files.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

namespace manta::local {

namespace asio = boost::asio;
namespace fs = std::filesystem;

constexpr std::size_t kLongestEntry = 16384;  // containerd's

std::string format_log_stamp(Time time) {
  auto text = format_rfc3339_micro(time);
  if (text.ends_with('Z')) text.insert(text.size() - 1, "000");
  return text;
}

std::optional<LogLine> parse_log_line(std::string_view line) {
  LogLine out;
  for (auto* part : {&out.stamp, &out.stream}) {
    const auto space = line.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    *part = line.substr(0, space);
    line.remove_prefix(space + 1);
  }
  if (line.size() < 2 || line[1] != ' ') return std::nullopt;
  out.partial = line[0] == 'P';
  out.text = line.substr(2);
  return out;
}

/// Reads one pipe and cuts it into lines.
struct ContainerLog::Reader : std::enable_shared_from_this<ContainerLog::Reader> {
  Reader(AsioLoop& loop, int fd, std::string name, std::shared_ptr<ContainerLog> owner)
      : pipe(loop.context(), fd), stream(std::move(name)), log(std::move(owner)) {}

  void read() {
    pipe.async_read_some(asio::buffer(buffer),
                         [self = shared_from_this()](const auto& error, std::size_t got) {
                           self->text.append(self->buffer.data(), got);
                           self->flush_lines();
                           if (!error) return self->read();
                           if (!self->text.empty())
                             self->log->write_line(self->stream, self->text, true);
                           self->log->stream_ended();
                         });
  }

  void flush_lines() {
    std::size_t start = 0;
    for (std::size_t end; (end = text.find('\n', start)) != std::string::npos; start = end + 1)
      log->write_line(stream, std::string_view(text).substr(start, end - start), false);
    text.erase(0, start);
    for (; text.size() > kLongestEntry; text.erase(0, kLongestEntry))
      log->write_line(stream, std::string_view(text).substr(0, kLongestEntry), true);
  }

  asio::posix::stream_descriptor pipe;
  std::string stream;
  std::shared_ptr<ContainerLog> log;
  std::array<char, 65536> buffer = {};
  std::string text = {};
};

ContainerLog::ContainerLog(AsioLoop& loop, std::string path, LogLimits limits)
    : loop_(loop), path_(std::move(path)), limits_(limits) {}
ContainerLog::~ContainerLog() {
  if (fd_ >= 0) close(fd_);
}

static int open_log(const std::string& path) {
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
}

Result<std::shared_ptr<ContainerLog>> ContainerLog::open(AsioLoop& loop, std::string path,
                                                         LogLimits limits) {
  std::error_code ignored;
  fs::create_directories(fs::path(path).parent_path(), ignored);
  std::shared_ptr<ContainerLog> log(new ContainerLog(loop, std::move(path), limits));
  log->fd_ = open_log(log->path_);
  if (log->fd_ < 0)
    return failed(ErrorCode::Internal,
                  fmt::format("opening log {}: {}", log->path_, strerror(errno)));
  return log;
}

void ContainerLog::take(std::string stream, Fd pipe) {
  ++open_streams_;
  std::make_shared<Reader>(loop_, pipe.release(), std::move(stream), shared_from_this())->read();
}

void ContainerLog::note(std::string_view text) {
  write_line("stderr", fmt::format("[manta] {}", text), false);
}

void ContainerLog::finish() {
  finished_ = true;
  wake();
}

void ContainerLog::stream_ended() {
  --open_streams_;
  wake();
}

void ContainerLog::write_line(std::string_view stream, std::string_view text, bool partial) {
  const auto line = fmt::format("{} {} {} {}\n", format_log_stamp(loop_.now()), stream,
                                partial ? 'P' : 'F', text);
  if (write(fd_, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    log::warn("a container's output was lost", {{"file", path_}, {"error", strerror(errno)}});
  size_ += static_cast<std::int64_t>(line.size());
  if (size_ >= limits_.file_bytes) rotate();
  wake();
}

void ContainerLog::rotate() {
  auto files = log_files(path_);
  std::error_code error;
  while (static_cast<int>(files.size()) >= limits_.files && files.size() > 1) {
    fs::remove(files.front(), error);
    files.erase(files.begin());
  }
  const auto stamp =
      std::chrono::duration_cast<std::chrono::microseconds>(loop_.now().time_since_epoch()).count();
  fs::rename(path_, fmt::format("{}.{:020}", path_, stamp), error);
  const int fresh = open_log(path_);
  if (fresh < 0) return;
  close(fd_);
  fd_ = fresh;
  size_ = 0;
}

void ContainerLog::wake() {
  for (auto& waiter : std::exchange(waiters_, {})) waiter.set(true);
}

OneShot<bool> ContainerLog::next_change() {
  OneShot<bool> change(loop_);
  if (finished())
    change.set(true);
  else
    waiters_.push_back(change);
  return change;
}

Task<void> ContainerLog::drained() {
  auto self = shared_from_this();
  while (open_streams_ > 0) co_await next_change();
}

std::vector<std::string> log_files(const std::string& path) {
  const fs::path whole(path);
  const auto prefix = whole.filename().string() + ".";
  std::vector<std::string> files;
  const auto folder = whole.parent_path().string();
  for (const auto& name : list_folder(folder))
    if (name.starts_with(prefix)) files.push_back(folder + "/" + name);
  std::error_code error;
  std::ranges::sort(files);
  if (fs::exists(whole, error)) files.push_back(path);
  return files;
}

namespace {

/// Where the last `lines` lines of the file begin; `lines` is lowered by what was found.
off_t tail_offset(int fd, std::int64_t& lines) {
  off_t end = lseek(fd, 0, SEEK_END);
  std::string block(65536, '\0');
  bool last_byte = true;
  while (end > 0) {
    const auto size = std::min<off_t>(end, static_cast<off_t>(block.size()));
    const auto got = pread(fd, block.data(), static_cast<std::size_t>(size), end - size);
    if (got <= 0) return 0;
    for (auto i = got; i-- > 0;) {
      const bool is_break = block[static_cast<std::size_t>(i)] == '\n';
      if (is_break && !std::exchange(last_byte, false) && --lines == 0) return end - size + i + 1;
      if (!is_break) last_byte = false;
    }
    end -= size;
  }
  --lines;  // the first line has no break before it
  return 0;
}

class LogReader {
 public:
  LogReader(const LogOptions& options, OutputSink sink)
      : options_(options), sink_(std::move(sink)) {
    if (options.limit_bytes) left_ = *options.limit_bytes;
    if (options.since) since_ = format_log_stamp(*options.since);
  }

  /// Sends what the descriptor has from here on. False: the client wants no more.
  Task<bool> copy(int fd) {
    std::string block(65536, '\0');
    for (ssize_t got; (got = ::read(fd, block.data(), block.size())) > 0;) {
      text_.append(block.data(), static_cast<std::size_t>(got));
      std::string out;
      std::size_t start = 0;
      for (std::size_t end; (end = text_.find('\n', start)) != std::string::npos; start = end + 1)
        add(std::string_view(text_).substr(start, end - start), out);
      text_.erase(0, start);
      if (left_ >= 0) out.resize(std::min(out.size(), static_cast<std::size_t>(left_)));
      if (left_ >= 0) left_ -= static_cast<std::int64_t>(out.size());
      if (!out.empty() && !co_await sink_(std::move(out))) co_return false;
      if (left_ == 0) co_return false;
    }
    co_return true;
  }

 private:
  void add(std::string_view entry, std::string& out) {
    const auto line = parse_log_line(entry);
    if (!line || line->stamp < since_) return;
    if (options_.timestamps && !std::exchange(inside_line_, line->partial)) {
      out += line->stamp;
      out += ' ';
    }
    out += line->text;
    if (!line->partial) out += '\n';
  }

  const LogOptions& options_;
  OutputSink sink_;
  std::int64_t left_ = -1;
  std::string since_ = {};
  std::string text_ = {};
  bool inside_line_ = false;
};

}  // namespace

Task<Result<void>> read_log(AsioLoop& loop, std::string path, std::shared_ptr<ContainerLog> live,
                            LogOptions options, OutputSink sink, std::stop_token stop) {
  auto names = log_files(path);
  if (names.empty())
    co_return failed(ErrorCode::NotFound, fmt::format("the log file {} is gone", path));
  std::vector<Fd> files;
  for (const auto& name : names) files.emplace_back(open(name.c_str(), O_RDONLY | O_CLOEXEC));
  std::size_t first = 0;
  if (options.tail_lines) {
    auto lines = *options.tail_lines;
    for (first = files.size(); first > 0 && lines > 0;) {
      --first;
      lseek(files[first].get(), tail_offset(files[first].get(), lines), SEEK_SET);
    }
    if (*options.tail_lines <= 0) lseek(files.back().get(), 0, SEEK_END);
    first = std::min(first, files.size() - 1);
  }
  LogReader reader(options, std::move(sink));
  for (std::size_t i = first; i < files.size(); ++i)
    if (!co_await reader.copy(files[i].get())) co_return Result<void>{};
  if (!options.follow || live == nullptr) co_return Result<void>{};

  Fd file = std::move(files.back());
  while (!stop.stop_requested()) {
    const bool last = live->finished();
    if (!co_await reader.copy(file.get())) break;
    struct stat ours = {}, current = {};
    if (fstat(file.get(), &ours) == 0 && stat(path.c_str(), &current) == 0 &&
        ours.st_ino != current.st_ino) {
      file = Fd(
          open(path.c_str(), O_RDONLY | O_CLOEXEC));  // rotated away under us, and read to its end
      continue;
    }
    if (last) break;
    auto change = live->next_change();
    std::stop_callback on_stop(stop, [change] { change.set(false); });
    co_await change;
  }
  co_return Result<void>{};
}

std::string log_tail(const std::string& path, std::size_t lines, std::size_t bytes) {
  const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return {};
  auto wanted = static_cast<std::int64_t>(lines);
  lseek(file.get(), tail_offset(file.get(), wanted), SEEK_SET);
  std::string text, out;
  char block[65536];
  for (ssize_t got; (got = read(file.get(), block, sizeof block)) > 0;)
    text.append(block, static_cast<std::size_t>(got));
  for (std::size_t start = 0, end; (end = text.find('\n', start)) != std::string::npos;
       start = end + 1)
    if (const auto line = parse_log_line(std::string_view(text).substr(start, end - start))) {
      out += line->text;
      if (!line->partial) out += '\n';
    }
  if (out.size() > bytes) out.erase(0, out.size() - bytes);
  return out;
}

}  // namespace manta::local
