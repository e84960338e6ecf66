// A Gateway's controller, scripted: it takes every Gateway and every HTTPRoute a second after it
// has come, for as long as it is up.
#pragma once

#include "base/async.h"
#include "kube/api.h"
#include "sim/mirror.h"

#include <string>

namespace manta::sim {

class GatewayDouble {
 public:
  GatewayDouble(Loop& loop, kube::Api& api, Mirror& mirror);

  /// Down: no Gateway is programmed and no route is accepted, those from before neither.
  void set_up(bool up);

  void stop() { scope_.request_stop(); }
  bool stopped() const { return scope_.running() == 0; }

 private:
  void see(const Json& object);
  Json wanted_status(const Json& object) const;
  Task<void> publish(std::string kind, std::string name);

  Loop& loop_;
  kube::Api& api_;
  Mirror& mirror_;
  Scope scope_;
  bool up_ = true;
};

}  // namespace manta::sim
