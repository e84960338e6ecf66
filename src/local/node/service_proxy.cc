#include "local/node/service_proxy.h"

#include "base/log.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <errno.h>
#include <sys/socket.h>

#include <array>
#include <set>

namespace manta::local {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;
using boost::system::error_code;
using Targets = std::vector<std::pair<std::string, int>>;

namespace {

/// One client and one endpoint; lives as long as a callback of its does.
class Relay : public std::enable_shared_from_this<Relay> {
 public:
  Relay(tcp::socket client, Targets targets, std::size_t first)
      : client_(std::move(client)),
        endpoint_(client_.get_executor()),
        timer_(client_.get_executor()),
        targets_(std::move(targets)),
        next_(first) {}

  /// Tries each endpoint once.
  void connect() {
    if (tried_++ >= targets_.size()) return close();
    const auto& [ip, port] = targets_[next_++ % targets_.size()];
    error_code error;
    const auto address = asio::ip::make_address(ip, error);
    if (error) return connect();
    endpoint_ = tcp::socket(client_.get_executor());
    timer_.expires_after(std::chrono::seconds{3});
    timer_.async_wait([self = shared_from_this()](const error_code& cancelled) {
      error_code ignored;
      if (!cancelled) self->endpoint_.close(ignored);  // its async_connect answers
    });
    endpoint_.async_connect(tcp::endpoint(address, static_cast<std::uint16_t>(port)),
                            [self = shared_from_this()](const error_code& failed) {
                              self->timer_.cancel();
                              if (failed) return self->connect();
                              error_code ignored;
                              self->client_.set_option(tcp::no_delay(true), ignored);
                              self->endpoint_.set_option(tcp::no_delay(true), ignored);
                              self->copy(self->client_, self->endpoint_, self->up_);
                              self->copy(self->endpoint_, self->client_, self->down_);
                            });
  }

 private:
  using Buffer = std::array<char, 16384>;

  void copy(tcp::socket& from, tcp::socket& to, Buffer& buffer) {
    from.async_read_some(asio::buffer(buffer), [self = shared_from_this(), &from, &to, &buffer](
                                                   const error_code& error, std::size_t got) {
      error_code ignored;
      if (error == asio::error::eof) {
        to.shutdown(tcp::socket::shutdown_send, ignored);  // the other way may go on
        return;
      }
      if (error) return self->close();
      asio::async_write(to, asio::buffer(buffer.data(), got),
                        [self, &from, &to, &buffer](const error_code& failed, std::size_t) {
                          if (failed) return self->close();
                          self->copy(from, to, buffer);
                        });
    });
  }

  void close() {
    error_code ignored;
    client_.close(ignored);
    endpoint_.close(ignored);
  }

  tcp::socket client_, endpoint_;
  asio::steady_timer timer_;
  Targets targets_;
  std::size_t next_, tried_ = 0;
  Buffer up_ = {}, down_ = {};
};

}  // namespace

struct ServiceProxy::Listener : std::enable_shared_from_this<ServiceProxy::Listener> {
  explicit Listener(AsioLoop& loop) : acceptor(loop.context()) {}

  error_code open(const Place& place) {
    error_code error;
    const auto address = place.ip.empty() ? asio::ip::address(asio::ip::address_v4::any())
                                          : asio::ip::make_address(place.ip, error);
    if (error) return error;
    const tcp::endpoint at(address, static_cast<std::uint16_t>(place.port));
    acceptor.open(at.protocol(), error);
    if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error && !place.device.empty() &&
        setsockopt(acceptor.native_handle(), SOL_SOCKET, SO_BINDTODEVICE, place.device.data(),
                   static_cast<socklen_t>(place.device.size())) != 0)
      error = error_code(errno, boost::system::system_category());
    if (!error) acceptor.bind(at, error);
    if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
    if (error) {
      error_code ignored;
      acceptor.close(ignored);
    }
    return error;
  }

  void accept() {
    acceptor.async_accept([self = shared_from_this()](const error_code& error, tcp::socket client) {
      if (error == asio::error::operation_aborted || !self->acceptor.is_open()) return;
      // Without endpoints the connection is closed at once: the client sees a refusal, not a hang.
      if (!error && !self->targets.empty())
        std::make_shared<Relay>(std::move(client), self->targets, self->turn++)->connect();
      self->accept();
    });
  }

  tcp::acceptor acceptor;
  Targets targets = {};
  std::size_t turn = 0;
};

ServiceProxy::ServiceProxy(AsioLoop& loop, PodNetwork* network) : loop_(loop), network_(network) {}
ServiceProxy::~ServiceProxy() { stop(); }

std::vector<ServiceProxy::Place> ServiceProxy::places_of(const ProxyRule& rule) const {
  if (rule.ip.empty()) return {{rule.ip, rule.port}};
  if (network_ == nullptr) return {};
  return {{rule.ip, rule.port, network_->bridge()}, {rule.ip, rule.port, "lo"}};
}

void ServiceProxy::update(const std::vector<ProxyRule>& rules) {
  std::map<Place, const ProxyRule*> wanted;
  std::set<std::string> ips, had;
  for (const auto& rule : rules) {
    for (auto& place : places_of(rule)) wanted[std::move(place)] = &rule;
    ips.insert(rule.ip);
  }
  for (auto it = listeners_.begin(); it != listeners_.end();) {
    had.insert(it->first.ip);
    if (wanted.contains(it->first)) {
      ++it;
      continue;
    }
    error_code ignored;
    it->second->acceptor.close(ignored);
    it = listeners_.erase(it);
  }
  for (const auto& ip : had)
    if (!ip.empty() && !ips.contains(ip) && network_ != nullptr)
      (void)network_->remove_service_address(ip);
  for (const auto& [place, rule] : wanted) {
    auto& listener = listeners_[place];
    if (listener == nullptr) listener = std::make_shared<Listener>(loop_);
    listener->targets = rule->targets;
    if (listener->acceptor.is_open()) continue;
    if (!place.ip.empty())
      if (auto added = network_->add_service_address(place.ip); !added)
        log::warn("cannot offer a Service's address",
                  {{"ip", place.ip}, {"error", added.error().message}});
    if (const auto error = listener->open(place); error)
      log::warn("cannot listen for a Service", {{"ip", place.ip},
                                                {"port", place.port},
                                                {"device", place.device},
                                                {"error", error.message()}});
    else
      listener->accept();
  }
}

void ServiceProxy::stop() { update({}); }

}  // namespace manta::local
