#include "local/node/name_server.h"

#include "local/node/dns_message.h"
#include "local/node/netlink.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/udp.hpp>
#include <fmt/format.h>

#include <array>
#include <map>

namespace manta::local {

namespace asio = boost::asio;
using asio::ip::udp;
using boost::system::error_code;

namespace {

constexpr std::size_t kMaxMessage = 4096;
constexpr std::size_t kMaxPending = 256;
constexpr Duration kServerPatience = std::chrono::seconds{2};

}  // namespace

struct NameServer::Impl : std::enable_shared_from_this<NameServer::Impl> {
  Impl(AsioLoop& l, Options o) : loop(l), options(std::move(o)), socket(l.context()) {}

  /// One question that was passed on, to one server after the other.
  struct Relay : std::enable_shared_from_this<Relay> {
    Relay(std::shared_ptr<Impl> s, udp::endpoint c, std::string q)
        : server(std::move(s)),
          client(std::move(c)),
          question(std::move(q)),
          upstream(server->options.upstream()),
          outside(server->loop.context()) {
      ++server->pending;
    }
    ~Relay() { --server->pending; }

    void ask() {
      server->loop.cancel(timer);
      error_code error;
      outside.close(error);
      if (server->stopped) return;
      if (next >= upstream.size()) return server->answer_failure(client, question);
      const auto address = asio::ip::make_address(upstream[next++], error);
      if (error) return ask();
      const udp::endpoint where(address, 53);
      outside.open(where.protocol(), error);
      // Connected: only this server's answers are heard, on a port that nobody can foresee.
      if (!error) outside.connect(where, error);
      if (!error) outside.send(asio::buffer(question), 0, error);
      if (error) return ask();
      timer = server->loop.after(kServerPatience, [self = shared_from_this()] { self->ask(); });
      listen();
    }

    void listen() {
      outside.async_receive(asio::buffer(answer), [self = shared_from_this()](
                                                      const error_code& error, std::size_t got) {
        if (error == asio::error::operation_aborted) return;
        if (error) return self->ask();  // nobody listens there
        if (got < 2 || self->answer[0] != self->question[0] || self->answer[1] != self->question[1])
          return self->listen();
        self->server->loop.cancel(self->timer);
        self->server->send(self->client, {self->answer.data(), got});
      });
    }

    std::shared_ptr<Impl> server;
    udp::endpoint client;
    std::string question;
    std::vector<std::string> upstream;
    std::size_t next = 0;
    udp::socket outside;
    Loop::TimerId timer = 0;
    std::array<char, kMaxMessage> answer = {};
  };

  void listen() {
    socket.async_receive_from(
        asio::buffer(buffer), from,
        [self = shared_from_this()](const error_code& error, std::size_t got) {
          if (self->stopped || error == asio::error::operation_aborted) return;
          if (!error) self->take(std::string(self->buffer.data(), got));
          self->listen();
        });
  }

  void take(std::string message) {
    const auto question = parse_dns_question(message);
    if (!question) return;
    if (const auto known = names.find(question->name); known != names.end()) {
      static const std::vector<std::uint32_t> kNone;
      send(from, build_dns_answer(message, *question, DnsCode::NoError,
                                  question->type == kDnsA ? known->second : kNone));
    } else if (is_local_name(question->name, options.cluster_domain)) {
      send(from, build_dns_answer(message, *question, DnsCode::NoSuchName));
    } else if (pending >= kMaxPending) {
      answer_failure(from, message);
    } else {
      std::make_shared<Relay>(shared_from_this(), from, std::move(message))->ask();
    }
  }

  void answer_failure(const udp::endpoint& to, const std::string& message) {
    if (const auto question = parse_dns_question(message))
      send(to, build_dns_answer(message, *question, DnsCode::ServerFailure));
  }

  /// An answer that does not fit in the socket's buffer is lost, as DNS allows: who asked asks
  /// again.
  void send(const udp::endpoint& to, std::string_view text) {
    error_code ignored;
    if (!stopped) socket.send_to(asio::buffer(text.data(), text.size()), to, 0, ignored);
  }

  AsioLoop& loop;
  Options options;
  udp::socket socket;
  udp::endpoint from = {};
  std::array<char, kMaxMessage> buffer = {};
  std::map<std::string, std::vector<std::uint32_t>, std::less<>> names = {};
  std::size_t pending = 0;
  bool stopped = false;
};

Result<std::unique_ptr<NameServer>> NameServer::start(AsioLoop& loop, Options options) {
  auto impl = std::make_shared<Impl>(loop, std::move(options));
  error_code error;
  const udp::endpoint at(asio::ip::make_address(impl->options.address, error), 53);
  if (!error) impl->socket.open(at.protocol(), error);
  if (!error) impl->socket.bind(at, error);
  if (!error) impl->socket.non_blocking(true, error);
  if (error)
    return failed(ErrorCode::Unavailable, fmt::format("listening on UDP {}:53: {}",
                                                      impl->options.address, error.message()));
  impl->listen();
  return std::unique_ptr<NameServer>(new NameServer(std::move(impl)));
}

NameServer::~NameServer() {
  impl_->stopped = true;
  error_code ignored;
  impl_->socket.close(ignored);
}

void NameServer::update(const std::vector<HostsEntry>& services) {
  impl_->names.clear();
  for (const auto& entry : services)
    if (const auto ip = parse_ipv4(entry.ip))
      for (const auto& name : entry.names) impl_->names[name].push_back(*ip);
}

}  // namespace manta::local
