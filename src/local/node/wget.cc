#include "local/node/wget.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>

namespace manta::local {

static Result<int> number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    return failed(ErrorCode::Invalid, "\"" + std::string(text) + "\" is no number");
  return value;
}

static Result<void> parse_url(std::string_view url, WgetCall& call) {
  if (url.starts_with("http://"))
    url.remove_prefix(7);
  else if (url.find("://") != std::string_view::npos)
    return failed(
        ErrorCode::Invalid,
        "this stand-in for wget reads http:// only; install wget for " + std::string(url));
  const auto slash = std::min(url.find('/'), url.size());
  const auto host = url.substr(0, slash);
  if (slash < url.size()) call.path = url.substr(slash);
  const auto colon = host.find(':');
  call.host = host.substr(0, colon);
  if (colon != std::string_view::npos) call.port = host.substr(colon + 1);
  return {};
}

Result<WgetCall> parse_wget(int argc, const char* const* argv) {
  WgetCall call;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word(argv[i]);
    // The value of an option: glued to it or the next word.
    auto value = [&](std::size_t glued) -> std::string_view {
      if (word.size() > glued) return word.substr(glued);
      return i + 1 < argc ? argv[++i] : "";
    };
    Result<int> n = 0;
    if (word == "-q" || word == "--quiet") {
      call.quiet = true;
    } else if (word == "-qO-") {
      call.quiet = true;
      call.output = "-";
    } else if (word.starts_with("-O")) {
      call.output = value(2);
    } else if (word.starts_with("-T")) {
      if (n = number(value(2)); n) call.timeout_seconds = *n;
    } else if (word.starts_with("-t")) {
      if (n = number(value(2)); n) call.tries = *n;
    } else if (word.starts_with("--timeout=")) {
      if (n = number(word.substr(10)); n) call.timeout_seconds = *n;
    } else if (word == "--timeout") {
      if (n = number(value(9)); n) call.timeout_seconds = *n;
    } else if (word.starts_with("--tries=")) {
      if (n = number(word.substr(8)); n) call.tries = *n;
    } else if (word == "--tries") {
      if (n = number(value(7)); n) call.tries = *n;
    } else if (word.starts_with("--output-document=")) {
      call.output = word.substr(18);
    } else if (word == "--no-check-certificate" || word == "--no-verbose" || word == "-nv") {
      // Nothing to do for plain http.
    } else if (word.starts_with("-")) {
      return failed(
          ErrorCode::Invalid,
          "option " + std::string(word) + " is not known to this stand-in for wget; install wget");
    } else if (auto url = parse_url(word, call); !url) {
      return failed(url.error());
    }
    if (!n) return failed(n.error().in(word));
  }
  if (call.host.empty()) return failed(ErrorCode::Invalid, "no URL");
  if (call.output.empty()) {
    const auto name = call.path.substr(call.path.rfind('/') + 1);
    call.output = name.empty() ? "index.html" : name;
  }
  return call;
}

static int connect_to(const WgetCall& call) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(call.host.c_str(), call.port.c_str(), &hints, &found) != 0) return -1;
  int fd = -1;
  for (auto* a = found; a != nullptr && fd < 0; a = a->ai_next) {
    fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
    timeval limit = {call.timeout_seconds, 0};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);  // bounds connect() too
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen) != 0) {
      close(fd);
      fd = -1;
    }
  }
  freeaddrinfo(found);
  return fd;
}

static int fetch(const WgetCall& call) {
  const int fd = connect_to(call);
  if (fd < 0) return 4;
  // HTTP/1.0: the body ends with the connection, never chunked.
  const auto request = "GET " + call.path + " HTTP/1.0\r\nHost: " + call.host + ":" + call.port +
                       "\r\nUser-Agent: Wget\r\nAccept: */*\r\n\r\n";
  std::string answer;
  char buffer[65536];
  ssize_t got = send(fd, request.data(), request.size(), MSG_NOSIGNAL) < 0 ? -1 : 0;
  while (got >= 0 && (got = read(fd, buffer, sizeof buffer)) > 0)
    answer.append(buffer, static_cast<std::size_t>(got));
  close(fd);
  const auto body = answer.find("\r\n\r\n");
  if (got < 0 || body == std::string::npos || !answer.starts_with("HTTP/")) return 4;
  const auto space = answer.find(' ');
  const auto status = number(std::string_view(answer).substr(space + 1, 3)).value_or(0);
  if (status < 200 || status > 299) {
    if (!call.quiet) fprintf(stderr, "wget: the server answered %d\n", status);
    return 8;
  }
  FILE* out = call.output == "-" ? stdout : fopen(call.output.c_str(), "w");
  if (out == nullptr) return 3;
  fwrite(answer.data() + body + 4, 1, answer.size() - body - 4, out);
  return fflush(out) == 0 ? 0 : 3;
}

int wget_main(int argc, char** argv) {
  const auto call = parse_wget(argc, argv);
  if (!call) {
    fprintf(stderr, "wget: %s\n", call.error().message.c_str());
    return 2;
  }
  int code = 4;
  for (int left = call->tries; left > 0 && code == 4; --left) code = fetch(*call);
  if (code == 4 && !call->quiet)
    fprintf(stderr, "wget: cannot connect to %s:%s\n", call->host.c_str(), call->port.c_str());
  return code;
}

}  // namespace manta::local
