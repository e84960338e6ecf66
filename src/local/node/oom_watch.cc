#include "local/node/oom_watch.h"

#include "local/node/files.h"
#include "local/node/helper_process.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace manta::local {

namespace asio = boost::asio;

namespace {

/// The event comes just before the kill: the counter is looked at until it has moved. A group that
/// found memory after all is left alone.
constexpr Duration kLook = std::chrono::milliseconds{10};
constexpr int kLooks = 500;

/// An eventfd that the kernel writes when the group is out of memory.
Fd register_event(const std::string& folder) {
  Fd event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  const Fd source(open((folder + "/memory.oom_control").c_str(), O_RDONLY | O_CLOEXEC));
  const Fd control(open((folder + "/cgroup.event_control").c_str(), O_WRONLY | O_CLOEXEC));
  const auto request = fmt::format("{} {}", event.get(), source.get());
  if (!event || !source || !control ||
      write(control.get(), request.data(), request.size()) != static_cast<ssize_t>(request.size()))
    return {};
  return event;
}

}  // namespace

struct OomWatch::Io : std::enable_shared_from_this<OomWatch::Io> {
  Io(AsioLoop& l, Fd event, Cgroup c)
      : loop(l), descriptor(l.context(), event.release()), cgroup(std::move(c)) {}

  void listen() {
    descriptor.async_read_some(asio::buffer(&count, sizeof count),
                               [self = shared_from_this()](auto error, std::size_t) {
                                 if (!error && !self->ended) self->look(kLooks);
                               });
  }

  void look(int left) {
    if (ended) return;
    if (Cgroups::oom_kills(cgroup) > 0) return Cgroups::kill_all(cgroup);
    if (left == 0) return listen();
    loop.after(kLook, [self = shared_from_this(), left] { self->look(left - 1); });
  }

  AsioLoop& loop;
  asio::posix::stream_descriptor descriptor;
  Cgroup cgroup;
  std::uint64_t count = 0;
  bool ended = false;
};

std::unique_ptr<OomWatch> OomWatch::start(AsioLoop& loop, const Cgroup& cgroup) {
  for (const auto& folder : cgroup.folders)
    if (auto event = register_event(folder)) {
      auto io = std::make_shared<Io>(loop, std::move(event), cgroup);
      io->listen();
      return std::unique_ptr<OomWatch>(new OomWatch(std::move(io)));
    }
  return nullptr;
}

OomWatch::~OomWatch() {
  io_->ended = true;
  boost::system::error_code ignored;
  io_->descriptor.close(ignored);
}

}  // namespace manta::local
