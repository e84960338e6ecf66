// A stand-in for wget on machines that have none: Ray's probes run
// `wget --tries 1 -T 2 -q -O- http://localhost:52365/… | grep success`.
#pragma once

#include "base/result.h"

#include <string>
#include <string_view>

namespace manta::local {

struct WgetCall {
  std::string host = {};
  std::string port = "80";
  std::string path = "/";
  std::string output = {};  // a file; "-": standard output
  int timeout_seconds = 900;
  int tries = 1;
  bool quiet = false;
};

/// Understands -q -O -T -t --tries --timeout --no-check-certificate, plain http only.
Result<WgetCall> parse_wget(int argc, const char* const* argv);
/// 0; 2 for a bad command line, 4 when there is no connection, 8 for an HTTP error, as wget has
/// them.
int wget_main(int argc, char** argv);

}  // namespace manta::local
