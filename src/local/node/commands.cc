#include "local/node/commands.h"

#include "base/log.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/write.hpp>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

namespace manta::local {

namespace asio = boost::asio;

namespace {

/// A descriptor that is read and written in coroutines.
class Stream {
 public:
  Stream(AsioLoop& loop, Fd fd) : loop_(&loop), io_(std::make_shared<Io>(loop, fd.release())) {}

  /// The next piece; empty at the end.
  Task<std::string> read() {
    OneShot<std::size_t> got(*loop_);
    auto io = io_;
    io->fd.async_read_some(
        asio::buffer(io->buffer),
        [io, got](const auto& error, std::size_t size) { got.set(error ? 0 : size); });
    const auto size = co_await got;
    co_return std::string(io->buffer.data(), size);
  }

  Task<bool> write(std::string data) {
    OneShot<bool> done(*loop_);
    auto io = io_;
    io->out = std::move(data);
    asio::async_write(io->fd, asio::buffer(io->out),
                      [io, done](const auto& error, std::size_t) { done.set(!error); });
    co_return co_await done;
  }

  int native() { return io_->fd.native_handle(); }
  void close() {
    boost::system::error_code ignored;
    io_->fd.close(ignored);
  }

 private:
  struct Io {
    Io(AsioLoop& loop, int descriptor) : fd(loop.context(), descriptor) {}
    asio::posix::stream_descriptor fd;
    std::array<char, 32768> buffer = {};
    std::string out = {};
  };
  AsioLoop* loop_;
  std::shared_ptr<Io> io_;
};

HelperSpec exec_spec(ContainerEntry container, std::vector<std::string> argv, bool tty) {
  HelperSpec spec;
  spec.mode = "exec";
  spec.container_pid = container.init_pid;
  spec.cgroup_procs = std::move(container.cgroup_procs);
  spec.process = std::move(container.process);
  spec.process.argv = std::move(argv);
  spec.process.tty = tty;
  return spec;
}

/// Reads news to the end: the exit code, or why it could not start.
Task<Result<int>> wait_for_end(std::shared_ptr<HelperProcess> helper) {
  Result<int> result = failed(ErrorCode::Internal, "the command's helper ended without a word");
  while (auto news = co_await helper->news().next()) {
    if (!news->error.empty()) result = failed(ErrorCode::Internal, news->error);
    if (news->ended) result = news->exit_code;
  }
  co_return result;
}

Task<void> collect(Stream stream, std::shared_ptr<std::string> into) {
  for (;;) {
    auto piece = co_await stream.read();
    if (piece.empty()) co_return;
    if (into->size() < 10240) into->append(piece, 0, 10240 - into->size());
  }
}

Task<void> copy_out(Stream stream, OutputSink sink, std::shared_ptr<HelperProcess> helper) {
  for (;;) {
    auto piece = co_await stream.read();
    if (piece.empty()) co_return;
    if (!co_await sink(std::move(piece))) {
      helper->signal(helper_kill_signal());
      co_return;
    }
  }
}

Task<void> copy_in(Channel<std::string> input, Stream stream, bool close_at_end) {
  while (auto piece = co_await input.next())
    if (!co_await stream.write(std::move(*piece))) break;
  if (close_at_end) stream.close();
}

Task<void> copy_resizes(Channel<TerminalSize> resize, int terminal) {
  while (auto size = co_await resize.next()) {
    winsize window = {};
    window.ws_col = size->width;
    window.ws_row = size->height;
    ioctl(terminal, TIOCSWINSZ, &window);
  }
}

struct Terminal {
  Fd ours, theirs;
};
Result<Terminal> open_terminal() {
  Fd ours(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK));
  char name[128];
  if (!ours || grantpt(ours.get()) != 0 || unlockpt(ours.get()) != 0 ||
      ptsname_r(ours.get(), name, sizeof name) != 0)
    return failed(ErrorCode::Internal, std::string("opening a terminal: ") + strerror(errno));
  Fd theirs(open(name, O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!theirs)
    return failed(ErrorCode::Internal, std::string("opening a terminal: ") + strerror(errno));
  return Terminal{std::move(ours), std::move(theirs)};
}

Fd copy_of(const Fd& fd) { return Fd(fcntl(fd.get(), F_DUPFD_CLOEXEC, 3)); }

/// A pipe whose write end is ours and does not block.
Result<Pipe> make_input_pipe() {
  auto pipe = make_pipe();
  if (!pipe) return pipe;
  fcntl(pipe->read.get(), F_SETFL, 0);
  fcntl(pipe->write.get(), F_SETFL, O_NONBLOCK);
  return pipe;
}

}  // namespace

Task<Result<CommandResult>> run_command(const Helpers& helpers, ContainerEntry container,
                                        std::vector<std::string> argv, Duration timeout) {
  auto pipe = make_pipe();
  if (!pipe) co_return failed(pipe.error());
  HelperStreams streams;
  streams.out = copy_of(pipe->write);
  streams.err = std::move(pipe->write);
  auto helper =
      helpers.spawn(exec_spec(std::move(container), std::move(argv), false), std::move(streams));
  if (!helper) co_return failed(helper.error());
  CommandResult result;
  auto output = std::make_shared<std::string>();
  Scope scope(helpers.loop);
  Stream stream(helpers.loop, std::move(pipe->read));
  scope.spawn("output", collect(stream, output));
  const auto timer = helpers.loop.after(timeout, [&result, process = *helper] {
    result.timed_out = true;
    process->signal(helper_kill_signal());
  });
  auto code = co_await wait_for_end(*helper);
  helpers.loop.cancel(timer);
  // A child that the command left behind may hold the pipe open; what has come so far is enough.
  const auto patience =
      helpers.loop.after(std::chrono::milliseconds{100}, [stream]() mutable { stream.close(); });
  co_await scope.join();
  helpers.loop.cancel(patience);
  result.output = std::move(*output);
  if (!code && !result.timed_out) co_return failed(code.error());
  result.exit_code = code.value_or(137);
  co_return result;
}

Task<Result<int>> run_exec(const Helpers& helpers, ContainerEntry container, ExecRequest request,
                           ExecStreams streams, std::stop_token stop) {
  AsioLoop& loop = helpers.loop;
  HelperStreams child;
  std::optional<Stream> terminal, input, output, errors;
  if (request.tty) {
    auto opened = open_terminal();
    if (!opened) co_return failed(opened.error());
    child.in = copy_of(opened->theirs);
    child.out = copy_of(opened->theirs);
    child.err = std::move(opened->theirs);
    terminal.emplace(loop, std::move(opened->ours));
    if (request.with_stdin) input = terminal;
    output = terminal;
    container.process.env.push_back("TERM=xterm");
  } else {
    auto out = make_pipe();
    auto err = make_pipe();
    auto in = make_input_pipe();
    if (!out || !err || !in) co_return failed(ErrorCode::Internal, "making pipes for the command");
    child.out = std::move(out->write);
    child.err = std::move(err->write);
    output.emplace(loop, std::move(out->read));
    errors.emplace(loop, std::move(err->read));
    if (request.with_stdin) {
      child.in = std::move(in->read);
      input.emplace(loop, std::move(in->write));
    }
  }
  auto helper = helpers.spawn(exec_spec(std::move(container), request.command, request.tty),
                              std::move(child));
  if (!helper) co_return failed(helper.error());
  std::stop_callback on_stop(stop, [process = *helper] { process->signal(helper_kill_signal()); });

  Scope outputs(loop), inputs(loop);
  outputs.spawn("stdout", copy_out(*output, streams.standard_output, *helper));
  if (errors) outputs.spawn("stderr", copy_out(*errors, streams.standard_error, *helper));
  if (input) inputs.spawn("stdin", copy_in(streams.input, *input, !request.tty));
  if (terminal) inputs.spawn("resize", copy_resizes(streams.resize, terminal->native()));

  auto code = co_await wait_for_end(*helper);
  const auto patience = loop.after(std::chrono::milliseconds{200}, [output, errors]() mutable {
    output->close();
    if (errors) errors->close();
  });
  co_await outputs.join();
  loop.cancel(patience);
  streams.input.close();  // the client's side of the copying ends with the command
  streams.resize.close();
  if (input) input->close();
  co_await inputs.join();
  co_return code;
}

Task<Result<void>> run_forward(const Helpers& helpers, std::int64_t sandbox_pid, std::uint16_t port,
                               ForwardStream stream, std::stop_token stop) {
  HelperSpec spec;
  spec.mode = "dial";
  spec.sandbox_pid = sandbox_pid;
  spec.port = port;
  auto helper = helpers.spawn(std::move(spec));
  if (!helper) co_return failed(helper.error());
  std::string error = "no connection was handed over";
  while (auto news = co_await (*helper)->news().next())
    if (!news->error.empty()) error = news->error;
  Fd connection = (*helper)->take_received();
  if (!connection) co_return failed(ErrorCode::Unavailable, error);
  fcntl(connection.get(), F_SETFL, O_NONBLOCK);
  const int socket = connection.get();
  Stream both(helpers.loop, std::move(connection));
  std::stop_callback on_stop(stop, [socket] { shutdown(socket, SHUT_RDWR); });
  Scope scope(helpers.loop);
  scope.spawn("to the Pod", [](Channel<std::string> input, Stream out, int fd) -> Task<void> {
    while (auto piece = co_await input.next())
      if (!co_await out.write(std::move(*piece))) co_return;
    shutdown(fd, SHUT_WR);
  }(stream.input, both, socket));
  for (;;) {
    auto piece = co_await both.read();
    if (piece.empty() || !co_await stream.output(std::move(piece))) break;
  }
  stream.input.close();
  shutdown(socket, SHUT_RDWR);
  co_await scope.join();
  co_return Result<void>{};
}

Task<void> remove_paths(const Helpers& helpers, std::vector<std::string> paths) {
  HelperSpec spec;
  spec.mode = "remove";
  spec.paths = std::move(paths);
  auto helper = helpers.spawn(std::move(spec));
  if (!helper) {
    log::warn("files of a container stay behind", {{"error", helper.error().message}});
    co_return;
  }
  while (auto news = co_await (*helper)->news().next()) {
    const auto& problem = news->notice.empty() ? news->error : news->notice;
    if (!problem.empty()) log::warn("files of a container stay behind", {{"error", problem}});
  }
}

}  // namespace manta::local
