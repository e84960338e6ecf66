// The controllers that manifests need on a single machine, together:
//
//   LocalControllers controllers(loop, api, random, {.ca_pem = ca});
//   scope.spawn("local controllers", controllers.run(scope.stop_token()));
//
// Garbage collection and namespaces always; the rest as the options say.
#pragma once

#include "base/async.h"
#include "base/random.h"
#include "kube/api.h"
#include "local/controllers/scheduler.h"

#include <memory>
#include <string>

namespace manta::local {

struct LocalControllersOptions {
  std::string ca_pem = {};  // for every namespace's kube-root-ca.crt
  bool jobs = true;
  bool scheduling = true;
  bool endpoints = true;
  bool service_accounts = true;
  SchedulerOptions scheduler = {};
};

class LocalControllers {
 public:
  LocalControllers(Loop& loop, kube::Api& api, Random& random, LocalControllersOptions options);
  ~LocalControllers();

  /// Until stopped.
  Task<void> run(std::stop_token stop);
  /// True when no decision is being taken or carried out: only timers are left.
  bool idle() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace manta::local
