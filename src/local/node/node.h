// A Kubernetes node that runs Pods as local processes. It talks to Kubernetes through kube::Api
// only, so it serves the embedded API server and a real control plane alike.
//
//   int main(int argc, char** argv) {
//     if (is_helper_call(argc, argv)) return helper_main(argc, argv);   // helper_spec.h, first of
//     all … Node node(loop, api, images, random, {.node_name = "laptop", .state_folder =
//     "/var/lib/manta"}); if (auto started = co_await node.start(); !started) … … co_await
//     node.stop();   // ends every container; the API's Pods stay and start again next time
//
// A node that was killed leaves nothing running (helper_main.cc); what it leaves lying about, the
// next start() removes.
#pragma once

#include "base/asio_loop.h"
#include "base/random.h"
#include "kube/api.h"
#include "local/node/image_store.h"
#include "local/node/node_options.h"
#include "local/pod_backend.h"

#include <memory>
#include <string>

namespace manta::local {

class Node final : public PodBackend {
 public:
  Node(AsioLoop& loop, kube::Api& api, ImageStore& images, Random& random, NodeOptions options);
  ~Node() override;

  /// Cleans up after an earlier life, makes the network, registers the Node and begins to run its
  /// Pods.
  Task<Result<void>> start();
  /// Ends all Pods' processes and undoes what start() did to the host.
  Task<void> stop();
  /// After start(): waits until `stop` is requested, then stop().
  Task<void> run(std::stop_token stop);
  PodBackend& backend() { return *this; }

  /// What the host lacks, for people: "memory limits are advice here: …". After start().
  const std::vector<std::string>& warnings() const;
  /// The Pods' network ("10.244.0.0/16"); empty without one.
  std::string pod_network() const;

  Task<Result<void>> logs(ContainerTarget target, LogOptions options, OutputSink sink,
                          std::stop_token stop) override;
  Task<Result<int>> exec(ExecRequest request, ExecStreams streams, std::stop_token stop) override;
  Task<Result<void>> forward(ContainerTarget target, std::uint16_t port, ForwardStream stream,
                             std::stop_token stop) override;

  /// What a node that was killed has left of this state folder, in words for people: processes,
  /// cgroups, network devices, names in the host's hosts file. start() removes them, too.
  static std::vector<std::string> find_leftovers(const NodeOptions& options);
  static void clean_up_leftovers(const NodeOptions& options);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace manta::local
